//! One attempt in flight: what was asked of an offer, and what has come back.

use std::sync::Arc;

use paceline_io::http1::{Head, Part, Reader};
use paceline_io::link::Found;
use paceline_io::stream::Arrival;
use paceline_wire::{BodyEnd, Limits, Observation, Outcome, Protocol, RequestRecord, Stamp, StreamObserver};

use super::usage::{Credible, cost_of};
use crate::accounts::{Hold, Pass};
use crate::ask::Ask;
use crate::ledger::entry::Role;
use crate::relay::{Relay, RelayError};
use crate::route::Permit;
use crate::settings::ClientLimits;
use crate::table::{Offer, RouteTable, Tier};

/// Of an error response so much is read.
const MAX_ERROR_BYTES: usize = 65_536;

/// Who asked, and what.
#[derive(Debug)]
pub(super) struct Purpose {
    /// The client's token; none: a probe.
    pub(super) client: Option<u64>,
    pub(super) role: Role,
    pub(super) offer: Arc<Offer>,
    /// The offer's place in its table.
    pub(super) place: usize,
    /// The client's protocol and the upstream's.
    pub(super) protocols: (Protocol, Protocol),
    pub(super) streaming: bool,
    pub(super) usage_asked: bool,
    pub(super) table: Arc<RouteTable>,
    /// Unique over the gateway's life.
    pub(super) sequence: u64,
    pub(super) begun_ns: i64,
    /// Estimated.
    pub(super) prompt_tokens: u64,
    /// More than this no server is believed.
    pub(super) credible: Credible,
    /// Of them, those that the offer is expected to have in no cache.
    pub(super) uncached_tokens: f64,
    /// Token events that the budget holds money for.
    pub(super) paid_events: u32,
    /// What the client asked; none: a probe.
    pub(super) ask: Option<Arc<Ask>>,
    /// The place in the offer's session.
    pub(super) _pass: Option<Pass>,
    /// What is held for a probe.
    pub(super) hold: Option<Hold>,
}

/// An attempt in flight.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    /// Head and body, until something has come back: a connection may have to be exchanged for another.
    pub(super) request: Vec<u8>,
    /// Frees the offer's place when the attempt ends.
    pub(super) permit: Permit,
    pub(super) sent_ns: Option<i64>,
    pub(super) written_ns: Option<i64>,
    pub(super) found: Found,
    /// Addresses of the server that did not take a connection.
    pub(super) addresses_tried: usize,
    /// Anything has come back.
    pub(super) answered: bool,
    pub(super) last_arrival_ns: i64,
    /// The first token is on its way to the client.
    pub(super) committed: bool,
    /// What the client is to have, and has not: until the first token.
    pub(super) held: Vec<u8>,
    /// The body of an answer that is no stream, or of an error.
    pub(super) whole: Vec<u8>,
    observer: StreamObserver,
    reader: Reader,
    relay: Option<Relay>,
    status: Option<u16>,
    served_tier: Option<String>,
    /// Why it must not be read on.
    broken: Option<BodyEnd>,
    limits: Limits,
}

impl Exchange {
    pub(super) fn new(
        purpose: Purpose,
        request: Vec<u8>,
        permit: Permit,
        limits: &ClientLimits,
        keep_text: bool,
    ) -> Self {
        let (client, upstream) = purpose.protocols;
        let bounds =
            Limits { max_event_bytes: limits.event_bytes, keep_text, max_body_bytes: limits.answer_bytes };
        let streaming = purpose.streaming;
        let relay = streaming.then(|| Relay::new(client, upstream, purpose.usage_asked, limits.event_bytes));
        let begun_ns = purpose.begun_ns;
        Self {
            purpose,
            request,
            permit,
            sent_ns: None,
            written_ns: None,
            found: Found::default(),
            addresses_tried: 0,
            answered: false,
            last_arrival_ns: begun_ns,
            committed: false,
            held: Vec::new(),
            whole: Vec::new(),
            observer: StreamObserver::new(upstream, streaming, bounds),
            reader: Reader::responses(),
            relay,
            status: None,
            served_tier: None,
            broken: None,
            limits: bounds,
        }
    }

    /// Takes bytes from one socket read, and gives the client's share of them to `out`, or keeps it until the first
    /// token. Returns how many of them are the response's; none: it is broken.
    pub(super) fn receive(&mut self, bytes: &[u8], arrival: Arrival, out: &mut Vec<u8>) -> Option<usize> {
        if !self.answered {
            self.answered = true;
            self.request = Vec::new();
        }
        self.last_arrival_ns = arrival.ns;
        if self.sent_ns.is_none() {
            self.broken = Some(BodyEnd::Malformed(
                "bytes came before the request was sent: they answer nothing".to_owned(),
            ));
            return None;
        }
        let stamp = Stamp { ns: arrival.ns, kernel: arrival.kernel, read: arrival.read };
        let mut reader = std::mem::replace(&mut self.reader, Reader::responses());
        let fed = reader.feed(bytes, &mut |part| match part {
            Part::Head(head) => self.on_head(head, stamp),
            Part::Body(bytes) => self.on_body(bytes, stamp, out),
            Part::End => {}
        });
        self.reader = reader;
        match fed {
            Ok(used) => Some(used),
            Err(error) => {
                self.broken.get_or_insert(BodyEnd::Malformed(error.to_string()));
                None
            }
        }
    }

    fn on_head(&mut self, head: &Head, stamp: Stamp) {
        self.status = Some(head.status);
        self.observer.on_head(
            &paceline_wire::Head {
                status: head.status,
                content_type: head.header("content-type"),
                retry_after: head.header("retry-after"),
                request_id: head.header("x-request-id").or_else(|| head.header("request-id")),
            },
            stamp,
        );
        if !self.is_success() {
            self.relay = None;
        }
    }

    fn on_body(&mut self, bytes: &[u8], stamp: Stamp, out: &mut Vec<u8>) {
        self.observer.on_body(bytes, stamp);
        let Some(relay) = self.relay.as_mut() else {
            let most = if self.is_success() { self.limits.max_body_bytes } else { MAX_ERROR_BYTES };
            let room = most.saturating_sub(self.whole.len());
            self.whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        };
        let cost_usd = cost_of(&self.purpose.offer, &self.observer.usage(), self.purpose.credible);
        let to = if self.committed { out } else { &mut self.held };
        let begin = to.len();
        let pushed = relay.push(bytes, cost_usd, to);
        self.purpose.offer.secrets.mask_bytes(&mut to[begin..]);
        match pushed {
            // What is no token, without end: comments, empty lines, roles.
            Ok(()) if self.held.len() > self.limits.max_event_bytes.saturating_mul(2) => {
                let text = format!("{} bytes came, and no token", self.held.len());
                self.broken.get_or_insert(BodyEnd::Malformed(text));
            }
            Ok(()) => {}
            Err(RelayError::TooLarge) => {
                let text = format!("an event is larger than {} bytes", self.limits.max_event_bytes);
                self.broken.get_or_insert(BodyEnd::Malformed(text));
            }
            Err(RelayError::Untranslatable(text)) => {
                self.broken.get_or_insert(BodyEnd::Malformed(text));
            }
        }
    }

    /// The body is complete: the last event may still have been waiting for its end.
    pub(super) fn finish_relay(&mut self, out: &mut Vec<u8>) {
        let cost_usd = self.cost_usd();
        if let Some(relay) = self.relay.as_mut()
            && let Err(error) = relay.finish(cost_usd, out)
        {
            self.broken.get_or_insert(BodyEnd::Malformed(format!("{error:?}")));
        }
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_none_or(|status| (200..300).contains(&status))
    }

    /// What the usage so far costs; none: the price or the usage is not known.
    pub(super) fn cost_usd(&self) -> Option<f64> {
        cost_of(&self.purpose.offer, &self.observer.usage(), self.purpose.credible)
    }

    /// Notes the tier that an answer names, where the offer is meant to be more than the ordinary.
    pub(super) fn note_tier(&mut self, bytes: &[u8]) {
        let offer = &self.purpose.offer;
        if offer.tier == Tier::Standard && offer.extra_body.is_empty() {
            return;
        }
        self.served_tier = ["\"service_tier\"", "\"speed\""].iter().find_map(|key| named(bytes, key));
    }

    /// The client is to have a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.relay.is_some()
    }

    pub(super) fn token_events(&self) -> u32 {
        self.observer.token_events()
    }

    pub(super) fn first_token_ns(&self) -> Option<i64> {
        self.observer.first_token_ns()
    }

    /// Something is wrong with the answer, whatever has come of it.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.is_some() || self.observer.has_failure() || self.observer.failed()
    }

    /// All tokens are there, and the protocol says so.
    pub(super) fn is_marked(&self) -> bool {
        self.observer.end_marker()
    }

    /// The response is complete.
    pub(super) fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    /// What reads the rest of the response, once all that matters has come.
    pub(super) fn take_reader(&mut self) -> Reader {
        std::mem::replace(&mut self.reader, Reader::responses())
    }

    /// The connection may carry another request.
    pub(super) fn keeps_connection(&self) -> bool {
        self.reader.is_done() && self.reader.keep_alive() && self.broken.is_none() && !self.observer.failed()
    }

    /// A close now, without an answer, is that of an idle connection, which crossed the request.
    pub(super) fn is_crossed(&self, now_ns: i64) -> bool {
        self.found.reused && !self.answered && now_ns <= self.found.crossed_until_ns
    }

    /// The peer has closed: how the body ended thereby.
    pub(super) fn closed_by_peer(&mut self, error: Option<&std::io::Error>) -> BodyEnd {
        self.reader.cut_by_peer(self.answered, error).map_or(BodyEnd::Complete, BodyEnd::Cut)
    }

    /// When all of its time is over.
    pub(super) fn total_ns(&self) -> i64 {
        self.purpose.begun_ns.saturating_add(self.purpose.offer.timeouts.total_ns)
    }

    /// When its time is over if nothing comes.
    pub(super) fn expires_ns(&self) -> i64 {
        let timeouts = &self.purpose.offer.timeouts;
        let begun_ns = self.purpose.begun_ns;
        let next_ns = match (self.sent_ns, self.token_events()) {
            (None, _) => begun_ns.saturating_add(timeouts.connect_ns),
            (Some(sent_ns), 0) => sent_ns.saturating_add(timeouts.first_token_ns),
            (Some(_), _) => self.last_arrival_ns.saturating_add(timeouts.gap_ns),
        };
        self.total_ns().min(next_ns)
    }

    /// Ends the attempt as its row.
    pub(super) fn conclude(mut self, end: BodyEnd, now_ns: i64) -> Concluded {
        if self.served_tier.is_none() {
            let whole = std::mem::take(&mut self.whole);
            self.note_tier(&whole);
            self.whole = whole;
        }
        let end = self.broken.unwrap_or(end);
        let end_ns = if matches!(end, BodyEnd::Complete) { self.last_arrival_ns } else { now_ns };
        let purpose = self.purpose;
        let row = RequestRecord {
            segment: 0,
            request_index: purpose.sequence,
            session: None,
            step: None,
            warmup: purpose.role == Role::Probe,
            intended_ns: purpose.begun_ns,
            sent_ns: self.sent_ns,
            written_ns: self.written_ns,
            connect_ns: self.found.connect_ns,
            tls_ns: self.found.tls_ns,
            connection_reused: self.found.reused,
            hangup_ns: None,
            stopped_ns: None,
            tail_bytes: None,
            observation: self.observer.finish(end, end_ns),
        };
        let mut row = row;
        purpose.offer.secrets.mask(&mut row.observation);
        purpose.offer.secrets.mask_bytes(&mut self.whole);
        Concluded { purpose, permit: self.permit, row, whole: self.whole, served_tier: self.served_tier }
    }
}

/// The string that a key of a JSON text has.
fn named(bytes: &[u8], key: &str) -> Option<String> {
    let at = memchr::memmem::find(bytes, key.as_bytes())? + key.len();
    let rest = bytes[at..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(&rest[..end.min(40)]).ok().map(str::to_owned)
}

/// An attempt that has ended.
#[derive(Debug)]
pub(super) struct Concluded {
    pub(super) purpose: Purpose,
    pub(super) row: RequestRecord,
    pub(super) whole: Vec<u8>,
    /// The tier that the answer names.
    pub(super) served_tier: Option<String>,
    /// The offer's place, until this is dropped.
    pub(super) permit: Permit,
}

impl Concluded {
    pub(super) fn outcome(&self) -> Outcome {
        self.row.observation.outcome
    }

    pub(super) fn observation(&self) -> &Observation {
        &self.row.observation
    }

    /// The answer came whole, and is of no use.
    pub(super) fn call_malformed(&mut self, why: &str) {
        self.row.observation.outcome = Outcome::Malformed;
        self.row.observation.error = Some(format!("the answer cannot be translated: {why}"));
        self.purpose.offer.secrets.mask(&mut self.row.observation);
    }
}
