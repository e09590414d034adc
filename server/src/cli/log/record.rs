//! Lines out of records of JSON, as containers and notebooks keep them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::has_beginning;

/// What loggers call the text of a record.
const TEXTS: [&str; 4] = ["log", "message", "msg", "textPayload"];

/// The line that a record of JSON holds, as containers write one for each line of their output; else the line as it is,
/// also where another part of the record may hold a message. And the line that a notebook holds as a text of JSON.
pub(super) fn of_record(line: &str) -> Cow<'_, str> {
    if let Some(line) = of_notebook(line) {
        return Cow::Owned(line);
    }
    let record = Some(line.trim()).filter(|it| it.starts_with('{') && it.ends_with('}'));
    let record = record.and_then(|it| serde_json::from_str::<Map<String, Value>>(it).ok());
    let text = record.and_then(|mut record| {
        if let Some(cells) = record.get("cells") {
            let mut text = String::new();
            push_lines(&mut text, cells);
            return Some(text);
        }
        let key = TEXTS.iter().find(|&&key| record.contains_key(key))?;
        let Value::String(text) = record.remove(*key)? else {
            return None;
        };
        let text = text.trim_end_matches(['\r', '\n']);
        let mut others = record.values().filter_map(Value::as_str);
        let is_other = |text: &str| text.contains('\n') || has_beginning(text);
        (!text.contains('\n') && !others.any(is_other)).then(|| format!("{text}\n"))
    });
    text.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// Gives `text` the lines that a notebook without line ends of its own holds in lists.
fn push_lines(text: &mut String, part: &Value) {
    match part {
        Value::Array(all) => {
            for part in all {
                match part.as_str() {
                    Some(line) => {
                        text.push_str(line);
                        if !line.ends_with('\n') {
                            text.push('\n');
                        }
                    }
                    None => push_lines(text, part),
                }
            }
        }
        Value::Object(fields) => {
            for part in fields.values() {
                push_lines(text, part);
            }
        }
        _ => {}
    }
}

/// The line that is the text of JSON of a line, one of a list.
fn of_notebook(line: &str) -> Option<String> {
    let text = line.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    let text: String = serde_json::from_str(Some(text).filter(|it| it.starts_with('"'))?).ok()?;
    let content = text.strip_suffix('\n').unwrap_or(&text);
    (!content.contains('\n')).then(|| format!("{content}\n"))
}
