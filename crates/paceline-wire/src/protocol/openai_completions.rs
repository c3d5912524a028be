//! OpenAI completions, the legacy protocol of base models.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Count, Text};
use super::openai::{self, Logprobs};
use super::{Form, Generated};
use crate::record::KIND_CONTENT;

/// One of `choices`.
#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
    #[serde(default)]
    token_ids: Count,
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

    fn generated(&self, _form: Form, out: &mut Generated<'_>) -> Result<(), serde_json::Error> {
        out.add(KIND_CONTENT, &self.text.0);
        Ok(())
    }
}
