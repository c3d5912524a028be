//! When an attempt fails: another offer is asked while the client has no token; after that it is told.

use paceline_io::clock::now_ns;
use paceline_wire::{BodyEnd, Outcome};

use super::Worker;
use super::client::State;
use super::exchange::{Concluded, Exchange};
use super::finish::Ending;
use super::flight::{Flight, LastWord};
use super::head;
use crate::ledger::entry::Role;
use crate::refusal::{Refusal, upstream_error};
use crate::relay::good_prefix;

/// The client's own faults: every offer would say the same.
const CLIENTS_OWN: [u16; 3] = [400, 413, 422];

impl Worker {
    /// The server has closed, or the connection has failed.
    pub(super) fn upstream_closed(&mut self, token: u64, error: Option<&std::io::Error>) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        upstream.closed = true;
        let Some(exchange) = upstream.exchange.as_mut() else { return self.drop_idle(token) };
        // A server may close an idle connection at the moment at which it is used again: that is the pool's affair, so
        // the request goes out once more on a fresh one. Later than such a close can cross it, the server dropped it.
        if exchange.is_crossed(now_ns()) {
            return self.resend(token);
        }
        let end = exchange.closed_by_peer(error);
        let whole = matches!(end, BodyEnd::Complete) || (exchange.is_stream() && exchange.is_marked());
        if !whole || exchange.purpose.client.is_none() {
            return self.attempt_failed(token, end);
        }
        if !exchange.is_stream() {
            return self.whole_answer(token);
        }
        // All of it may have come by one read, together with the close.
        let waits = !exchange.committed;
        if waits && exchange.token_events() == 0 {
            return self.empty_stream(token);
        }
        if !waits || self.commit(token) {
            self.stream_ended(token, BodyEnd::Complete);
        }
    }

    /// Sends a request once more, on a fresh connection.
    pub(super) fn resend(&mut self, token: u64) {
        let Some(mut upstream) = self.upstreams.remove(token) else { return };
        let Some(mut exchange) = upstream.exchange.take() else { return };
        exchange.found.reused = false;
        let client = exchange.purpose.client;
        match self.carry(exchange, true) {
            Ok(fresh) => {
                let flight = client.and_then(|client| self.clients.get_mut(client)?.flight());
                for live in flight.into_iter().flat_map(|flight| &mut flight.live) {
                    if live.token == token {
                        live.token = fresh;
                    }
                }
            }
            Err((exchange, error)) => {
                let Some(client) = client else { return };
                let Some(mut flight) = self.take_flight(client) else { return };
                flight.live.retain(|live| live.token != token);
                self.never_connected(&mut flight, *exchange, &error);
                self.go_on_or_fail(client, flight);
            }
        }
    }

    /// An attempt that could not even begin to connect.
    pub(super) fn never_connected(&self, flight: &mut Flight, exchange: Exchange, error: &std::io::Error) {
        let concluded = exchange.conclude(BodyEnd::ConnectError(error.to_string()), now_ns());
        flight.attempts.push(self.attempt_entry(&concluded, false, false));
        flight.blame(last_word(flight, &concluded));
    }

    /// An attempt has failed.
    pub(super) fn attempt_failed(&mut self, token: u64, end: BodyEnd) {
        let Some(exchange) = self.upstreams.get_mut(token).and_then(|it| it.exchange.as_ref()) else {
            return self.drop_idle(token);
        };
        if exchange.purpose.client.is_none() {
            return self.probe_ended(token, end);
        }
        let committed = exchange.committed;
        let Some((concluded, client_token)) = self.take_attempt(token, end) else { return };
        let Some(mut flight) = self.take_flight(client_token) else { return };
        flight.live.retain(|live| live.token != token);
        if !committed {
            return self.after_failure(client_token, flight, &concluded);
        }
        let entry = self.attempt_entry(&concluded, true, false);
        flight.attempts.push(entry);
        let what = concluded.observation().error.clone().unwrap_or_default();
        let refusal = match concluded.outcome() {
            Outcome::Timeout => Refusal::upstream_timeout(format!("The answer stopped: {what}.")),
            _ => Refusal::upstream_cut(format!("The answer broke off: {what}.")),
        };
        self.end_by_event(client_token, flight, &refusal);
    }

    /// After a failure before the first token: whose fault it is decides what follows.
    pub(super) fn after_failure(
        &mut self,
        client_token: u64,
        mut flight: Box<Flight>,
        concluded: &Concluded,
    ) {
        flight.attempts.push(self.attempt_entry(concluded, false, false));
        flight.blame(last_word(&flight, concluded));
        let own = concluded.observation().status.is_some_and(|status| CLIENTS_OWN.contains(&status));
        if own && concluded.outcome() == Outcome::HttpError {
            for rival in std::mem::take(&mut flight.live) {
                flight.attempts.extend(self.cancel_attempt(rival.token));
            }
            return self.fail(client_token, flight);
        }
        self.go_on_or_fail(client_token, flight);
    }

    /// Asks the next offer, unless a rival is still at work, or retries have used up their budget.
    fn go_on_or_fail(&mut self, client_token: u64, flight: Box<Flight>) {
        if !flight.live.is_empty() {
            return self.put_back(client_token, flight);
        }
        let others = !flight.candidates.is_empty() || !flight.models.is_empty();
        if others && !self.shared.router.may_retry(now_ns()) {
            return self.fail(client_token, flight);
        }
        self.advance(client_token, flight, Role::Retry);
    }

    /// Ends a request before its time: what is in flight is cancelled.
    pub(super) fn give_up(&mut self, token: u64, refusal: Refusal) {
        let Some(mut flight) = self.take_flight(token) else { return };
        let committed = flight.committed.is_some();
        self.cancel_all(&mut flight);
        flight.blame(LastWord::Refusal(refusal.clone()));
        if committed { self.end_by_event(token, flight, &refusal) } else { self.fail(token, flight) }
    }

    fn cancel_all(&mut self, flight: &mut Flight) {
        let committed = flight.committed.take();
        let rivals: Vec<u64> = flight.live.drain(..).map(|live| live.token).collect();
        for upstream in committed.into_iter().chain(rivals) {
            let Some((concluded, _)) = self.take_attempt(upstream, BodyEnd::Cancelled) else { continue };
            let served = committed == Some(upstream);
            flight.attempts.push(self.attempt_entry(&concluded, served, true));
        }
    }

    /// Tells the client that no offer answers.
    pub(super) fn fail(&mut self, token: u64, mut flight: Box<Flight>) {
        let asked = !flight.attempts.is_empty();
        let word = flight.last_word.take().unwrap_or_else(|| {
            LastWord::Refusal(Refusal::upstream_failed("No offer is left that could answer."))
        });
        let protocol = flight.ask.protocol;
        if flight.head_sent {
            let refusal = match word {
                LastWord::Refusal(refusal) => refusal,
                LastWord::Upstream { status, body } => {
                    let message = paceline_wire::server_message(&body);
                    Refusal::upstream_rejected(status, message.unwrap_or_else(|| format!("status {status}")))
                }
            };
            return self.end_by_event(token, flight, &refusal);
        }
        let (status, code, headers, body) = match word {
            LastWord::Refusal(refusal) => {
                (refusal.status, refusal.code, refusal.headers(), refusal.body(protocol, &flight.id))
            }
            LastWord::Upstream { status, body } => (status, "upstream_rejected", Vec::new(), body),
        };
        let outcome = if asked { "failed" } else { "refused" };
        let ending = Ending { outcome, status: Some(status), code: Some(code.to_owned()), close: false };
        let keep_alive = flight.keep_alive && !self.shared.is_draining();
        let response =
            head::whole_response(status, "application/json", Some(&flight.id), &headers, keep_alive, &body);
        self.finish(token, flight, &ending, &response);
    }

    /// Ends a stream that has begun with an error of the client's protocol. What came before it in the same read is
    /// good, and goes out.
    pub(super) fn end_by_event(&mut self, token: u64, flight: Box<Flight>, refusal: &Refusal) {
        let mut last = std::mem::take(&mut self.frame);
        flight.framing.push(&mut last, &self.out[..good_prefix(&self.out)]);
        flight.framing.push(&mut last, &refusal.event(flight.ask.protocol, &flight.id));
        flight.framing.push_end(&mut last);
        let outcome = if flight.first_token_ns.is_some() { "error_in_stream" } else { "failed" };
        // The body ends as its head has announced: a client may have sent its next request already, so that the
        // connection stays.
        let ending = Ending { outcome, status: Some(200), code: Some(refusal.code.to_owned()), close: false };
        self.finish(token, flight, &ending, &last);
    }

    /// The client has gone: everything that was done for it ends now, and is accounted.
    pub(super) fn abandon(&mut self, mut flight: Box<Flight>) {
        self.cancel_all(&mut flight);
        let status = flight.head_sent.then_some(200);
        let ending = Ending { outcome: "client_gone", status, code: None, close: true };
        self.settle(flight, &ending);
    }

    /// The time to drain is over.
    pub(super) fn end_all_requests(&mut self) {
        let busy: Vec<u64> = self
            .clients
            .tokens()
            .filter(|token| self.clients.get(*token).is_some_and(|it| matches!(it.state, State::Busy(_))))
            .collect();
        for token in busy {
            self.give_up(token, Refusal::draining());
        }
    }

    /// The gateway stops: what is left is told so, and accounted.
    pub(super) fn close_all(&mut self) {
        self.end_all_requests();
        let left: Vec<u64> = self.clients.tokens().collect();
        for token in left {
            if let Some(client) = self.clients.get_mut(token) {
                client.stream.shutdown();
            }
            self.client_gone(token);
        }
    }
}

/// What a failed attempt is told as, if no other follows.
fn last_word(flight: &Flight, concluded: &Concluded) -> LastWord {
    let row = concluded.observation();
    let offer = &concluded.purpose.offer;
    let what = row.error.clone().unwrap_or_else(|| row.outcome.as_str().to_owned());
    let said = format!("Offer {:?}: {what}.", offer.id);
    match (row.outcome, row.status) {
        (Outcome::RateLimited, _) => {
            LastWord::Refusal(Refusal::upstream_rate_limited(said, row.retry_after_ms.or(Some(1_000))))
        }
        (Outcome::HttpError, Some(status)) if CLIENTS_OWN.contains(&status) => {
            let (client, upstream) = concluded.purpose.protocols;
            let body =
                upstream_error(status, &concluded.whole, upstream, client, &offer.target.headers, &flight.id);
            LastWord::Upstream { status, body }
        }
        (Outcome::Timeout, _) => LastWord::Refusal(Refusal::upstream_timeout(said)),
        _ => LastWord::Refusal(Refusal::upstream_failed(said)),
    }
}
