//! The baseline: what programs took when somebody was content. A contract, described in
//! `docs/ci.md`: what is here may grow, and nothing may change its name or meaning.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::audit::Audit;
use crate::audit::padding;
use crate::model::occupancy::reserved_by_kind;
use crate::model::space;

/// The version of the contract.
const SCHEMA: u64 = 1;

/// What a program takes of a memory space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Its number.
    pub color: u64,
    /// Its name on the platform, or its number in words.
    pub name: String,
    /// The sizes of its allocations, without thread-local ones.
    pub reserved_bytes: u64,
    /// The sizes of its temp allocations.
    pub temp_bytes: u64,
    /// The bytes occupied at its true peak; `None` if that is not known for certain.
    pub peak_bytes: Option<u64>,
    /// Padding among these.
    pub padding_bytes: Option<u64>,
}

/// What the program of a dump takes of each memory space, by number.
pub fn spaces(audit: &Audit) -> Vec<Space> {
    let dump = audit.dump;
    let occupancy = dump.occupancy();
    let measure = |space: &crate::model::occupancy::Space| {
        let peak = space.peak().filter(|_| occupancy.missing == 0);
        let [_, _, _, temp_bytes] = reserved_by_kind(dump, space.color);
        Space {
            color: space.color,
            name: space::named(space.color, dump.platforms),
            reserved_bytes: space.reserved,
            temp_bytes,
            peak_bytes: peak.map(|peak| peak.bytes),
            padding_bytes: peak.map(|peak| padding::at_step(audit, space.color, peak.step)),
        }
    };
    occupancy.spaces.iter().map(measure).collect()
}

/// What the same program is recognised by in another run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its name, see [`program`].
    pub module: String,
    /// `tpu`, `gpu`, `cpu` or `unknown`.
    pub platform: String,
    /// The how-manieth it is of those with the same name and platform, from 1.
    pub position: u64,
}

/// The name of a module without the numbers that change from run to run: of
/// `SyncTensorsGraph.24` the last, of `17.module_0042.cpu_after_optimizations`, which a module
/// without a name is called, the first.
pub fn program(module: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts: Vec<&str> = module.split('.').collect();
    if parts.len() > 1 && is_number(parts[0]) {
        parts.remove(0);
    }
    if let Some(number) = parts[0].strip_prefix("module_")
        && is_number(number)
    {
        parts[0] = "module";
    }
    if parts.len() > 1 && is_number(parts[parts.len() - 1]) {
        parts.pop();
    }
    parts.join(".")
}

/// What each program takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    modules: BTreeMap<Key, Vec<Space>>,
}

impl Baseline {
    /// Adds the next module of this name and platform, and returns how it is recognised. `module` is
    /// the name as the dump has it.
    pub fn add(&mut self, module: &str, platform: &str, spaces: Vec<Space>) -> Key {
        let key = |position| Key {
            module: program(module),
            platform: platform.to_owned(),
            position,
        };
        let mut equals = self.modules.range(key(0)..=key(u64::MAX));
        let last = equals.next_back().map_or(0, |(key, _)| key.position);
        let key = key(last.saturating_add(1));
        self.modules.insert(key.clone(), spaces);
        key
    }

    /// What a program took.
    pub fn get(&self, key: &Key) -> Option<&[Space]> {
        self.modules.get(key).map(Vec::as_slice)
    }

    /// The programs, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.modules.keys()
    }

    /// How many programs have a memory space of which no peak is known, and so none is compared.
    pub fn without_peak(&self) -> usize {
        let is_unknown = |space: &Space| space.reserved_bytes > 0 && space.peak_bytes.is_none();
        let modules = self.modules.values();
        modules.filter(|it| it.iter().any(is_unknown)).count()
    }

    /// Whether no program is there.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// Reads what [`Self::write`] has written.
    ///
    /// # Errors
    /// With a sentence on what was found instead.
    pub fn read(text: &str) -> Result<Self, String> {
        // Another version may have another form, so its number is looked at first.
        let any: AnyFile = serde_json::from_str(text)
            .map_err(|error| format!("this is no baseline of buflens: {error}"))?;
        if any.schema != SCHEMA {
            return Err(format!(
                "the baseline has schema {}, expected {SCHEMA}: another version of buflens wrote \
                 it; write it anew with --write-baseline",
                any.schema
            ));
        }
        let file: File = serde_json::from_str(text)
            .map_err(|error| format!("the baseline is broken: {error}"))?;
        let mut modules = BTreeMap::new();
        for module in file.modules {
            let key = Key {
                module: module.module,
                platform: module.platform,
                position: module.position,
            };
            if modules.contains_key(&key) {
                return Err(format!(
                    "the baseline is broken: `{}` ({}) stands there twice at position {}",
                    key.module, key.platform, key.position
                ));
            }
            modules.insert(key, module.spaces);
        }
        Ok(Self { modules })
    }

    /// Whether `text` is a baseline, of whatever version.
    pub fn is_one(text: &str) -> bool {
        serde_json::from_str::<AnyFile>(text).is_ok()
    }

    /// Writes the baseline as JSON: the same bytes for the same programs.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let modules = self.modules.iter().map(|(key, spaces)| Module {
            module: key.module.clone(),
            platform: key.platform.clone(),
            position: key.position,
            spaces: spaces.clone(),
        });
        let file = File {
            schema: SCHEMA,
            tool: concat!("buflens ", env!("CARGO_PKG_VERSION")).to_owned(),
            modules: modules.collect(),
        };
        serde_json::to_writer_pretty(&mut out, &file)?;
        writeln!(out)
    }
}

/// Any version of the file.
#[derive(Deserialize)]
#[serde(expecting = "an object with `schema`")]
struct AnyFile {
    schema: u64,
}

#[derive(Serialize, Deserialize)]
struct File {
    schema: u64,
    tool: String,
    modules: Vec<Module>,
}

#[derive(Serialize, Deserialize)]
struct Module {
    module: String,
    platform: String,
    position: u64,
    spaces: Vec<Space>,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn space(peak: Option<u64>) -> Space {
        Space {
            color: 0,
            name: "HBM".to_owned(),
            reserved_bytes: 3,
            temp_bytes: 1,
            peak_bytes: peak,
            padding_bytes: peak.map(|_| 0),
        }
    }

    #[test]
    fn numbers_that_change_are_left_out_of_names() {
        for (module, name) in [
            ("jit_f", "jit_f"),
            ("SyncTensorsGraph.24", "SyncTensorsGraph"),
            ("a_f_46__.126", "a_f_46__"),
            (
                "module_0042.cpu_after_optimizations",
                "module.cpu_after_optimizations",
            ),
            (
                "1700000000.module_0042.cpu_after_optimizations",
                "module.cpu_after_optimizations",
            ),
            ("module_0042", "module"),
            ("12", "12"),
            ("", ""),
        ] {
            assert_eq!(program(module), name, "{module}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_sorted() {
        let mut baseline = Baseline::default();
        baseline.add("jit_g", "tpu", vec![space(None)]);
        baseline.add("jit_f.2", "tpu", vec![space(Some(2))]);
        let last = baseline.add("jit_f.9", "tpu", Vec::new());
        assert_eq!((last.module.as_str(), last.position), ("jit_f", 2));
        let mut out = Vec::new();
        baseline.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(Baseline::read(&text), Ok(baseline));
        let (head, _) = text
            .split_once("    {\n      \"module\": \"jit_g\"")
            .unwrap();
        let head = head.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        expect![[r#"
            {
              "schema": 1,
              "tool": "buflens VERSION",
              "modules": [
                {
                  "module": "jit_f",
                  "platform": "tpu",
                  "position": 1,
                  "spaces": [
                    {
                      "color": 0,
                      "name": "HBM",
                      "reserved_bytes": 3,
                      "temp_bytes": 1,
                      "peak_bytes": 2,
                      "padding_bytes": 0
                    }
                  ]
                },
                {
                  "module": "jit_f",
                  "platform": "tpu",
                  "position": 2,
                  "spaces": []
                },
        "#]]
        .assert_eq(&head);
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        let twice = r#"{"module":"f","platform":"cpu","position":1,"spaces":[]}"#;
        for (text, part) in [
            ("", "no baseline"),
            ("[\"x\"]", "no baseline"),
            (r#"{"modules":[]}"#, "schema"),
            (r#"{"schema":0,"modules":[]}"#, "schema 0, expected 1"),
            (r#"{"schema":2,"programs":{}}"#, "schema 2, expected 1"),
            (r#"{"schema":1,"tool":"x"}"#, "modules"),
            (
                &format!(r#"{{"schema":1,"tool":"x","modules":[{twice},{twice}]}}"#),
                "twice",
            ),
        ] {
            let problem = Baseline::read(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}
