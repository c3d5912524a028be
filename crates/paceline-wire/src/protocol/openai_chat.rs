//! OpenAI chat completions.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Content, Count, Few, Text};
use super::openai::{self, Logprobs};
use super::{Form, Generated};
use crate::record::{KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL};

/// One of `choices`.
#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Option<u32>,
    /// Of an event. Read apart, as is `message`: in place, moving the choice about takes longer than reading it.
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    /// Of a whole response.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
    #[serde(default)]
    token_ids: Count,
}

/// What only few messages have is read apart: in place, moving it about takes longer than reading it.
#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    reasoning: Text<'a>,
    /// OpenRouter's: as a rule the text of `reasoning` once more.
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    audio: Option<&'a RawValue>,
}

/// One of `reasoning_details`: a text or a summary; what is encrypted has neither.
#[derive(Debug, Deserialize)]
struct ReasoningDetail<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    summary: Text<'a>,
}

/// Speech. Its sound is no text, its transcript is the answer.
#[derive(Debug, Deserialize)]
struct Audio<'a> {
    #[serde(borrow, default)]
    transcript: Text<'a>,
}

#[derive(Debug, Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    arguments: Text<'a>,
}

impl openai::Choice for Choice<'_> {
    fn index(&self) -> u32 {
        self.index.unwrap_or(0)
    }

    fn finish_reason(&self) -> &str {
        &self.finish_reason.0
    }

    fn error(&self) -> Option<&RawValue> {
        self.error
    }

    fn listed_tokens(&self) -> Option<u32> {
        self.token_ids.0.or_else(|| self.logprobs.and_then(Logprobs::tokens))
    }

    fn generated(&self, form: Form, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
        // Some servers add to each event the whole message so far: that is nothing new.
        let message = match form {
            Form::Event => self.delta,
            Form::Whole => self.message,
        };
        if let Some(message) = message {
            serde_json::from_str::<Message<'_>>(message.get())?.generated(out)?;
        }
        Ok(())
    }
}

impl Message<'_> {
    fn generated(&self, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
        // Servers that are changing from the one name to the other send both, with the same text.
        let reasoning =
            [&self.reasoning_content, &self.reasoning].into_iter().find(|text| !text.0.is_empty());
        if let Some(reasoning) = reasoning {
            out.add(KIND_REASONING, &reasoning.0);
        } else if let Some(details) = self.reasoning_details {
            for detail in serde_json::from_str::<Few<ReasoningDetail<'_>>>(details.get())?.iter() {
                out.add(KIND_REASONING, &detail.summary.0);
                out.add(KIND_REASONING, &detail.text.0);
            }
        }
        match &self.content {
            Content::Plain(text) => out.add(KIND_CONTENT, &text.0),
            Content::Parts(parts) => {
                out.add(KIND_REASONING, &parts.thinking);
                out.add(KIND_CONTENT, &parts.answer);
            }
        }
        out.add(KIND_CONTENT, &self.refusal.0);
        if let Some(audio) = self.audio {
            out.add(KIND_CONTENT, &serde_json::from_str::<Audio<'_>>(audio.get())?.transcript.0);
        }
        if let Some(calls) = self.tool_calls {
            for call in serde_json::from_str::<Few<ToolCall<'_>>>(calls.get())?.iter() {
                out.add(KIND_TOOL_CALL, call.function.as_ref().map_or("", |function| &function.arguments.0));
            }
        }
        if let Some(function) = self.function_call {
            out.add(KIND_TOOL_CALL, &serde_json::from_str::<Function<'_>>(function.get())?.arguments.0);
        }
        Ok(())
    }
}
