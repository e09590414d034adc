//! The commands beyond the protocol, described in `docs/lsp-extensions.md`. What they answer is
//! made of the records that the command line writes as JSON.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;

use super::config::Config;
use super::transport::answer::Written;
use super::view::View;
use crate::audit::Audit;
use crate::model::device::Device;
use crate::model::{Dump, Place};
use crate::report::pages;
use crate::report::records::{self, Answer, PeakQuery, Source};
use crate::report::{export, html, judged, svg, text_map};
use crate::workspace::{self, Loaded, Unavailable};

/// Their names, as they are offered to the client.
pub const COMMANDS: [&str; 11] = [
    "buflens.peak",
    "buflens.whatIf",
    "buflens.valueAtOffset",
    "buflens.padding",
    "buflens.donation",
    "buflens.copies",
    "buflens.map",
    "buflens.textMap",
    "buflens.diff",
    "buflens.export",
    super::r#where::COMMAND,
];

/// So many values, parameters or copies at most, if no other number is given.
pub const LIMIT: usize = 1000;

/// What is asked, and of which document.
#[derive(Debug)]
pub struct Question {
    pub uri: lsp::Uri,
    command: Command,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "command", content = "argument")]
enum Command {
    #[serde(rename = "buflens.peak")]
    Peak(Peak),
    #[serde(rename = "buflens.whatIf")]
    WhatIf(WhatIf),
    #[serde(rename = "buflens.valueAtOffset")]
    ValueAtOffset(ValueAtOffset),
    #[serde(rename = "buflens.padding")]
    Padding(Padding),
    #[serde(rename = "buflens.donation")]
    Donation(Limit),
    #[serde(rename = "buflens.copies")]
    Copies(Limit),
    #[serde(rename = "buflens.map")]
    Map(Limit),
    #[serde(rename = "buflens.textMap")]
    TextMap(TextMap),
    #[serde(rename = "buflens.diff")]
    Diff(Diff),
    #[serde(rename = "buflens.export")]
    Export(Export),
}

impl Command {
    /// The memory space asked for, if one is.
    fn space(&self) -> Option<u64> {
        match self {
            Self::Peak(asked) => asked.space,
            Self::WhatIf(asked) => asked.space,
            Self::Padding(asked) => asked.space,
            Self::TextMap(asked) => asked.space,
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peak {
    space: Option<u64>,
    step: Option<u64>,
    without: Option<Vec<u64>>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatIf {
    space: Option<u64>,
    without: Vec<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueAtOffset {
    allocation: u64,
    offset: u64,
    step: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Padding {
    space: Option<u64>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limit {
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextMap {
    space: Option<u64>,
    width: Option<u16>,
}

/// What changed, with what shows it.
#[derive(Debug, Serialize)]
struct Shown<T> {
    #[serde(flatten)]
    answer: T,
    #[serde(flatten)]
    page: Page,
}

/// What needs no drawing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Page {
    Text(String),
    Markdown(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Diff {
    other: lsp::Uri,
    limit: Option<usize>,
    width: Option<u16>,
}

impl Question {
    /// The document that the one asked about is compared with.
    pub fn other(&self) -> Option<&lsp::Uri> {
        match &self.command {
            Command::Diff(asked) => Some(&asked.other),
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    format: String,
}

/// A dump as a file, and how its name ends.
#[derive(Debug, Serialize)]
struct Exported {
    text: String,
    extension: &'static str,
}

/// Reads the parameters of `workspace/executeCommand`.
pub fn read(params: lsp::ExecuteCommandParams) -> Result<Question> {
    let name = &*params.command;
    // A client that knows no better way offers an unknown command as one.
    if !COMMANDS.contains(&name) {
        let problem = format!("there is no command `{name}`");
        return Err(Error::invalid_params(problem));
    }
    let mut argument = only_object(name, params.arguments)?;
    let uri = argument
        .remove("uri")
        .ok_or_else(|| wrong(name, "missing field `uri`"))?;
    Ok(Question {
        uri: argument_of(name, uri)?,
        command: argument_of(name, json!({ "command": name, "argument": argument }))?,
    })
}

/// The one argument of the command, which is an object.
pub fn only_object(name: &str, arguments: Vec<Value>) -> Result<Map<String, Value>> {
    let mut arguments = arguments.into_iter();
    match (arguments.next(), arguments.next()) {
        (Some(Value::Object(argument)), None) => Ok(argument),
        _ => Err(Error::invalid_params(format!(
            "`{name}` takes one argument, an object"
        ))),
    }
}

/// Reads the argument of the command, or a part of it.
pub fn argument_of<T: DeserializeOwned>(name: &str, argument: Value) -> Result<T> {
    serde_json::from_value(argument).map_err(|problem| wrong(name, problem))
}

/// The argument of the command makes no sense.
pub fn wrong(name: &str, problem: impl Display) -> Error {
    Error::invalid_params(format!("the argument of `{name}`: {problem}"))
}

/// The answer, or why the question makes no sense for this dump. `other` is what there is of
/// [`Question::other`].
pub fn answer(
    view: &View,
    other: Option<&View>,
    question: &Question,
) -> std::result::Result<std::result::Result<Written, String>, Unavailable> {
    let Loaded { dump, .. } = view.loaded()?;
    let before = other.map(loaded).transpose()?;
    let before = before.as_ref();
    let audit = Audit::new(&dump, view.config.libraries());
    let locate = |place: &Place| view.location(&dump, place);
    let source = Source {
        audit: &audit,
        locate: &locate,
    };
    let space = question.command.space();
    if let Some(problem) = space.and_then(|color| records::space_problem(&dump, color)) {
        return Ok(Err(problem));
    }
    Ok(match &question.command {
        Command::Peak(asked) => peak(&source, asked),
        Command::WhatIf(asked) => {
            let color = asked.space.or_else(|| space_of(&dump, &asked.without));
            let what_if = records::what_if(&audit, color.unwrap_or(0), asked.without.clone());
            to_json(&dump, what_if)
        }
        Command::ValueAtOffset(asked) => {
            let ValueAtOffset {
                allocation,
                offset,
                step,
            } = *asked;
            records::values_at_offset(&source, allocation, offset, step)
                .and_then(|values| to_json(&dump, values))
        }
        Command::Padding(asked) => {
            let limit = asked.limit.unwrap_or(LIMIT);
            to_json(&dump, records::padding(&source, asked.space, limit))
        }
        Command::Donation(asked) => {
            let limit = asked.limit.unwrap_or(LIMIT);
            to_json(&dump, records::donation(&source, limit))
        }
        Command::Copies(asked) => {
            let limit = asked.limit.unwrap_or(LIMIT);
            to_json(&dump, records::copies(&source, limit))
        }
        Command::Map(asked) => {
            let limit = asked.limit.unwrap_or(records::MOST_MAPPED);
            to_json(&dump, records::map(&audit, limit))
        }
        Command::TextMap(asked) => text_map(&audit, asked),
        Command::Diff(asked) => match (other, before) {
            (Some(other), Some(Ok(loaded))) => {
                let dump = &*loaded.dump;
                let audit = Audit::new(dump, other.config.libraries());
                let locate = |place: &Place| other.location(dump, place);
                let before = Source {
                    audit: &audit,
                    locate: &locate,
                };
                let told = diff([&before, &source], asked);
                match loaded.changed().next() {
                    Some(changed) => Err(changed.to_string()),
                    None => told,
                }
            }
            (_, Some(Err(problem))) => Err(problem.clone()),
            _ => Err("there is nothing to compare with".to_owned()),
        },
        Command::Export(asked) => {
            let judged = || {
                let checked = view.checks.of(&dump, &view.config.thresholds());
                let findings = checked.findings(&dump).iter().cloned();
                judged(findings, view.config.severities())
            };
            let export = export::Export {
                audit: &audit,
                findings: &judged,
            };
            let exported = match asked.format.as_str() {
                "html" => Ok(report(&source, &view.config)),
                "svg" => Ok(picture(&audit)),
                format => exported(&export, format),
            };
            exported.and_then(|exported| to_json(&dump, exported))
        }
    })
}

fn peak(
    source: &Source<'_, '_, lsp::Location>,
    asked: &Peak,
) -> std::result::Result<Written, String> {
    let dump = source.audit.dump;
    let color = asked.space.unwrap_or(0);
    if let Some(problem) = asked
        .step
        .and_then(|step| records::step_problem(dump, color, step))
    {
        return Err(problem);
    }
    let known = |&id: &u64| {
        let value = dump.value_with_id(id);
        value.ok_or_else(|| format!("the dump has no value `{id}`"))
    };
    let without = asked.without.iter().flatten().map(known);
    let without: Vec<u32> = without.collect::<std::result::Result<_, _>>()?;
    let query = PeakQuery {
        color,
        step: asked.step,
        without: &without,
        limit: asked.limit.unwrap_or(LIMIT),
    };
    to_json(dump, records::peak(source, &query).0)
}

fn text_map(audit: &Audit, asked: &TextMap) -> std::result::Result<Written, String> {
    let map = records::map(audit, usize::MAX);
    let mut options = text_map::Options::default();
    options.selection.space = asked.space;
    options.width = asked.width.map_or(options.width, usize::from);
    if let Some(problem) = options.selection.problem(&map) {
        return Err(problem);
    }
    let text = text_map::text(&map, &workspace::program_name(audit.dump), &options);
    to_json(audit.dump, Page::Text(text))
}

/// The memory space that all of the values of these ids lie in.
fn space_of(dump: &Dump, ids: &[u64]) -> Option<u64> {
    let values = ids.iter().filter_map(|&id| dump.value_with_id(id));
    let mut spaces = values.filter_map(|at| dump.color_of(at));
    let first = spaces.next()?;
    spaces.all(|space| space == first).then_some(first)
}

/// The dump that another is compared with, or why it cannot be.
fn loaded(view: &View) -> std::result::Result<std::result::Result<Loaded, String>, Unavailable> {
    let path = &view.snapshot.path;
    let problem = |reason: &str| {
        Ok(Err(format!(
            "{} cannot be compared: {reason}",
            path.display()
        )))
    };
    let loaded = if view.snapshot.is_open() {
        match view.snapshot.load() {
            Ok(loaded) => loaded,
            Err(Unavailable::Outdated) => return Err(Unavailable::Outdated),
            Err(_) => return problem("its text is not known at this moment"),
        }
    } else if path.is_file() {
        // Nobody would close it, so it is not kept.
        match workspace::load(path) {
            Ok(loaded) => loaded,
            Err(error) => return problem(&error.reason.to_string()),
        }
    } else {
        // Whoever reads a pipe waits for somebody to write.
        return problem("there is no such file");
    };
    let dump = &loaded.dump;
    if dump.values.is_empty() && dump.allocations.is_empty() && !dump.has_live_ranges() {
        return problem("it is no part of a dump");
    }
    Ok(Ok(loaded))
}

/// What changed: the record, and the same for people as `markdown`, or `text` where a width is given.
fn diff(
    [before, after]: [&Source<'_, '_, lsp::Location>; 2],
    asked: &Diff,
) -> std::result::Result<Written, String> {
    let diff = records::diff([before, after], asked.limit.unwrap_or(LIMIT));
    let answer = Answer::new(after.audit.dump, diff);
    let page = pages::diff::page(&answer);
    let page = if let Some(width) = asked.width {
        Page::Text(page.plain_text(width.into()))
    } else {
        let mut markdown = Vec::new();
        page.write_markdown(&mut markdown)
            .map_err(|problem| problem.to_string())?;
        Page::Markdown(String::from_utf8_lossy(&markdown).into_owned())
    };
    Written::new(&Shown { answer, page }).map_err(|problem| problem.to_string())
}

/// What `buflens report` writes.
fn report(source: &Source<'_, '_, lsp::Location>, config: &Config) -> Exported {
    let fits = |device: &Device| device.problem(source.audit.dump.platforms).is_none();
    let wanted = html::dump::Wanted {
        limit: html::dump::ROWS,
        device: config.device().filter(fits),
        thresholds: config.thresholds(),
        severities: config.severities().clone(),
    };
    Exported {
        text: html::dump::report(source, &wanted),
        extension: "html",
    }
}

/// What `buflens map --format svg` writes.
fn picture(audit: &Audit) -> Exported {
    let map = records::map(audit, records::MOST_MAPPED);
    let title = workspace::program_name(audit.dump);
    Exported {
        text: svg::svg(&map, &title, &svg::Options::default()),
        extension: "svg",
    }
}

fn exported(export: &export::Export, format: &str) -> std::result::Result<Exported, String> {
    let format =
        export::Format::named(format).map_err(|problem| format!("{problem}, html, svg"))?;
    if let Some(problem) = export.problem(format) {
        return Err(problem);
    }
    let mut text = Vec::new();
    let written = export.write(format, &mut text);
    written.map_err(|problem| problem.to_string())?;
    Ok(Exported {
        text: String::from_utf8(text).map_err(|problem| problem.to_string())?,
        extension: format.extension(),
    })
}

fn to_json<T: Serialize>(dump: &Dump, content: T) -> std::result::Result<Written, String> {
    Written::new(&Answer::new(dump, content)).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(command: &str, arguments: &Value) -> String {
        let params = json!({ "command": command, "arguments": arguments });
        let error = read(serde_json::from_value(params).expect("parameters")).expect_err("none");
        assert_eq!(error.code.code(), -32602);
        error.message.into_owned()
    }

    #[test]
    fn arguments_that_make_no_sense_are_told() {
        let uri = "file:///x.txt";
        assert_eq!(
            problem("buflens.nothing", &json!([])),
            "there is no command `buflens.nothing`"
        );
        let one_object = "`buflens.peak` takes one argument, an object";
        assert_eq!(problem("buflens.peak", &json!([])), one_object);
        assert_eq!(problem("buflens.peak", &json!([uri])), one_object);
        assert!(problem("buflens.peak", &json!([{}])).contains("missing field `uri`"));
        let step = problem("buflens.peak", &json!([{ "uri": uri, "step": -1 }]));
        assert!(step.contains("invalid value: integer `-1`"), "{step}");
        let without = problem("buflens.whatIf", &json!([{ "uri": uri }]));
        assert!(without.contains("missing field `without`"), "{without}");
    }
}
