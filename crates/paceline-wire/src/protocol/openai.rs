//! What chat completions and completions have in common.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::errors::{ended_by_error, foreign_error, message, reported, unnamed};
use super::json::{Count, Few, Text};
use super::usage;
use super::{Document, Form, Generated};

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
        let usage = self.usage.and_then(usage::openai);
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
        if let Some(error) = reported(self.error) {
            return Some(error);
        }
        if self.object.0 == "error" {
            return Some(self.message.map_or_else(unnamed, message));
        }
        for choice in self.choices.iter() {
            let ended = || ended_by_error("a choice", "finish_reason", choice.finish_reason());
            if let Some(error) = reported(choice.error()).or_else(ended) {
                return Some(error);
            }
        }
        // Without choices and usage it is no part of an answer; it may be an error in some server's own form.
        if self.choices.iter().next().is_none() && self.usage.is_none() { foreign_error(json) } else { None }
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
    /// Tokens that `logprobs` lists. Log probabilities in another form say nothing.
    pub(super) fn tokens(raw: &RawValue) -> Option<u32> {
        let lists = serde_json::from_str::<Self>(raw.get()).ok()?;
        [lists.content.0, lists.refusal.0, lists.tokens.0].into_iter().flatten().reduce(u32::saturating_add)
    }
}
