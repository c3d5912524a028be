//! The model of engine mode.

use serde::Deserialize;

use super::{MAX_OUTPUT_TOKENS, MAX_US, at_least_one, at_most, share};

/// Speculative decoding: one step may yield several tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecBurst {
    /// The most tokens a step.
    pub max_tokens: u32,
    /// The chance that a drafted token is accepted, given that those before it were.
    pub acceptance: f64,
}

/// The model of engine mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// Requests that are worked on at once.
    pub slots: usize,
    /// Prompt tokens a second.
    pub prefill_tok_s: f64,
    /// What a prefill takes besides its tokens, in us.
    pub prefill_base_us: u64,
    /// What a decode step takes besides its sequences, in us.
    pub decode_step_base_us: u64,
    /// What a decode step takes for each sequence in it, in us.
    pub decode_step_per_seq_us: u64,
    /// Prompts that begin alike are computed once.
    pub prefix_cache: bool,
    /// Blocks of 16 tokens that the prefix cache keeps.
    pub prefix_cache_blocks: usize,
    /// What a cached token costs, as a share of an uncached one.
    pub cached_prefill_share: f64,
    /// Speculative decoding.
    pub spec_burst: Option<SpecBurst>,
    /// Tokens of an answer when the request sets no limit.
    pub output_tokens: u64,
    /// How many of the answer's tokens, from the first on, are reasoning.
    pub reasoning_tokens: u64,
    /// Requests that may wait for a slot; more are refused with status 429.
    pub queue_limit: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            slots: 8,
            prefill_tok_s: 8_000.0,
            prefill_base_us: 2_000,
            decode_step_base_us: 8_000,
            decode_step_per_seq_us: 300,
            prefix_cache: true,
            prefix_cache_blocks: 65_536,
            cached_prefill_share: 0.05,
            spec_burst: None,
            output_tokens: 64,
            reasoning_tokens: 0,
            queue_limit: 1_000,
        }
    }
}

impl EngineConfig {
    /// Tokens of an answer that are its content, where the request has no limit.
    pub(crate) fn content_tokens(&self) -> u64 {
        self.output_tokens.saturating_sub(self.reasoning_tokens)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        at_least_one("engine.slots", self.slots as u64)?;
        if !(self.prefill_tok_s.is_finite() && self.prefill_tok_s >= 1.0) {
            return Err(format!("engine.prefill_tok_s is {}, and must be at least 1", self.prefill_tok_s));
        }
        at_most("engine.prefill_base_us", self.prefill_base_us, MAX_US)?;
        at_most("engine.decode_step_base_us", self.decode_step_base_us, MAX_US)?;
        at_most("engine.decode_step_per_seq_us", self.decode_step_per_seq_us, MAX_US)?;
        if self.decode_step_base_us + self.decode_step_per_seq_us == 0 {
            return Err("engine.decode_step_base_us and engine.decode_step_per_seq_us are both 0".to_owned());
        }
        share("engine.cached_prefill_share", self.cached_prefill_share)?;
        at_least_one("engine.output_tokens", self.output_tokens)?;
        at_most("engine.output_tokens", self.output_tokens, MAX_OUTPUT_TOKENS)?;
        if let Some(burst) = self.spec_burst {
            at_least_one("engine.spec_burst.max_tokens", u64::from(burst.max_tokens))?;
            at_most("engine.spec_burst.max_tokens", u64::from(burst.max_tokens), 1_000)?;
            share("engine.spec_burst.acceptance", burst.acceptance)?;
        }
        Ok(())
    }
}
