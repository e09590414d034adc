//! What the user has chosen: `initializationOptions`, and the section `buflens` of the editor's
//! configuration, which goes first.

use serde_json::{Map, Value};

use crate::checks::{Code, Severities, Severity, Thresholds};
use crate::ide::hints::Kind;
use crate::model::bytes;
use crate::model::device::Device;
use crate::model::source::Libraries;
use crate::model::source_map::{Folders, SourceMap};
use crate::model::space;

/// The section of the editor's configuration.
pub const SECTION: &str = "buflens";

/// Keys that editors' extensions keep in the same section for themselves.
const OF_EDITORS: [&str; 3] = ["path", "server", "trace"];

const NO_SETTING: &str = "there is no such setting";
const NO_OBJECT: &str = "expected an object";

/// So many bytes of dumps are read for the index if nothing is chosen.
const INDEX_BYTES: u64 = 2 << 30;

/// What the user has chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    severities: Severities,
    /// By the order of [`Kind::ALL`].
    hints: [Option<bool>; Kind::ALL.len()],
    code_lens: Option<bool>,
    library_paths: Option<Vec<String>>,
    source_map: Option<SourceMap>,
    advice: Advice,
    device: Option<Device>,
    capacity: Option<Vec<(String, u64)>>,
    index: Option<bool>,
    index_bytes: Option<u64>,
}

/// What is chosen of the thresholds of advice.
#[derive(Debug, Clone, Default, PartialEq)]
struct Advice {
    min_bytes: Option<u64>,
    padding_ratio: Option<f64>,
    full_percent: Option<u64>,
    repeated_shapes: Option<u64>,
    dead_percent: Option<u64>,
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
        // An empty list is how some write an empty object.
        let is_nothing = settings.is_null() || settings.as_array().is_some_and(Vec::is_empty);
        if !settings.is_object() && !is_nothing {
            problems.push(format!("`{SECTION}`: {NO_OBJECT}"));
        }
        for (key, value) in settings.as_object().into_iter().flat_map(chosen) {
            let told = config.choose(key, value).into_iter();
            problems.extend(told.map(|(at, problem)| format!("`buflens.{key}{at}`: {problem}")));
        }
        (config, problems)
    }

    /// Takes a setting, and tells what is wrong with it.
    fn choose(&mut self, key: &str, value: &Value) -> Vec<Wrong> {
        let own = |chosen: Result<(), String>| {
            let problem = chosen.err().map(|problem| (String::new(), problem));
            problem.into_iter().collect()
        };
        match key {
            "severity" => each(value, |code, level| {
                let level = level.as_str().unwrap_or_default();
                self.severities.choose(code, level)
            }),
            "inlayHints" if value.is_boolean() => {
                self.hints = [value.as_bool(); Kind::ALL.len()];
                Vec::new()
            }
            "inlayHints" if !value.is_object() => {
                own(Err("expected true, false or an object".to_owned()))
            }
            "inlayHints" => each(value, |name, value| {
                let kind = Kind::ALL.iter().position(|kind| kind.name() == name);
                self.hints[kind.ok_or(NO_SETTING)?] = Some(switch(value)?);
                Ok(())
            }),
            "codeLens" => own(switch(value).map(|is_on| self.code_lens = Some(is_on))),
            "index" => own(switch(value).map(|is_on| self.index = Some(is_on))),
            "indexBytes" => own(chosen_bytes(value).map(|it| self.index_bytes = Some(it))),
            "libraryPaths" => own(self.choose_libraries(value)),
            "sourceMap" => {
                let mut known = Vec::new();
                let told = each(value, |from, to| {
                    known.push(Folders::new(from, to.as_str().unwrap_or_default())?);
                    Ok(())
                });
                self.source_map = value.is_object().then(|| SourceMap::new(known));
                told
            }
            "advice" => each(value, |key, value| self.advice.choose(key, value)),
            "device" => own(value
                .as_str()
                .ok_or_else(|| "expected a text".to_owned())
                .and_then(Device::named)
                .map(|device| self.device = Some(device))),
            "capacity" => {
                let mut capacity = Vec::new();
                let told = each(value, |space, value| {
                    space::called_anywhere(space)?;
                    capacity.push((space.to_owned(), chosen_bytes(value)?));
                    Ok(())
                });
                self.capacity = value.is_object().then_some(capacity);
                told
            }
            key if OF_EDITORS.contains(&key) => Vec::new(),
            _ => own(Err(NO_SETTING.to_owned())),
        }
    }

    fn choose_libraries(&mut self, value: &Value) -> Result<(), String> {
        let paths = value.as_array().ok_or("expected a list")?;
        let texts = paths.iter().filter_map(Value::as_str).map(str::to_owned);
        let texts: Vec<String> = texts.collect();
        let is_whole = texts.len() == paths.len() && !texts.iter().any(String::is_empty);
        self.library_paths = Some(texts);
        let problem = "what is no text in the list, or an empty one, is left out";
        is_whole.then_some(()).ok_or_else(|| problem.to_owned())
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
            source_map: self.source_map.clone().or_else(|| base.source_map.clone()),
            advice: self.advice.over(&base.advice),
            device: self.device.or(base.device),
            capacity: self.capacity.clone().or_else(|| base.capacity.clone()),
            index: self.index.or(base.index),
            index_bytes: self.index_bytes.or(base.index_bytes),
        }
    }

    /// Whether the folders of the workspace are searched for dumps.
    pub fn index(&self) -> bool {
        self.index.unwrap_or(true)
    }

    /// So many bytes of dumps are read for the index.
    pub fn index_bytes(&self) -> u64 {
        self.index_bytes.unwrap_or(INDEX_BYTES)
    }

    /// From when on something is worth advice.
    pub fn thresholds(&self) -> Thresholds {
        let (advice, default) = (&self.advice, Thresholds::default());
        let repeated_shapes = advice.repeated_shapes.map(usize::try_from);
        let of_device = self.device.iter().map(Device::capacity);
        // Of several for one memory space the last one goes.
        let chosen = self.capacity.iter().flatten().cloned();
        Thresholds {
            min_bytes: advice.min_bytes.unwrap_or(default.min_bytes),
            padding_ratio: advice.padding_ratio.unwrap_or(default.padding_ratio),
            full_percent: advice.full_percent.unwrap_or(default.full_percent),
            repeated_shapes: repeated_shapes
                .map_or(default.repeated_shapes, |count| count.unwrap_or(usize::MAX)),
            dead_percent: advice.dead_percent.unwrap_or(default.dead_percent),
            capacity: of_device.chain(chosen).collect(),
            libraries: self.libraries(),
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

    /// Where the files of source are that dumps name.
    pub fn source_map(&self) -> &SourceMap {
        static NONE: SourceMap = SourceMap::EMPTY;
        self.source_map.as_ref().unwrap_or(&NONE)
    }

    /// The severity of a code; `None` if it is off.
    pub fn severity(&self, code: Code) -> Option<Severity> {
        self.severities.of(code)
    }

    /// The severities of all codes.
    pub fn severities(&self) -> &Severities {
        &self.severities
    }

    /// What programs are to run on.
    pub fn device(&self) -> Option<Device> {
        self.device
    }
}

impl Advice {
    fn choose(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let percent = || match value.as_u64() {
            Some(percent) if percent <= 100 => Ok(Some(percent)),
            _ => Err("expected a whole number from 0 to 100".to_owned()),
        };
        match key {
            "minBytes" => self.min_bytes = Some(chosen_bytes(value)?),
            "fullPercent" => self.full_percent = percent()?,
            "deadPercent" => self.dead_percent = percent()?,
            "repeatedShapes" => {
                let count = value.as_u64().filter(|&count| count >= 2);
                self.repeated_shapes = Some(count.ok_or("expected a whole number from 2 on")?);
            }
            "paddingRatio" => {
                let ratio = value.as_f64().filter(|&ratio| ratio >= 1.0);
                self.padding_ratio = Some(ratio.ok_or("expected a number from 1 on")?);
            }
            _ => {
                return Err(
                    "there is no such setting; there are minBytes, paddingRatio, \
                            fullPercent, repeatedShapes and deadPercent"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    /// These, and those of `base` where these choose nothing.
    fn over(&self, base: &Self) -> Self {
        Self {
            min_bytes: self.min_bytes.or(base.min_bytes),
            padding_ratio: self.padding_ratio.or(base.padding_ratio),
            full_percent: self.full_percent.or(base.full_percent),
            repeated_shapes: self.repeated_shapes.or(base.repeated_shapes),
            dead_percent: self.dead_percent.or(base.dead_percent),
        }
    }
}

/// The settings that are chosen: `null` chooses nothing.
fn chosen(settings: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    settings.iter().filter(|(_, value)| !value.is_null())
}

/// Which part of a setting is wrong, `.hbm`, nothing for all of it; and why.
type Wrong = (String, String);

/// Has `take` take each entry of a setting that is an object.
fn each(setting: &Value, mut take: impl FnMut(&str, &Value) -> Result<(), String>) -> Vec<Wrong> {
    let Some(entries) = setting.as_object() else {
        return vec![(String::new(), NO_OBJECT.to_owned())];
    };
    let problem = |(name, value): (&String, &Value)| {
        let problem = take(name, value).err()?;
        Some((format!(".{name}"), problem))
    };
    chosen(entries).filter_map(problem).collect()
}

fn switch(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| "expected true or false".to_owned())
}

/// A number of bytes, or a text such as `15.75GiB`.
fn chosen_bytes(value: &Value) -> Result<u64, String> {
    match value {
        Value::String(text) => bytes::read(text),
        value => value.as_u64().ok_or_else(|| bytes::EXPECTED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Platforms;

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
    fn the_index_is_switched_and_bounded() {
        let config = Config::default();
        assert!(config.index() && config.index_bytes() == 2 << 30);
        let (off, problems) = Config::read(&json!({ "index": false, "indexBytes": "1MiB" }));
        assert_eq!(problems, Vec::<String>::new());
        assert!(!off.index() && off.index_bytes() == 1 << 20);
        let (on, _) = Config::read(&json!({ "index": true, "indexBytes": null }));
        let on = on.over(&off);
        assert!(on.index() && on.index_bytes() == 1 << 20);
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
    fn folders_of_another_machine_are_those_of_this() {
        let (config, problems) = Config::read(&json!({ "sourceMap": { "/app": "/home/dev" } }));
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(config.source_map().here("/app/m.py"), "/home/dev/m.py");
        assert_eq!(
            Config::default().source_map().here("/app/m.py"),
            "/app/m.py"
        );
        assert_eq!(Config::default().over(&config), config);
        let (_, problems) = Config::read(&json!({ "sourceMap": { "/app": 1, "": "/home" } }));
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let (config, problems) = Config::read(&json!({ "buflens": {
            "severity": { "no-such-code": "off", Code::ALL[0].name(): "loud" },
            "colour": 1,
            "trace": { "server": "off" },
            "inlayHints": { "bites": true, "bytes": 1 },
            "codeLens": "yes",
            "index": 1,
            "indexBytes": "much",
            "libraryPaths": "/work",
        } }));
        assert_eq!(config, Config::default());
        let (config, told) =
            Config::read(&json!({ "libraryPaths": ["/a/", 1], "advice": { "minBytes": null } }));
        assert!(config.libraries().hold("/a/b.py"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(problems.len(), 9, "{problems:?}");
        for (settings, told) in [
            (json!("all"), "`buflens`: expected an object"),
            (
                json!({ "inlayHints": "all" }),
                "`buflens.inlayHints`: expected true, false or an object",
            ),
            (
                json!({ "libraryPaths": [""] }),
                "`buflens.libraryPaths`: what is no text in the list, or an empty one, is left out",
            ),
        ] {
            assert_eq!(Config::read(&settings).1, [told]);
        }
        for nothing in [Value::Null, json!([]), json!({})] {
            assert_eq!(Config::read(&nothing), (Config::default(), vec![]));
        }
    }

    #[test]
    fn thresholds_and_capacities_are_chosen() {
        assert_eq!(Config::default().thresholds(), Thresholds::default());
        let read = |settings: &Value| {
            let (config, problems) = Config::read(settings);
            assert_eq!(problems, Vec::<String>::new());
            config
        };
        let initial = read(&json!({
            "advice": { "minBytes": "64KiB", "paddingRatio": 1.5, "deadPercent": 90 },
            "capacity": { "hbm": "15.75GiB", "@1": 1024 },
            "libraryPaths": ["/vendor/"],
        }));
        let later =
            read(&json!({ "advice": { "minBytes": 0, "repeatedShapes": 3, "fullPercent": 50 } }));
        let thresholds = later.over(&initial).thresholds();
        assert_eq!(
            thresholds,
            Thresholds {
                min_bytes: 0,
                padding_ratio: 1.5,
                full_percent: 50,
                repeated_shapes: 3,
                dead_percent: 90,
                capacity: vec![("@1".to_owned(), 1024), ("hbm".to_owned(), 16_911_433_728)],
                libraries: Libraries::default().with(["/vendor/".to_owned()]),
            }
        );
        assert_eq!(initial.thresholds().min_bytes, 65_536);
        assert_eq!(
            read(&json!({ "advice": null, "capacity": null, "device": null,
                          "severity": { Code::ALL[0].name(): null }, "inlayHints": { "peak": null } })),
            Config::default()
        );
        let hbm = |config: &Config| config.thresholds().capacity_of(0, Platforms::default());
        assert_eq!(
            hbm(&read(&json!({ "device": "v6e" }))),
            Some(33_554_432_000)
        );
        assert_eq!(
            hbm(&read(&json!({ "device": "v6e" })).over(&initial)),
            Some(16_911_433_728),
            "what is said of a memory space goes before what is known of the device"
        );
    }

    #[test]
    fn wrong_thresholds_are_told_with_what_is_expected() {
        let (config, problems) = Config::read(&json!({
            "advice": { "minBytes": "1GB", "fullPercent": 101, "paddingRatio": 0.5, "minbytes": 1,
                        "repeatedShapes": 1 },
            "capacity": { "hbm": "16 gigabytes", "hmb": "16GiB" }, "device": "v5",
        }));
        assert_eq!(config.thresholds(), Thresholds::default());
        assert_eq!(problems.len(), 8, "{problems:#?}");
        assert!(problems.iter().any(|it| it.contains("`v5`; there are v2,")));
        assert!(
            problems.iter().filter(|it| it.contains("15.75GiB")).count() == 2,
            "{problems:#?}"
        );
        let (_, problems) = Config::read(&json!({ "advice": 1, "capacity": [], "device": 5 }));
        assert_eq!(problems.len(), 3, "{problems:#?}");
    }
}
