//! How servers say in a document that they failed.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::excerpt;

/// A longer document is not searched for a message: read whole, it would take many times its own room.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Finish reasons by which servers say that they did not finish.
const ENDED_BY_ERROR: [&str; 6] = ["error", "abort", "aborted", "cancelled", "canceled", "failed"];

/// The error of a field `error`, unless the field says that there is none.
pub(super) fn reported(error: Option<&RawValue>) -> Option<String> {
    error.filter(|error| is_error(error)).map(message)
}

/// What is wrong with a `what` that ended so.
pub(super) fn ended_by_error(what: &str, field: &str, reason: &str) -> Option<String> {
    ENDED_BY_ERROR.contains(&reason).then(|| format!("{what} ended with {field} `{reason}`"))
}

fn is_error(raw: &RawValue) -> bool {
    !matches!(raw.get(), "\"\"" | "false" | "null" | "{}" | "[]")
}

/// The message of a document that is an error without being called so.
pub(super) fn foreign_error(json: &str) -> Option<String> {
    let value = small(json.as_bytes())?;
    let says = |key: &str, what: &str| value.get(key).and_then(Value::as_str) == Some(what);
    let has = |key: &str| value.get(key).is_some_and(|field| !field.is_null());
    let named = ["status", "type", "event"].iter().any(|key| says(key, "error"));
    // Another protocol's events hold a message too, which is an object.
    let message = value.get("message").is_some_and(Value::is_string);
    let described = message && ["code", "type", "status", "status_code"].iter().any(|key| has(key));
    if named || described || has("detail") || has("errors") {
        return Some(find_message(&value).unwrap_or_else(|| excerpt(json.as_bytes())));
    }
    None
}

pub(super) fn unnamed() -> String {
    "an error without a message".to_owned()
}

pub(super) fn message(raw: &RawValue) -> String {
    server_message(raw.get().as_bytes()).unwrap_or_else(|| excerpt(raw.get().as_bytes()))
}

/// The message in an error that a server sent as JSON: the string itself, or what the usual fields hold, at any of the
/// usual depths. None where there is none.
#[must_use]
pub fn server_message(json: &[u8]) -> Option<String> {
    find_message(&small(json)?)
}

fn small(json: &[u8]) -> Option<Value> {
    if json.len() > MAX_ERROR_BYTES { None } else { serde_json::from_slice(json).ok() }
}

fn find_message(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        // FastAPI lists what is wrong with each field.
        Value::Array(items) => items.iter().find_map(find_message),
        Value::Object(fields) => ["error", "errors", "message", "msg", "detail", "title"]
            .iter()
            .find_map(|key| fields.get(*key).and_then(find_message)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_known_by_any_of_their_forms() {
        for (json, found) in [
            (r#"{"code":500,"message":"CUDA OOM","type":"InternalServerError"}"#, Some("CUDA OOM")),
            (r#"{"detail":"worker died"}"#, Some("worker died")),
            (r#"{"status":"error","message":"gone"}"#, Some("gone")),
            (r#"{"type":"error","message":"gone"}"#, Some("gone")),
            (r#"{"errors":[{"message":"first"}]}"#, Some("first")),
            (r#"{"type":"error"}"#, Some(r#"{"type":"error"}"#)),
            (r#"{"id":"a","object":"chat.completion.chunk","choices":[]}"#, None),
            (r#"{"type":"ping"}"#, None),
            (r#"{"type":"message_start","message":{"id":"a","role":"assistant"}}"#, None),
            (r#"{"detail":null}"#, None),
        ] {
            assert_eq!(foreign_error(json).as_deref(), found, "{json}");
        }
    }

    #[test]
    fn messages_are_found_where_servers_put_them() {
        for (json, found) in [
            (r#"{"error":{"message":"no such model","code":404}}"#, Some("no such model")),
            (r#"{"error":"slow down"}"#, Some("slow down")),
            (r#"{"object":"error","message":"bad"}"#, Some("bad")),
            (r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, Some("field required")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            (r#""plain""#, Some("plain")),
            (r#"{"code":1}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(server_message(json.as_bytes()).as_deref(), found, "{json}");
        }
    }

    #[test]
    fn long_documents_are_not_searched() {
        let document = |bytes: usize| format!(r#"{{"message":"m","code":1,"more":"{}"}}"#, "x".repeat(bytes));
        let room = MAX_ERROR_BYTES - document(0).len();
        assert_eq!(foreign_error(&document(room)).as_deref(), Some("m"));
        assert_eq!(foreign_error(&document(room + 1)), None);
        assert_eq!(server_message(document(room + 1).as_bytes()), None);
    }
}
