//! Tokens used. Chat counts a prompt whole, cache and all; the messages protocol counts what no cache had apart.

use crate::fields::Fields;
use crate::json::{Json, object};

/// What a server said so far of the tokens of an answer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The whole prompt.
    prompt: Option<i64>,
    /// Of the prompt, what no cache had or took; with it the prompt is the sum of the three.
    uncached: Option<i64>,
    cached: Option<i64>,
    cache_write: Option<i64>,
    completion: Option<i64>,
    /// Of the completion.
    reasoning: Option<i64>,
}

/// A part is no larger than its whole: one that is says nothing.
fn part(part: Option<i64>, whole: Option<i64>) -> Option<i64> {
    part.filter(|part| whole.is_none_or(|whole| *part <= whole))
}

impl Usage {
    /// Notes a usage of chat's; what it does not say stays.
    pub(crate) fn chat(&mut self, usage: &Fields<'_>) {
        // A usage that is none says nothing; the answer beside it is as good as any.
        let details = |name| usage.object(name, "").ok().flatten().unwrap_or_default();
        let (input, output) = (details("prompt_tokens_details"), details("completion_tokens_details"));
        let (prompt, completion) = (usage.tokens("prompt_tokens"), usage.tokens("completion_tokens"));
        let cached = input.tokens("cached_tokens").or_else(|| usage.tokens("cached_tokens"));
        let cached = cached.or_else(|| usage.tokens("prompt_cache_hit_tokens"));
        let reasoning = output.tokens("reasoning_tokens").or_else(|| usage.tokens("reasoning_tokens"));
        self.prompt = prompt.or(self.prompt);
        self.completion = completion.or(self.completion);
        self.cached = part(cached, prompt).or(self.cached);
        self.cache_write = part(input.tokens("cache_write_tokens"), prompt).or(self.cache_write);
        self.reasoning = part(reasoning, completion).or(self.reasoning);
    }

    /// Notes a usage of the messages protocol's. `begins`: of a message that only begins, whose count of what was
    /// generated is a placeholder.
    pub(crate) fn messages(&mut self, usage: &Fields<'_>, begins: bool) {
        let output = usage.object("output_tokens_details", "").ok().flatten().unwrap_or_default();
        self.uncached = usage.tokens("input_tokens").or(self.uncached);
        self.cached = usage.tokens("cache_read_input_tokens").or(self.cached);
        self.cache_write = usage.tokens("cache_creation_input_tokens").or(self.cache_write);
        if !begins {
            let completion = usage.tokens("output_tokens");
            self.completion = completion.or(self.completion);
            let reasoning = output.tokens("thinking_tokens").or_else(|| output.tokens("reasoning_tokens"));
            self.reasoning = part(reasoning, completion).or(self.reasoning);
        }
    }

    fn cache(&self) -> i64 {
        self.cached.unwrap_or(0) + self.cache_write.unwrap_or(0)
    }

    /// In chat's words.
    pub(crate) fn to_chat(self) -> Json<'static> {
        let prompt = self.uncached.map(|uncached| uncached + self.cache()).or(self.prompt).unwrap_or(0);
        let completion = self.completion.unwrap_or(0);
        let mut fields = vec![
            ("prompt_tokens", prompt.into()),
            ("completion_tokens", completion.into()),
            ("total_tokens", (prompt + completion).into()),
        ];
        if self.cached.or(self.cache_write).is_some() {
            let details = [
                ("cached_tokens", self.cached.unwrap_or(0).into()),
                ("cache_write_tokens", self.cache_write.unwrap_or(0).into()),
            ];
            fields.push(("prompt_tokens_details", object(details)));
        }
        if let Some(reasoning) = self.reasoning {
            fields.push(("completion_tokens_details", object([("reasoning_tokens", reasoning.into())])));
        }
        Json::Object(fields)
    }

    /// In the words of the messages protocol.
    pub(crate) fn to_messages(self) -> Json<'static> {
        let uncached = self.uncached.unwrap_or_else(|| (self.prompt.unwrap_or(0) - self.cache()).max(0));
        let mut fields = vec![
            ("input_tokens", uncached.into()),
            ("cache_creation_input_tokens", self.cache_write.unwrap_or(0).into()),
            ("cache_read_input_tokens", self.cached.unwrap_or(0).into()),
            ("output_tokens", self.completion.unwrap_or(0).into()),
        ];
        if let Some(reasoning) = self.reasoning {
            fields.push(("output_tokens_details", object([("thinking_tokens", reasoning.into())])));
        }
        Json::Object(fields)
    }
}

/// The usage in an answer or an event. One that is no object says nothing.
pub(crate) fn of<'a>(document: &Fields<'a>) -> Option<Fields<'a>> {
    document.object("usage", "").ok().flatten()
}
