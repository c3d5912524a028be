//! The schedule of exact mode.

use serde::{Deserialize, Serialize};

use super::{MAX_OUTPUT_TOKENS, MAX_US, at_least_one, at_most};

/// When and what usage figures are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageMode {
    /// In the body, or in the stream's last event when `stream_options.include_usage` asks for it.
    #[default]
    Final,
    /// Never, asked for or not.
    None,
    /// In every event, running, and in the last one, asked for or not.
    Each,
    /// As `final`, with a wrong number of completion tokens.
    Wrong,
}

/// A pause in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Events whose first token has this index or a later one are late.
    pub after_tokens: u64,
    /// By so much, in us.
    pub stall_us: u64,
}

/// The schedule of exact mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExactConfig {
    /// From the request's first byte to the first token, in us.
    pub ttft_us: u64,
    /// From one token to the next, in us.
    pub itl_us: u64,
    /// Tokens that one event carries.
    pub tokens_per_event: u64,
    /// Tokens of an answer, reasoning and tool call among them; the request's limit may make it fewer.
    pub output_tokens: u64,
    /// How many of them, from the first on, are reasoning.
    pub reasoning_tokens: u64,
    /// How many of them, up to the last, are the arguments of a tool call.
    pub tool_tokens: u64,
    /// The role comes in an event of its own, with the head.
    pub role_first: bool,
    /// Events with empty content before the first token, evenly spread over the TTFT.
    pub empty_first_events: u64,
    /// Pauses.
    pub stalls: Vec<Stall>,
    /// Usage figures.
    pub usage: UsageMode,
    /// Each event says its token ids.
    pub token_ids: bool,
    /// Prompt tokens that are said to come from the cache, at most all of them.
    pub cached_tokens: u64,
    /// Prompts that begin alike are known, and only what is new of them counts for the TTFT.
    pub prefix_cache: bool,
    /// Blocks of 16 tokens that the prefix cache keeps.
    pub prefix_cache_blocks: usize,
    /// What each prompt token that is not cached adds to the TTFT, in us.
    pub ttft_us_per_uncached_token: u64,
    /// The model that answers name; none: the one that was asked.
    pub server_model: Option<String>,
    /// The tier that answers name; none: they name none; `echo`: the one that was asked, where one was.
    pub service_tier: Option<String>,
    /// The same for the speed, which Anthropic's API has.
    pub speed: Option<String>,
}

impl Default for ExactConfig {
    fn default() -> Self {
        Self {
            ttft_us: 50_000,
            itl_us: 10_000,
            tokens_per_event: 1,
            output_tokens: 64,
            reasoning_tokens: 0,
            tool_tokens: 0,
            role_first: true,
            empty_first_events: 0,
            stalls: Vec::new(),
            usage: UsageMode::Final,
            token_ids: false,
            cached_tokens: 0,
            prefix_cache: false,
            prefix_cache_blocks: 65_536,
            ttft_us_per_uncached_token: 0,
            server_model: None,
            service_tier: None,
            speed: None,
        }
    }
}

impl ExactConfig {
    /// Tokens of an answer that are its content.
    pub(crate) fn content_tokens(&self) -> u64 {
        self.output_tokens.saturating_sub(self.reasoning_tokens).saturating_sub(self.tool_tokens)
    }

    /// Says which field is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        at_most("exact.ttft_us", self.ttft_us, MAX_US)?;
        at_most("exact.itl_us", self.itl_us, MAX_US)?;
        at_least_one("exact.tokens_per_event", self.tokens_per_event)?;
        at_most("exact.tokens_per_event", self.tokens_per_event, 100_000)?;
        at_least_one("exact.output_tokens", self.output_tokens)?;
        at_most("exact.output_tokens", self.output_tokens, MAX_OUTPUT_TOKENS)?;
        at_most("exact.empty_first_events", self.empty_first_events, 100_000)?;
        let special = self.reasoning_tokens.saturating_add(self.tool_tokens);
        if special > self.output_tokens {
            return Err(format!(
                "exact.reasoning_tokens and exact.tool_tokens are {special} together, more than exact.output_tokens ({}), of which they are a part",
                self.output_tokens
            ));
        }
        at_most("exact.ttft_us_per_uncached_token", self.ttft_us_per_uncached_token, MAX_US)?;
        if self.prefix_cache && self.cached_tokens > 0 {
            return Err("exact.cached_tokens and exact.prefix_cache exclude one another: either a fixed number or a cache that counts".to_owned());
        }
        for stall in &self.stalls {
            at_most("exact.stalls.stall_us", stall.stall_us, MAX_US)?;
        }
        Ok(())
    }
}
