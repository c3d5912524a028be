//! A chat answer in the words of the messages protocol.

use std::borrow::Cow;

use crate::Untranslatable;
use crate::calls;
use crate::fields::{Fields, is_text, join, list, missing, text};
use crate::finish;
use crate::json::{Json, object, typed};
use crate::usage::{self, Usage};

/// Writes the answer.
pub(crate) fn write(answer: &Fields<'_>) -> Result<Vec<u8>, Untranslatable> {
    let choices = answer.list("choices", "")?;
    let first = choices.first().ok_or_else(|| Untranslatable("the answer has no choices".to_owned()))?;
    let at = "choices[0]";
    let choice = Fields::of(first, at)?;
    let at_message = join(at, "message");
    let message = choice.object("message", at)?.ok_or_else(|| missing(&at_message))?;

    let id = answer.text("id", "")?.unwrap_or_default();
    let spoken = speak(&message, &at_message)?;
    let calls = calls(&message, &at_message, &id)?;
    let finish_reason = choice.text("finish_reason", at)?.unwrap_or_default();
    if finish::is_error(&finish_reason) {
        return Err(Untranslatable::at("choices[0].finish_reason", "the answer ended with an error"));
    }
    let stop = Stop::of(&choice, &finish_reason, !calls.is_empty());
    let mut content = spoken.blocks();
    content.extend(calls);
    let mut used = Usage::default();
    if let Some(usage) = usage::of(answer) {
        used.chat(&usage);
    }
    let body = object([
        ("id", id.into()),
        ("type", "message".into()),
        ("role", "assistant".into()),
        ("model", answer.text("model", "")?.unwrap_or_default().into()),
        ("content", content.into()),
        ("stop_reason", stop.reason.into()),
        ("stop_sequence", stop.sequence.map_or(Json::Null, Json::from)),
        ("usage", used.to_messages()),
    ]);
    Ok(body.into_body())
}

/// Why an answer ended.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    pub(crate) reason: &'static str,
    /// The text that ended it, where the server says so.
    pub(crate) sequence: Option<Cow<'a, str>>,
}

impl<'a> Stop<'a> {
    /// Of a choice. vLLM and SGLang name the text that ended it.
    pub(crate) fn of(choice: &Fields<'a>, finish_reason: &str, calls_tools: bool) -> Self {
        let reason = finish::to_messages(finish_reason, calls_tools);
        let named = || {
            ["stop_reason", "matched_stop"].into_iter().find_map(|name| choice.text(name, "").ok().flatten())
        };
        match (reason, named()) {
            ("end_turn", Some(sequence)) if !sequence.is_empty() => {
                Self { reason: "stop_sequence", sequence: Some(sequence) }
            }
            _ => Self { reason, sequence: None },
        }
    }
}

/// What a message or a piece of one says, by kind.
#[derive(Debug, Default)]
pub(crate) struct Spoken<'a> {
    pub(crate) thought: Cow<'a, str>,
    /// Content, refusal, what sound says: each as it comes.
    pub(crate) said: Vec<Cow<'a, str>>,
}

impl<'a> Spoken<'a> {
    fn blocks(self) -> Vec<Json<'a>> {
        let mut blocks = Vec::new();
        if !self.thought.is_empty() {
            // Nobody has signed it, and by the empty signature it is known again when it comes back.
            blocks.push(typed("thinking", [("thinking", self.thought.into()), ("signature", "".into())]));
        }
        let said = self.said.concat();
        if !said.is_empty() {
            blocks.push(typed("text", [("text", said.into())]));
        }
        blocks
    }
}

/// Reads a message, or a delta.
pub(crate) fn speak<'a>(message: &Fields<'a>, at: &str) -> Result<Spoken<'a>, Untranslatable> {
    let mut spoken = Spoken { thought: thought(message, at)?, said: Vec::new() };
    match message.get("content") {
        None => {}
        Some(raw) if is_text(raw) => spoken.said.push(text(raw, &join(at, "content"))?),
        Some(raw) => parts(&list(raw, &join(at, "content"))?, &join(at, "content"), &mut spoken)?,
    }
    spoken.said.extend(message.text("refusal", at)?);
    if let Some(audio) = message.object("audio", at)? {
        spoken.said.extend(audio.text("transcript", &join(at, "audio"))?);
    }
    spoken.said.retain(|text| !text.is_empty());
    Ok(spoken)
}

/// Reasoning by any of its names; servers that send two send the same text.
fn thought<'a>(message: &Fields<'a>, at: &str) -> Result<Cow<'a, str>, Untranslatable> {
    for name in ["reasoning_content", "reasoning"] {
        if let Some(thought) = message.text(name, at)?.filter(|text| !text.is_empty()) {
            return Ok(thought);
        }
    }
    let mut sum = String::new();
    for raw in message.list("reasoning_details", at)? {
        let detail = Fields::of(raw, at)?;
        for name in ["summary", "text"] {
            sum.push_str(&detail.text(name, at)?.unwrap_or_default());
        }
    }
    Ok(sum.into())
}

/// A content in parts, some of which may be thinking, as Mistral's endpoints send them.
fn parts<'a>(
    parts: &[&'a serde_json::value::RawValue],
    at: &str,
    spoken: &mut Spoken<'a>,
) -> Result<(), Untranslatable> {
    for raw in parts {
        let part = Fields::of(raw, at)?;
        spoken.said.extend(part.text("text", at)?);
        match part.get("thinking") {
            None => {}
            Some(raw) if is_text(raw) => spoken.thought.to_mut().push_str(&text(raw, at)?),
            Some(raw) => {
                for raw in list(raw, at)? {
                    let inner = Fields::of(raw, at)?.text("text", at)?.unwrap_or_default();
                    spoken.thought.to_mut().push_str(&inner);
                }
            }
        }
    }
    Ok(())
}

/// The calls of a whole message as blocks.
fn calls<'a>(message: &Fields<'a>, at: &str, id: &str) -> Result<Vec<Json<'a>>, Untranslatable> {
    let mut blocks = Vec::new();
    for (i, raw) in message.list("tool_calls", at)?.into_iter().enumerate() {
        let at = format!("{at}.tool_calls[{i}]");
        let call = Fields::of(raw, &at)?;
        let at_function = join(&at, "function");
        let function = call.object("function", &at)?.ok_or_else(|| missing(&at_function))?;
        let arguments = function.text("arguments", &at_function)?.unwrap_or_default();
        blocks.push(typed(
            "tool_use",
            [
                ("id", call_id(call.text("id", &at)?, id, i).into()),
                ("name", function.needed_text("name", &at_function)?.into()),
                ("input", calls::input(&arguments, &join(&at_function, "arguments"))?),
            ],
        ));
    }
    Ok(blocks)
}

/// A call's id as the messages protocol takes it back; made up of the answer's where the server gave none.
pub(crate) fn call_id<'a>(given: Option<Cow<'a, str>>, answer: &str, number: usize) -> Cow<'a, str> {
    match given.filter(|id| !id.is_empty()) {
        Some(id) => calls::messages_id(id),
        None => calls::messages_id(format!("toolu_{answer}_{number}").into()),
    }
}
