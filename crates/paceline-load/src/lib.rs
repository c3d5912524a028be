//! The load generator: sends planned requests, stamps what comes back at the socket read, and hands rows on.
//!
//! One epoll loop a thread, one dispatch loop for all arrival processes. Nothing is parsed before its read is
//! stamped, and nothing waits for the reader of the rows.

mod arrival;
mod bodies;
mod connection;
mod dispatch;
mod error;
mod exchange;
mod head;
mod jobs;
mod lag;
mod progress;
mod run;
mod runqueue;
mod session;
mod spec;
mod stats;
mod tail;
mod worker;

pub use error::LoadError;
pub use progress::{LagSummary, Progress, RunState};
pub use run::LoadRun;
pub use spec::{Arrival, LoadSpec, Shape, Target};
