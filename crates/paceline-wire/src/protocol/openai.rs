//! What chat completions and completions have in common.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{Count, Few, Text, Usage};
use super::{Document, Form, Generated};
use crate::error::excerpt;

/// One choice of a document.
pub(super) trait Choice {
    /// Its number.
    fn index(&self) -> u32;
    /// Why it has ended; empty while it goes on.
    fn finish_reason(&self) -> &str;
    /// An error of its own.
    fn error(&self) -> Option<&RawValue>;
    /// Tokens that it lists.
    fn listed_tokens(&self) -> Option<u32>;
    /// Hands its text on.
    fn generated(&self, form: Form, out: &mut Generated<'_>) -> Result<(), serde_json::Error>;
}

/// A document: a `chat.completion.chunk`, a `chat.completion` or a `text_completion`. Unknown fields are skipped.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "C: Deserialize<'de>"))]
pub(super) struct Envelope<'a, C> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    object: Text<'a>,
    #[serde(default)]
    choices: Few<C>,
    /// Large and mostly absent, hence read apart.
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timings: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// The text of an `object: error`.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    token_ids: Count,
}

impl<'a, C: Choice> Envelope<'a, C> {
    /// `json` is the text that this was read from.
    pub(super) fn read(
        self,
        json: &str,
        form: Form,
        out: &mut Generated<'_>,
    ) -> Result<Document<'a>, serde_json::Error> {
        // Usage that is no usage says nothing; the answer beside it is as good as any.
        let usage = self.usage.and_then(|usage| serde_json::from_str::<Usage>(usage.get()).ok());
        let mut document = Document { error: self.error(json), usage, ..Document::default() };
        let mut listed = self.token_ids.0;
        for choice in self.choices.iter() {
            document.other_choice |= choice.index() > 0;
            if !choice.finish_reason().is_empty() {
                document.finish_reason = Text(Cow::Owned(choice.finish_reason().to_owned()));
            }
            if let Some(tokens) = choice.listed_tokens() {
                listed = Some(listed.unwrap_or(0).saturating_add(tokens));
            }
            if document.error.is_none() {
                choice.generated(form, out)?;
            }
        }
        document.listed_tokens = listed;
        document.id = self.id;
        document.model = self.model;
        document.timings = self.timings;
        Ok(document)
    }

    /// The error that the document reports, by any of the ways in which servers do.
    fn error(&self, json: &str) -> Option<String> {
        if let Some(error) = self.error.filter(|error| is_error(error)) {
            return Some(message(error));
        }
        if self.object.0 == "error" {
            return Some(self.message.map_or_else(unnamed, message));
        }
        for choice in self.choices.iter() {
            if let Some(error) = choice.error().filter(|error| is_error(error)) {
                return Some(message(error));
            }
            if ENDED_BY_ERROR.contains(&choice.finish_reason()) {
                return Some(format!("a choice ended with finish_reason `{}`", choice.finish_reason()));
            }
        }
        // Without choices and usage it is no part of an answer; it may be an error in some server's own form.
        if self.choices.iter().next().is_none() && self.usage.is_none() { foreign_error(json) } else { None }
    }
}

/// Finish reasons by which servers say that they did not finish.
const ENDED_BY_ERROR: [&str; 6] = ["error", "abort", "aborted", "cancelled", "canceled", "failed"];

fn is_error(raw: &RawValue) -> bool {
    !matches!(raw.get(), "\"\"" | "false" | "null" | "{}" | "[]")
}

/// The message of a document that is an error without being called so.
fn foreign_error(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let says = |key: &str, what: &str| value.get(key).and_then(Value::as_str) == Some(what);
    let has = |key: &str| value.get(key).is_some_and(|field| !field.is_null());
    let named = ["status", "type", "event"].iter().any(|key| says(key, "error"));
    let described = has("message") && ["code", "type", "status", "status_code"].iter().any(|key| has(key));
    if named || described || has("detail") || has("errors") {
        return Some(find_message(&value).unwrap_or_else(|| excerpt(json.as_bytes())));
    }
    None
}

fn unnamed() -> String {
    "an error without a message".to_owned()
}

fn message(raw: &RawValue) -> String {
    server_message(raw.get().as_bytes()).unwrap_or_else(|| excerpt(raw.get().as_bytes()))
}

/// The message in an error that a server sent as JSON: the string itself, or what the usual fields hold, at any of the
/// usual depths. None where there is none.
pub(crate) fn server_message(json: &[u8]) -> Option<String> {
    find_message(&serde_json::from_slice(json).ok()?)
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

/// Log probabilities; chat lists `content` and `refusal`, completions `tokens`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Logprobs {
    content: Count,
    refusal: Count,
    tokens: Count,
}

impl Logprobs {
    /// Tokens that are listed.
    pub(super) fn tokens(&self) -> Option<u32> {
        let lists = [self.content.0, self.refusal.0, self.tokens.0];
        lists.into_iter().flatten().reduce(u32::saturating_add)
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
}
