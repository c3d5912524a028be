//! A model of an inference engine, without sockets and without a clock of its own: it is told what time it is,
//! and says which tokens have come since. All instants are CLOCK_MONOTONIC in ns.
//!
//! A request waits in a queue for one of `slots`. Prefills run one after another, next to the decode steps, which
//! they do not stop (as with chunked prefill); the end of a prefill yields the first token. All requests that are
//! past their prefill decode together: a step takes `base + per_seq * sequences`, and at its end each sequence has
//! one token more, or several when drafted tokens are accepted. A request joins with the first step that begins
//! after its prefill, and leaves its slot with its last token.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::config::{EngineConfig, SpecBurst};
use crate::prefix_cache::{BLOCK_TOKENS, Hit, PrefixCache};

/// A request, as the model sees it.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// The caller's name for it.
    pub(crate) number: u64,
    pub(crate) prompt_tokens: u64,
    /// One hash for each whole block of the prompt (see [`BLOCK_TOKENS`]).
    pub(crate) prefix_hashes: Vec<u64>,
    pub(crate) output_tokens: u64,
}

/// Tokens that have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Emission {
    pub(crate) number: u64,
    pub(crate) due_ns: i64,
    pub(crate) tokens: u64,
    /// What the prefix cache had of the prompt.
    pub(crate) hit: Hit,
    pub(crate) last: bool,
}

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull;

#[derive(Debug)]
struct Waiting {
    job: Job,
    since_ns: i64,
}

/// A request in a slot: in line for its prefill, or decoding.
#[derive(Debug)]
struct Slot {
    job: Job,
    hit: Hit,
    tokens_left: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The prefill ends then.
    Prefill { ends_ns: i64 },
    /// Decoding from the next step on.
    Joining,
    /// In the step that runs now.
    Stepping,
}

/// The model.
#[derive(Debug)]
pub(crate) struct EngineModel {
    config: EngineConfig,
    rng: ChaCha8Rng,
    cache: PrefixCache,
    queue: VecDeque<Waiting>,
    slots: Vec<Slot>,
    /// When the prefill that was begun last ends.
    prefill_free_ns: i64,
    step_ends_ns: Option<i64>,
    /// How long the step takes that runs now.
    step_ns: i64,
    work: Work,
}

/// What the model has done since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Work {
    /// Prompt tokens whose prefill has ended, cached ones among them.
    pub(crate) prompt_tokens: u64,
    /// Those among them that were not cached.
    pub(crate) computed_tokens: u64,
    pub(crate) prefill_ns: i64,
    /// Prompt tokens that were looked up in the prefix cache.
    pub(crate) cache_queries: u64,
    pub(crate) cache_hits: u64,
    /// Decode steps.
    pub(crate) steps: u64,
    pub(crate) decode_ns: i64,
    /// The sequences of each step, summed up.
    pub(crate) sequences: u64,
    pub(crate) drafted_tokens: u64,
    /// Drafted tokens that the model accepted, those among them that an answer's limit then cut off.
    pub(crate) accepted_tokens: u64,
}

fn ns(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1_000)
}

impl EngineModel {
    pub(crate) fn new(config: EngineConfig, seed: u64) -> Self {
        let blocks = if config.prefix_cache { config.prefix_cache_blocks } else { 0 };
        Self {
            cache: PrefixCache::new(blocks),
            rng: ChaCha8Rng::seed_from_u64(seed),
            queue: VecDeque::new(),
            slots: Vec::new(),
            prefill_free_ns: i64::MIN,
            step_ends_ns: None,
            step_ns: 0,
            work: Work::default(),
            config,
        }
    }

    /// Takes a request that came at `at_ns`.
    ///
    /// # Errors
    /// [`QueueFull`] when `queue_limit` requests wait already.
    pub(crate) fn submit(&mut self, job: Job, at_ns: i64) -> Result<(), QueueFull> {
        if self.slots.len() < self.config.slots && self.queue.is_empty() {
            self.admit(job, at_ns);
            return Ok(());
        }
        if self.queue.len() >= self.config.queue_limit {
            return Err(QueueFull);
        }
        self.queue.push_back(Waiting { job, since_ns: at_ns });
        Ok(())
    }

    /// Forgets a request, whose slot is free at once; one that is not known is no error.
    pub(crate) fn cancel(&mut self, number: u64, at_ns: i64) {
        self.queue.retain(|waiting| waiting.job.number != number);
        self.slots.retain(|slot| slot.job.number != number);
        self.fill_slots(at_ns);
    }

    /// Requests that wait for a slot.
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Requests in a slot.
    pub(crate) fn running(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Blocks of the KV cache that the requests in the slots fill, with prompt and answer.
    pub(crate) fn used_blocks(&self) -> u64 {
        let tokens = self
            .slots
            .iter()
            .map(|slot| slot.job.prompt_tokens + (slot.job.output_tokens.max(1) - slot.tokens_left));
        tokens.map(|tokens| tokens.div_ceil(BLOCK_TOKENS as u64)).sum()
    }

    /// When tokens come next; none while there is nothing to do.
    pub(crate) fn next_ns(&self) -> Option<i64> {
        let prefill = self.slots.iter().filter_map(|slot| match slot.stage {
            Stage::Prefill { ends_ns } => Some(ends_ns),
            Stage::Joining | Stage::Stepping => None,
        });
        prefill.chain(self.step_ends_ns).min()
    }

    /// Lets time go by until `now_ns`, and appends what comes meanwhile to `out`, in order.
    pub(crate) fn advance(&mut self, now_ns: i64, out: &mut Vec<Emission>) {
        while let Some(at_ns) = self.next_ns().filter(|at_ns| *at_ns <= now_ns) {
            if self.step_ends_ns == Some(at_ns) {
                self.end_step(at_ns, out);
            }
            self.end_prefills(at_ns, out);
            self.slots.retain(|slot| slot.tokens_left > 0);
            self.fill_slots(at_ns);
            self.begin_step(at_ns);
        }
    }

    fn fill_slots(&mut self, at_ns: i64) {
        while self.slots.len() < self.config.slots
            && let Some(waiting) = self.queue.pop_front()
        {
            self.admit(waiting.job, waiting.since_ns.max(at_ns));
        }
    }

    /// Gives the request a slot and its place in the line of prefills.
    fn admit(&mut self, job: Job, at_ns: i64) {
        let hit = self.cache.take(&job.prefix_hashes, job.prompt_tokens);
        if self.config.prefix_cache {
            self.work.cache_queries += job.prompt_tokens;
            self.work.cache_hits += hit.cached_tokens;
        }
        let prefill_ns = self.prefill_ns(job.prompt_tokens, hit.cached_tokens);
        let ends_ns = self.prefill_free_ns.max(at_ns).saturating_add(prefill_ns);
        self.prefill_free_ns = ends_ns;
        let tokens_left = job.output_tokens.max(1);
        self.slots.push(Slot { job, hit, tokens_left, stage: Stage::Prefill { ends_ns } });
    }

    fn prefill_ns(&self, prompt_tokens: u64, cached_tokens: u64) -> i64 {
        let uncached = (prompt_tokens - cached_tokens) as f64;
        let work = uncached + cached_tokens as f64 * self.config.cached_prefill_share;
        ns(self.config.prefill_base_us).saturating_add((work / self.config.prefill_tok_s * 1e9) as i64)
    }

    fn end_prefills(&mut self, at_ns: i64, out: &mut Vec<Emission>) {
        let mut ended = Vec::new();
        for slot in &mut self.slots {
            if slot.stage == (Stage::Prefill { ends_ns: at_ns }) {
                slot.stage = Stage::Joining;
                ended.push((slot.job.prompt_tokens, slot.hit.cached_tokens));
                out.push(slot.emit(1, at_ns));
            }
        }
        for (prompt_tokens, cached_tokens) in ended {
            self.work.prompt_tokens += prompt_tokens;
            self.work.computed_tokens += prompt_tokens - cached_tokens;
            self.work.prefill_ns += self.prefill_ns(prompt_tokens, cached_tokens);
        }
    }

    fn begin_step(&mut self, at_ns: i64) {
        if self.step_ends_ns.is_some() {
            return;
        }
        let mut sequences = 0u64;
        for slot in &mut self.slots {
            if slot.stage == Stage::Joining {
                slot.stage = Stage::Stepping;
                sequences += 1;
            }
        }
        if sequences > 0 {
            let per_sequence = self.config.decode_step_per_seq_us.saturating_mul(sequences);
            let step_us = self.config.decode_step_base_us.saturating_add(per_sequence);
            self.step_ends_ns = Some(at_ns.saturating_add(ns(step_us)));
            self.step_ns = ns(step_us);
        }
    }

    fn end_step(&mut self, at_ns: i64, out: &mut Vec<Emission>) {
        self.step_ends_ns = None;
        self.work.steps += 1;
        self.work.decode_ns += self.step_ns;
        for slot in &mut self.slots {
            if slot.stage == Stage::Stepping {
                slot.stage = Stage::Joining;
                let tokens = burst(&mut self.rng, self.config.spec_burst);
                self.work.sequences += 1;
                if let Some(spec) = self.config.spec_burst {
                    self.work.drafted_tokens += u64::from(spec.max_tokens) - 1;
                    self.work.accepted_tokens += tokens - 1;
                }
                out.push(slot.emit(tokens, at_ns));
            }
        }
    }
}

impl Slot {
    fn emit(&mut self, tokens: u64, due_ns: i64) -> Emission {
        let tokens = tokens.min(self.tokens_left);
        self.tokens_left -= tokens;
        Emission { number: self.job.number, due_ns, tokens, hit: self.hit, last: self.tokens_left == 0 }
    }
}

/// Tokens of one step: the model's own, and drafted ones up to the first that is not accepted.
fn burst(rng: &mut ChaCha8Rng, spec: Option<SpecBurst>) -> u64 {
    let mut tokens = 1;
    if let Some(spec) = spec {
        while tokens < u64::from(spec.max_tokens) && rng.random::<f64>() < spec.acceptance {
            tokens += 1;
        }
    }
    tokens
}

#[cfg(test)]
mod tests;
