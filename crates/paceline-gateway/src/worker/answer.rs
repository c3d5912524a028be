//! What comes from an offer, on its way to the client.

use paceline_io::clock::now_ns;
use paceline_wire::BodyEnd;

use super::Worker;
use super::exchange::Exchange;
use super::finish::Ending;
use super::head;
use crate::refusal::Refusal;

/// A comment of the event stream format, which clients pass over.
const COMMENT: &[u8] = b": paceline is waiting for the first token\n\n";
/// Of a stream without an announced end, so many more tokens are held against the budget at a time.
const MORE_EVENTS: u32 = 1_024;

impl Worker {
    /// Bytes of an answer have come; those for the client are in `out`.
    pub(super) fn progressed(&mut self, token: u64) {
        let Some(exchange) = self.exchange(token) else { return };
        if exchange.is_broken() {
            return self.attempt_failed(token, BodyEnd::Complete);
        }
        if exchange.purpose.client.is_none() {
            if exchange.is_done() || exchange.is_marked() {
                self.probe_ended(token, BodyEnd::Complete);
            }
            return;
        }
        if !exchange.is_stream() {
            if exchange.is_done() {
                self.whole_answer(token);
            }
            return;
        }
        let ended = exchange.is_done() || exchange.is_marked();
        if !exchange.committed {
            if exchange.token_events() == 0 {
                if ended {
                    self.empty_stream(token);
                }
                return;
            }
            if !self.commit(token) {
                return;
            }
        }
        if ended {
            self.stream_ended(token, BodyEnd::Complete);
        } else {
            self.forward(token);
        }
    }

    fn exchange(&mut self, token: u64) -> Option<&mut Exchange> {
        self.upstreams.get_mut(token)?.exchange.as_deref_mut()
    }

    /// The first token: this offer's answer is the client's, and every other attempt ends. `false`: its client has
    /// another answer already, or has gone.
    pub(super) fn commit(&mut self, token: u64) -> bool {
        let Some(exchange) = self.exchange(token) else { return false };
        exchange.committed = true;
        let held = std::mem::take(&mut exchange.held);
        exchange.request = Vec::new();
        let Some(client_token) = exchange.purpose.client else { return false };
        let (offer, role) = (exchange.purpose.offer.clone(), exchange.purpose.role);
        exchange.note_tier(&held);
        let has_token = exchange.token_events() > 0;
        let ttft_ns = exchange.first_token_ns().zip(exchange.sent_ns).map(|(first, sent)| first - sent);
        if let Some(ttft_ns) = ttft_ns {
            exchange.permit.first_token(ttft_ns, now_ns());
        }
        let Some(mut flight) = self.take_flight(client_token) else {
            self.cancel_attempt(token);
            return false;
        };
        flight.committed = Some(token);
        flight.first_token_ns = has_token.then(now_ns);
        flight.body = Vec::new();
        flight.candidates.clear();
        for rival in std::mem::take(&mut flight.live) {
            if rival.token != token
                && let Some(entry) = self.cancel_attempt(rival.token)
            {
                flight.attempts.push(entry);
            }
        }
        self.frame.clear();
        if !flight.head_sent {
            flight.head_sent = true;
            let mut headers = head::offer_headers(&offer, role);
            headers.extend(flight.explanation());
            let keep_alive = flight.keep_alive && !self.shared.is_draining();
            self.frame = head::stream_head(&flight.id, &headers, flight.framing, keep_alive);
        }
        self.out.splice(0..0, held);
        self.put_back(client_token, flight);
        true
    }

    /// Sends on what has come. What is in `frame` goes before it.
    pub(super) fn forward(&mut self, token: u64) {
        let now = now_ns();
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        let Some(exchange) = upstream.exchange.as_mut() else { return };
        let Some(client_token) = exchange.purpose.client else { return };
        let unpaid = exchange.token_events() > exchange.purpose.paid_events;
        let Some(client) = self.clients.get_mut(client_token) else { return };
        let Some(framing) = client.flight().map(|flight| flight.framing) else { return };
        framing.push(&mut self.frame, &self.out);
        let sent = client.send(&self.frame, now);
        self.frame.clear();
        if sent.is_err() {
            return self.client_gone(client_token);
        }
        if client.stream.has_pending() {
            if client.stream.backlog_exceeds(self.shared.settings.clients.pending_bytes) {
                upstream.paused = true;
            }
            self.arm_client(client_token);
        }
        if unpaid {
            self.hold_more(token, client_token);
        }
    }

    /// The answer is longer than what was held against the budget: more is held, or the answer ends.
    fn hold_more(&mut self, token: u64, client_token: u64) {
        let Some(exchange) = self.exchange(token) else { return };
        exchange.purpose.paid_events = exchange.purpose.paid_events.saturating_add(MORE_EVENTS);
        let price = exchange.purpose.offer.price;
        let usd = price.map_or(0.0, |price| price.output_usd_per_mtok * f64::from(MORE_EVENTS) / 1e6);
        let Some(flight) = self.clients.get_mut(client_token).and_then(|client| client.flight()) else {
            return;
        };
        if flight.hold.as_mut().is_some_and(|hold| !hold.grow(usd)) {
            let message = "The answer has become longer than the budget covers.";
            self.give_up(client_token, Refusal::budget_exhausted(message, serde_json::json!({})));
        }
    }

    /// A stream is whole: the ledger has it before the client has its last byte.
    pub(super) fn stream_ended(&mut self, token: u64, end: BodyEnd) {
        let mut out = std::mem::take(&mut self.out);
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        let Some(exchange) = upstream.exchange.as_mut() else { return };
        if !exchange.is_marked() {
            exchange.finish_relay(&mut out);
        }
        self.out = out;
        if self.exchange(token).is_some_and(|exchange| exchange.is_broken()) {
            return self.attempt_failed(token, end);
        }
        let Some((concluded, client_token)) = self.take_attempt(token, end) else { return };
        let Some(mut flight) = self.take_flight(client_token) else { return };
        let ok = matches!(concluded.outcome(), paceline_wire::Outcome::Ok | paceline_wire::Outcome::Empty);
        let entry = self.attempt_entry(&concluded, true, false);
        flight.attempts.push(entry);
        if !ok {
            // It ended in order, and not with what its protocol ends with.
            let message = concluded.observation().error.clone().unwrap_or_default();
            let refusal = Refusal::upstream_cut(format!("The answer broke off: {message}."));
            return self.end_by_event(client_token, flight, &refusal);
        }
        let mut last = std::mem::take(&mut self.frame);
        flight.framing.push(&mut last, &self.out);
        flight.framing.push_end(&mut last);
        self.finish(client_token, flight, &Ending::ok(), &last);
    }

    /// A stream that ended in order without a token: another offer is asked; where there is none, the client gets it.
    pub(super) fn empty_stream(&mut self, token: u64) {
        let Some(client_token) = self.exchange(token).and_then(|exchange| exchange.purpose.client) else {
            return;
        };
        let others = self.clients.get_mut(client_token).and_then(|client| client.flight());
        if others.is_none_or(|flight| {
            !flight.candidates.is_empty() || !flight.models.is_empty() || flight.live.len() > 1
        }) {
            return self.attempt_failed(token, BodyEnd::Complete);
        }
        let said_so = self.exchange(token).is_some_and(|exchange| exchange.is_marked());
        if said_so && self.commit(token) {
            self.stream_ended(token, BodyEnd::Complete);
        } else {
            self.attempt_failed(token, BodyEnd::Complete);
        }
    }

    /// Keeps a waiting client's connection alive: the head leaves, and a comment.
    pub(super) fn keep_alive(&mut self, token: u64, now: i64) {
        let draining = self.shared.is_draining();
        let every_ns = self.shared.settings.keep_alive_ns;
        let Some(client) = self.clients.get_mut(token) else { return };
        let Some(flight) = client.flight() else { return };
        if flight.comment_at_ns > now || flight.committed.is_some() {
            return;
        }
        flight.comment_at_ns = now.saturating_add(every_ns);
        let mut frame = Vec::new();
        if !flight.head_sent {
            flight.head_sent = true;
            frame = head::stream_head(&flight.id, &[], flight.framing, flight.keep_alive && !draining);
        }
        flight.framing.push(&mut frame, COMMENT);
        if client.send(&frame, now).is_err() {
            self.client_gone(token);
        }
    }
}
