//! A line of the ledger as it is read back: what recovery and `/v1/generation` need of it.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Line {
    pub(super) id: String,
    pub(super) received_unix_ns: i64,
    pub(super) received_ns: i64,
    pub(super) ended_ns: i64,
    pub(super) key: Option<String>,
    pub(super) app_title: Option<String>,
    pub(super) app_referer: Option<String>,
    pub(super) protocol: String,
    pub(super) streaming: bool,
    pub(super) asked_model: String,
    pub(super) outcome: String,
    pub(super) status: Option<u16>,
    pub(super) code: Option<String>,
    pub(super) ttft_ns: Option<i64>,
    pub(super) queued_ns: i64,
    pub(super) deadline_ns: Option<i64>,
    pub(super) finish_by_ns: Option<i64>,
    pub(super) deadline_met: Option<bool>,
    pub(super) cost_usd: f64,
    pub(super) cost_is_partial: bool,
    pub(super) attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Attempt {
    pub(super) offer: String,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) upstream_model: String,
    pub(super) tier: String,
    pub(super) role: String,
    pub(super) served: bool,
    pub(super) downgrade: Option<String>,
    pub(super) usage: Usage,
    pub(super) cost_usd: Option<f64>,
    pub(super) row: Row,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Usage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    pub(super) reasoning_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) cache_write_tokens: u64,
    pub(super) source: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Row {
    pub(super) request_index: u64,
    pub(super) sent_ns: Option<i64>,
    pub(super) end_ns: i64,
    pub(super) response_id: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) outcome: String,
    pub(super) error: Option<String>,
    pub(super) finish_reason: Option<String>,
    pub(super) server_model: Option<String>,
}

impl Line {
    /// None: it is no line of a ledger.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The attempt whose answer went to the client.
    pub(super) fn served(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.served)
    }
}
