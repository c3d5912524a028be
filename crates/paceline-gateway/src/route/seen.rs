//! What became of one attempt at an offer, as the worker tells the router.

use paceline_wire::Outcome;

use crate::ask::Ask;

/// One finished attempt. Durations in ns, from the attempt's own first byte written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// What was asked; none for a probe.
    pub(crate) ask: Option<&'a Ask>,
    /// `Permit::ticket` of the attempt: a TTFT that `Permit::first_token` has told is not counted twice.
    pub(crate) ticket: Option<u64>,
    pub(crate) outcome: Outcome,
    /// The HTTP status, where one came: 400, 413 and 422 are the client's own fault, not the offer's.
    pub(crate) status: Option<u16>,
    /// The client left, or the attempt lost a hedge: the offer has not failed.
    pub(crate) client_left: bool,
    /// The server's usage.
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) cached_tokens: Option<u64>,
    pub(crate) completion_tokens: Option<u64>,
    /// To the first token of a stream; none: none came, or the answer was no stream.
    pub(crate) ttft_ns: Option<i64>,
    /// Generated tokens a second after the first.
    pub(crate) decode_tok_s: Option<f64>,
    /// To the end, whatever it was.
    pub(crate) elapsed_ns: i64,
    /// From `retry-after`.
    pub(crate) retry_after_ns: Option<i64>,
    /// The answer named another model or tier than was asked for.
    pub(crate) downgraded: bool,
}

/// An attempt of before this gateway's start. What was asked is not known any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recalled {
    pub(crate) probe: bool,
    pub(crate) streaming: bool,
    pub(crate) embedding: bool,
    pub(crate) seen: Seen<'static>,
}

/// What an attempt says of its offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Success,
    Failure,
    RateLimited,
    /// Nothing: the client left, the request was wrong, or another was faster.
    Neutral,
}

impl Seen<'_> {
    pub(crate) fn class(&self) -> Class {
        // A rate limit or an answer counts even where the client has gone since.
        match self.outcome {
            Outcome::RateLimited => Class::RateLimited,
            Outcome::Ok | Outcome::HungUp => Class::Success,
            Outcome::Cancelled => Class::Neutral,
            _ if self.client_left => Class::Neutral,
            Outcome::HttpError if matches!(self.status, Some(400 | 413 | 422)) => Class::Neutral,
            _ => Class::Failure,
        }
    }

    /// Prompt tokens that no cache had, where the server says.
    pub(crate) fn uncached_tokens(&self) -> Option<f64> {
        let prompt = self.prompt_tokens?;
        Some(prompt.saturating_sub(self.cached_tokens.unwrap_or(0)) as f64)
    }
}
