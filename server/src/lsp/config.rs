//! What the user has chosen: `initializationOptions`, and the section `buflens` of the editor's
//! configuration, which goes first.

use serde_json::Value;

use crate::checks::{Code, Severities, Severity};
use crate::ide::hints::Kind;
use crate::model::source::Libraries;

/// The section of the editor's configuration.
pub const SECTION: &str = "buflens";

/// Keys that editors' extensions keep in the same section for themselves.
const OF_EDITORS: [&str; 3] = ["path", "server", "trace"];

/// What the user has chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    severities: Severities,
    /// By the order of [`Kind::ALL`].
    hints: [Option<bool>; Kind::ALL.len()],
    code_lens: Option<bool>,
    library_paths: Option<Vec<String>>,
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
                ("inlayHints", Value::Bool(all)) => config.hints = [Some(*all); Kind::ALL.len()],
                ("inlayHints", Value::Object(kinds)) => {
                    for (name, value) in kinds {
                        let kind = Kind::ALL.iter().position(|kind| kind.name() == name);
                        match (kind, value) {
                            (Some(kind), Value::Bool(is_on)) => config.hints[kind] = Some(*is_on),
                            (Some(_), Value::Null) => {}
                            (Some(_), _) => problems.push(format!(
                                "the setting `buflens.inlayHints.{name}` is neither true nor false"
                            )),
                            (None, _) => problems
                                .push(format!("there is no setting `buflens.inlayHints.{name}`")),
                        }
                    }
                }
                ("codeLens", Value::Bool(is_on)) => config.code_lens = Some(*is_on),
                ("libraryPaths", Value::Array(paths)) => {
                    let paths = paths.iter().filter_map(Value::as_str).map(str::to_owned);
                    config.library_paths = Some(paths.collect());
                }
                ("severity" | "inlayHints" | "codeLens" | "libraryPaths", Value::Null) => {}
                (key @ ("severity" | "inlayHints"), _) => {
                    problems.push(format!("the setting `buflens.{key}` is no object"));
                }
                ("codeLens", _) => problems
                    .push("the setting `buflens.codeLens` is neither true nor false".to_owned()),
                ("libraryPaths", _) => {
                    problems.push("the setting `buflens.libraryPaths` is no list".to_owned());
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
            hints: std::array::from_fn(|kind| self.hints[kind].or(base.hints[kind])),
            code_lens: self.code_lens.or(base.code_lens),
            library_paths: self
                .library_paths
                .clone()
                .or_else(|| base.library_paths.clone()),
        }
    }

    /// The kinds of inlay hints that are shown.
    pub fn hints(&self) -> Vec<Kind> {
        let is_on =
            |(kind, chosen): &(Kind, Option<bool>)| chosen.unwrap_or_else(|| kind.is_default());
        let kinds = Kind::ALL.into_iter().zip(self.hints).filter(is_on);
        kinds.map(|(kind, _)| kind).collect()
    }

    /// Whether code lenses are shown.
    pub fn code_lens(&self) -> bool {
        self.code_lens.unwrap_or(true)
    }

    /// Whose lines of source are not the user's own.
    pub fn libraries(&self) -> Libraries {
        Libraries::default().with(self.library_paths.iter().flatten().cloned())
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
    fn hints_and_lenses_are_switched_one_by_one_or_all() {
        let read = |settings: Value| Config::read(&settings).0;
        let shown = |config: &Config| config.hints().len();
        let config = Config::default();
        assert!(config.code_lens() && !config.hints().contains(&Kind::Ends));
        assert_eq!(shown(&config), 5);
        let config = read(json!({ "inlayHints": { "ends": true, "bytes": false, "peak": null } }));
        assert!(config.hints().contains(&Kind::Ends) && !config.hints().contains(&Kind::Bytes));
        let none = read(json!({ "inlayHints": false, "codeLens": false }));
        assert_eq!((shown(&none), none.code_lens()), (0, false));
        let some = config.over(&none);
        assert_eq!(some.hints(), [Kind::Ends]);
        assert!(!some.code_lens());
        assert!(read(json!({ "codeLens": true })).over(&none).code_lens());
    }

    #[test]
    fn libraries_are_those_known_and_those_named() {
        let (config, problems) = Config::read(&json!({ "libraryPaths": ["/home/dev/vendor/"] }));
        assert_eq!(problems, Vec::<String>::new());
        assert!(config.libraries().hold("/home/dev/vendor/layers.py"));
        assert!(config.libraries().hold("/x/site-packages/jax/y.py"));
        assert!(
            !Config::default()
                .libraries()
                .hold("/home/dev/vendor/layers.py")
        );
        assert_eq!(Config::default().over(&config), config);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let (config, problems) = Config::read(&json!({ "buflens": {
            "severity": { "no-such-code": "off", Code::ALL[0].name(): "loud" },
            "colour": 1,
            "trace": { "server": "off" },
            "inlayHints": { "bites": true, "bytes": 1 },
            "codeLens": "yes",
            "libraryPaths": "/home",
        } }));
        assert_eq!(config, Config::default());
        assert_eq!(problems.len(), 7, "{problems:?}");
        assert_eq!(Config::read(&Value::Null), (Config::default(), vec![]));
    }
}
