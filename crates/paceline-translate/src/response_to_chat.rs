//! An answer of the messages protocol in chat's words.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::fields::{Fields, join};
use crate::json::{Json, object};
use crate::usage::{self, Usage};
use crate::{finish, thinking};

/// Seconds since 1970: chat's `created`, which the messages protocol has no word for.
pub(crate) fn created() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// What the blocks of an answer are in chat.
#[derive(Default)]
struct Said<'a> {
    text: String,
    thought: String,
    details: Vec<Json<'a>>,
    calls: Vec<Json<'a>>,
}

/// Writes the answer.
pub(crate) fn write(answer: &Fields<'_>) -> Result<Vec<u8>, Untranslatable> {
    if answer.text("type", "")?.as_deref() != Some("message") {
        return Err(Untranslatable("the answer is no message".to_owned()));
    }
    let mut said = Said::default();
    for (i, raw) in answer.list("content", "")?.into_iter().enumerate() {
        let at = format!("content[{i}]");
        said.block(&Fields::of(raw, &at)?, &at)?;
    }
    let stop_reason = answer.text("stop_reason", "")?.unwrap_or_default();
    let mut used = Usage::default();
    if let Some(usage) = usage::of(answer) {
        used.messages(&usage, false);
    }
    let choice = object([
        ("index", 0.into()),
        ("message", said.message()),
        ("logprobs", Json::Null),
        ("finish_reason", finish::to_chat(&stop_reason).into()),
        ("native_finish_reason", stop_reason.into()),
    ]);
    let body = object([
        ("id", answer.text("id", "")?.unwrap_or_default().into()),
        ("object", "chat.completion".into()),
        ("created", created().into()),
        ("model", answer.text("model", "")?.unwrap_or_default().into()),
        ("choices", vec![choice].into()),
        ("usage", used.to_chat()),
    ]);
    Ok(body.into_body())
}

impl<'a> Said<'a> {
    fn block(&mut self, block: &Fields<'a>, at: &str) -> Result<(), Untranslatable> {
        let index = i64::try_from(self.details.len()).unwrap_or(i64::MAX);
        match &*block.needed_text("type", at)? {
            "text" => self.text.push_str(&block.text("text", at)?.unwrap_or_default()),
            "thinking" => {
                let text = block.text("thinking", at)?.unwrap_or_default();
                self.thought.push_str(&text);
                let signature = block.text("signature", at)?;
                self.details.push(thinking::detail(index, Some(text), signature));
            }
            "redacted_thinking" => {
                let data = block.text("data", at)?.unwrap_or_default();
                self.details.push(thinking::encrypted(index, data));
            }
            "tool_use" => self.calls.push(call(block, at)?),
            // What the server's own tools did is no part of an answer in chat, and no chat asks for it.
            _ => {}
        }
        Ok(())
    }

    fn message(self) -> Json<'a> {
        let content =
            if self.text.is_empty() && !self.calls.is_empty() { Json::Null } else { self.text.into() };
        let mut fields = vec![("role", "assistant".into()), ("content", content), ("refusal", Json::Null)];
        if !self.thought.is_empty() {
            // Clients know it by either name.
            fields.push(("reasoning", self.thought.clone().into()));
            fields.push(("reasoning_content", self.thought.into()));
        }
        if !self.details.is_empty() {
            fields.push(("reasoning_details", self.details.into()));
        }
        if !self.calls.is_empty() {
            fields.push(("tool_calls", self.calls.into()));
        }
        Json::Object(fields)
    }
}

fn call<'a>(block: &Fields<'a>, at: &str) -> Result<Json<'a>, Untranslatable> {
    let arguments = block.get("input").map_or("{}", RawValue::get);
    let name =
        block.text("name", at)?.ok_or_else(|| Untranslatable::at(&join(at, "name"), "this is missing"))?;
    Ok(object([
        ("id", block.needed_text("id", at)?.into()),
        ("type", "function".into()),
        ("function", object([("name", name.into()), ("arguments", arguments.into())])),
    ]))
}
