//! Anthropic messages.
//!
//! Events and fields after the types of the official Python package (anthropic 2.14) and after what llama-server
//! sends. Signatures, encrypted thinking, citations and the results of tools are no generated text.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::errors::{ended_by_error, foreign_error, reported};
use super::json::{Few, Text};
use super::usage::{self, Usage};
use super::{Document, Form, Generated};
use crate::record::{KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL};

/// An event. What only some have is read apart, when the type is known.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timings: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A message: the whole response, or how one begins.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timings: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A piece of a block or a whole one: which field it has says what it is.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    /// Of a tool call, in pieces.
    #[serde(borrow, default)]
    partial_json: Text<'a>,
    /// Of a tool call, whole.
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Stop<'a> {
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
}

/// Reads one document.
pub(super) fn read<'a>(
    json: &'a str,
    form: Form,
    out: &mut Generated<'_>,
) -> Result<Document<'a>, serde_json::Error> {
    match form {
        Form::Event => read_event(json, out),
        Form::Whole => read_whole(json, out),
    }
}

fn read_event<'a>(json: &'a str, out: &mut Generated<'_>) -> Result<Document<'a>, serde_json::Error> {
    let event = serde_json::from_str::<Event<'a>>(json)?;
    let mut document = Document {
        usage: event.usage.and_then(usage::anthropic),
        timings: event.timings,
        error: reported(event.error),
        ..Document::default()
    };
    match &*event.kind.0 {
        "content_block_delta" if document.error.is_none() => generated(event.delta, out)?,
        // Empty as a rule; what it has, the official package takes for the beginning of the block.
        "content_block_start" if document.error.is_none() => generated(event.content_block, out)?,
        "message_start" => {
            if let Some(raw) = event.message {
                let message = serde_json::from_str::<Message<'a>>(raw.get())?;
                // Nothing has been generated yet: its count of that is a placeholder.
                document.usage = message.usage.and_then(usage::anthropic).map(Usage::without_output);
                document.id = message.id;
                document.model = message.model;
            }
        }
        "message_delta" => {
            if let Some(delta) = event.delta {
                document.finish_reason = serde_json::from_str::<Stop<'a>>(delta.get())?.stop_reason;
            }
        }
        "message_stop" => document.end = true,
        "error" | "" => document.error = document.error.or_else(|| foreign_error(json)),
        _ => {}
    }
    document.ended_by_error();
    Ok(document)
}

fn generated(raw: Option<&RawValue>, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
    if let Some(raw) = raw {
        serde_json::from_str::<Block<'_>>(raw.get())?.generated(out);
    }
    Ok(())
}

fn read_whole<'a>(json: &'a str, out: &mut Generated<'_>) -> Result<Document<'a>, serde_json::Error> {
    let message = serde_json::from_str::<Message<'a>>(json)?;
    let mut document = Document { error: reported(message.error), ..Document::default() };
    if document.error.is_none() && message.kind.0 != "message" {
        document.error = foreign_error(json);
    }
    document.finish_reason = message.stop_reason;
    document.ended_by_error();
    if let Some(content) = message.content.filter(|_| document.error.is_none()) {
        for block in serde_json::from_str::<Few<Block<'_>>>(content.get())?.iter() {
            block.generated(out);
            if let Some(input) = block.input {
                out.add(KIND_TOOL_CALL, input.get());
            }
        }
    }
    document.usage = message.usage.and_then(usage::anthropic);
    document.timings = message.timings;
    document.id = message.id;
    document.model = message.model;
    Ok(document)
}

impl Document<'_> {
    fn ended_by_error(&mut self) {
        if self.error.is_none() {
            self.error = ended_by_error("the message", "stop_reason", &self.finish_reason.0);
        }
    }
}

impl Block<'_> {
    /// `input` is left out: where a block begins it is an empty placeholder, whose value comes in pieces.
    fn generated(&self, out: &mut Generated<'_>) {
        out.add(KIND_REASONING, &self.thinking.0);
        out.add(KIND_CONTENT, &self.text.0);
        out.add(KIND_TOOL_CALL, &self.partial_json.0);
    }
}
