//! What the user has chosen: `initializationOptions`, and the section `buflens` of the editor's
//! configuration, which goes first.

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::checks::{Code, Severity};

/// The section of the editor's configuration.
pub const SECTION: &str = "buflens";

/// Keys that editors' extensions keep in the same section for themselves.
const OF_EDITORS: [&str; 3] = ["path", "server", "trace"];

/// What the user has chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    severities: FxHashMap<Code, Option<Severity>>,
}

impl Config {
    /// Reads settings, which may stand in a section `buflens` of their own, and tells what it did
    /// not understand.
    pub fn read(settings: &Value) -> (Self, Vec<String>) {
        let (mut config, mut problems) = (Self::default(), Vec::new());
        let settings = settings
            .get(SECTION)
            .filter(|section| section.is_object())
            .unwrap_or(settings);
        for (key, value) in settings.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("severity", Value::Object(severities)) => {
                    config.read_severities(severities, &mut problems);
                }
                ("severity", Value::Null) => {}
                ("severity", _) => {
                    problems.push("the setting `buflens.severity` is no object".to_owned());
                }
                (key, _) if OF_EDITORS.contains(&key) => {}
                (key, _) => problems.push(format!("there is no setting `buflens.{key}`")),
            }
        }
        (config, problems)
    }

    fn read_severities(
        &mut self,
        severities: &serde_json::Map<String, Value>,
        problems: &mut Vec<String>,
    ) {
        for (name, level) in severities {
            let Some(&code) = Code::ALL.iter().find(|code| code.name() == name) else {
                problems.push(format!(
                    "there is no setting `buflens.severity.{name}`: no finding has this code"
                ));
                continue;
            };
            let severity = match level.as_str() {
                Some("error") => Some(Severity::Error),
                Some("warning") => Some(Severity::Warning),
                Some("information") => Some(Severity::Information),
                Some("hint") => Some(Severity::Hint),
                Some("off") => None,
                _ => {
                    problems.push(format!(
                        "the setting `buflens.severity.{name}` is none of error, warning, information, hint and off"
                    ));
                    continue;
                }
            };
            self.severities.insert(code, severity);
        }
    }

    /// These settings, and those of `base` where these choose nothing.
    pub fn over(&self, base: &Self) -> Self {
        let mut merged = base.clone();
        merged.severities.extend(&self.severities);
        merged
    }

    /// The severity of a code; `None` if it is off.
    pub fn severity(&self, code: Code) -> Option<Severity> {
        self.severities
            .get(&code)
            .copied()
            .unwrap_or_else(|| Some(code.severity()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn severities_are_chosen_by_code() {
        let code = Code::ALL[0];
        let read = |level: &str| Config::read(&json!({ "severity": { code.name(): level } }));
        assert_eq!(Config::default().severity(code), Some(code.severity()));
        let (hint, problems) = read("hint");
        assert_eq!(
            (hint.severity(code), problems),
            (Some(Severity::Hint), vec![])
        );
        let (off, _) = read("off");
        assert_eq!(off.severity(code), None);
        assert_eq!(off.over(&hint).severity(code), None);
        assert_eq!(
            Config::default().over(&hint).severity(code),
            Some(Severity::Hint)
        );
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let (config, problems) = Config::read(&json!({ "buflens": {
            "severity": { "no-such-code": "off", Code::ALL[0].name(): "loud" },
            "colour": 1,
            "trace": { "server": "off" },
        } }));
        assert_eq!(config, Config::default());
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(Config::read(&Value::Null), (Config::default(), vec![]));
    }
}
