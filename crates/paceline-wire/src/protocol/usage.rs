//! What servers say of the tokens, in each protocol's own fields.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::Tokens;

/// Numbers of tokens; none where the server does not say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: Option<i64>,
    pub(crate) completion: Option<i64>,
    /// Of `completion`.
    pub(crate) reasoning: Option<i64>,
    /// Of the prompt, from a cache.
    pub(crate) cached: Option<i64>,
    /// Of the prompt, written to a cache.
    pub(crate) cache_write: Option<i64>,
    /// Of the prompt, all but those two. With it the prompt is the sum of the three, of which each event may give some.
    pub(crate) uncached: Option<i64>,
}

impl Usage {
    /// What it says of the prompt alone.
    pub(super) fn without_output(mut self: Box<Self>) -> Box<Self> {
        self.completion = None;
        self.reasoning = None;
        self
    }
}

/// A part is no larger than its whole: one that is says nothing.
fn part(part: Option<i64>, whole: Option<i64>) -> Option<i64> {
    part.filter(|part| whole.is_none_or(|whole| *part <= whole))
}

/// Usage that is no usage says nothing; the answer beside it is as good as any.
fn read<'a, T: Deserialize<'a> + Into<Usage>>(raw: &'a RawValue) -> Option<Box<Usage>> {
    serde_json::from_str::<T>(raw.get()).ok().map(|usage| Box::new(usage.into()))
}

/// Chat completions, completions and embeddings.
pub(super) fn openai(raw: &RawValue) -> Option<Box<Usage>> {
    read::<Openai>(raw)
}

/// Responses.
pub(super) fn responses(raw: &RawValue) -> Option<Box<Usage>> {
    read::<Responses>(raw)
}

/// Messages.
pub(super) fn anthropic(raw: &RawValue) -> Option<Box<Usage>> {
    read::<Anthropic>(raw)
}

/// With the places where servers other than OpenAI's put the same figures.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Openai {
    prompt_tokens: Tokens,
    completion_tokens: Tokens,
    reasoning_tokens: Tokens,
    cached_tokens: Tokens,
    prompt_cache_hit_tokens: Tokens,
    completion_tokens_details: Option<OutputDetails>,
    prompt_tokens_details: Option<InputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Responses {
    input_tokens: Tokens,
    output_tokens: Tokens,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Anthropic {
    input_tokens: Tokens,
    output_tokens: Tokens,
    cache_read_input_tokens: Tokens,
    cache_creation_input_tokens: Tokens,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Tokens,
    /// Anthropic's name.
    thinking_tokens: Tokens,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Tokens,
    cache_write_tokens: Tokens,
}

impl From<Openai> for Usage {
    fn from(usage: Openai) -> Self {
        let (prompt, completion) = (usage.prompt_tokens.0, usage.completion_tokens.0);
        let input = usage.prompt_tokens_details.unwrap_or_default();
        let reasoning = usage.completion_tokens_details.and_then(|details| details.reasoning_tokens.0);
        let cached = input.cached_tokens.0.or(usage.cached_tokens.0).or(usage.prompt_cache_hit_tokens.0);
        Self {
            prompt,
            completion,
            reasoning: part(reasoning.or(usage.reasoning_tokens.0), completion),
            cached: part(cached, prompt),
            cache_write: part(input.cache_write_tokens.0, prompt),
            uncached: None,
        }
    }
}

impl From<Responses> for Usage {
    fn from(usage: Responses) -> Self {
        let (prompt, completion) = (usage.input_tokens.0, usage.output_tokens.0);
        let input = usage.input_tokens_details.unwrap_or_default();
        let output = usage.output_tokens_details.unwrap_or_default();
        Self {
            prompt,
            completion,
            reasoning: part(output.reasoning_tokens.0, completion),
            cached: part(input.cached_tokens.0, prompt),
            cache_write: part(input.cache_write_tokens.0, prompt),
            uncached: None,
        }
    }
}

impl From<Anthropic> for Usage {
    fn from(usage: Anthropic) -> Self {
        let completion = usage.output_tokens.0;
        let output = usage.output_tokens_details.unwrap_or_default();
        Self {
            prompt: None,
            completion,
            reasoning: part(output.thinking_tokens.0, completion),
            cached: usage.cache_read_input_tokens.0,
            cache_write: usage.cache_creation_input_tokens.0,
            uncached: usage.input_tokens.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(of: fn(&RawValue) -> Option<Box<Usage>>, json: &str) -> Usage {
        *of(serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn a_part_is_never_more_than_its_whole() {
        let parts = r#"{"prompt_tokens":5,"completion_tokens":4,"reasoning_tokens":9,"cached_tokens":6}"#;
        let alone = Usage { prompt: Some(5), completion: Some(4), ..Usage::default() };
        assert_eq!(usage(openai, parts), alone);
        let parts = r#"{"input_tokens":5,"output_tokens":4,"output_tokens_details":{"reasoning_tokens":5},
            "input_tokens_details":{"cached_tokens":6,"cache_write_tokens":7}}"#;
        assert_eq!(usage(responses, parts), alone);
    }

    #[test]
    fn openai_takes_the_details_first() {
        let all = r#"{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"reasoning_tokens":1,"cached_tokens":2,
            "completion_tokens_details":{"reasoning_tokens":3},
            "prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":1}}"#;
        let (prompt, completion) = (Some(9), Some(4));
        let expected = Usage {
            prompt,
            completion,
            reasoning: Some(3),
            cached: Some(8),
            cache_write: Some(1),
            uncached: None,
        };
        assert_eq!(usage(openai, all), expected);
        let hit = r#"{"prompt_cache_hit_tokens":5,"prompt_tokens_details":null}"#;
        assert_eq!(usage(openai, hit), Usage { cached: Some(5), ..Usage::default() });
    }

    #[test]
    fn responses_and_anthropic_have_names_of_their_own() {
        let json = r#"{"input_tokens":9,"output_tokens":4,"total_tokens":13,
            "input_tokens_details":{"cached_tokens":8,"cache_write_tokens":1},
            "output_tokens_details":{"reasoning_tokens":3}}"#;
        let read = usage(responses, json);
        assert_eq!((read.prompt, read.completion, read.reasoning), (Some(9), Some(4), Some(3)));
        assert_eq!((read.cached, read.cache_write), (Some(8), Some(1)));
        let json = r#"{"input_tokens":1,"output_tokens":4,"cache_read_input_tokens":8,
            "cache_creation_input_tokens":2,"output_tokens_details":{"thinking_tokens":3},"service_tier":"standard"}"#;
        let read = usage(anthropic, json);
        assert_eq!((read.prompt, read.uncached, read.completion), (None, Some(1), Some(4)));
        assert_eq!((read.cached, read.cache_write, read.reasoning), (Some(8), Some(2), Some(3)));
    }

    #[test]
    fn what_is_no_usage_says_nothing() {
        for json in ["7", "[]", "\"none\"", r#"{"input_tokens":"5","prompt_tokens":-5}"#] {
            let raw = RawValue::from_string(json.to_owned()).unwrap();
            let read = [openai(&raw), responses(&raw), anthropic(&raw)];
            assert!(read.iter().flatten().all(|usage| **usage == Usage::default()), "{json}");
        }
    }
}
