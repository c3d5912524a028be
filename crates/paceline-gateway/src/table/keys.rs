//! Clients' keys. The table has their hashes only.

use serde::{Deserialize, Serialize};

use crate::error::GatewayError;

/// A stretch of the calendar, in UTC; weeks begin on Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// From midnight.
    Day,
    /// From Monday's midnight.
    Week,
    /// From the first's midnight.
    Month,
    /// From the beginning.
    Total,
}

/// What may be spent in a period.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The period.
    pub period: Period,
    /// USD that may be spent in it; none: no bound, and what was spent is only told.
    #[serde(default)]
    pub limit_usd: Option<f64>,
    /// USD that were spent in the period that `as_of_unix_s` lies in, by the ledger.
    pub spent_usd: f64,
    /// When that was so. Only the table that a gateway starts with is asked: later the gateway knows better.
    pub as_of_unix_s: i64,
}

/// A key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Names it in ledger and reports.
    pub id: String,
    /// For people.
    pub name: String,
    /// SHA-256 of the key, in hex.
    pub sha256: String,
    /// Models (ids) that it may ask for; none: all.
    #[serde(default)]
    pub models: Option<Vec<String>>,
    /// Requests in any minute; none: no bound.
    #[serde(default)]
    pub requests_per_min: Option<u32>,
    /// Prompt and generated tokens in any minute; none: no bound.
    #[serde(default)]
    pub tokens_per_min: Option<u64>,
    /// What it may spend.
    #[serde(default)]
    pub budgets: Vec<Budget>,
    /// It is of no use from then on; none: for ever.
    #[serde(default)]
    pub expires_unix_s: Option<i64>,
}

impl Key {
    pub(super) fn hash(&self) -> Result<[u8; 32], GatewayError> {
        let wrong =
            || GatewayError::Document(format!("route table: key {:?}: sha256 is not 64 hex digits", self.id));
        if self.sha256.len() != 64 || !self.sha256.is_ascii() {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (place, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&self.sha256[2 * place..2 * place + 2], 16).map_err(|_| wrong())?;
        }
        Ok(hash)
    }
}
