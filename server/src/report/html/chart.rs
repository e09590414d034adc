//! Pictures of numbers: bytes against what there is, and bytes over time.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::model::bytes::{grouped, rounded};
use crate::report::records::{Kinds, MapSpace, Space};

/// So many steps are told apart in a curve, however many there are.
const COLUMNS: u64 = 1000;
/// The height of a curve in its own units.
const HEIGHT: f64 = 100.0;

/// What a memory space reserves and occupies by kind, against the bytes that the device has of
/// it, or else what is reserved.
pub fn bar(space: &Space, kinds: Option<&Kinds>, capacity: Option<u64>) -> Markup {
    let reserved = space.reserved_bytes;
    let mut parts: Vec<(&str, u64)> = kinds.map_or_else(Vec::new, |it| it.named().into());
    let occupied = parts
        .iter()
        .fold(0, |sum: u64, part| sum.saturating_add(part.1));
    let name = if kinds.is_some() { "idle" } else { "reserved" };
    parts.push((name, reserved.saturating_sub(occupied)));
    let left = capacity.map_or(0, |it| it.saturating_sub(reserved));
    if capacity.is_some() {
        parts.push(("left", left));
    }
    parts.retain(|(_, bytes)| *bytes > 0);
    let whole = reserved.max(occupied).max(capacity.unwrap_or(0));
    let limit = capacity.filter(|&capacity| capacity < whole);
    html! {
        figure.bar {
            div.track aria-hidden="true" {
                @for &(name, bytes) in &parts {
                    span class=(name) style=(format!("width:{}", share(bytes, whole)))
                        title=(format!("{name}: {} B", grouped(bytes))) {}
                }
                @if let Some(limit) = limit {
                    i style=(format!("left:{}", share(limit, whole)))
                        title=(format!("the device ends here: {} B", grouped(limit))) {}
                }
            }
            ul.legend {
                @for &(name, bytes) in &parts {
                    li { span class=(name) {} (name) " "
                        b title=(format!("{} B", grouped(bytes))) { (rounded(bytes)) } }
                }
            }
        }
    }
}

/// `12.345%`
fn share(part: u64, whole: u64) -> String {
    format!("{:.3}%", part as f64 * 100.0 / whole.max(1) as f64)
}

/// The bytes that a memory space occupies over time. `None` without a curve.
pub fn curve(space: &MapSpace, steps: u64) -> Option<Markup> {
    let peak = space.space.peak.as_ref()?;
    if space.curve.is_empty() || peak.occupied_bytes == 0 {
        return None;
    }
    let top = space.space.reserved_bytes.max(peak.occupied_bytes);
    let columns = columns(&space.curve, steps);
    let count = columns.len();
    let mut path = format!("M0 {HEIGHT}");
    let mut before = None;
    for (at, &bytes) in columns.iter().enumerate() {
        if before != Some(bytes) {
            let height = HEIGHT - bytes as f64 * HEIGHT / top as f64;
            let _ = write!(path, "H{at}V{height:.2}");
            before = Some(bytes);
        }
    }
    let _ = write!(path, "H{count}V{HEIGHT}Z");
    let at = column(peak.step, steps) as f64 + 0.5;
    let name = &space.space.name;
    let (most, last) = (rounded(peak.occupied_bytes), steps.saturating_sub(1));
    let label = format!("Occupied bytes of {name} over {} steps", grouped(steps));
    Some(html! {
        figure.curve {
            figcaption {
                b { (name) } ": " (most) " at step " (grouped(peak.step)) ", of "
                (rounded(space.space.reserved_bytes)) " reserved"
            }
            div.plot {
                svg viewBox=(format!("0 0 {count} {HEIGHT}")) preserveAspectRatio="none" role="img"
                    aria-label=(label) {
                    path d=(path) {}
                    line x1=(at) x2=(at) y1="0" y2=(HEIGHT) {}
                }
                span.top { (rounded(top)) }
                span.bottom { "0 B" }
            }
            div.steps { span { "step 0" } span { "step " (grouped(last)) } }
        }
    })
}

/// The column of a step.
fn column(step: u64, steps: u64) -> u64 {
    let columns = steps.min(COLUMNS);
    let at = u128::from(step) * u128::from(columns) / u128::from(steps.max(1));
    u64::try_from(at)
        .unwrap_or(u64::MAX)
        .min(columns.saturating_sub(1))
}

/// The most bytes of each column.
fn columns(curve: &[(u64, u64)], steps: u64) -> Vec<u64> {
    let mut columns = vec![0; steps.min(COLUMNS) as usize];
    let ends = curve.iter().skip(1).map(|&(step, _)| step).chain([steps]);
    for (&(step, bytes), end) in curve.iter().zip(ends) {
        let range = column(step, steps)..=column(end.saturating_sub(1).max(step), steps);
        for at in range {
            if let Some(most) = columns.get_mut(at as usize) {
                *most = bytes.max(*most);
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::Moment;

    fn space(reserved_bytes: u64, occupied_bytes: u64) -> Space {
        Space {
            color: 0,
            name: "<HBM>".into(),
            reserved_bytes,
            thread_local_bytes: 0,
            padding_bytes: None,
            peak: Some(Moment {
                step: 2,
                instruction: None,
                occupied_bytes,
            }),
        }
    }

    const KINDS: Kinds = Kinds {
        parameter: 10,
        output: 0,
        constant: 0,
        temp: 30,
    };

    #[test]
    fn a_bar_is_as_long_as_the_device_or_the_program() {
        let text = bar(&space(50, 40), Some(&KINDS), Some(100)).into_string();
        for part in [
            r#"class="temp" style="width:30.000%""#,
            r#"class="parameter" style="width:10.000%""#,
            r#"class="idle" style="width:10.000%""#,
            r#"class="left" style="width:50.000%""#,
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let text = bar(&space(50, 40), Some(&KINDS), Some(25)).into_string();
        assert!(text.contains(r#"<i style="left:50.000%""#), "{text}");
        assert!(
            text.contains(r#"class="temp" style="width:60.000%""#),
            "{text}"
        );
        let text = bar(&space(50, 40), None, None).into_string();
        assert!(
            text.contains(r#"class="reserved" style="width:100.000%""#),
            "{text}"
        );
        assert!(!bar(&space(0, 0), None, None).into_string().contains("NaN"));
    }

    #[test]
    fn a_curve_keeps_its_peaks() {
        assert_eq!(columns(&[(0, 1), (2, 9), (3, 4)], 5), [1, 1, 9, 4, 4]);
        // One step of a million.
        let long = columns(&[(0, 1), (500_000, 9), (500_001, 1)], 1_000_000);
        assert_eq!(
            (long.len(), long[499], long[500], long[501]),
            (1000, 1, 9, 1)
        );
        assert_eq!(columns(&[(0, 1)], 0), [0; 0]);
        let huge = columns(&[(0, 1), (u64::MAX - 1, 7)], u64::MAX);
        assert_eq!(huge[999], 7);
    }

    #[test]
    fn a_curve_is_drawn() {
        let drawn = MapSpace {
            space: space(20, 10),
            curve: vec![(0, 5), (2, 10), (3, 0)],
        };
        let text = curve(&drawn, 4).unwrap().into_string();
        assert!(
            text.contains(r#"d="M0 100H0V75.00H2V50.00H3V100.00H4V100Z""#),
            "{text}"
        );
        assert!(
            text.contains("&lt;HBM&gt;") && text.contains(r#"x1="2.5""#),
            "{text}"
        );
        let empty = MapSpace {
            space: space(20, 0),
            ..drawn
        };
        assert!(curve(&empty, 4).is_none());
    }
}
