//! `paceline.load/1`: what a run is.

use std::net::SocketAddr;

use serde::Deserialize;

use crate::error::LoadError;
use paceline_wire::Protocol;

const SCHEMA: &str = "paceline.load/1";
/// More threads than this are a mistake on any machine there is.
const MAX_THREADS: usize = 256;
/// Each stream needs a descriptor, and the highest limit that Linux gives is about a million.
const MAX_CONCURRENCY: usize = 1_000_000;

/// Where the requests go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `http` or `https`.
    pub scheme: String,
    /// The host as the user wrote it: for the `host` header and the certificate.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path, with its query.
    pub path: String,
    /// Resolved addresses, tried in turn by connection.
    pub addresses: Vec<SocketAddr>,
    /// Extra headers.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// A CA to trust in place of the system's roots.
    #[serde(default)]
    pub ca_pem: Option<String>,
    /// A protocol's name, as `openai-chat`.
    pub protocol: String,
    /// The bodies ask for a stream.
    pub streaming: bool,
}

/// The spacing of a ramp's arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Evenly spaced at the momentary rate.
    Constant,
    /// An inhomogeneous Poisson process.
    Poisson,
}

/// When requests are meant to be sent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Arrival {
    /// So many requests are always in flight.
    Closed {
        /// Requests in flight.
        concurrency: usize,
    },
    /// Evenly spaced.
    Constant {
        /// Arrivals a second.
        rate_requests_s: f64,
    },
    /// Exponential gaps.
    Poisson {
        /// Mean arrivals a second.
        rate_requests_s: f64,
    },
    /// Gamma-distributed gaps.
    Gamma {
        /// Mean arrivals a second.
        rate_requests_s: f64,
        /// Shape of the gaps: 1 is Poisson, less is burstier, more is more even.
        burstiness: f64,
    },
    /// A rate that changes linearly.
    Ramp {
        /// Rate at the start.
        from_requests_s: f64,
        /// Rate at the end.
        to_requests_s: f64,
        /// How long the change takes; no arrivals after it.
        over_ns: i64,
        /// Spacing.
        shape: Shape,
    },
    /// Each job brings its own instant.
    Replay {},
}

/// The whole specification.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// `paceline.load/1`.
    pub schema: String,
    /// Where the requests go.
    pub target: Target,
    /// When they are meant to be sent.
    pub arrival: Arrival,
    /// Open loops: at most so many in flight; a due request then waits.
    #[serde(default)]
    pub concurrency_cap: Option<usize>,
    /// Seed of the arrival process.
    pub seed: u64,
    /// Which start of the load generator in the run.
    #[serde(default)]
    pub segment: u32,
    /// Index of the first body, where bodies do not bring their own.
    #[serde(default)]
    pub first_index: u64,
    /// Jobs to begin, warm-up included.
    #[serde(default)]
    pub max_requests: Option<u64>,
    /// How long to begin jobs for, warm-up included.
    #[serde(default)]
    pub duration_ns: Option<i64>,
    /// The first jobs that are warm-up.
    #[serde(default)]
    pub warmup_requests: u64,
    /// The first stretch of time that is warm-up.
    #[serde(default)]
    pub warmup_ns: i64,
    /// A request that is not complete by then is a timeout; counted from its start, connecting included.
    pub timeout_ns: i64,
    /// How long a server is watched after a hang-up.
    #[serde(default = "default_hangup_wait_ns")]
    pub hangup_wait_ns: i64,
    /// Load threads.
    pub threads: usize,
    /// Refuse to use a connection twice.
    #[serde(default)]
    pub new_connections: bool,
    /// The largest event that is read.
    #[serde(default = "default_max_event_bytes")]
    pub max_event_bytes: usize,
    /// Keep the generated text.
    #[serde(default = "default_true")]
    pub keep_text: bool,
    /// Ask the kernel for receive stamps.
    #[serde(default = "default_true")]
    pub kernel_stamps: bool,
}

fn default_max_event_bytes() -> usize {
    16 * 1024 * 1024
}

fn default_hangup_wait_ns() -> i64 {
    5_000_000_000
}

fn default_true() -> bool {
    true
}

impl LoadSpec {
    /// Reads and checks a specification.
    ///
    /// # Errors
    /// [`LoadError::Spec`], naming the field.
    pub fn from_json(json: &str) -> Result<Self, LoadError> {
        let spec: Self = serde_json::from_str(json).map_err(|error| LoadError::Spec(error.to_string()))?;
        spec.check().map_err(LoadError::Spec)?;
        Ok(spec)
    }

    /// The protocol of the target.
    ///
    /// # Errors
    /// When there is no such protocol.
    pub(crate) fn protocol(&self) -> Result<Protocol, LoadError> {
        Protocol::from_name(&self.target.protocol)
            .ok_or_else(|| LoadError::Spec(format!("target.protocol: {:?} is unknown", self.target.protocol)))
    }

    /// How many jobs may be going on; none: no limit.
    pub(crate) fn slots(&self) -> Option<usize> {
        match self.arrival {
            Arrival::Closed { concurrency } => Some(concurrency),
            _ => self.concurrency_cap,
        }
    }

    fn check(&self) -> Result<(), String> {
        let positive =
            |name: &str, ok: bool| if ok { Ok(()) } else { Err(format!("{name} must be positive")) };
        if self.schema != SCHEMA {
            return Err(format!("schema must be {SCHEMA:?}, not {:?}", self.schema));
        }
        if !matches!(self.target.scheme.as_str(), "http" | "https") {
            return Err(format!("target.scheme must be http or https, not {:?}", self.target.scheme));
        }
        if self.target.addresses.is_empty() {
            return Err("target.addresses is empty".into());
        }
        if !self.target.path.starts_with('/') {
            return Err("target.path must begin with /".into());
        }
        self.check_headers()?;
        self.protocol().map_err(|error| error.to_string())?;
        self.arrival.check()?;
        positive("timeout_ns", self.timeout_ns > 0)?;
        positive("hangup_wait_ns", self.hangup_wait_ns > 0)?;
        positive("duration_ns", self.duration_ns.is_none_or(|ns| ns > 0))?;
        positive("max_requests", self.max_requests != Some(0))?;
        positive("concurrency_cap", self.concurrency_cap != Some(0))?;
        positive("max_event_bytes", self.max_event_bytes > 0)?;
        // A trace ends by itself.
        let endless = self.arrival != Arrival::Replay {};
        if endless && self.max_requests.is_none() && self.duration_ns.is_none() {
            return Err("one of max_requests and duration_ns must be set".into());
        }
        if !(1..=MAX_THREADS).contains(&self.threads) {
            return Err(format!("threads must lie between 1 and {MAX_THREADS}"));
        }
        if self.slots().is_some_and(|slots| slots > MAX_CONCURRENCY) {
            return Err(format!("concurrency must be at most {MAX_CONCURRENCY}"));
        }
        Ok(())
    }

    fn check_headers(&self) -> Result<(), String> {
        for (name, value) in &self.target.headers {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(token) {
                return Err(format!("target.headers: {name:?} is not a header name"));
            }
            // The value may be a secret, so the message does not show it.
            if value.bytes().any(|byte| byte == b'\r' || byte == b'\n' || byte == 0) {
                return Err(format!("target.headers: the value of {name} has a line break"));
            }
        }
        let clean = |text: &str| text.bytes().all(|byte| byte > 32 && byte != 127);
        if !clean(&self.target.path) || !clean(&self.target.host) {
            return Err("target.path and target.host must not hold spaces or control characters".into());
        }
        Ok(())
    }
}

impl Arrival {
    fn check(&self) -> Result<(), String> {
        let rate = |name: &str, value: f64| {
            if value.is_finite() && value > 0.0 && value <= 1e7 {
                Ok(())
            } else {
                Err(format!("arrival.{name} must be positive and at most 1e7"))
            }
        };
        match *self {
            Self::Closed { concurrency: 0 } => Err("arrival.concurrency must be positive".into()),
            Self::Closed { .. } | Self::Replay {} => Ok(()),
            Self::Constant { rate_requests_s } | Self::Poisson { rate_requests_s } => {
                rate("rate_requests_s", rate_requests_s)
            }
            Self::Gamma { rate_requests_s, burstiness } => {
                rate("rate_requests_s", rate_requests_s)?;
                rate("burstiness", burstiness)
            }
            Self::Ramp { from_requests_s, to_requests_s, over_ns, .. } => {
                if from_requests_s != 0.0 {
                    rate("from_requests_s", from_requests_s)?;
                }
                if to_requests_s != 0.0 {
                    rate("to_requests_s", to_requests_s)?;
                }
                if from_requests_s + to_requests_s <= 0.0 {
                    return Err("arrival: a ramp needs a positive rate at one end".into());
                }
                if over_ns > 0 { Ok(()) } else { Err("arrival.over_ns must be positive".into()) }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn minimal(arrival: &str, more: &str) -> String {
        format!(
            r#"{{"schema":"paceline.load/1","target":{{"scheme":"http","host":"h","port":1,"path":"/v1/chat/completions",
            "addresses":["127.0.0.1:1"],"protocol":"openai-chat","streaming":true}},
            "arrival":{arrival},"seed":1,"timeout_ns":1000,"threads":1{more}}}"#
        )
    }

    #[test]
    fn each_bad_field_is_named() {
        let closed = r#"{"kind":"closed","concurrency":1}"#;
        assert!(LoadSpec::from_json(&minimal(closed, r#","max_requests":1"#)).is_ok());
        for (arrival, more, named) in [
            (closed, "", "max_requests"),
            (closed, r#","max_requests":0"#, "max_requests"),
            (closed, r#","max_requests":1,"colour":1"#, "colour"),
            (closed, r#","duration_ns":0"#, "duration_ns"),
            (r#"{"kind":"closed","concurrency":0}"#, r#","max_requests":1"#, "concurrency"),
            (r#"{"kind":"poisson","rate_requests_s":-1}"#, r#","max_requests":1"#, "rate_requests_s"),
            (r#"{"kind":"gamma","rate_requests_s":1,"burstiness":0}"#, r#","max_requests":1"#, "burstiness"),
            (r#"{"kind":"swarm"}"#, r#","max_requests":1"#, "swarm"),
            (
                r#"{"kind":"ramp","from_requests_s":0,"to_requests_s":0,"over_ns":1,"shape":"poisson"}"#,
                r#","max_requests":1"#,
                "ramp",
            ),
        ] {
            let error = LoadSpec::from_json(&minimal(arrival, more)).unwrap_err().to_string();
            assert!(error.contains(named), "{named}: {error}");
        }
    }

    #[test]
    fn a_header_cannot_smuggle_a_second_one_and_its_value_is_not_shown() {
        let json = minimal(r#"{"kind":"closed","concurrency":1}"#, r#","max_requests":1"#)
            .replace(r#""streaming":true"#, r#""streaming":true,"headers":[["x-key","secret\r\nevil: 1"]]"#);
        let error = LoadSpec::from_json(&json).unwrap_err().to_string();
        assert!(error.contains("x-key") && !error.contains("secret"), "{error}");
    }
}
