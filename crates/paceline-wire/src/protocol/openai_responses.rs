//! OpenAI responses.
//!
//! Events and fields after the types of the official Python package (openai 3.57) and after what llama-server sends.
//! What a model writes for a tool is generated text, what the tool answers is not.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::errors::{ended_by_error, foreign_error, reported};
use super::json::{Count, Few, Text};
use super::usage;
use super::{Document, Form, Generated};
use crate::record::{KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL};

/// The texts that come in pieces: the name of their events before `.delta` and `.done`, and what they are.
const TEXTS: [(&str, u8); 10] = [
    ("response.output_text", KIND_CONTENT),
    ("response.reasoning_text", KIND_REASONING),
    ("response.reasoning_summary_text", KIND_REASONING),
    ("response.function_call_arguments", KIND_TOOL_CALL),
    ("response.refusal", KIND_CONTENT),
    ("response.custom_tool_call_input", KIND_TOOL_CALL),
    ("response.mcp_call_arguments", KIND_TOOL_CALL),
    ("response.code_interpreter_call_code", KIND_TOOL_CALL),
    ("response.shell_call_command", KIND_TOOL_CALL),
    ("response.audio.transcript", KIND_CONTENT),
];

/// Which of the texts have come in pieces: their ends then repeat them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Pieces(u16);

impl Pieces {
    fn note(&mut self, text: usize) {
        self.0 |= 1 << text;
    }

    fn have(self, text: usize) -> bool {
        self.0 & (1 << text) != 0
    }
}

/// An event. What only some have is read apart, when the type is known.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timings: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The end of a text, with the whole of it.
#[derive(Deserialize)]
struct Done<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    arguments: Text<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
    #[serde(borrow, default)]
    input: Text<'a>,
    #[serde(borrow, default)]
    code: Text<'a>,
    #[serde(borrow, default)]
    command: Text<'a>,
}

/// A response: the whole one, or what an event says of it.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timings: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow, default)]
    reason: Text<'a>,
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
    let kind = &*event.kind.0;
    if let Some((stem, part)) = kind.rsplit_once('.')
        && let Some(text) = TEXTS.iter().position(|(name, _)| *name == stem)
    {
        return event.read_text(json, text, part, out);
    }
    let mut document = event.document();
    if let Some(raw) = event.response {
        serde_json::from_str::<Response<'a>>(raw.get())?.describe(&mut document);
    }
    match kind {
        "response.completed" | "response.incomplete" => {
            document.end = true;
            if document.finish_reason.0.is_empty() {
                document.finish_reason = Text(Cow::Owned(kind["response.".len()..].to_owned()));
            }
        }
        "error" | "response.error" | "response.failed" | "response.cancelled" if document.error.is_none() => {
            let text = foreign_error(json);
            document.error = text.or_else(|| Some(format!("the server sent `{kind}` without a message")));
        }
        "" if document.error.is_none() => document.error = foreign_error(json),
        _ => {}
    }
    Ok(document)
}

impl<'a> Event<'a> {
    fn document(&self) -> Document<'a> {
        Document {
            usage: self.usage.and_then(usage::responses),
            timings: self.timings,
            error: reported(self.error),
            ..Document::default()
        }
    }

    /// An event of one of the `TEXTS`.
    fn read_text(
        &self,
        json: &'a str,
        text: usize,
        part: &str,
        out: &mut Generated<'_>,
    ) -> Result<Document<'a>, serde_json::Error> {
        let mut document = self.document();
        let (_, kind) = TEXTS[text];
        match part {
            "delta" if document.error.is_none() => {
                let delta = match self.delta {
                    Some(raw) => serde_json::from_str::<Text<'_>>(raw.get())?,
                    None => Text::default(),
                };
                out.add(kind, &delta.0);
                out.pieces.note(text);
                // An empty list stands there where no log probabilities were asked for.
                let listed = self.logprobs.and_then(|raw| serde_json::from_str::<Count>(raw.get()).ok()?.0);
                document.listed_tokens = listed.filter(|count| *count > 0);
            }
            // Some servers send nothing but the end of a tool call.
            "done" if document.error.is_none() && !out.pieces.have(text) => {
                let done = serde_json::from_str::<Done<'_>>(json)?;
                for whole in [done.text, done.arguments, done.refusal, done.input, done.code, done.command] {
                    out.add(kind, &whole.0);
                }
            }
            _ => {}
        }
        Ok(document)
    }
}

fn read_whole<'a>(json: &'a str, out: &mut Generated<'_>) -> Result<Document<'a>, serde_json::Error> {
    let response = serde_json::from_str::<Response<'a>>(json)?;
    let mut document = Document::default();
    let output = response.output;
    response.describe(&mut document);
    if document.error.is_none() && output.is_none() {
        document.error = foreign_error(json);
    }
    if let Some(output) = output.filter(|_| document.error.is_none()) {
        for item in serde_json::from_str::<Few<Item<'_>>>(output.get())?.iter() {
            item.generated(out)?;
        }
    }
    Ok(document)
}

impl<'a> Response<'a> {
    /// Adds what it says to `document`.
    fn describe(self, document: &mut Document<'a>) {
        let ended = || ended_by_error("the response", "status", &self.status.0);
        document.error = document.error.take().or_else(|| reported(self.error)).or_else(ended);
        document.usage = self.usage.and_then(usage::responses).or(document.usage.take());
        document.timings = document.timings.or(self.timings);
        let reason = self.incomplete_details.map(|details| details.reason).unwrap_or_default();
        if !reason.0.is_empty() {
            document.finish_reason = reason;
        } else if matches!(&*self.status.0, "completed" | "incomplete") {
            document.finish_reason = self.status;
        }
        document.id = self.id;
        document.model = self.model;
    }
}

/// One of `output`.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    action: Option<&'a RawValue>,
}

/// A part of a message, of reasoning or of its summary.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
}

#[derive(Deserialize)]
struct Action<'a> {
    #[serde(borrow, default)]
    commands: Few<Text<'a>>,
}

impl Item<'_> {
    fn generated(&self, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
        match &*self.kind.0 {
            "message" => parts(self.content, KIND_CONTENT, out),
            "reasoning" => {
                parts(self.summary, KIND_REASONING, out)?;
                parts(self.content, KIND_REASONING, out)
            }
            "function_call" | "mcp_call" | "mcp_approval_request" => call(self.arguments, out),
            "custom_tool_call" => call(self.input, out),
            "code_interpreter_call" => call(self.code, out),
            "shell_call" => {
                if let Some(action) = self.action {
                    for command in serde_json::from_str::<Action<'_>>(action.get())?.commands.iter() {
                        out.add(KIND_TOOL_CALL, &command.0);
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn parts(raw: Option<&RawValue>, kind: u8, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
    if let Some(raw) = raw {
        for part in serde_json::from_str::<Few<Part<'_>>>(raw.get())?.iter() {
            out.add(kind, &part.text.0);
            out.add(kind, &part.refusal.0);
        }
    }
    Ok(())
}

fn call(raw: Option<&RawValue>, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
    if let Some(raw) = raw {
        out.add(KIND_TOOL_CALL, &serde_json::from_str::<Text<'_>>(raw.get())?.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_page_lists_the_texts() {
        let page = include_str!("../../../../docs/reference/reading.md");
        let kinds = [("content", KIND_CONTENT), ("reasoning", KIND_REASONING), ("tool call", KIND_TOOL_CALL)];
        let mut listed: Vec<(&str, u8)> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `response.")?.strip_suffix(" |")?.split_once("` | "))
            .filter_map(|(name, kind)| Some((name, kinds.iter().find(|(named, _)| *named == kind)?.1)))
            .collect();
        let mut texts = TEXTS.map(|(name, kind)| (name.trim_start_matches("response."), kind));
        listed.sort_unstable();
        texts.sort_unstable();
        assert_eq!(listed, texts);
    }

    #[test]
    fn there_is_a_bit_for_each_text() {
        let mut pieces = Pieces::default();
        pieces.note(TEXTS.len() - 1);
        assert!(pieces.have(TEXTS.len() - 1) && !pieces.have(0));
    }
}
