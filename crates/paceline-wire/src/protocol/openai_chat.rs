//! OpenAI chat completions.

use serde::Deserialize;

use super::json::{Content, Count, Few, Text};
use super::openai::{self, Logprobs};
use super::{Form, Generated};
use crate::record::{KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL};

/// One of `choices`.
#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    delta: Option<Message<'a>>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(default)]
    logprobs: Option<Logprobs>,
    #[serde(default)]
    token_ids: Count,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
    #[serde(borrow, default)]
    reasoning_content: Text<'a>,
    #[serde(borrow, default)]
    reasoning: Text<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Few<ToolCall<'a>>,
    #[serde(borrow, default)]
    function_call: Option<Function<'a>>,
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

    fn listed_tokens(&self) -> Option<u32> {
        self.token_ids.0.or_else(|| self.logprobs.as_ref().and_then(Logprobs::tokens))
    }

    fn generated(&self, form: Form, out: &mut Generated<'_>) {
        // Some servers add to each event the whole message so far: that is nothing new.
        let message = match form {
            Form::Event => &self.delta,
            Form::Whole => &self.message,
        };
        let Some(message) = message else { return };
        // Servers that are changing from the one name to the other send both, with the same text.
        let reasoning =
            [&message.reasoning_content, &message.reasoning].into_iter().find(|text| !text.0.is_empty());
        if let Some(reasoning) = reasoning {
            out.add(KIND_REASONING, &reasoning.0);
        }
        out.add(KIND_REASONING, &message.content.thinking);
        out.add(KIND_CONTENT, &message.content.answer);
        out.add(KIND_CONTENT, &message.refusal.0);
        let calls = message.tool_calls.iter().filter_map(|call| call.function.as_ref());
        for function in calls.chain(&message.function_call) {
            out.add(KIND_TOOL_CALL, &function.arguments.0);
        }
    }
}
