//! Limits that are no bytes: ratios and percents, exact to six decimals.

use std::fmt;

/// So many make one.
const MILLION: u64 = 1_000_000;

/// How many times as large: `2x`, `1.5`. At least 1, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio(u64);

impl Ratio {
    /// Reads `2x`, `2` or `1.5x`.
    ///
    /// # Errors
    /// With what is expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let number = text.trim();
        let number = number.strip_suffix(['x', 'X']).unwrap_or(number);
        let millionths = millionths(number).filter(|&it| it >= MILLION);
        millionths.map(Self).ok_or_else(|| {
            "expected a ratio from 1 on with at most six decimals, such as \"2x\" or \"1.5\""
                .to_owned()
        })
    }

    /// How many bytes `bytes` are above so many times `without`; `None` if they are not.
    pub(super) fn excess(self, bytes: u64, without: u64) -> Option<u64> {
        let allowed = u128::from(without) * u128::from(self.0);
        let excess = (u128::from(bytes) * u128::from(MILLION)).checked_sub(allowed)?;
        let rounded_up = excess.div_ceil(u128::from(MILLION));
        (excess > 0).then(|| u64::try_from(rounded_up).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", decimal(self.0))
    }
}

/// How many percent larger: `3%`, `0.5`. In millionths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u64);

impl Percent {
    /// Reads `3%`, `3 %`, `3` or `0.5%`.
    ///
    /// # Errors
    /// With what is expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let number = text.trim();
        let number = number.strip_suffix('%').unwrap_or(number);
        millionths(number).map(Self).ok_or_else(|| {
            "expected percent with at most six decimals, such as \"3%\" or \"0.5%\"".to_owned()
        })
    }

    /// Whether `now` is at most so many percent above `before`.
    pub(super) fn allows(self, before: u64, now: u64) -> bool {
        let more = u128::from(now.saturating_sub(before));
        let hundred = u128::from(100 * MILLION);
        more * hundred <= u128::from(before) * u128::from(self.0)
    }
}

impl Percent {
    /// How many percent `more` are of `before`, with as many decimals as it takes to see that it is
    /// above the limit, and two at least.
    pub(super) fn exceeded(self, more: u64, before: u64) -> String {
        let percent = more as f64 * 100.0 / before as f64;
        let mut shown = (2..=6).map(|decimals| format!("{percent:.decimals$}"));
        let is_above = |text: &String| millionths(text).is_none_or(|it| it > self.0);
        let exact = format!("{percent:.6}");
        format!("{} %", shown.find(is_above).unwrap_or(exact))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", decimal(self.0))
    }
}

/// A decimal number without sign or exponent, in millionths.
fn millionths(text: &str) -> Option<u64> {
    let (whole, part) = match text.trim().split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text.trim(), ""),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > 6 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(MILLION)?;
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.checked_add(part)
}

/// Millionths without zeros at the end.
fn decimal(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / MILLION, millionths % MILLION);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_and_percents_are_read_exactly() {
        for (text, shown) in [("2x", "2x"), (" 1.5 ", "1.5x"), ("1.000001X", "1.000001x")] {
            assert_eq!(Ratio::read(text).unwrap().to_string(), shown);
        }
        for (text, shown) in [("3%", "3 %"), ("0", "0 %"), ("12.50 %", "12.5 %")] {
            assert_eq!(Percent::read(text).unwrap().to_string(), shown);
        }
        for wrong in [
            "",
            "x",
            "0.9x",
            "2y",
            "-2",
            "1e3",
            "2.x",
            ".5",
            "1.0000001",
            "2%",
            "99999999999999",
        ] {
            assert!(Ratio::read(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "%", "3x", "-3%", "NaN", "3%%"] {
            assert!(Percent::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        let twice = Ratio::read("2x").unwrap();
        assert_eq!(twice.excess(200, 100), None);
        assert_eq!(twice.excess(201, 100), Some(1));
        assert_eq!(twice.excess(0, 0), None);
        assert_eq!(twice.excess(512, 0), Some(512));
        assert_eq!(twice.excess(u64::MAX, u64::MAX), None);
        let three = Percent::read("3%").unwrap();
        assert!(three.allows(100, 103) && !three.allows(100, 104) && three.allows(100, 1));
        assert!(three.allows(u64::MAX, u64::MAX) && !three.allows(1, u64::MAX));
        assert!(Percent::read("0%").unwrap().allows(7, 7));
        assert_eq!(three.exceeded(5, 100), "5.00 %");
        assert_eq!(three.exceeded(30_001, 1_000_000), "3.0001 %");
    }
}
