//! What a body says.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Id, Request, Response};
use tower_lsp::ls_types as lsp;

/// In a body of so many bytes a long text is looked for.
const LARGE: usize = if cfg!(test) { 256 } else { 64 << 10 };
/// Stands for the long text. No editor sends it as a text.
const MARK: &str = "\0";
const MARK_IN_JSON: &[u8] = br"\u0000";

/// What a client has sent.
#[derive(Debug)]
pub enum Incoming {
    /// `textDocument/didOpen`
    Opened(lsp::DidOpenTextDocumentParams),
    /// `textDocument/didChange`
    Changed(lsp::DidChangeTextDocumentParams),
    /// A request, or any other notification.
    Request(Request),
    /// The answer to a request of the server.
    Response(Response),
    /// What is no message, with what there is to answer.
    Invalid(Response),
    /// What is no message and needs no answer.
    Nothing,
}

/// Reads a body.
pub fn read(body: Vec<u8>) -> Incoming {
    let body = if body.len() < LARGE {
        body
    } else {
        match with_long_text(body) {
            Ok(incoming) => return incoming,
            Err(body) => body,
        }
    };
    let message = serde_json::from_slice(&body);
    drop(body);
    match message {
        Ok(Value::Object(fields)) if fields.contains_key("method") => request(fields),
        Ok(Value::Object(fields))
            if fields.contains_key("result") || fields.contains_key("error") =>
        {
            // Answering an answer could go on for ever.
            from_json(Value::Object(fields)).map_or_else(
                |error| {
                    tracing::warn!("an answer of the client makes no sense: {error}");
                    Incoming::Nothing
                },
                Incoming::Response,
            )
        }
        Ok(_) => {
            tracing::warn!("the client sent JSON that is no message");
            invalid(Id::Null, Error::invalid_request())
        }
        Err(error) => {
            tracing::warn!("the client sent what is no JSON: {error}");
            invalid(Id::Null, Error::parse_error())
        }
    }
}

fn request(fields: serde_json::Map<String, Value>) -> Incoming {
    let id = fields.get("id").cloned();
    from_json(Value::Object(fields)).map_or_else(
        |error| {
            tracing::warn!("the client sent a request that is none: {error}");
            let id = id.and_then(|id| from_json(id).ok());
            invalid(id.unwrap_or_default(), Error::invalid_request())
        },
        of_request,
    )
}

fn of_request(request: Request) -> Incoming {
    match (request.method(), request.id()) {
        ("textDocument/didOpen", None) => of_document(request, Incoming::Opened),
        ("textDocument/didChange", None) => of_document(request, Incoming::Changed),
        // It has none, which some clients write as an empty list or object.
        ("shutdown", Some(id)) => {
            Incoming::Request(Request::build("shutdown").id(id.clone()).finish())
        }
        _ => Incoming::Request(request),
    }
}

fn of_document<T: DeserializeOwned>(request: Request, incoming: fn(T) -> Incoming) -> Incoming {
    let (method, _, params) = request.into_parts();
    from_json(params.unwrap_or_default()).map_or_else(
        |error| {
            tracing::warn!("what `{method}` tells is lost, it cannot be read: {error}");
            Incoming::Nothing
        },
        incoming,
    )
}

fn invalid(id: Id, error: Error) -> Incoming {
    Incoming::Invalid(Response::from_error(id, error))
}

fn from_json<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    serde_json::from_value(value)
}

/// Reads a notification of which most is the text of a document, which stays where it is: such
/// texts have hundreds of megabytes, and a [`Value`] or a second copy would hold them again. Gives
/// any other body back.
fn with_long_text(body: Vec<u8>) -> Result<Incoming, Vec<u8>> {
    let Some(place) = strings(&body).find(|place| place.len() > body.len() / 2) else {
        return Err(body);
    };
    let rest = [&body[..place.start], MARK_IN_JSON, &body[place.end..]].concat();
    let request = serde_json::from_slice::<Request>(&rest);
    let Ok(mut incoming) = request.map(of_request) else {
        return Err(body);
    };
    let mut texts: Vec<&mut String> = match &mut incoming {
        Incoming::Opened(params) => vec![&mut params.text_document.text],
        Incoming::Changed(params) => {
            let changes = params.content_changes.iter_mut();
            changes.map(|change| &mut change.text).collect()
        }
        Incoming::Nothing => return Ok(incoming),
        _ => Vec::new(),
    };
    texts.retain(|text| *text == MARK);
    let [text] = &mut *texts else {
        return Err(body);
    };
    let Some(unescaped) = unescaped(body, place) else {
        tracing::warn!("the text of a document is no JSON");
        return Ok(invalid(Id::Null, Error::parse_error()));
    };
    **text = unescaped;
    Ok(incoming)
}

/// The places of the contents of all strings of a JSON text.
fn strings(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memchr::memchr(b'"', json.get(at..)?)? + 1;
        let mut end = start;
        loop {
            end += memchr::memchr2(b'"', b'\\', json.get(end..)?)?;
            if json[end] == b'"' {
                at = end + 1;
                return Some(start..end);
            }
            end += 2;
        }
    })
}

/// The text that is escaped as the content of a JSON string at `place`, in the same buffer.
fn unescaped(mut json: Vec<u8>, place: Range<usize>) -> Option<String> {
    let (mut from, mut to) = (place.start, 0);
    while from < place.end {
        let rest = &json[from..place.end];
        let run = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        // Looks at all bytes, since that is faster than looking for the first control character.
        if rest[..run].iter().copied().fold(u8::MAX, u8::min) < b' ' {
            return None;
        }
        json.copy_within(from..from + run, to);
        from += run;
        to += run;
        if from < place.end {
            let (character, length) = escape(&json[from..place.end])?;
            from += length;
            // No escape is shorter than what it stands for.
            to += character.encode_utf8(&mut json[to..from]).len();
        }
    }
    json.truncate(to);
    // It stays as long as the document does, and a byte of each line's end is gone.
    json.shrink_to_fit();
    String::from_utf8(json).ok()
}

/// The character that an escape at the start of `json` stands for, and the escape's length.
fn escape(json: &[u8]) -> Option<(char, usize)> {
    let character = match json.get(1)? {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        b'u' => {
            let unit = code_unit(json)?;
            if let Some(character) = char::from_u32(u32::from(unit)) {
                return Some((character, 6));
            }
            let units = [unit, code_unit(json.get(6..)?)?];
            let character = char::decode_utf16(units).next()?.ok()?;
            return Some((character, 12));
        }
        _ => return None,
    };
    Some((character, 2))
}

/// The number in `\u12ab`.
fn code_unit(json: &[u8]) -> Option<u16> {
    let digits = json.strip_prefix(br"\u")?.get(..4)?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(message: &Value) -> Incoming {
        read(message.to_string().into_bytes())
    }

    fn opening(text: &str) -> Value {
        let document = json!({ "uri": "file:///x", "languageId": "x", "version": 1, "text": text });
        json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } })
    }

    #[test]
    fn a_long_text_stays_in_its_buffer() {
        let text = "a \"line\"\n\ttab \\ é \u{1F600} \u{7}".repeat(100);
        for json in [
            opening(&text).to_string(),
            opening(&text).to_string().replace('é', r"\u00E9"),
            opening(&text)
                .to_string()
                .replace('\u{1F600}', r"\uD83D\uDE00"),
        ] {
            let body = json.into_bytes();
            let place = body.as_ptr() as usize;
            let Incoming::Opened(params) = read(body) else {
                panic!("it is an opening");
            };
            assert_eq!(params.text_document.text, text);
            assert_eq!(params.text_document.text.as_ptr() as usize, place);
            assert_eq!(params.text_document.version, 1);
        }
    }

    #[test]
    fn a_long_text_among_other_changes_is_put_where_it_belongs() {
        let long = "x\n".repeat(400);
        let at = json!({ "line": 0, "character": 0 });
        let changes = json!([
            { "range": { "start": at, "end": at }, "text": "before" },
            { "text": long },
            { "range": { "start": at, "end": at }, "text": "" },
        ]);
        let params = json!({ "textDocument": { "uri": "file:///x", "version": 2 }, "contentChanges": changes });
        let message =
            json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params });
        let Incoming::Changed(params) = read_json(&message) else {
            panic!("it is a change");
        };
        let texts: Vec<&str> = params.content_changes.iter().map(|it| &*it.text).collect();
        assert_eq!(texts, ["before", &long, ""]);
    }

    #[test]
    fn a_long_string_elsewhere_is_left_alone() {
        let long = "y".repeat(1000);
        let mut with_id = opening(&long);
        with_id["id"] = json!(7);
        let other = json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": { "text": long } });
        for message in [with_id, other] {
            let Incoming::Request(request) = read_json(&message) else {
                panic!("it is a request");
            };
            assert_eq!(request.params(), message.get("params"));
        }
        let mut in_id = opening("short");
        in_id["params"]["textDocument"]["languageId"] = json!(long);
        let Incoming::Opened(params) = read_json(&in_id) else {
            panic!("it is an opening");
        };
        assert_eq!(params.text_document.text, "short");
        assert_eq!(params.text_document.language_id, long);
    }

    #[test]
    fn what_tells_of_a_document_and_cannot_be_read_is_no_request() {
        for text in ["short", &"long".repeat(LARGE)] {
            let mut message = opening(text);
            message["params"]["textDocument"]["version"] = json!(2.5);
            assert!(matches!(read_json(&message), Incoming::Nothing));
            message["params"]["textDocument"]["version"] = json!(2);
            assert!(matches!(read_json(&message), Incoming::Opened(_)));
        }
    }

    #[test]
    fn a_shutdown_has_no_params() {
        for params in [json!({}), json!([]), json!(null)] {
            let message =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "shutdown", "params": params });
            let Incoming::Request(request) = read_json(&message) else {
                panic!("it is a request");
            };
            assert_eq!(
                (request.id(), request.params()),
                (Some(&Id::Number(1)), None)
            );
        }
    }

    #[test]
    fn escapes_are_read_as_serde_reads_them() {
        let filler = "z".repeat(LARGE);
        for content in [
            r#"\"\\\/\b\f\n\r\t"#,
            r"A\u00e9\uFFFF\u0000",
            r"\ud83d\ude00",
            r"\ud83d",
            r"\ude00\ud83d",
            r"\ud83dx",
            r"\u12",
            r"\u+123",
            r"\x",
            "\u{1}",
            "\n",
            "\u{7f}é\u{1F600}",
        ] {
            let json = format!("\"{filler}{content}\"");
            let expected = serde_json::from_str::<String>(&json).ok();
            let place = 1..json.len() - 1;
            assert_eq!(unescaped(json.into_bytes(), place), expected, "{content}");
        }
        let broken = opening(&filler).to_string().replace("zz\"", "z\\x\"");
        assert_eq!(error(read(broken.into_bytes())), (-32700, Id::Null));
        let mut bytes = opening(&filler).to_string().into_bytes();
        let at = bytes.len() - 20;
        bytes[at] = 0xff;
        assert_eq!(error(read(bytes)), (-32700, Id::Null));
    }

    fn error(incoming: Incoming) -> (i64, Id) {
        let Incoming::Invalid(answer) = incoming else {
            panic!("it is no message: {incoming:?}");
        };
        let (id, outcome) = answer.into_parts();
        (outcome.expect_err("an error").code.code(), id)
    }

    #[test]
    fn what_is_no_message_is_told() {
        let deep = "[".repeat(1_000_000);
        for (body, expected) in [
            ("", (-32700, Id::Null)),
            ("{", (-32700, Id::Null)),
            ("{} {}", (-32700, Id::Null)),
            (
                "{\"jsonrpc\":\"2.0\",\"method\":\"\\x\"}",
                (-32700, Id::Null),
            ),
            (&deep, (-32700, Id::Null)),
            ("[]", (-32600, Id::Null)),
            ("null", (-32600, Id::Null)),
            ("{}", (-32600, Id::Null)),
            ("7", (-32600, Id::Null)),
            (
                "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
                (-32600, Id::Null),
            ),
            ("{\"id\":1,\"method\":\"x\"}", (-32600, Id::Number(1))),
            (
                "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
                (-32600, Id::Number(1)),
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":7}",
                (-32600, Id::from("a")),
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"x\"}",
                (-32600, Id::Null),
            ),
        ] {
            assert_eq!(error(read(body.into())), expected, "{body:.80}");
        }
        assert_eq!(error(read(vec![b'"', 0xff, b'"'])), (-32700, Id::Null));
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": null });
        assert!(matches!(read_json(&answer), Incoming::Response(_)));
        let nonsense = json!({ "jsonrpc": "2.0", "id": 1, "error": 7 });
        assert!(matches!(read_json(&nonsense), Incoming::Nothing));
    }
}
