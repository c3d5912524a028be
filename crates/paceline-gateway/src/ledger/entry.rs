//! What the ledger says of a request: one line of JSON, `paceline.ledger/1` (docs/reference/ledger.md).

use paceline_wire::RequestRecord;
use serde::Serialize;

use crate::table::Tier;

/// Where the tokens of a usage come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageSource {
    /// The upstream said so.
    Server,
    /// The answer was cut short before the upstream said: events were counted, and the prompt is estimated from its
    /// bytes.
    Estimated,
    /// Nothing was used: it was never sent, or the upstream refused or failed before its first token.
    None,
}

/// Tokens used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    pub(crate) source: UsageSource,
}

/// Why an offer was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    First,
    /// After another had failed.
    Retry,
    /// Since another was late.
    Hedge,
    /// To learn of the offer; no client asked.
    Probe,
}

/// One offer asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AttemptEntry {
    pub(crate) offer: String,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) upstream_model: String,
    pub(crate) tier: Tier,
    /// The offer's base URL, without credentials.
    pub(crate) endpoint: String,
    /// The protocol that the upstream was asked in.
    pub(crate) protocol: &'static str,
    pub(crate) role: Role,
    /// Its answer went to the client.
    pub(crate) served: bool,
    /// The upstream named another model or tier than was asked for; what it named.
    pub(crate) downgrade: Option<String>,
    pub(crate) usage: Usage,
    /// None: the price is unknown.
    pub(crate) cost_usd: Option<f64>,
    /// As a benchmark's row; `request_index` counts the attempts of the gateway's life, instants are CLOCK_MONOTONIC.
    pub(crate) row: RequestRecord,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entry {
    /// `gen-` and 26 characters.
    pub(crate) id: String,
    /// When its first byte came, by the wall clock and by CLOCK_MONOTONIC: what ties rows to the calendar.
    pub(crate) received_unix_ns: i64,
    pub(crate) received_ns: i64,
    pub(crate) ended_ns: i64,
    /// The key's id.
    pub(crate) key: Option<String>,
    pub(crate) app_title: Option<String>,
    pub(crate) app_referer: Option<String>,
    /// The client's protocol.
    pub(crate) protocol: &'static str,
    pub(crate) streaming: bool,
    /// As the client asked.
    pub(crate) asked_model: String,
    /// How it ended for the client: `ok`, `client_gone`, `error_in_stream` (after the first token), `refused` (by the
    /// gateway), `failed` (no offer answered), `probe`.
    pub(crate) outcome: &'static str,
    /// The status that the client got; none: it had gone.
    pub(crate) status: Option<u16>,
    /// The error's code, where it got one.
    pub(crate) code: Option<String>,
    /// To the first token, sent on to the client.
    pub(crate) ttft_ns: Option<i64>,
    /// Waited for a free place.
    pub(crate) queued_ns: i64,
    pub(crate) deadline_ns: Option<i64>,
    pub(crate) finish_by_ns: Option<i64>,
    pub(crate) deadline_met: Option<bool>,
    /// Of all attempts.
    pub(crate) cost_usd: f64,
    /// The price of an attempt that used something is not known: the cost is a lower bound.
    pub(crate) cost_is_partial: bool,
    pub(crate) attempts: Vec<AttemptEntry>,
}

impl Usage {
    /// No tokens.
    pub(crate) const NOTHING: Self = Self {
        prompt_tokens: 0,
        completion_tokens: 0,
        reasoning_tokens: 0,
        cached_tokens: 0,
        cache_write_tokens: 0,
        source: UsageSource::None,
    };
}
