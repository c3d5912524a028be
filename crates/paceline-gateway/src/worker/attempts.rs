//! Attempts: an offer after the other, or beside it, until one answers.

use paceline_io::clock::now_ns;
use paceline_io::request::{RequestTarget, post_head};
use paceline_wire::{BodyEnd, Protocol};

use super::Worker;
use super::exchange::{Exchange, Purpose};
use super::flight::{Flight, LastWord, Live, Queued};
use super::upstream::Step;
use super::usage::Credible;
use crate::accounts::price;
use crate::edit::upstream_body;
use crate::ledger::entry::Role;
use crate::refusal::Refusal;
use crate::route::{Candidate, NotNow};
use crate::table::Offer;

/// What came of looking for the next offer.
enum Next {
    Launched,
    /// It waits for a place.
    Queued,
    /// No offer that is left takes it now.
    Nothing,
}

/// A request to an offer, head and body.
pub(super) fn request_bytes(
    offer: &Offer,
    protocol: Protocol,
    streaming: bool,
    forwarded: &[(String, String)],
    body: &[u8],
) -> Vec<u8> {
    let target = &offer.target;
    let path = format!("{}{}", target.path, protocol.path());
    let place = RequestTarget { scheme: &target.scheme, host: &target.host, port: target.port, path: &path };
    let own = |name: &str| target.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let version = protocol == Protocol::AnthropicMessages
        && !own("anthropic-version")
        && forwarded.iter().all(|(name, _)| name != "anthropic-version");
    let given = target
        .headers
        .iter()
        .chain(forwarded.iter().filter(|(name, _)| !own(name)))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .chain(version.then_some(("anthropic-version", "2023-06-01")));
    let mut head = post_head(place, streaming, given, true);
    head.push_str(&format!("{}\r\n\r\n", body.len()));
    let mut request = head.into_bytes();
    request.extend_from_slice(body);
    request
}

/// Why an offer is not asked.
fn not_now(why: NotNow, offer: &Offer, now: i64) -> Refusal {
    let wait_ms = |until_ns: i64| Some((until_ns - now).max(0) / 1_000_000 + 1);
    match why {
        NotNow::CoolingDown { until_ns } => {
            let message = format!("Offer {:?} has said that it has too many requests.", offer.id);
            Refusal::upstream_rate_limited(message, wait_ms(until_ns))
        }
        NotNow::BreakerOpen { until_ns } => {
            let message = format!("Offer {:?} has failed too often of late, and is given a rest.", offer.id);
            Refusal::no_offer(503, "no_offer", message, wait_ms(until_ns), serde_json::json!([]))
        }
        NotNow::Full => Refusal::queue_full(format!("All places at {:?} are taken.", offer.id), Some(1_000)),
    }
}

impl Worker {
    /// Asks the next offer, plans the next model where none is left, waits for a place, or gives up.
    pub(super) fn advance(&mut self, token: u64, mut flight: Box<Flight>, role: Role) {
        loop {
            match self.launch_next(token, &mut flight, role) {
                Next::Launched | Next::Queued => return self.put_back(token, flight),
                Next::Nothing => {}
            }
            if !flight.live.is_empty() {
                return self.put_back(token, flight);
            }
            if !self.next_model(&mut flight) {
                return self.fail(token, flight);
            }
        }
    }

    fn launch_next(&mut self, token: u64, flight: &mut Flight, role: Role) -> Next {
        let full = match self.try_offers(token, flight, role, false) {
            Ok(()) => return Next::Launched,
            Err(full) => full,
        };
        let Some(offer_place) = full.filter(|_| role != Role::Hedge && flight.live.is_empty()) else {
            return Next::Nothing;
        };
        // All that are left are full. One that is so only since it has become slow is better than none.
        if self.try_offers(token, flight, role, true).is_ok() {
            return Next::Launched;
        }
        self.enqueue(token, flight, offer_place)
    }

    /// Asks the first of the offers that takes the request; of those that do not, only the full ones stay.
    ///
    /// # Errors
    /// None of them: the first that is full, if one is.
    fn try_offers(
        &mut self,
        token: u64,
        flight: &mut Flight,
        role: Role,
        last: bool,
    ) -> Result<(), Option<usize>> {
        let mut full = None;
        let mut place = 0;
        while place < flight.candidates.len() && flight.begun < flight.table.policy.attempts {
            let offer_place = flight.candidates[place].offer;
            let offer = flight.table.offers[offer_place].clone();
            let router = &self.shared.router;
            let admitted = if last {
                router.admit_last(&flight.table, offer_place, now_ns())
            } else {
                router.admit(&flight.table, offer_place, now_ns())
            };
            match admitted {
                Ok(permit) => {
                    let Some(candidate) = flight.candidates.remove(place) else { return Err(full) };
                    if self.launch(token, flight, &candidate, &offer, permit, role) {
                        return Ok(());
                    }
                }
                Err(NotNow::Full) => {
                    full = full.or(Some(offer_place));
                    place += 1;
                }
                Err(why) => {
                    flight.candidates.remove(place);
                    flight.blame(LastWord::Refusal(not_now(why, &offer, now_ns())));
                }
            }
        }
        Err(full)
    }

    /// Asks one offer. `false`: it could not even be begun; why stands in the flight.
    fn launch(
        &mut self,
        token: u64,
        flight: &mut Flight,
        candidate: &Candidate,
        offer: &std::sync::Arc<Offer>,
        permit: crate::route::Permit,
        role: Role,
    ) -> bool {
        let who = flight.key.as_ref().map_or("", |key| key.id.as_str());
        let pass = match self.shared.sessions.enter(offer, who, now_ns()) {
            Ok(pass) => pass,
            Err(refused) => {
                let wait_ms = refused.retry_after_ns / 1_000_000 + 1;
                flight.blame(LastWord::Refusal(Refusal::session_limit(refused.why, Some(wait_ms))));
                return false;
            }
        };
        let Some(upstream_protocol) = offer.protocol_for(flight.ask.protocol) else { return false };
        let body = match upstream_body(&flight.ask, &flight.body, upstream_protocol, offer) {
            Ok(body) => body,
            Err(refusal) => {
                flight.blame(LastWord::Refusal(refusal));
                return false;
            }
        };
        // The first attempt is held already; what others cost comes on top.
        if role != Role::First && !self.grow_hold(flight, offer) {
            return false;
        }
        let streaming = flight.ask.streaming;
        let forwarded: &[_] = if upstream_protocol == flight.ask.protocol { &flight.forwarded } else { &[] };
        let request = request_bytes(offer, upstream_protocol, streaming, forwarded, &body);
        let begun_ns = now_ns();
        let purpose = Purpose {
            client: Some(token),
            role,
            offer: offer.clone(),
            place: candidate.offer,
            table: flight.table.clone(),
            protocols: (flight.ask.protocol, upstream_protocol),
            streaming,
            usage_asked: flight.ask.usage_asked,
            sequence: self.shared.ledger.next_attempt(),
            begun_ns,
            prompt_tokens: candidate.prompt_tokens.max(0.0) as u64,
            credible: Credible::of(&flight.ask),
            uncached_tokens: candidate.uncached_tokens,
            paid_events: if flight.ask.max_tokens.is_some() {
                u32::MAX
            } else {
                u32::try_from(price::output_most(&flight.ask, offer)).unwrap_or(u32::MAX)
            },
            ask: Some(flight.ask.clone()),
            _pass: Some(pass),
            hold: None,
        };
        flight.begun += 1;
        let settings = &self.shared.settings;
        let exchange = Exchange::new(purpose, request, permit, &settings.clients, settings.keep_text);
        let hedge_at_ns = self.hedge_at(flight, candidate, begun_ns);
        match self.carry(Box::new(exchange), false) {
            Ok(upstream) => {
                flight.live.push(Live { token: upstream, hedge_at_ns });
                true
            }
            Err((exchange, error)) => {
                self.never_connected(flight, *exchange, &error);
                false
            }
        }
    }

    /// When a rival of this attempt is asked; never, where hedging is off.
    fn hedge_at(&self, flight: &Flight, candidate: &Candidate, begun_ns: i64) -> i64 {
        let policy = &flight.table.policy.hedging;
        let wanted = flight.ask.preferences.hedge.unwrap_or(true) && policy.share > 0.0;
        let after_ns = candidate.hedge_after_ns.filter(|_| wanted && !flight.hedged);
        after_ns.map_or(i64::MAX, |after_ns| begun_ns.saturating_add(after_ns.max(policy.least_wait_ns)))
    }

    fn grow_hold(&self, flight: &mut Flight, offer: &Offer) -> bool {
        let Some(hold) = flight.hold.as_mut() else { return true };
        let most_usd = offer.price.as_ref().map_or(0.0, |price| price::most_usd(price, &flight.ask, offer));
        if hold.grow(most_usd) {
            return true;
        }
        if flight.last_word.is_none() {
            let message = "The budget does not cover another attempt at this request.";
            flight.blame(LastWord::Refusal(Refusal::budget_exhausted(message, serde_json::json!({}))));
        }
        false
    }

    /// Gives an exchange a connection; the request leaves at once where that is up.
    pub(super) fn carry(
        &mut self,
        exchange: Box<Exchange>,
        fresh: bool,
    ) -> Result<u64, (Box<Exchange>, std::io::Error)> {
        let offer = exchange.purpose.offer.clone();
        let token = match self.connection_to(&offer, fresh) {
            Ok(token) => token,
            Err(error) => return Err((exchange, error)),
        };
        let Some(upstream) = self.upstreams.get_mut(token) else {
            return Err((exchange, std::io::ErrorKind::NotConnected.into()));
        };
        upstream.exchange = Some(exchange);
        if upstream.is_ready() {
            self.send_request(token);
        }
        self.arm_upstream(token);
        Ok(token)
    }

    /// Sends the request of a connection's exchange. A connection that breaks now tells by its next event.
    pub(super) fn send_request(&mut self, token: u64) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        let request = upstream.exchange.as_mut().map(|exchange| std::mem::take(&mut exchange.request));
        let Some(request) = request else { return };
        let sent = upstream.send(&request);
        if let Some(exchange) = upstream.exchange.as_mut() {
            exchange.request = request;
            if exchange.purpose.streaming {
                exchange.permit.asked(exchange.purpose.uncached_tokens, now_ns());
            }
        }
        if sent.is_err() {
            // What it says, or that it has closed, is still to be read.
            upstream.unread = true;
            self.unread.push(token | super::UPSTREAM);
        }
    }

    /// Asks a second offer, since the first is late.
    pub(super) fn hedge(&mut self, token: u64, now: i64) {
        let Some(mut flight) = self.take_flight(token) else { return };
        flight.hedged = true;
        if !flight.candidates.is_empty() && self.shared.router.may_hedge(now) {
            let last_word = flight.last_word.take();
            self.launch_next(token, &mut flight, Role::Hedge);
            flight.last_word = last_word;
        }
        self.put_back(token, flight);
    }

    fn enqueue(&mut self, token: u64, flight: &mut Flight, offer_place: usize) -> Next {
        let now = now_ns();
        if flight.queued.is_some() {
            return Next::Queued;
        }
        let room = std::iter::once(offer_place)
            .chain(flight.candidates.iter().map(|candidate| candidate.offer))
            .map(|place| flight.table.offers[place].clone())
            .find(|offer| self.shared.queue(offer));
        let Some(offer) = room else {
            let message = format!(
                "All places at {:?} are taken, and so are those to wait in.",
                flight.table.offers[offer_place].id
            );
            flight.candidates.clear();
            flight.blame(LastWord::Refusal(Refusal::queue_full(message, Some(1_000))));
            return Next::Nothing;
        };
        let until_ns = offer.limits.queue_ns.map_or(i64::MAX, |ns| now.saturating_add(ns));
        flight.queued = Some(Queued { offer: offer.id.clone(), since_ns: now, until_ns });
        self.waiting.push_back(token);
        Next::Queued
    }

    /// The request waits no longer.
    pub(super) fn unqueue(&mut self, flight: &mut Flight) {
        if let Some(queued) = flight.queued.take() {
            self.shared.unqueue(&queued.offer);
            flight.queued_ns += now_ns() - queued.since_ns;
        }
    }

    /// Places may have become free: those who wait try again, in order.
    pub(super) fn retry_waiting(&mut self) {
        for token in std::mem::take(&mut self.waiting) {
            let Some(mut flight) = self.take_flight(token) else { continue };
            if flight.queued.is_none() {
                self.put_back(token, flight);
                continue;
            }
            match self.launch_next(token, &mut flight, Role::First) {
                Next::Launched => {
                    self.unqueue(&mut flight);
                    self.put_back(token, flight);
                }
                Next::Queued => {
                    self.waiting.push_back(token);
                    self.put_back(token, flight);
                }
                Next::Nothing => {
                    self.unqueue(&mut flight);
                    self.advance(token, flight, Role::First);
                }
            }
        }
    }

    pub(super) fn waited_too_long(&mut self, token: u64) {
        let Some(mut flight) = self.take_flight(token) else { return };
        self.unqueue(&mut flight);
        flight.candidates.clear();
        let message = format!("No place became free in {} ms.", flight.queued_ns / 1_000_000);
        flight.blame(LastWord::Refusal(Refusal::queue_full(message, Some(1_000))));
        self.advance(token, flight, Role::First);
    }

    pub(super) fn upstream_writable(&mut self, token: u64) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        let step = upstream.writable();
        self.step(token, step);
    }

    pub(super) fn upstream_readable(&mut self, token: u64, hangup: bool) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        if upstream.paused {
            // Read when its client has caught up; no other edge will tell.
            upstream.unread = true;
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let step = upstream.readable(&mut self.scratch, &self.clock, hangup, &mut out);
        if upstream.unread {
            self.unread.push(token | super::UPSTREAM);
        }
        self.out = out;
        self.step(token, step);
    }

    fn step(&mut self, token: u64, step: Step) {
        match step {
            Step::Wait => {}
            Step::Ready => self.send_request(token),
            Step::Read => self.progressed(token),
            Step::Free => self.release(token, true),
            Step::Closed(error) => self.upstream_closed(token, error.as_ref()),
            Step::Failed(_) if self.try_next_address(token) => {}
            Step::Failed(error) => self.attempt_failed(token, BodyEnd::ConnectError(error.to_string())),
        }
        self.out.clear();
        self.frame.clear();
    }
}
