//! From the bytes of one response to what they were.

use crate::protocol::Protocol;
use crate::record::Observation;
use crate::seen::{Seen, name};
use crate::sse::SseReader;
use crate::whole::WholeBody;

/// When bytes arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// CLOCK_MONOTONIC, ns.
    pub ns: i64,
    /// It is the kernel's receive stamp, not the instant of our read.
    pub kernel: bool,
    /// Which socket read brought them.
    pub read: u64,
}

/// Bounds on what one response may occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest event of a stream, with its field names.
    pub max_event_bytes: usize,
    /// Keep the generated text.
    pub keep_text: bool,
    /// The largest body of a response that is no stream; of an error response, what is read of it.
    pub max_body_bytes: usize,
}

/// What matters of a response head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// HTTP status.
    pub status: u16,
    /// `content-type`.
    pub content_type: Option<&'a str>,
    /// `retry-after`.
    pub retry_after: Option<&'a str>,
    /// `x-request-id`.
    pub request_id: Option<&'a str>,
}

/// A server's usage; none: it has not said. Of the prompt's tokens, `cached_tokens` came from a cache and
/// `cache_write_tokens` went to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<i64>,
    /// Tokens generated.
    pub completion_tokens: Option<i64>,
    /// Those of them that were reasoning.
    pub reasoning_tokens: Option<i64>,
    /// Tokens of the prompt from a cache.
    pub cached_tokens: Option<i64>,
    /// Tokens of the prompt written to a cache.
    pub cache_write_tokens: Option<i64>,
}

/// How the transport of a response ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEnd {
    /// As HTTP says that a body ends.
    Complete,
    /// The connection ended before; why.
    Cut(String),
    /// HTTP itself was malformed; how.
    Malformed(String),
    /// The time allowed ran out.
    Timeout,
    /// We ended it.
    Cancelled,
    /// We hung up, as the workload asks.
    HungUp,
    /// There was no connection; why.
    ConnectError(String),
    /// The request could not be written; why.
    SendError(String),
}

/// Reads one response, from its head to its end.
#[derive(Debug)]
pub struct StreamObserver {
    body: Body,
    seen: Seen,
}

#[derive(Debug)]
enum Body {
    /// A stream was asked for, and no byte has shown what has come.
    Undecided,
    Events(SseReader),
    Whole(WholeBody),
}

impl StreamObserver {
    /// An observer of a response that has not begun. `streaming`: a stream was asked for, which says nothing where the
    /// protocol has none.
    #[must_use]
    pub fn new(protocol: Protocol, streaming: bool, limits: Limits) -> Self {
        let streaming = streaming && protocol.streams();
        Self { body: Body::Undecided, seen: Seen::new(protocol, streaming, limits) }
    }

    /// The response head is complete.
    pub fn on_head(&mut self, head: &Head<'_>, stamp: Stamp) {
        let seen = &mut self.seen;
        seen.row.status = Some(head.status);
        seen.row.headers_ns = Some(stamp.ns);
        seen.row.retry_after_ms = head.retry_after.and_then(retry_after_ms);
        seen.row.response_id = head.request_id.and_then(name);
        seen.content_type = head.content_type.and_then(name);
        if !seen.row.streaming || !seen.is_success() {
            self.body = Body::Whole(WholeBody::new(seen.limits.max_body_bytes));
        }
    }

    /// Some bytes of the body, split in any way. Several calls may share one read.
    pub fn on_body(&mut self, bytes: &[u8], stamp: Stamp) {
        let Self { body, seen } = self;
        seen.row.bytes_received += bytes.len() as u64;
        seen.last = stamp;
        if seen.broken || seen.row.end_marker {
            return;
        }
        let mut bytes = bytes;
        if let Body::Undecided = body {
            // A byte order mark and space may precede either kind of body.
            let filler = |b: &u8| b.is_ascii_whitespace() || matches!(b, 0xef | 0xbb | 0xbf);
            let Some(first) = bytes.iter().position(|b| !filler(b)) else { return };
            bytes = &bytes[first..];
            // No line of an event stream begins so; content types are less to be relied on.
            *body = if matches!(bytes[0], b'{' | b'[' | b'<') {
                Body::Whole(WholeBody::new(seen.limits.max_body_bytes))
            } else {
                Body::Events(SseReader::new(seen.limits.max_event_bytes))
            };
        }
        match body {
            Body::Undecided => {}
            Body::Events(reader) => {
                if reader.feed(bytes, &mut |event| seen.event(&event)).is_err() {
                    seen.event_too_large();
                }
            }
            Body::Whole(whole) => {
                if !whole.push(bytes) {
                    seen.body_too_large();
                }
            }
        }
    }

    /// The response is already known to be malformed or over a limit: there is no sense in reading on.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.seen.broken
    }

    /// The protocol's end marker has come: all that is left is the end of the body.
    #[must_use]
    pub fn end_marker(&self) -> bool {
        self.seen.row.end_marker
    }

    /// Token events so far.
    #[must_use]
    pub fn token_events(&self) -> u32 {
        u32::try_from(self.seen.row.event_ns.len()).unwrap_or(u32::MAX)
    }

    /// Arrival of the first token event.
    #[must_use]
    pub fn first_token_ns(&self) -> Option<i64> {
        self.seen.row.event_ns.first().copied()
    }

    /// Something went wrong in what was read: an error in the stream, or what [`Self::failed`] tells of.
    #[must_use]
    pub fn has_failure(&self) -> bool {
        self.seen.failure.is_some()
    }

    /// The server's usage, as far as it has said.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let row = &self.seen.row;
        Usage {
            prompt_tokens: row.prompt_tokens,
            completion_tokens: row.completion_tokens,
            reasoning_tokens: row.reasoning_tokens,
            cached_tokens: row.cached_tokens,
            cache_write_tokens: row.cache_write_tokens,
        }
    }

    /// The response has ended at `end_ns`.
    #[must_use]
    pub fn finish(self, end: BodyEnd, end_ns: i64) -> Observation {
        let Self { mut body, mut seen } = self;
        match &mut body {
            Body::Undecided => {}
            Body::Events(reader) => seen.end_of_events(reader, &end),
            Body::Whole(whole) if seen.failure.is_none() => whole.read(&mut seen, &end),
            Body::Whole(_) => {}
        }
        seen.conclude(end, end_ns)
    }
}

/// `retry-after` in seconds, whole or decimal.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn retry_after_ms(text: &str) -> Option<i64> {
    let seconds: f64 = text.trim().parse().ok()?;
    (0.0..1e12).contains(&seconds).then_some((seconds * 1e3).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_takes_seconds_only() {
        for (text, ms) in [
            ("2", Some(2_000)),
            (" 0.25 ", Some(250)),
            ("0", Some(0)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1e300", None),
            ("", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            assert_eq!(retry_after_ms(text), ms, "{text}");
        }
    }
}
