//! What the router keeps of one offer. It belongs to the offer's id, so it outlives a change of the table.

use std::sync::Arc;

use paceline_wire::Protocol;

use super::affinity::Affinity;
use super::breaker::Breaker;
use super::cooldown::Cooldown;
use super::limit::Limit;
use super::seen::{Class, Recalled, Seen};
use super::shares::Shares;
use super::window::Window;
use crate::table::{Offer, Policy};

/// Until something is known.
const BYTES_A_TOKEN: f64 = 4.0;
/// What is known before the first request weighs as so many tokens.
const BYTES_A_TOKEN_WEIGHT: f64 = 500.0;
/// Older evidence of bytes a token loses so much with each newer one.
const BYTES_A_TOKEN_FADE: f64 = 0.99;
/// Shares lose half their weight in so much of the window.
pub(crate) const SHARES_HALF_LIFE: f64 = 0.25;
/// Of an answer that was no stream, without a decode rate known, the share of the time that goes to decoding.
const DECODING_SHARE: f64 = 0.8;

/// Told by the worker, or by `Router::apply`.
#[derive(Debug)]
pub(crate) struct OfferState {
    pub(crate) id: Arc<str>,
    pub(crate) ttft: Window,
    pub(crate) decode: Window,
    pub(crate) shares: Shares,
    pub(crate) breaker: Breaker,
    pub(crate) cooldown: Cooldown,
    pub(crate) limit: Limit,
    pub(crate) affinity: Affinity,
    pub(crate) in_flight: u32,
    /// Somebody was told that it is full, and nothing has been free since.
    pub(crate) awaited: bool,
    pub(crate) attempts: u64,
    pub(crate) downgrades: u64,
    /// When an attempt last ended with something to tell.
    pub(crate) last_seen_ns: Option<i64>,
    pub(crate) probe_told_ns: Option<i64>,
    /// When a stream last told a decode rate.
    streamed_ns: Option<i64>,
    bytes: f64,
    tokens: f64,
}

impl OfferState {
    pub(crate) fn new(id: &str, policy: &Policy) -> Self {
        Self {
            id: Arc::from(id),
            ttft: Window::new(policy.window_ns),
            decode: Window::new(policy.window_ns),
            shares: Shares::new(policy.window_ns as f64 * SHARES_HALF_LIFE),
            breaker: Breaker::default(),
            cooldown: Cooldown::default(),
            limit: Limit::default(),
            affinity: Affinity::default(),
            in_flight: 0,
            awaited: false,
            attempts: 0,
            downgrades: 0,
            last_seen_ns: None,
            probe_told_ns: None,
            streamed_ns: None,
            bytes: BYTES_A_TOKEN * BYTES_A_TOKEN_WEIGHT,
            tokens: BYTES_A_TOKEN_WEIGHT,
        }
    }

    pub(crate) fn apply(&mut self, policy: &Policy) {
        self.ttft.set_window(policy.window_ns);
        self.decode.set_window(policy.window_ns);
        self.shares.set_half_life(policy.window_ns as f64 * SHARES_HALF_LIFE);
    }

    /// Prompt bytes a token, as this offer's tokenizer has it.
    pub(crate) fn bytes_a_token(&self) -> f64 {
        self.bytes / self.tokens
    }

    /// Places at once; none: without bound.
    pub(crate) fn places(&self, offer: &Offer) -> Option<u32> {
        self.limit.places(offer.limits.concurrency)
    }

    /// The same when no other offer is left.
    pub(crate) fn most_places(&self, offer: &Offer) -> Option<u32> {
        self.limit.most(offer.limits.concurrency)
    }

    /// A first token after `ttft_ns`. `begun_with` were in flight when it was admitted.
    pub(crate) fn first_token(&mut self, first: &First, policy: &Policy, now_ns: i64) {
        let multiple = self.ttft.multiple(first.tokens, first.ttft_ns as f64);
        self.ttft.add(first.ticket, first.tokens, first.ttft_ns as f64, false, now_ns);
        let sent_ns = now_ns - first.ttft_ns;
        self.limit.first_token(multiple, first.begun_with, sent_ns, now_ns, policy.window_ns);
    }

    /// An attempt has ended. True: places may have become free by it.
    pub(crate) fn observe(&mut self, seen: &Seen<'_>, policy: &Policy, now_ns: i64) -> bool {
        let sent_ns = now_ns - seen.elapsed_ns.max(0);
        let class = seen.class();
        self.attempts += 1;
        self.downgrades += u64::from(seen.downgraded);
        self.shares.add(class, now_ns);
        if class != Class::Neutral {
            self.last_seen_ns = Some(now_ns);
        }
        let freed = match class {
            Class::Success => self.succeeded(sent_ns, now_ns),
            Class::Failure => self.failed(seen, policy, sent_ns, now_ns),
            Class::RateLimited => {
                self.limit.troubled(self.in_flight, sent_ns, now_ns);
                self.cooldown.limited(seen.retry_after_ns, sent_ns, now_ns);
                false
            }
            Class::Neutral => false,
        };
        self.learn_sizes(seen, class, now_ns);
        let streaming = seen.ask.is_none_or(|ask| ask.streaming);
        let embedding = seen.ask.is_some_and(|ask| ask.protocol == Protocol::OpenaiEmbeddings);
        self.learn_speed(seen, class, (streaming, embedding), policy.window_ns, now_ns);
        freed
    }

    /// An attempt of before.
    pub(crate) fn recall(&mut self, past: &Recalled, policy: &Policy, at_ns: i64) {
        let class = past.seen.class();
        self.shares.add(class, at_ns);
        if class != Class::Neutral {
            self.last_seen_ns = Some(at_ns);
        }
        // Without its size it says nothing of other sizes.
        if past.seen.prompt_tokens.is_some() {
            let kind = (past.streaming, past.embedding);
            self.learn_speed(&past.seen, class, kind, policy.window_ns, at_ns);
        }
    }

    fn succeeded(&mut self, sent_ns: i64, now_ns: i64) -> bool {
        self.cooldown.answered(sent_ns);
        let closed = self.breaker.succeeded(sent_ns, now_ns);
        if closed {
            self.shares.well_again();
        }
        self.limit.answered(self.in_flight) || closed
    }

    fn failed(&mut self, seen: &Seen<'_>, policy: &Policy, sent_ns: i64, now_ns: i64) -> bool {
        if seen.status == Some(503) && seen.retry_after_ns.is_some() {
            // Overload by its own word: the same as a rate limit.
            self.cooldown.limited(seen.retry_after_ns, sent_ns, now_ns);
            self.limit.troubled(self.in_flight, sent_ns, now_ns);
        }
        if seen.outcome == paceline_wire::Outcome::Timeout {
            self.limit.troubled(self.in_flight, sent_ns, now_ns);
        }
        self.breaker.failed(sent_ns, now_ns, policy.breaker_failures, policy.breaker_open_ns);
        false
    }

    fn learn_sizes(&mut self, seen: &Seen<'_>, class: Class, now_ns: i64) {
        let Some(ask) = seen.ask else { return };
        if class != Class::Success && seen.ttft_ns.is_none() {
            return;
        }
        if let Some(tokens) = seen.prompt_tokens.filter(|tokens| *tokens > 0)
            && ask.images == 0
            && ask.prompt_bytes > 0
        {
            self.bytes = BYTES_A_TOKEN_FADE * self.bytes + ask.prompt_bytes as f64;
            self.tokens = BYTES_A_TOKEN_FADE * self.tokens + tokens as f64;
        }
        let bytes_a_token = self.bytes_a_token();
        self.affinity.learn(&ask.prefix, bytes_a_token, seen.cached_tokens, now_ns);
    }

    /// The size that a TTFT is booked under.
    fn tokens(&self, seen: &Seen<'_>) -> f64 {
        let estimated = || seen.ask.map_or(0.0, |ask| ask.prompt_bytes as f64 / self.bytes_a_token());
        seen.uncached_tokens().unwrap_or_else(estimated)
    }

    fn learn_speed(
        &mut self,
        seen: &Seen<'_>,
        class: Class,
        (streaming, embedding): (bool, bool),
        window_ns: i64,
        now_ns: i64,
    ) {
        if let Some(rate) = seen.decode_tok_s.filter(|_| streaming) {
            self.decode.add(0, 0.0, rate, false, now_ns);
            self.streamed_ns = Some(now_ns);
        }
        let tokens = self.tokens(seen);
        if !streaming {
            self.learn_whole(seen, class, (tokens, embedding), window_ns, now_ns);
            return;
        }
        if let Some(ttft_ns) = seen.ttft_ns {
            let told = seen.ticket.is_some_and(|ticket| self.ttft.correct(ticket, tokens));
            if !told && seen.ticket.is_none() {
                self.ttft.add(0, tokens, ttft_ns as f64, false, now_ns);
            }
        } else if is_late(seen) {
            self.ttft.add(0, tokens, seen.elapsed_ns as f64, true, now_ns);
        }
    }

    /// An answer that was no stream says only how long all of it took. What its tokens took at the rate known is taken
    /// off; where none is known, most of the time is taken to be theirs.
    fn learn_whole(
        &mut self,
        seen: &Seen<'_>,
        class: Class,
        (tokens, embedding): (f64, bool),
        window_ns: i64,
        now_ns: i64,
    ) {
        if class != Class::Success {
            if is_late(seen) {
                self.ttft.add(0, tokens, seen.elapsed_ns as f64, true, now_ns);
            }
            return;
        }
        let elapsed_ns = seen.elapsed_ns as f64;
        let output = if embedding { 0.0 } else { seen.completion_tokens.unwrap_or(0) as f64 };
        if output <= 1.0 {
            self.ttft.add(0, tokens, elapsed_ns, false, now_ns);
            return;
        }
        let streamed = self.streamed_ns.is_some_and(|at_ns| now_ns - at_ns <= window_ns);
        let known = if streamed { self.decode.next(0.0, now_ns) } else { None };
        let decoding_ns = match known.map(|rates| rates.quantile(0.5).0) {
            Some(rate) => (output / rate * 1e9).min(0.95 * elapsed_ns),
            None => DECODING_SHARE * elapsed_ns,
        };
        if !streamed {
            self.decode.add(0, 0.0, output / decoding_ns * 1e9, false, now_ns);
        }
        self.ttft.add(0, tokens, elapsed_ns - decoding_ns, false, now_ns);
    }
}

/// A first token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct First {
    pub(crate) ticket: u64,
    pub(crate) tokens: f64,
    pub(crate) ttft_ns: i64,
    pub(crate) begun_with: u32,
}

/// Ended without a token by the clock, or since somebody would wait no longer: the TTFT is later than that.
fn is_late(seen: &Seen<'_>) -> bool {
    use paceline_wire::Outcome::{Cancelled, Timeout};
    matches!(seen.outcome, Timeout | Cancelled) || seen.client_left
}
