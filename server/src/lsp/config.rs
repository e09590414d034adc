//! What the user has chosen: `initializationOptions`, and the section `buflens` of the editor's
//! configuration, which goes first.

use serde_json::Value;

use crate::checks::{Code, Severities, Severity};

/// The section of the editor's configuration.
pub const SECTION: &str = "buflens";

/// Keys that editors' extensions keep in the same section for themselves.
const OF_EDITORS: [&str; 3] = ["path", "server", "trace"];

/// What the user has chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    severities: Severities,
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
                    for (code, level) in severities {
                        let chosen = config.severities.choose(code, level.as_str().unwrap_or(""));
                        problems.extend(
                            chosen
                                .err()
                                .map(|problem| format!("`buflens.severity`: {problem}")),
                        );
                    }
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

    /// These settings, and those of `base` where these choose nothing.
    pub fn over(&self, base: &Self) -> Self {
        Self {
            severities: self.severities.over(&base.severities),
        }
    }

    /// The severity of a code; `None` if it is off.
    pub fn severity(&self, code: Code) -> Option<Severity> {
        self.severities.of(code)
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
