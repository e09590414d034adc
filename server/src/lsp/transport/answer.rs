//! Answers on their way back, as text.
//!
//! The service makes a tree of values of every answer, which takes many times as long as the text
//! of it: for 10,000 places 60 ms. So a handler leaves its answer as text, made where it was computed.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::{Error, Response, Result};

tokio::task_local! {
    /// That of the request whose handler runs.
    pub(super) static LEFT: Left;
}

/// Where a handler leaves its answer, which is JSON.
#[derive(Debug, Clone, Default)]
pub(super) struct Left(Arc<OnceLock<String>>);

impl Left {
    /// The body of the answer to a request: what the handler has left, unless it failed; else what
    /// the service says.
    pub(super) fn body(
        &self,
        answer: std::result::Result<Option<Response>, ExitedError>,
    ) -> Option<Vec<u8>> {
        let answer = answer.ok().flatten()?;
        match self.0.get().filter(|_| answer.is_ok()) {
            Some(result) => {
                let id = serde_json::to_string(answer.id()).ok()?;
                Some(format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#).into_bytes())
            }
            None => body(&answer),
        }
    }
}

/// What is left as the answer.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn text(answer: &impl Serialize) -> Result<String> {
    serde_json::to_string(answer).map_err(|error| {
        tracing::error!("an answer is no JSON: {error}");
        Error::internal_error()
    })
}

/// Leaves `result`, which is JSON, as the answer to the request that is being handled. What the
/// handler then returns does not matter unless it is an error.
pub fn leave(result: String) {
    let left = LEFT.try_with(|left| left.0.set(result));
    if !matches!(left, Ok(Ok(()))) {
        tracing::error!("an answer has no request, or a request two answers");
    }
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
        LEFT.scope(left.clone(), async { leave("[1]".to_owned()) })
            .await;
        let body = |left: &Left, answer| -> Value {
            let body = left.body(Ok(Some(answer))).expect("an answer");
            serde_json::from_slice(&body).expect("JSON")
        };
        let id = Id::String("a\"b".to_owned());
        let ok = Response::from_ok(id.clone(), Value::Null);
        assert_eq!(
            body(&left, ok.clone()),
            json!({"jsonrpc": "2.0", "id": "a\"b", "result": [1]})
        );
        let failed = Response::from_error(id, Error::request_cancelled());
        let error = &body(&left, failed)["error"]["code"];
        assert_eq!(*error, Error::request_cancelled().code.code());
        assert_eq!(body(&Left::default(), ok)["result"], Value::Null);
        assert_eq!(left.body(Ok(None)), None);
    }
}
