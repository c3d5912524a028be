//! What a load thread counts.

use std::collections::BTreeMap;

use crate::connection::ReadStats;
use crate::lag::Lags;

/// What a thread shows of itself.
#[derive(Debug, Default, Clone)]
pub(crate) struct WorkerStats {
    pub(crate) in_flight: u64,
    pub(crate) planned: u64,
    pub(crate) dropped: u64,
    /// Rows taken off the queue.
    pub(crate) taken: u64,
    pub(crate) jobs_started: u64,
    pub(crate) jobs_finished: u64,
    pub(crate) jobs_failed: u64,
    pub(crate) skipped: u64,
    pub(crate) started: u64,
    pub(crate) finished: u64,
    pub(crate) starved: u64,
    pub(crate) resent: u64,
    pub(crate) stalled_ns: i64,
    pub(crate) reads: ReadStats,
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
    pub(crate) cpu_ns: i64,
    pub(crate) runqueue_wait_ns: i64,
    pub(crate) schedule_lag: Lags,
    pub(crate) read_lag: Lags,
    pub(crate) sending: bool,
    pub(crate) done: bool,
}
