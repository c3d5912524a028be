//! How offers are chosen.

use serde::Deserialize;

/// A second offer is asked when the first is later than its own 95th percentile.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hedging {
    /// The share of requests that may be hedged; 0: none.
    pub share: f64,
    /// Never sooner than so long after the first was asked, in ns.
    pub least_wait_ns: i64,
}

/// Small real requests to offers that have no traffic.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probing {
    /// An offer without an answer for so long is probed, in ns; 0: never.
    pub every_ns: i64,
    /// What probes may cost in a day (UTC), USD.
    pub usd_per_day: f64,
    /// Tokens that a probe asks for.
    pub output_tokens: u32,
}

/// How offers are chosen.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// What an hour of waiting is worth, USD: what weighs speed against price where the client does not.
    pub time_worth_usd_per_hour: f64,
    /// The share of requests that may go to an offer only to learn of it.
    pub explore_share: f64,
    /// An offer with fewer samples in its window is cold.
    pub min_samples: u32,
    /// What was seen counts for so long, in ns.
    pub window_ns: i64,
    /// A deadline is taken on when an offer meets it with at least this probability.
    pub deadline_confidence: f64,
    /// Retries may be at most this share of requests (and ten at any time).
    pub retry_share: f64,
    /// Attempts at one request, the first included.
    pub attempts: u32,
    /// Failures in a row that open an offer's breaker.
    pub breaker_failures: u32,
    /// How long it stays open the first time, in ns; doubled each time up to 32 times that.
    pub breaker_open_ns: i64,
    /// Hedging.
    pub hedging: Hedging,
    /// Probing.
    pub probing: Probing,
    /// Requests are sent where their beginning is cached, if that is worth it.
    pub cache_affinity: bool,
}
