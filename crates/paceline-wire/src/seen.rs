//! What has been seen of one response, and what outcome that makes.

use crate::error::{excerpt, prefix, row_error};
use crate::observe::{BodyEnd, Limits, Stamp};
use crate::outcome::Outcome;
use crate::protocol::{Document, Form, Generated, Pieces, Protocol, Usage, server_message};
use crate::record::Observation;
use crate::sse::{Event, SseReader};
use crate::tokens::TokenCounter;

/// More token events than any answer has; 18 bytes each.
const MAX_TOKEN_EVENTS: usize = 1 << 24;
/// More text than any answer has.
const MAX_TEXT_BYTES: usize = 1 << 28;
const MAX_NAME_BYTES: usize = 200;
const MAX_TIMINGS_BYTES: usize = 16 << 10;

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
    pub(crate) failure: Option<(Outcome, String)>,
    /// Nothing further can be read.
    pub(crate) broken: bool,
    tokens: TokenCounter,
    pub(crate) pieces: Pieces,
    /// Tokens of the prompt that no cache had or took, where the protocol counts so.
    uncached_tokens: Option<i64>,
    text_bytes: usize,
    pub(crate) last: Stamp,
    /// The read that brought the last token event.
    last_token_read: u64,
    kernel_stamped: bool,
}

impl Seen {
    pub(crate) fn new(protocol: Protocol, streaming: bool, limits: Limits) -> Self {
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
            pieces: Pieces::default(),
            uncached_tokens: None,
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

    pub(crate) fn event_too_large(&mut self) {
        let text = format!(
            "event {} is larger than max_event_bytes, {} bytes",
            self.row.events.saturating_add(1),
            self.limits.max_event_bytes
        );
        self.fail(Outcome::Malformed, &text);
    }

    pub(crate) fn body_too_large(&mut self) {
        // An error response is what it is, however long; only the rest of it is not read.
        self.broken = true;
        if self.is_success() {
            let text = format!("the body is larger than {} bytes", self.limits.max_body_bytes);
            self.fail(Outcome::Malformed, &text);
        }
    }

    /// One event of the stream; `false` after the last.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> bool {
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
        !self.broken && !self.row.end_marker
    }

    fn document(&mut self, data: &[u8]) {
        let kept_bytes = self.row.text.len();
        let keep = self.limits.keep_text.then_some((&mut self.row.text, &mut self.row.stretches));
        let mut generated = Generated::new(keep, &mut self.pieces);
        let read = read(self.protocol, data, Form::Event, &mut generated);
        let (bytes, kinds) = (generated.bytes, generated.kinds);
        match read {
            Err(why) => {
                self.row.text.truncate(kept_bytes);
                self.row.stretches.truncate(kept_bytes);
                let text = format!("event {} is {why}: {}", self.row.events, excerpt(data));
                self.fail(Outcome::Malformed, &text);
            }
            Ok(document) => {
                let usage = document.usage.as_ref().and_then(|usage| usage.completion);
                let (listed, other_choice) = (document.listed_tokens, document.other_choice);
                self.facts(document);
                if kinds == 0 {
                    self.tokens.silent(listed);
                } else {
                    let tokens = self.tokens.token_event(listed, usage, other_choice);
                    self.token_event(kinds, bytes, tokens);
                }
            }
        }
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
        row.end_marker |= document.end;
        if let Some(usage) = &document.usage {
            self.usage(usage);
        }
        let timings = document.timings.map(serde_json::value::RawValue::get);
        if let Some(raw) = timings.filter(|raw| raw.starts_with('{') && raw.len() <= MAX_TIMINGS_BYTES) {
            let kept = self.row.server_timings.get_or_insert_default();
            kept.clear();
            kept.push_str(raw);
        }
    }

    /// Notes a usage: what it says holds, what it does not say stays.
    fn usage(&mut self, usage: &Usage) {
        let row = &mut self.row;
        row.prompt_tokens = usage.prompt.or(row.prompt_tokens);
        row.completion_tokens = usage.completion.or(row.completion_tokens);
        row.reasoning_tokens = usage.reasoning.or(row.reasoning_tokens);
        row.cached_tokens = usage.cached.or(row.cached_tokens);
        row.cache_write_tokens = usage.cache_write.or(row.cache_write_tokens);
        self.uncached_tokens = usage.uncached.or(self.uncached_tokens);
        if let Some(uncached) = self.uncached_tokens {
            let cache = row.cached_tokens.unwrap_or(0) + row.cache_write_tokens.unwrap_or(0);
            row.prompt_tokens = Some(uncached + cache);
        }
    }

    /// Notes a token event that came with the last bytes.
    pub(crate) fn token_event(&mut self, kinds: u8, bytes: usize, tokens: i32) {
        let row = &mut self.row;
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
        self.text_bytes = self.text_bytes.saturating_add(bytes);
        if self.text_bytes > MAX_TEXT_BYTES || row.event_ns.len() > MAX_TOKEN_EVENTS {
            self.fail(Outcome::Malformed, "the response is longer than any answer, and is not read further");
        }
    }

    pub(crate) fn end_of_events(&mut self, reader: &mut SseReader, end: &BodyEnd) {
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
        if let Some(line) = reader.foreign().filter(|_| self.row.events == 0) {
            let text = self.not_a_stream(&format!("it has the line {line}"));
            self.fail(Outcome::Malformed, &text);
        }
    }

    pub(crate) fn not_a_stream(&self, what: &str) -> String {
        let kind = self.content_type.as_deref().unwrap_or("none");
        format!("the answer is not an event stream (content-type: {kind}): {what}")
    }

    pub(crate) fn conclude(mut self, end: BodyEnd, end_ns: i64) -> Observation {
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
            BodyEnd::HungUp if tokens > 0 => (Outcome::HungUp, None),
            BodyEnd::HungUp => with(Outcome::Cancelled, "hung up before the first token"),
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

/// Reads a document; the error says what it is not.
pub(crate) fn read<'a>(
    protocol: Protocol,
    data: &'a [u8],
    form: Form,
    generated: &mut Generated<'_>,
) -> Result<Document<'a>, String> {
    let text = std::str::from_utf8(data).map_err(|_| "not UTF-8".to_owned())?;
    if !text.starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    protocol.read(text, form, generated).map_err(|error| {
        let what = if error.is_data() { "not what the protocol says" } else { "not JSON" };
        format!("{what} ({error})")
    })
}

fn progress(status: Option<u16>, tokens: usize) -> String {
    match (status, tokens) {
        (None, _) => "before any response".to_owned(),
        (Some(_), 0) => "before the first token".to_owned(),
        (Some(_), n) => format!("after {n} token events"),
    }
}

/// A name that the server gives, bounded; none when it is empty.
pub(crate) fn name(text: &str) -> Option<String> {
    Some(prefix(text.trim(), MAX_NAME_BYTES)).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_answer_is_not_read_to_its_end() {
        let limits = Limits { max_event_bytes: 100, keep_text: true, max_body_bytes: 100 };
        let mut seen = Seen::new(Protocol::OpenaiChat, true, limits);
        seen.token_event(1, MAX_TEXT_BYTES, -1);
        assert!(!seen.broken);
        seen.token_event(1, 1, -1);
        assert!(seen.broken);
        let row = seen.conclude(BodyEnd::Complete, 1);
        assert_eq!((row.outcome, row.event_ns.len()), (Outcome::Malformed, 2));
    }

    #[test]
    fn names_are_bounded_and_never_empty() {
        assert_eq!(name(" a "), Some("a".to_owned()));
        assert_eq!(name("  "), None);
        assert_eq!(name(&"é".repeat(150)).map(|text| text.len()), Some(MAX_NAME_BYTES));
    }
}
