//! Answers on their way back, as text.
//!
//! The service makes a tree of values of every answer, which takes many times as long as the text
//! of it: for 10,000 places 60 ms. So a handler leaves its answer as text, made where it was computed.

use std::sync::{Arc, Mutex};

use serde::Serialize;
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::{Error, Id, Response};

use crate::model::cancel::lock;

tokio::task_local! {
    /// That of the request whose handler runs.
    pub(super) static LEFT: Left;
}

/// The body of an answer but for its end, which is the request's id.
#[derive(Debug)]
pub struct Written(Vec<u8>);

impl Written {
    /// The answer `result`.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn new(result: &impl Serialize) -> serde_json::Result<Self> {
        let mut body = br#"{"jsonrpc":"2.0","result":"#.to_vec();
        serde_json::to_writer(&mut body, result)?;
        Ok(Self(body))
    }

    fn body(self, id: &Id) -> Option<Vec<u8>> {
        let Self(mut body) = self;
        body.extend_from_slice(br#","id":"#);
        serde_json::to_writer(&mut body, id).ok()?;
        body.push(b'}');
        Some(body)
    }
}

/// Where a handler leaves its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Left(Arc<Mutex<Option<Written>>>);

impl Left {
    /// The body of the answer to a request: what the handler has left, unless it failed; else what
    /// the service says.
    pub(super) fn body(&self, answer: Result<Option<Response>, ExitedError>) -> Option<Vec<u8>> {
        let answer = answer.ok().flatten()?;
        match self.replace(None).filter(|_| answer.is_ok()) {
            Some(text) => text.body(answer.id()),
            None => body(&answer),
        }
    }

    fn replace(&self, text: Option<Written>) -> Option<Written> {
        std::mem::replace(&mut lock(&self.0), text)
    }
}

/// Leaves the answer to the request that is being handled. What the handler then returns does not
/// matter unless it is an error.
///
/// # Errors
/// If there is no answer since it could not be written.
pub fn leave(text: serde_json::Result<Written>) -> tower_lsp::jsonrpc::Result<()> {
    let text = text.map_err(|error| {
        tracing::error!("an answer cannot be written: {error}");
        Error::internal_error()
    })?;
    let before = LEFT.try_with(|left| left.replace(Some(text)));
    if !matches!(before, Ok(None)) {
        tracing::error!("an answer has no request, or a request two answers");
    }
    Ok(())
}

pub(super) fn body(message: &impl Serialize) -> Option<Vec<u8>> {
    let body = serde_json::to_vec(message);
    body.inspect_err(|error| tracing::error!("a message is left out: {error}"))
        .ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tower_lsp::jsonrpc::{Error, Id};

    use super::*;

    #[tokio::test]
    async fn what_is_left_is_the_answer_unless_the_handler_fails() {
        let left = Left::default();
        let leaves = || LEFT.scope(left.clone(), async { leave(Written::new(&[1])) });
        let body = |left: &Left, answer| -> Value {
            let body = left.body(Ok(Some(answer))).expect("an answer");
            serde_json::from_slice(&body).expect("JSON")
        };
        let id = Id::String("a\"b".to_owned());
        let ok = Response::from_ok(id.clone(), Value::Null);
        leaves().await.expect("JSON");
        assert_eq!(
            body(&left, ok.clone()),
            json!({"jsonrpc": "2.0", "id": "a\"b", "result": [1]})
        );
        let failed = Response::from_error(id, Error::request_cancelled());
        leaves().await.expect("JSON");
        let error = &body(&left, failed)["error"]["code"];
        assert_eq!(*error, Error::request_cancelled().code.code());
        assert_eq!(body(&Left::default(), ok)["result"], Value::Null);
        assert_eq!(left.body(Ok(None)), None);
    }
}
