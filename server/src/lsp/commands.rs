//! The commands beyond the protocol, described in `docs/lsp-extensions.md`. What they answer is
//! made of the records that the command line writes as JSON.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::ls_types as lsp;

use super::view::View;
use crate::audit::Audit;
use crate::model::{Dump, Place};
use crate::report::records::{self, Answer, PeakQuery, Source};
use crate::workspace::{Loaded, Unavailable};

/// Their names, as they are offered to the client.
pub const COMMANDS: [&str; 7] = [
    "buflens.peak",
    "buflens.whatIf",
    "buflens.valueAtOffset",
    "buflens.padding",
    "buflens.donation",
    "buflens.copies",
    "buflens.map",
];

/// So many values, parameters or copies at most, if no other number is given.
const LIMIT: usize = 1000;

/// What is asked, and of which document.
#[derive(Debug)]
pub struct Question {
    pub uri: lsp::Uri,
    command: Command,
}

#[derive(Debug)]
enum Command {
    Peak(Peak),
    WhatIf(WhatIf),
    ValueAtOffset(ValueAtOffset),
    Padding(Padding),
    Donation(Limit),
    Copies(Limit),
    Map(Limit),
}

#[derive(Debug, Deserialize)]
struct Document {
    uri: lsp::Uri,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peak {
    #[serde(rename = "uri")]
    _uri: IgnoredAny,
    space: Option<u64>,
    step: Option<u64>,
    without: Option<Vec<u64>>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatIf {
    #[serde(rename = "uri")]
    _uri: IgnoredAny,
    space: Option<u64>,
    without: Vec<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueAtOffset {
    #[serde(rename = "uri")]
    _uri: IgnoredAny,
    allocation: u64,
    offset: u64,
    step: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Padding {
    #[serde(rename = "uri")]
    _uri: IgnoredAny,
    space: Option<u64>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limit {
    #[serde(rename = "uri")]
    _uri: IgnoredAny,
    limit: Option<usize>,
}

/// Reads the parameters of `workspace/executeCommand`.
pub fn read(params: lsp::ExecuteCommandParams) -> Result<Question> {
    let name = params.command;
    // A client that knows no better way offers an unknown command as one.
    if !COMMANDS.contains(&name.as_str()) {
        return Err(Error::invalid_params(format!(
            "there is no command `{name}`"
        )));
    }
    let mut arguments = params.arguments.into_iter();
    let (Some(argument @ Value::Object(_)), None) = (arguments.next(), arguments.next()) else {
        return Err(Error::invalid_params(format!(
            "`{name}` takes one argument, an object"
        )));
    };
    let Document { uri } = argument_of(&name, argument.clone())?;
    let command = match name.as_str() {
        "buflens.peak" => Command::Peak(argument_of(&name, argument)?),
        "buflens.whatIf" => Command::WhatIf(argument_of(&name, argument)?),
        "buflens.valueAtOffset" => Command::ValueAtOffset(argument_of(&name, argument)?),
        "buflens.padding" => Command::Padding(argument_of(&name, argument)?),
        "buflens.donation" => Command::Donation(argument_of(&name, argument)?),
        "buflens.copies" => Command::Copies(argument_of(&name, argument)?),
        _ => Command::Map(argument_of(&name, argument)?),
    };
    Ok(Question { uri, command })
}

fn argument_of<T: DeserializeOwned>(name: &str, argument: Value) -> Result<T> {
    let read = serde_json::from_value(argument);
    read.map_err(|problem| Error::invalid_params(format!("the argument of `{name}`: {problem}")))
}

/// The answer, or why the question makes no sense for this dump.
pub fn answer(
    view: &View,
    question: &Question,
) -> std::result::Result<std::result::Result<Value, String>, Unavailable> {
    let Loaded { dump, .. } = view.loaded()?;
    let audit = Audit::new(&dump, view.config.libraries());
    let locate = |place: &Place| view.location(&dump, place);
    let source = Source {
        audit: &audit,
        locate: &locate,
    };
    Ok(match &question.command {
        Command::Peak(asked) => peak(&source, asked),
        Command::WhatIf(asked) => {
            let color = asked.space.unwrap_or(0);
            to_json(
                &dump,
                records::what_if(&audit, color, asked.without.clone()),
            )
        }
        Command::ValueAtOffset(asked) => {
            let ValueAtOffset {
                allocation,
                offset,
                step,
                ..
            } = *asked;
            match records::values_at_offset(&source, allocation, offset, step) {
                Some(values) => to_json(&dump, values),
                None => Err(format!("there is no allocation {allocation}")),
            }
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
    })
}

fn peak(
    source: &Source<'_, '_, lsp::Location>,
    asked: &Peak,
) -> std::result::Result<Value, String> {
    let dump = source.audit.dump;
    let color = asked.space.unwrap_or(0);
    if let Some(problem) = asked
        .step
        .and_then(|step| records::step_problem(dump, color, step))
    {
        return Err(problem);
    }
    let ids = asked.without.iter().flatten();
    let without: Vec<u32> = ids.filter_map(|&id| dump.value_with_id(id)).collect();
    let query = PeakQuery {
        color,
        step: asked.step,
        without: &without,
        limit: asked.limit.unwrap_or(LIMIT),
    };
    to_json(dump, records::peak(source, &query).0)
}

fn to_json<T: serde::Serialize>(dump: &Dump, content: T) -> std::result::Result<Value, String> {
    serde_json::to_value(Answer::new(dump, content)).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
