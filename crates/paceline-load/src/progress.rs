//! How a run stands.

use std::collections::BTreeMap;

use serde::Serialize;

/// Where a run is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Not started.
    #[default]
    Ready,
    /// Sending.
    Running,
    /// Nothing new is sent; what is in flight goes on.
    Draining,
    /// All has ended.
    Done,
    /// A load thread has failed; `error` says why.
    Failed,
}

/// A summary of lags, in ns; zeros when there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct LagSummary {
    /// Median.
    pub p50: i64,
    /// 99th percentile.
    pub p99: i64,
    /// Greatest.
    pub max: i64,
}

/// What `poll` tells, all threads together.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Progress {
    /// Where the run is.
    pub state: RunState,
    /// Why it has failed.
    pub error: Option<String>,
    /// The run's origin on CLOCK_MONOTONIC.
    pub origin_ns: i64,
    /// The same instant on the wall clock.
    pub origin_unix_ns: i64,
    /// Time since the origin; stands still once done.
    pub elapsed_ns: i64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Arrivals due so far.
    pub planned: u64,
    /// Requests begun.
    pub started: u64,
    /// Requests ended.
    pub finished: u64,
    /// Bodies taken off the queue: sent, to be sent, or skipped.
    pub taken: u64,
    /// Jobs begun.
    pub jobs_started: u64,
    /// Jobs whose calls have all ended well.
    pub jobs_finished: u64,
    /// Jobs that have ended by a call that failed.
    pub jobs_failed: u64,
    /// Calls that were not sent, since their job had failed or the run was stopped.
    pub skipped: u64,
    /// Bodies waiting to be sent.
    pub queued_bodies: u64,
    /// Times that a request was due and no body was there.
    pub starved: u64,
    /// Arrivals that were due and were never sent.
    pub dropped: u64,
    /// Token-bearing events read.
    pub token_events: u64,
    /// Socket reads.
    pub reads: u64,
    /// Body bytes read.
    pub bytes_received: u64,
    /// Ended requests by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// CPU time of the load threads.
    pub cpu_ns: i64,
    /// Time that the load threads could have run and had no core.
    pub runqueue_wait_ns: i64,
    /// Time for which a load thread stood still, in stretches of at least 100 ms: stopped, suspended, or kept from
    /// its core. The thread that stood still the longest.
    pub stalled_ns: i64,
    /// Requests that were sent a second time, since their idle connection was closed as they were sent.
    pub resent: u64,
    /// Load threads.
    pub threads: usize,
    /// From the instant at which a request could have been sent to the instant at which it was begun.
    pub schedule_lag_ns: LagSummary,
    /// From the kernel's receive stamp to the read.
    pub read_lag_ns: LagSummary,
    /// Every read so far had a kernel stamp.
    pub kernel_stamps: bool,
}
