//! The reference engine: a server of OpenAI's and Anthropic's APIs that answers by an exact schedule, or by a model
//! of an inference engine, fails on demand, and logs what it really sent and when. It is what the load generator is checked
//! against.
//!
//! One thread runs one epoll loop with timeouts in nanoseconds; a second one writes the truth log.
//! `docs/reference/sim.md` describes the configuration, the faults and the log.

mod answers;
mod config;
mod connection;
mod engine;
mod error;
mod fault;
mod frames;
mod http;
mod inbox;
mod metrics;
mod prefix_cache;
mod rate_limit;
mod request;
mod response;
mod routes;
mod schedule;
mod server;
mod service;
mod shape;
mod sim;
mod stats;
mod text;
mod truth;

pub use answers::KnownAnswer;
pub use config::{
    EngineConfig, ExactConfig, Mode, RateLimit, Secret, SimConfig, SpecBurst, Stage, Stall, UsageMode,
};
pub use error::SimError;
pub use fault::{Fault, FaultKind};
pub use metrics::Flavour;
pub use sim::Sim;
pub use stats::SimStats;
