//! A place in flight at an offer. It follows the attempt, and is free again when it is dropped.

use std::sync::Arc;

use super::router::Shared;

/// One place; dropping it frees it.
#[derive(Debug)]
pub(crate) struct Permit {
    shared: Arc<Shared>,
    offer: Arc<str>,
    ticket: u64,
    /// In flight when it was admitted, itself included.
    begun_with: u32,
    /// It is the one request that a half-open breaker lets through.
    probe: bool,
    waiting: bool,
    tokens: f64,
    told: bool,
}

impl Permit {
    pub(super) fn new(
        shared: Arc<Shared>,
        offer: Arc<str>,
        ticket: u64,
        begun_with: u32,
        probe: bool,
    ) -> Self {
        Self { shared, offer, ticket, begun_with, probe, waiting: false, tokens: 0.0, told: false }
    }

    /// The request was sent: its prompt has so many uncached tokens (`Candidate::uncached_tokens`). From now on until
    /// `first_token` or the end it is one that waits, and the router sees an offer that stalls by those.
    /// Of answers that are no stream, do not say it: they wait for the whole of it.
    pub(crate) fn asked(&mut self, uncached_tokens: f64, now_ns: i64) {
        if self.waiting || self.told {
            return;
        }
        (self.waiting, self.tokens) = (true, uncached_tokens);
        self.shared
            .with_offer(&self.offer, |state, _| state.ttft.waits(self.ticket, uncached_tokens, now_ns));
    }

    /// The first token of a stream came, `ttft_ns` after the request was sent. Others learn of it at once, and not when
    /// the stream has ended.
    /// Of one that was not said to wait (`asked`) nothing is learned: it is no stream.
    pub(crate) fn first_token(&mut self, ttft_ns: i64, now_ns: i64) {
        if self.told || !self.waiting {
            return;
        }
        (self.told, self.waiting) = (true, false);
        let (ticket, tokens, begun_with) = (self.ticket, self.tokens, self.begun_with);
        self.shared.with_offer(&self.offer, |state, policy| {
            state.ttft.waits_no_more(ticket);
            state.first_token(&super::state::First { ticket, tokens, ttft_ns, begun_with }, policy, now_ns);
        });
    }

    /// For `Seen::ticket`: some once `first_token` has been told.
    pub(crate) fn ticket(&self) -> Option<u64> {
        self.told.then_some(self.ticket)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared.release(&self.offer, self.waiting.then_some(self.ticket), self.probe);
    }
}
