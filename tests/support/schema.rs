//! JSON held against a JSON schema of draft 7, as far as SARIF's uses it. The crates for this have so many
//! features of shared dependencies switched on that all of these would be built twice.

use serde_json::Value;

/// Keywords that say nothing about values, or only about texts that Buflens does not write (GUIDs,
/// times).
const PASSED_OVER: [&str; 8] = [
    "$id",
    "$schema",
    "default",
    "definitions",
    "description",
    "format",
    "pattern",
    "title",
];

/// Where `value` is not as `schema`, a part of the schema `whole`, wants it; `at` is its path.
pub fn problems(whole: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fails = |what: String| found.push(format!("{at}: {what}"));
    let mut below: Vec<(&Value, &Value, String)> = Vec::new();
    let schema = schema.as_object().expect("a schema is an object");
    let numbers = |items: &Value| items.as_array().map_or(0, Vec::len) as u64;
    for (keyword, wanted) in schema {
        match keyword.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().and_then(|it| it.strip_prefix('#'));
                let target = whole.pointer(pointer.expect("a place in this schema"));
                below.push((target.expect("a definition"), value, at.to_owned()));
            }
            "type" => {
                let is_type = match wanted.as_str().expect("one type") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    other => panic!("the type {other}"),
                };
                if !is_type {
                    fails(format!("{value} is no {wanted}"));
                }
            }
            "enum" => {
                if !wanted.as_array().expect("a list").contains(value) {
                    fails(format!("{value} is none of {wanted}"));
                }
            }
            "required" => {
                for name in wanted
                    .as_array()
                    .expect("a list")
                    .iter()
                    .filter_map(Value::as_str)
                {
                    if value.is_object() && value.get(name).is_none() {
                        fails(format!("{name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("an object") {
                    if let Some(value) = value.get(name) {
                        below.push((schema, value, format!("{at}/{name}")));
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    match wanted {
                        Value::Bool(false) => fails(format!("{name} is not known")),
                        Value::Bool(true) => {}
                        schema => below.push((schema, value, format!("{at}/{name}"))),
                    }
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    below.push((wanted, item, format!("{at}/{number}")));
                }
            }
            "minItems" => {
                if value.is_array() && numbers(value) < wanted.as_u64().expect("a number") {
                    fails(format!("fewer than {wanted} items"));
                }
            }
            "uniqueItems" => {
                let mut texts: Vec<String> = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(Value::to_string)
                    .collect();
                texts.sort();
                if wanted == &Value::Bool(true) && texts.windows(2).any(|pair| pair[0] == pair[1]) {
                    fails("an item stands there twice".to_owned());
                }
            }
            "minimum" | "maximum" => {
                let (value, limit) = (value.as_f64(), wanted.as_f64().expect("a number"));
                let is_minimum = keyword == "minimum";
                if value.is_some_and(|it| if is_minimum { it < limit } else { it > limit }) {
                    fails(format!("{value:?} is beyond the {keyword} {limit}"));
                }
            }
            "anyOf" | "oneOf" => {
                let choices = wanted.as_array().expect("a list").iter();
                let fitting = choices
                    .filter(|it| problems(whole, it, value, at).is_empty())
                    .count();
                if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                    fails(format!("{fitting} choices of {keyword} fit"));
                }
            }
            other => assert!(PASSED_OVER.contains(&other), "the keyword {other}"),
        }
    }
    for (schema, value, at) in below {
        found.extend(problems(whole, schema, value, &at));
    }
    found
}
