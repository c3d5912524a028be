//! Faults on demand: what goes wrong, and where in the answer.

use serde::{Deserialize, Serialize};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Status 400 instead of an answer.
    #[serde(rename = "http_400")]
    Http400,
    /// Status 401.
    #[serde(rename = "http_401")]
    Http401,
    /// Status 404.
    #[serde(rename = "http_404")]
    Http404,
    /// Status 429 with `retry-after`.
    #[serde(rename = "http_429")]
    Http429,
    /// Status 500.
    #[serde(rename = "http_500")]
    Http500,
    /// Status 503.
    #[serde(rename = "http_503")]
    Http503,
    /// An error object in the stream, then `[DONE]`.
    ErrorEvent,
    /// The connection is closed in the middle of the body.
    Cut,
    /// The connection is reset.
    Reset,
    /// The body ends in order, with neither finish reason nor `[DONE]`.
    EndEarly,
    /// All is said, but `[DONE]`.
    NoEndMarker,
    /// An answer without a token.
    Empty,
    /// Nothing more is ever sent.
    Stall,
    /// One event is broken JSON.
    MalformedJson,
    /// Lines end in CRLF.
    Crlf,
    /// `data:` without a space.
    NoSpace,
    /// A comment before each event.
    Comments,
    /// Each event's JSON lies on two `data:` lines.
    MultiLine,
    /// Multi-byte characters, cut across writes.
    SplitUtf8,
    /// One event is padded to `bytes`.
    HugeEvent,
    /// The head comes `delay_us` late.
    SlowHeaders,
    /// The usage figures are wrong.
    WrongUsage,
    /// An HTML page with status 200.
    NotSse,
    /// `events` events leave with one write.
    Coalesce,
    /// Each byte leaves with a write of its own.
    ByteAtATime,
}

impl FaultKind {
    /// The status that takes the answer's place, for the faults that are one.
    pub(crate) fn status(self) -> Option<u16> {
        Some(match self {
            Self::Http400 => 400,
            Self::Http401 => 401,
            Self::Http404 => 404,
            Self::Http429 => 429,
            Self::Http500 => 500,
            Self::Http503 => 503,
            _ => return None,
        })
    }

    /// The name, as in the configuration.
    pub(crate) fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

/// A fault and its parameters; a parameter that the kind does not use is without effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// The share of requests that it befalls, 0 to 1, drawn from the seed.
    #[serde(default = "share")]
    pub share: f64,
    /// Token-bearing events that leave before it.
    #[serde(default = "after_events")]
    pub after_events: u64,
    /// `http_429`: the value of `retry-after`, in seconds.
    #[serde(default = "retry_after_s")]
    pub retry_after_s: u64,
    /// `huge_event`: padding in bytes.
    #[serde(default = "bytes")]
    pub bytes: usize,
    /// `slow_headers`: how late the head is, in us.
    #[serde(default = "delay_us", alias = "us")]
    pub delay_us: u64,
    /// `coalesce`: events a write.
    #[serde(default = "events")]
    pub events: u32,
}

fn share() -> f64 {
    1.0
}
fn after_events() -> u64 {
    3
}
fn retry_after_s() -> u64 {
    1
}
fn bytes() -> usize {
    1_048_576
}
fn delay_us() -> u64 {
    200_000
}
fn events() -> u32 {
    4
}

/// The largest padding of a `huge_event`: 256 MiB.
const MAX_BYTES: usize = 268_435_456;

impl Fault {
    /// Says which parameter is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(format!("fault.share is {}, and must be from 0 to 1", self.share));
        }
        if self.bytes > MAX_BYTES {
            return Err(format!("fault.bytes is {}, and may be {MAX_BYTES} at most", self.bytes));
        }
        if self.delay_us > crate::config::MAX_US {
            return Err(format!("fault.delay_us is {}, and may be a day at most", self.delay_us));
        }
        if self.events == 0 {
            return Err("fault.events is 0, and must be at least 1".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_configuration() {
        for (name, status) in [
            ("http_400", Some(400)),
            ("http_429", Some(429)),
            ("http_503", Some(503)),
            ("split_utf8", None),
            ("byte_at_a_time", None),
            ("malformed_json", None),
        ] {
            let fault: Fault = serde_json::from_value(serde_json::json!({"kind": name})).unwrap();
            assert_eq!((fault.kind.name().as_str(), fault.kind.status()), (name, status));
            assert_eq!((fault.share, fault.after_events), (1.0, 3));
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        for (json, field) in [
            (r#"{"kind": "cut", "share": 1.5}"#, "fault.share"),
            (r#"{"kind": "huge_event", "bytes": 999999999999}"#, "fault.bytes"),
            (r#"{"kind": "slow_headers", "us": 999999999999}"#, "fault.delay_us"),
            (r#"{"kind": "coalesce", "events": 0}"#, "fault.events"),
        ] {
            let fault: Fault = serde_json::from_str(json).unwrap();
            assert!(fault.check().unwrap_err().contains(field), "{json}");
        }
    }
}
