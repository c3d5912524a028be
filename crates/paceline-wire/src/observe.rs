//! From the bytes of one response to what they were.

use crate::error::{excerpt, prefix, row_error};
use crate::outcome::Outcome;
use crate::protocol::{Document, Form, Generated, Protocol, server_message};
use crate::record::Observation;
use crate::sse::{Event, SseReader};
use crate::tokens::TokenCounter;
use crate::whole::WholeBody;

/// More token events than any answer has; 18 bytes each.
const MAX_TOKEN_EVENTS: usize = 1 << 24;
/// More text than any answer has.
const MAX_TEXT_BYTES: usize = 1 << 28;
const MAX_NAME_BYTES: usize = 200;
const MAX_TIMINGS_BYTES: usize = 16 << 10;

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
    /// An observer of a response that has not begun. `streaming`: a stream was asked for.
    #[must_use]
    pub fn new(protocol: Protocol, streaming: bool, limits: Limits) -> Self {
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

    /// Token events so far.
    #[must_use]
    pub fn token_events(&self) -> u32 {
        u32::try_from(self.seen.row.event_ns.len()).unwrap_or(u32::MAX)
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

/// What has been seen of a response.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) protocol: Protocol,
    pub(crate) limits: Limits,
    pub(crate) row: Observation,
    pub(crate) content_type: Option<String>,
    /// A whole response has been read to its end, which says as much as an end marker.
    pub(crate) whole: bool,
    /// `response_id` is from the body.
    body_id: bool,
    /// The first thing that went wrong.
    failure: Option<(Outcome, String)>,
    /// Nothing further can be read.
    broken: bool,
    tokens: TokenCounter,
    text_bytes: usize,
    last: Stamp,
    /// The read that brought the last token event.
    last_token_read: u64,
    kernel_stamped: bool,
}

impl Seen {
    fn new(protocol: Protocol, streaming: bool, limits: Limits) -> Self {
        Self {
            protocol,
            limits,
            row: Observation::new(streaming),
            content_type: None,
            whole: false,
            body_id: false,
            failure: None,
            broken: false,
            tokens: TokenCounter::new(),
            text_bytes: 0,
            last: Stamp { ns: 0, kernel: false, read: 0 },
            last_token_read: 0,
            kernel_stamped: true,
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.row.status.is_none_or(|status| (200..300).contains(&status))
    }

    /// Notes what went wrong, unless something has before.
    pub(crate) fn fail(&mut self, outcome: Outcome, text: &str) {
        self.broken |= outcome == Outcome::Malformed;
        if self.failure.is_none() {
            self.failure = Some((outcome, row_error(text)));
        }
    }

    fn event_too_large(&mut self) {
        let text = format!(
            "event {} is larger than max_event_bytes, {} bytes",
            self.row.events.saturating_add(1),
            self.limits.max_event_bytes
        );
        self.fail(Outcome::Malformed, &text);
    }

    fn body_too_large(&mut self) {
        // An error response is what it is, however long; only the rest of it is not read.
        self.broken = true;
        if self.is_success() {
            let text = format!("the body is larger than {} bytes", self.limits.max_body_bytes);
            self.fail(Outcome::Malformed, &text);
        }
    }

    /// One event of the stream; `false` after the last.
    fn event(&mut self, event: &Event<'_>) -> bool {
        self.row.events = self.row.events.saturating_add(1);
        let data = event.data.trim_ascii();
        if data == b"[DONE]" {
            self.row.end_marker = true;
            return false;
        }
        if event.named_error {
            let text = server_message(data).unwrap_or_else(|| excerpt(data));
            self.fail(Outcome::ErrorInStream, &text);
        } else if !data.is_empty() {
            self.document(data);
        }
        !self.broken
    }

    fn document(&mut self, data: &[u8]) {
        let mut row_text = std::mem::take(&mut self.row.text);
        let mut generated = Generated::new(self.limits.keep_text.then_some(&mut row_text));
        let read = self.read(data, Form::Event, &mut generated);
        let (bytes, kinds) = (generated.bytes, generated.kinds);
        self.row.text = row_text;
        match read {
            Err(why) => {
                let text = format!("event {} is {why}: {}", self.row.events, excerpt(data));
                self.fail(Outcome::Malformed, &text);
            }
            Ok(document) => {
                let usage = document.usage.and_then(|usage| usage.completion());
                let (listed, other_choice) = (document.listed_tokens, document.other_choice);
                self.facts(document);
                if bytes == 0 {
                    self.tokens.silent(listed);
                } else {
                    let tokens = self.tokens.token_event(listed, usage, other_choice);
                    self.token_event(kinds, bytes, tokens);
                }
            }
        }
    }

    /// Reads a document; the error says what it is not.
    pub(crate) fn read<'a>(
        &self,
        data: &'a [u8],
        form: Form,
        generated: &mut Generated<'_>,
    ) -> Result<Document<'a>, String> {
        let text = std::str::from_utf8(data).map_err(|_| "not UTF-8".to_owned())?;
        if !text.starts_with('{') {
            return Err("not a JSON object".to_owned());
        }
        self.protocol
            .read(text, form, generated)
            .map_err(|error| format!("not what the protocol says ({error})"))
    }

    /// Notes what a document says besides its text.
    pub(crate) fn facts(&mut self, document: Document<'_>) {
        if let Some(error) = document.error {
            self.fail(Outcome::ErrorInStream, &error);
        }
        let row = &mut self.row;
        if !document.id.0.is_empty() && !self.body_id {
            self.body_id = true;
            row.response_id = name(&document.id.0);
        }
        if row.server_model.is_none() {
            row.server_model = name(&document.model.0);
        }
        if !document.finish_reason.0.is_empty() {
            row.finish_reason = name(&document.finish_reason.0);
        }
        if let Some(usage) = document.usage {
            row.prompt_tokens = usage.prompt().or(row.prompt_tokens);
            row.completion_tokens = usage.completion().or(row.completion_tokens);
            row.reasoning_tokens = usage.reasoning().or(row.reasoning_tokens);
            row.cached_tokens = usage.cached().or(row.cached_tokens);
        }
        let timings = document.timings.map(serde_json::value::RawValue::get);
        if let Some(raw) = timings.filter(|raw| raw.starts_with('{') && raw.len() <= MAX_TIMINGS_BYTES) {
            let kept = row.server_timings.get_or_insert_default();
            kept.clear();
            kept.push_str(raw);
        }
    }

    /// Notes a token event that came with the last bytes.
    pub(crate) fn token_event(&mut self, kinds: u8, bytes: usize, tokens: i32) {
        let row = &mut self.row;
        self.text_bytes = self.text_bytes.saturating_add(bytes);
        if self.text_bytes > MAX_TEXT_BYTES || row.event_ns.len() >= MAX_TOKEN_EVENTS {
            self.fail(Outcome::Malformed, "the response is longer than any answer: it is not read further");
            return;
        }
        let coalesced = !row.event_ns.is_empty() && self.last_token_read == self.last.read;
        if coalesced && let Some(before) = row.event_coalesced.last_mut() {
            *before = true;
        }
        self.last_token_read = self.last.read;
        self.kernel_stamped &= self.last.kernel;
        row.event_ns.push(self.last.ns);
        row.event_kind.push(kinds);
        row.event_tokens.push(tokens);
        row.event_bytes.push(u32::try_from(bytes).unwrap_or(u32::MAX));
        row.event_coalesced.push(coalesced);
    }

    fn end_of_events(&mut self, reader: &mut SseReader, end: &BodyEnd) {
        if self.broken || self.row.end_marker || *end != BodyEnd::Complete {
            return;
        }
        let before = self.failure.is_some();
        if reader.finish(&mut |event| self.event(&event)).is_err() {
            self.event_too_large();
        }
        // Without a length the end of the connection is the end of the body: then half an event is a cut.
        if let Some((outcome @ Outcome::Malformed, text)) = &mut self.failure
            && !before
        {
            *outcome = Outcome::Truncated;
            *text = row_error(&format!("the response ended within an event; {text}"));
        }
        if reader.foreign() && self.row.events == 0 {
            self.fail(Outcome::Malformed, &self.not_a_stream("no line of it is an event"));
        }
    }

    pub(crate) fn not_a_stream(&self, what: &str) -> String {
        let kind = self.content_type.as_deref().unwrap_or("none");
        format!("the answer is not an event stream (content-type: {kind}): {what}")
    }

    fn conclude(mut self, end: BodyEnd, end_ns: i64) -> Observation {
        let (outcome, error) = match self.failure.take() {
            Some((outcome, text)) => (outcome, Some(text)),
            None => self.outcome(end),
        };
        self.row.outcome = outcome;
        self.row.error = error;
        self.row.end_ns = end_ns;
        self.row.kernel_stamped = self.kernel_stamped && !self.row.event_ns.is_empty();
        self.row
    }

    /// The outcome where nothing went wrong in what was read.
    fn outcome(&self, end: BodyEnd) -> (Outcome, Option<String>) {
        let with = |outcome, text: &str| (outcome, Some(row_error(text)));
        let row = &self.row;
        let tokens = row.event_ns.len();
        let marked = row.end_marker || self.whole;
        match end {
            BodyEnd::Malformed(text) => with(Outcome::Malformed, &text),
            // All that the protocol has to say has been said, whatever became of the connection.
            _ if marked && tokens > 0 => (Outcome::Ok, None),
            _ if marked => with(Outcome::Empty, "the response is complete and has no generated token"),
            BodyEnd::Timeout => {
                with(Outcome::Timeout, &format!("timed out {}", progress(row.status, tokens)))
            }
            BodyEnd::Cancelled => {
                with(Outcome::Cancelled, &format!("cancelled {}", progress(row.status, tokens)))
            }
            BodyEnd::ConnectError(text) => with(Outcome::ConnectError, &text),
            BodyEnd::SendError(text) if row.status.is_none() => with(Outcome::ConnectError, &text),
            BodyEnd::SendError(text) | BodyEnd::Cut(text) => with(Outcome::Truncated, &text),
            BodyEnd::Complete if row.status.is_none() => with(Outcome::Truncated, "there was no response"),
            BodyEnd::Complete if tokens == 0 => with(Outcome::Empty, "the response has no generated token"),
            BodyEnd::Complete if row.finish_reason.is_some() => (Outcome::Ok, None),
            BodyEnd::Complete => with(
                Outcome::Truncated,
                "the response ended without a finish reason and without an end marker",
            ),
        }
    }
}

fn progress(status: Option<u16>, tokens: usize) -> String {
    match (status, tokens) {
        (None, _) => "before any response".to_owned(),
        (Some(_), 0) => "before the first token".to_owned(),
        (Some(_), n) => format!("after {n} token events"),
    }
}

/// A name that the server gives, bounded; none when it is empty.
fn name(text: &str) -> Option<String> {
    Some(prefix(text.trim(), MAX_NAME_BYTES)).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `retry-after` in seconds, whole or decimal.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn retry_after_ms(text: &str) -> Option<i64> {
    let seconds: f64 = text.trim().parse().ok()?;
    (0.0..1e12).contains(&seconds).then_some((seconds * 1e3).round() as i64)
}
