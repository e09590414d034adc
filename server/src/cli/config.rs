//! `buflens.toml`: what a project has chosen for `buflens check`.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::check::Deny;
use crate::checks::budgets::{Budgets, Limits, Percent, Ratio};
use crate::checks::{Code, Severities};
use crate::model::bytes;
use crate::model::device::Device;
use crate::model::space;

/// The file that is looked for.
const NAME: &str = "buflens.toml";

/// What a project has chosen.
#[derive(Debug, Default)]
pub struct Config {
    /// The limits of all modules.
    pub budgets: Budgets,
    /// Limits of some modules, which go before those of all; of several the last.
    pub modules: Vec<Module>,
    /// The file that growth is measured against.
    pub baseline: Option<PathBuf>,
    /// The severity from which on findings make the exit code 1.
    pub deny: Option<Deny>,
    /// The severities of codes.
    pub severities: Severities,
    /// The device whose main memory programs have to fit into.
    pub device: Option<Device>,
    /// What a device has of each memory space, in bytes; goes before what is known of the device.
    pub capacities: Limits<u64>,
}

/// The limits of the modules whose names a pattern fits.
#[derive(Debug)]
pub struct Module {
    /// The pattern, as `*` and `?` make it.
    pub name: GlobMatcher,
    /// The limits.
    pub budgets: Budgets,
}

impl Config {
    /// The file at `path`, or else the nearest one at or above the working directory; nothing is
    /// chosen where there is none.
    ///
    /// # Errors
    /// With the file, the line, the column and what was expected there.
    pub fn find(path: Option<&Path>) -> Result<Self, String> {
        let found = if let Some(path) = path {
            Some(path.to_owned())
        } else {
            let folder = std::env::current_dir()
                .map_err(|error| format!("the working directory is not known: {error}"))?;
            let mut files = folder.ancestors().map(|folder| folder.join(NAME));
            files.find(|file| file.is_file())
        };
        let Some(path) = found else {
            return Ok(Self::default());
        };
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let mut config = Self::read(&text).map_err(|(span, problem)| {
            let (line, column) = position(&text, span.start);
            format!("{}:{line}:{column}: {problem}", path.display())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.baseline = config.baseline.map(|baseline| folder.join(baseline));
        Ok(config)
    }

    /// Reads a text; a problem comes with the bytes it is about.
    fn read(text: &str) -> Result<Self, (Range<usize>, String)> {
        let file: File = toml::from_str(text)
            .map_err(|error| (error.span().unwrap_or(0..0), error.message().to_owned()))?;
        let mut severities = Severities::default();
        for (code, level) in &file.severity {
            let chosen = severities.choose(code.get_ref(), level.get_ref());
            let is_known = Code::ALL.iter().any(|it| it.name() == code.get_ref());
            let span = if is_known { level.span() } else { code.span() };
            chosen.map_err(|problem| (span, problem))?;
        }
        let device = file
            .check
            .device
            .map(|name| Device::named(name.get_ref()).map_err(|problem| (name.span(), problem)));
        let device = device.transpose()?;
        let mut modules = Vec::new();
        for section in file.module {
            let glob = Glob::new(section.name.get_ref()).map_err(|error| {
                let problem = format!("expected a pattern such as `jit_train*`: {error}");
                (section.name.span(), problem)
            })?;
            modules.push(Module {
                name: glob.compile_matcher(),
                budgets: Budgets {
                    peak: section.max_peak.0,
                    temp: section.max_temp.0,
                    padding: section.max_padding.0,
                    growth: section.max_growth.map(|it| it.0),
                },
            });
        }
        Ok(Self {
            budgets: Budgets {
                peak: file.budget.max_peak.0,
                temp: file.budget.max_temp.0,
                padding: file.budget.max_padding.0,
                growth: file.budget.max_growth.map(|it| it.0),
            },
            modules,
            baseline: file.budget.baseline,
            deny: file.check.deny,
            device,
            severities,
            capacities: file.capacity.0,
        })
    }
}

/// The line and the column of a byte, from 1, the column in characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    budget: Budget,
    check: Check,
    severity: BTreeMap<Spanned<String>, Spanned<String>>,
    capacity: PerSpace<u64>,
    module: Vec<Section>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[serde(expecting = "the table `[budget]`")]
struct Budget {
    max_peak: PerSpace<u64>,
    max_temp: PerSpace<u64>,
    max_padding: PerSpace<Ratio>,
    max_growth: Option<One<Percent>>,
    baseline: Option<PathBuf>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the table `[check]`")]
struct Check {
    deny: Option<Deny>,
    device: Option<Spanned<String>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[serde(expecting = "a table `[[module]]`")]
struct Section {
    name: Spanned<String>,
    #[serde(default)]
    max_peak: PerSpace<u64>,
    #[serde(default)]
    max_temp: PerSpace<u64>,
    #[serde(default)]
    max_padding: PerSpace<Ratio>,
    max_growth: Option<One<Percent>>,
}

/// What a limit says.
pub trait Amount: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// With what is expected.
    fn read(text: &str) -> Result<Self, String>;
}

impl Amount for u64 {
    fn read(text: &str) -> Result<Self, String> {
        bytes::read(text)
    }
}

impl Amount for Ratio {
    fn read(text: &str) -> Result<Self, String> {
        Self::read(text)
    }
}

impl Amount for Percent {
    fn read(text: &str) -> Result<Self, String> {
        Self::read(text)
    }
}

/// `SPACE=AMOUNT`, or an amount of memory space 0.
///
/// # Errors
/// With what is expected.
pub fn limit<T: Amount>(text: &str) -> Result<(String, T), String> {
    let (space, amount) = text.split_once('=').unwrap_or(("0", text));
    space::called_anywhere(space)?;
    Ok((space.to_owned(), T::read(amount)?))
}

/// An amount, as a text or a number.
struct One<T>(T);

/// Amounts of memory spaces; one alone is that of memory space 0.
struct PerSpace<T>(Limits<T>);

impl<T> Default for PerSpace<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Amount> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneVisitor(PhantomData))
    }
}

impl<'de, T: Amount> Deserialize<'de> for PerSpace<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PerSpaceVisitor(PhantomData))
    }
}

struct OneVisitor<T>(PhantomData<T>);

impl<T: Amount> Visitor<'_> for OneVisitor<T> {
    type Value = One<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, or a text with a unit")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<One<T>, E> {
        T::read(text).map(One).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<One<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<One<T>, E> {
        self.visit_str(&number.to_string())
    }
}

struct PerSpaceVisitor<T>(PhantomData<T>);

impl<'de, T: Amount> Visitor<'de> for PerSpaceVisitor<T> {
    type Value = PerSpace<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, a text with a unit, or a table such as `{ hbm = \"15.75GiB\" }`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PerSpace<T>, E> {
        let amount = T::read(text).map_err(E::custom)?;
        Ok(PerSpace(vec![("0".to_owned(), amount)]))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<PerSpace<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<PerSpace<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PerSpace<T>, A::Error> {
        let mut limits: Limits<T> = Vec::new();
        while let Some(SpaceName(space)) = map.next_key()? {
            // A table has no order in which the last would count.
            if let Some((other, _)) = limits
                .iter()
                .find(|(other, _)| space::are_one(other, &space))
            {
                let problem =
                    format!("`{other}` and `{space}` are one memory space: expected it once");
                return Err(de::Error::custom(problem));
            }
            let One(amount) = map.next_value()?;
            limits.push((space, amount));
        }
        Ok(PerSpace(limits))
    }
}

/// The name of a memory space of some platform.
struct SpaceName(String);

impl<'de> Deserialize<'de> for SpaceName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        space::called_anywhere(&name).map_err(de::Error::custom)?;
        Ok(Self(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Severity;

    #[test]
    fn every_key_is_read() {
        let config = Config::read(
            r#"
            [budget]
            max-peak = { hbm = "15.75GiB", "@1" = 1024 }
            max-temp = "12 GiB"
            max-padding = 1.5
            max-growth = "3%"
            baseline = "base.json"

            [check]
            deny = "never"

            [severity]
            color-mismatch = "hint"
            max-peak = "off"

            [capacity]
            hbm = "16GiB"

            [[module]]
            name = "jit_train*"
            max-peak = "1KiB"
            max-growth = 0
            "#,
        )
        .unwrap();
        let limit = |space: &str, bytes: u64| (space.to_owned(), bytes);
        assert_eq!(config.budgets.peak.len(), 2);
        assert!(config.budgets.peak.contains(&limit("hbm", 16_911_433_728)));
        assert!(config.budgets.peak.contains(&limit("@1", 1024)));
        assert_eq!(config.budgets.temp, [limit("0", 12 << 30)]);
        let ratio = Ratio::read("1.5x").unwrap();
        assert_eq!(config.budgets.padding, [("0".to_owned(), ratio)]);
        assert_eq!(config.budgets.growth, Percent::read("3").ok());
        assert_eq!(config.baseline, Some(PathBuf::from("base.json")));
        assert_eq!(config.deny, Some(Deny::Never));
        assert_eq!(
            config.severities.of(Code::ColorMismatch),
            Some(Severity::Hint)
        );
        assert_eq!(config.severities.of(Code::MaxPeak), None);
        assert_eq!(config.capacities, [limit("hbm", 16 << 30)]);
        let [module] = &config.modules[..] else {
            panic!("{config:?}")
        };
        assert!(module.name.is_match("jit_train_step") && !module.name.is_match("jit_f"));
        assert_eq!(module.budgets.peak, [limit("0", 1024)]);
        assert_eq!(module.budgets.growth, Percent::read("0").ok());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let problems: Vec<String> = [
            "[budget]\nmax-peek = 1",
            "[budget]\nmax-peak = \"12GB\"",
            "[budget]\nmax-peak = -1",
            "[budget]\nmax-peak = true",
            "[budget]\nmax-peak = { hbm = \"much\" }",
            "[budget]\nmax-peak = { hmb = 1 }",
            "[budget]\nmax-peak = { hbm = \"1GiB\", \"@0\" = 1 }",
            "[budget]\nmax-padding = \"0.5x\"",
            "[budget]\nmax-growth = { hbm = 1 }",
            "[check]\ndeny = \"all\"",
            "budget = \"1MiB\"",
            "[severity]\nsintax = \"off\"",
            "[severity]\nspelling = \"off\"",
            "[severity]\nsyntax = \"fatal\"",
            "[[module]]\nmax-peak = 1",
            "[[module]]\nname = \"a[\"",
            "ä = [",
        ]
        .into_iter()
        .map(|text| {
            let (span, problem) = Config::read(text).unwrap_err();
            let (line, column) = position(text, span.start);
            let problem: String = problem.chars().take(100).collect();
            format!("{line}:{column}: {problem}")
        })
        .collect();
        expect_test::expect![[r#"
            2:1: unknown field `max-peek`, expected one of `max-peak`, `max-temp`, `max-padding`, `max-growth`, `base
            2:12: expected a number of bytes, or a text with the unit B, KiB, MiB, GiB or TiB such as "15.75GiB"
            2:12: expected a number of bytes, or a text with the unit B, KiB, MiB, GiB or TiB such as "15.75GiB"
            2:12: invalid type: boolean `true`, expected a number, a text with a unit, or a table such as `{ hbm = "15
            2:20: expected a number of bytes, or a text with the unit B, KiB, MiB, GiB or TiB such as "15.75GiB"
            2:14: no platform has a memory space `hmb`; there are CMEM, HBM, SMEM, SparseCore memory 11, SparseCore me
            2:12: `@0` and `hbm` are one memory space: expected it once
            2:15: expected a ratio from 1 on with at most six decimals, such as "2x" or "1.5"
            2:14: invalid type: map, expected a number, or a text with a unit
            2:8: unknown variant `all`, expected one of `error`, `warning`, `information`, `hint`, `never`
            1:10: invalid type: string "1MiB", expected the table `[budget]`
            2:1: there is no code `sintax`; is it `syntax`?
            2:1: there is no code `spelling`; there are syntax, truncated, second-dump, other-compilation, allocation
            2:10: the severity of `syntax` is none of error, warning, information, hint and off
            1:1: missing field `name`
            2:8: expected a pattern such as `jit_train*`: error parsing glob 'a[': unclosed character class; missing 
            1:6: unclosed array, expected `]`"#]].assert_eq(&problems.join("\n"));
    }
}
