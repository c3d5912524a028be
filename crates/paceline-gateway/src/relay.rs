//! From the bytes of an upstream's stream to those of the client's: whole events, as soon as they are whole.
//!
//! Where both speak the same protocol, bytes go through as they came. Two things are changed on the way: a usage that the
//! client did not ask for is left out, and the cost is put into one that it did.

use memchr::memmem;
use paceline_translate::{StreamTranslator, Untranslatable};
use paceline_wire::{Protocol, SseReader};

/// What became of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RelayError {
    /// An event is larger than allowed.
    TooLarge,
    /// It cannot be said in the client's protocol.
    Untranslatable(String),
}

impl From<Untranslatable> for RelayError {
    fn from(error: Untranslatable) -> Self {
        Self::Untranslatable(error.0)
    }
}

#[derive(Debug)]
enum Way {
    Same,
    Translated {
        reader: SseReader,
        translator: Box<StreamTranslator>,
        /// An error, or what is no JSON, has come: nothing after it is the answer's.
        failed: bool,
    },
}

/// The way of one answer's events.
#[derive(Debug)]
pub(crate) struct Relay {
    way: Way,
    client: Protocol,
    usage_asked: bool,
    /// An event whose end has not come.
    partial: Vec<u8>,
    max_event_bytes: usize,
}

impl Relay {
    pub(crate) fn new(
        client: Protocol,
        upstream: Protocol,
        usage_asked: bool,
        max_event_bytes: usize,
    ) -> Self {
        let way = if client == upstream {
            Way::Same
        } else {
            Way::Translated {
                reader: SseReader::new(max_event_bytes),
                translator: Box::new(StreamTranslator::new(client, upstream, usage_asked)),
                failed: false,
            }
        };
        Self { way, client, usage_asked, partial: Vec::new(), max_event_bytes }
    }

    /// Takes the next bytes of the upstream, and appends to `out` the events that they complete. `cost_usd`: of the
    /// usage so far.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        cost_usd: Option<f64>,
        out: &mut Vec<u8>,
    ) -> Result<(), RelayError> {
        if let Way::Translated { reader, translator, failed } = &mut self.way {
            if *failed {
                return Ok(());
            }
            let begin = out.len();
            let mut failure = None;
            let fed = reader.feed(bytes, &mut |event| {
                let fine = !event.named_error && (event.data == b"[DONE]" || is_fine(event.data));
                if fine {
                    failure = translator.event(event.data, out).err();
                }
                *failed = !fine || failure.is_some();
                !*failed
            });
            if fed.is_err() {
                return Err(RelayError::TooLarge);
            }
            if let Some(error) = failure {
                return Err(error.into());
            }
            if mentions_usage(&out[begin..]) {
                let events = out.split_off(begin);
                self.with_cost(&events, cost_usd, out);
            }
            return Ok(());
        }
        self.cut(bytes, cost_usd, out)
    }

    /// The upstream's body is complete: what is left is the last event, if it is one.
    pub(crate) fn finish(&mut self, cost_usd: Option<f64>, out: &mut Vec<u8>) -> Result<(), RelayError> {
        match &mut self.way {
            // Nothing, or the line feed of the last event's end.
            Way::Same if self.partial.trim_ascii().is_empty() => {
                out.append(&mut self.partial);
                Ok(())
            }
            Way::Same => self.push(b"\n\n", cost_usd, out),
            // An upstream may end with its finish reason and nothing more; the client's protocol wants its end.
            Way::Translated { translator, .. } if translator.has_stopped() && !translator.ended() => {
                self.push(b"\n\ndata: [DONE]\n\n", cost_usd, out)
            }
            Way::Translated { .. } => Ok(()),
        }
    }

    fn cut(&mut self, bytes: &[u8], cost_usd: Option<f64>, out: &mut Vec<u8>) -> Result<(), RelayError> {
        let joined;
        let whole: &[u8] = if self.partial.is_empty() {
            bytes
        } else {
            self.partial.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.partial);
            &joined
        };
        let end = last_event_end(whole);
        let (events, rest) = whole.split_at(end);
        if rest.len() > self.max_event_bytes {
            return Err(RelayError::TooLarge);
        }
        if mentions_usage(events) {
            self.with_cost(events, cost_usd, out);
        } else {
            out.extend_from_slice(events);
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    /// Events of which one has a usage.
    fn with_cost(&self, events: &[u8], cost_usd: Option<f64>, out: &mut Vec<u8>) {
        for event in Events(events) {
            if !mentions_usage(event) {
                out.extend_from_slice(event);
            } else if !self.is_unasked(event) {
                push_with_cost(event, cost_usd, out);
            }
        }
    }

    /// The event is there only since the gateway asked for a usage.
    fn is_unasked(&self, event: &[u8]) -> bool {
        let by_choices = matches!(self.client, Protocol::OpenaiChat | Protocol::OpenaiCompletions);
        by_choices && !self.usage_asked && has_no_choices(event)
    }
}

/// `"choices": []`.
fn has_no_choices(event: &[u8]) -> bool {
    let Some(at) = memmem::find(event, b"\"choices\"") else { return false };
    let rest = event[at + 9..].trim_ascii_start();
    let Some(rest) = rest.strip_prefix(b":") else { return false };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"[") else { return false };
    rest.trim_ascii_start().starts_with(b"]")
}

fn mentions_usage(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"\"usage\"").is_some()
}

/// Puts the cost into the first usage object of a JSON text, the rest as it is. Within a string the quotes of
/// `"usage"` would be escaped, so what is found is a key.
pub(crate) fn push_with_cost(json: &[u8], cost_usd: Option<f64>, out: &mut Vec<u8>) {
    let opening = cost_usd.and_then(|cost_usd| Some((usage_opening(json)?, cost_usd)));
    let Some((at, cost_usd)) = opening else {
        out.extend_from_slice(json);
        return;
    };
    let (before, after) = json.split_at(at);
    out.extend_from_slice(before);
    out.extend_from_slice(b"\"cost\":");
    out.extend_from_slice(usd(cost_usd).as_bytes());
    if !after.trim_ascii_start().starts_with(b"}") {
        out.push(b',');
    }
    out.extend_from_slice(after);
}

/// USD to a billionth, as JSON.
pub(crate) fn usd(cost_usd: f64) -> String {
    let text = format!("{cost_usd:.9}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}

/// Where the members of the first usage object begin. The beginning of an Anthropic stream has one that counts
/// nothing yet, and is passed over.
fn usage_opening(json: &[u8]) -> Option<usize> {
    if memmem::find(json, b"\"message_start\"").is_some() {
        return None;
    }
    memmem::find_iter(json, b"\"usage\"").find_map(|at| {
        let rest = json[at + 7..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        rest.strip_prefix(b"{").map(|members| json.len() - members.len())
    })
}

/// Where the last whole event ends; 0 where none does.
fn last_event_end(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    while let Some(at) = memchr::memrchr2(b'\n', b'\r', &bytes[..end]) {
        if ends_event(bytes, at) {
            return at + 1;
        }
        end = at;
    }
    0
}

/// The line end at `at` ends an empty line.
fn ends_event(bytes: &[u8], at: usize) -> bool {
    match (bytes[at], bytes[..at].last()) {
        (b'\n', Some(b'\n')) | (b'\r', Some(b'\r' | b'\n')) => {
            bytes.get(at + 1) != Some(&b'\n') || bytes[at] == b'\n'
        }
        (b'\n', Some(b'\r')) => at >= 2 && matches!(bytes[at - 2], b'\n' | b'\r'),
        _ => false,
    }
}

/// Whole events, one after the other, with the empty line that ends each.
pub(crate) struct Events<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Events<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(found) = memchr::memchr2(b'\n', b'\r', &self.0[from..]) {
            let at = from + found;
            if ends_event(self.0, at) {
                let (event, rest) = self.0.split_at(at + 1);
                self.0 = rest;
                return Some(event);
            }
            from = at + 1;
        }
        Some(std::mem::take(&mut self.0))
    }
}

/// Of events among which one is an error or no JSON: how many bytes come before it.
pub(crate) fn good_prefix(events: &[u8]) -> usize {
    let mut good = 0;
    for event in Events(events) {
        let mut reader = SseReader::new(usize::MAX);
        let mut fine = true;
        let mut look = |event: paceline_wire::Event<'_>| {
            fine &= !event.named_error && is_fine(event.data);
            fine
        };
        if reader.feed(event, &mut look).is_err() || !fine {
            return good;
        }
        good += event.len();
    }
    good
}

/// A document that is JSON and tells of no error.
fn is_fine(data: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Document<'a> {
        #[serde(borrow, default)]
        error: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow, default, rename = "type")]
        kind: Option<std::borrow::Cow<'a, str>>,
    }
    let data = data.trim_ascii();
    if data.is_empty() {
        return true;
    }
    // An end marker after a failure would be a clean end.
    let Ok(document) = serde_json::from_slice::<Document<'_>>(data) else { return false };
    let kind = document.kind.as_deref().unwrap_or("");
    document.error.is_none_or(|error| error.get() == "null") && !matches!(kind, "error" | "response.failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relayed(usage_asked: bool, stream: &[u8], piece: usize, cost_usd: Option<f64>) -> String {
        let mut relay = Relay::new(Protocol::OpenaiChat, Protocol::OpenaiChat, usage_asked, 1_000);
        let mut out = Vec::new();
        for bytes in stream.chunks(piece) {
            relay.push(bytes, cost_usd, &mut out).unwrap();
        }
        relay.finish(cost_usd, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn other_bytes_go_through_as_they_came_at_every_split() {
        for stream in [
            "data: {\"a\": 1}\n\n: a comment\n\ndata: x\n\n",
            "data: {\"a\": 1}\r\n\r\ndata: y\r\n\r\n",
            "data: {\"a\": 1}\r\rdata: y\r\r",
            "event: a\ndata: {\ndata: }\n\n",
        ] {
            for piece in 1..=stream.len() {
                assert_eq!(
                    relayed(false, stream.as_bytes(), piece, Some(1.0)),
                    stream,
                    "in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn a_translated_stream_that_fails_has_neither_more_nor_an_end() {
        let said = r#"data: {"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
        let stop = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        let more = format!("{said}\n\n{stop}\n\ndata: [DONE]\n\n");
        for (failure, ended) in [
            ("data: {\"error\":{\"message\":\"x\"}}\n\n", false),
            ("data: {\"choices\":[{\n\n", false),
            ("", true),
        ] {
            let mut relay = Relay::new(Protocol::AnthropicMessages, Protocol::OpenaiChat, true, 1_000);
            let mut out = Vec::new();
            for bytes in [format!("{said}\n\n{failure}"), more.clone()] {
                relay.push(bytes.as_bytes(), None, &mut out).unwrap();
            }
            relay.finish(None, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.matches("text_delta").count(), if ended { 2 } else { 1 }, "{failure}");
            assert_eq!(text.contains("message_stop"), ended, "{failure}");
            assert_eq!(text.contains("stop_reason\":\"end_turn"), ended, "{failure}");
        }
    }

    #[test]
    fn a_translated_stream_that_ends_without_a_word_has_no_end_and_with_its_reason_one() {
        let said = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        let stop = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        for (stream, ended) in [(said.to_owned(), false), (format!("{said}{stop}"), true)] {
            let mut relay = Relay::new(Protocol::AnthropicMessages, Protocol::OpenaiChat, true, 1_000);
            let mut out = Vec::new();
            relay.push(stream.as_bytes(), None, &mut out).unwrap();
            relay.finish(None, &mut out).unwrap();
            assert_eq!(memmem::find(&out, b"message_stop").is_some(), ended, "{stream}");
        }
    }

    #[test]
    fn an_event_leaves_when_it_is_whole_and_not_before() {
        let mut relay = Relay::new(Protocol::OpenaiChat, Protocol::OpenaiChat, false, 1_000);
        let mut out = Vec::new();
        relay.push(b"data: a\n\ndata: b\n", None, &mut out).unwrap();
        assert_eq!(out, b"data: a\n\n");
        relay.push(b"\n", None, &mut out).unwrap();
        assert_eq!(out, b"data: a\n\ndata: b\n\n");
        let error = relay.push(&[b'x'; 1_001], None, &mut out).unwrap_err();
        assert_eq!(error, RelayError::TooLarge);
    }

    #[test]
    fn usage_is_left_out_unless_asked_for_and_then_has_the_cost() {
        let usage = "data: {\"choices\": [], \"usage\": {\"total_tokens\": 3}}\n\n";
        let stream = format!("data: {{\"choices\":[{{}}]}}\n\n{usage}data: [DONE]\n\n");
        for piece in [1, 7, stream.len()] {
            let got = relayed(false, stream.as_bytes(), piece, Some(0.5));
            assert_eq!(got, "data: {\"choices\":[{}]}\n\ndata: [DONE]\n\n");
            let got = relayed(true, stream.as_bytes(), piece, Some(0.000_001_25));
            assert!(got.contains("\"usage\": {\"cost\":0.00000125,\"total_tokens\": 3}"), "{got}");
            assert_eq!(relayed(true, stream.as_bytes(), piece, None), stream);
        }
    }

    #[test]
    fn a_text_that_speaks_of_usage_is_left_alone() {
        let stream = r#"data: {"choices":[{"delta":{"content":"\"usage\":{"}}]}"#.to_owned() + "\n\n";
        assert_eq!(relayed(false, stream.as_bytes(), stream.len(), Some(1.0)), stream);
    }

    #[test]
    fn costs_are_short_decimals() {
        for (cost, text) in [(0.0, "0"), (1.5, "1.5"), (1e-9, "0.000000001"), (12.0, "12"), (1e-12, "0")] {
            assert_eq!(usd(cost), text);
        }
        let mut out = Vec::new();
        push_with_cost(br#"{"usage":{}}"#, Some(2.0), &mut out);
        assert_eq!(out, br#"{"usage":{"cost":2}}"#);
    }

    #[test]
    fn what_comes_before_an_error_is_good() {
        let good = "data: {\"choices\":[]}\n\n";
        for bad in [
            "data: {\"error\":{\"message\":\"x\"}}\n\n",
            "event: error\ndata: {}\n\n",
            "data: {broken\n\n",
            "data: {\"type\":\"error\"}\n\n",
            "data: [DONE]\n\n",
        ] {
            let all = format!("{good}{good}{bad}{good}");
            assert_eq!(good_prefix(all.as_bytes()), 2 * good.len(), "{bad}");
        }
    }
}
