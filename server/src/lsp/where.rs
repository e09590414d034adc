//! `buflens.where`: the values that lines of source made, in all dumps that are known.

use std::path::PathBuf;
use std::str::FromStr;

use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types as lsp;

use super::commands::{LIMIT, argument_of, only_object, wrong};
use super::convert;
use super::session::Session;
use super::transport::answer::Written;
use super::view::{View, dumps};
use crate::audit::Audit;
use crate::model::Place;
use crate::model::lines::Lines;
use crate::report::records::{self, Made, Source};
use crate::workspace::{self, Loaded};

/// The command's name.
pub const COMMAND: &str = "buflens.where";

/// So many dumps that nobody has open are read for an answer.
const MOST_READ: usize = 100;

/// What is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    file: String,
    line: Option<u32>,
    last_line: Option<u32>,
    limit: Option<usize>,
}

/// Reads the argument of the command.
pub fn read(arguments: Vec<Value>) -> Result<Question> {
    let argument = only_object(COMMAND, arguments)?;
    let question: Question = argument_of(COMMAND, Value::Object(argument))?;
    let is_range = match (question.line, question.last_line) {
        (Some(first), last) => 0 < first && last.is_none_or(|last| first <= last),
        (None, last) => last.is_none(),
    };
    if !is_range {
        let problem = "`line` counts from 1, and `last_line` is not before it";
        return Err(wrong(COMMAND, problem));
    }
    Ok(question)
}

/// What the lines made in the dumps that are open, which `views` are of, and in those of the index that tell of the file.
pub fn answer(
    session: &Session,
    views: &[View],
    question: &Question,
) -> std::result::Result<Written, String> {
    let uri = lsp::Uri::from_str(&question.file).ok();
    let uri = uri.filter(|_| question.file.starts_with("file:"));
    let file = uri.map_or_else(|| PathBuf::from(&question.file), |uri| convert::path(&uri));
    let lines = Lines {
        file: file.to_string_lossy().into_owned(),
        range: question
            .line
            .map(|first| first..=question.last_line.unwrap_or(first)),
    };
    let limit = question.limit.unwrap_or(LIMIT);
    let part = |view: &View, Loaded { dump, file, .. }: &Loaded| {
        let audit = Audit::new(dump, view.config.libraries());
        let source = Source {
            audit: &audit,
            locate: &|place: &Place| view.location(dump, place),
        };
        let path = &dump.files[*file].path;
        records::made(&source, path, &lines, None, view.config.source_map(), limit)
    };
    let open: FxHashSet<PathBuf> = views.iter().map(View::stem).collect();
    let mut parts: Vec<_> = dumps(views)
        .map(|(view, loaded)| part(view, &loaded))
        .collect();
    let mut closed = session.indexing.index.dumps_made_by(&lines);
    closed.retain(|path| !open.contains(&workspace::stem_or_path(path)));
    // A file that went away in the meantime, or changed, tells nothing.
    parts.extend(closed.iter().take(MOST_READ).filter_map(|path| {
        let loaded = workspace::load(path).ok()?;
        let part = part(&session.view(path), &loaded);
        loaded.changed().next().is_none().then_some(part)
    }));
    let mut made = Made::new(&lines, None, parts, limit);
    made.dumps_left_out = closed.len().saturating_sub(MOST_READ);
    if made.files.is_empty() && closed.is_empty() {
        made.add_other_files(session.indexing.index.files_of_source());
    }
    Written::new(&made).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_that_make_no_sense_are_told() {
        let problem = |arguments: Vec<Value>| read(arguments).expect_err("a problem").message;
        assert!(problem(vec![]).contains("takes one argument, an object"));
        assert!(problem(vec![json!({})]).contains("missing field `file`"));
        for lines in [
            json!({ "line": 0 }),
            json!({ "line": 3, "last_line": 2 }),
            json!({ "last_line": 2 }),
        ] {
            let mut argument = lines;
            argument["file"] = "m.py".into();
            assert!(problem(vec![argument]).contains("counts from 1"));
        }
        assert!(read(vec![json!({ "file": "m.py", "line": 3, "last_line": 3 })]).is_ok());
    }
}
