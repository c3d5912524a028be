//! The end of attempts and requests: rows, costs, and the line in the ledger.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_io::clock::{now_ns, unix_ns};
use paceline_translate::Untranslatable;
use paceline_wire::{BodyEnd, KIND_EMBEDDING, Outcome, Protocol};

use super::Worker;
use super::downgrade;
use super::exchange::Concluded;
use super::flight::Flight;
use super::head::{self, Framing};
use super::usage::used;
use crate::accounts::Used;
use crate::accounts::price::cost_usd;
use crate::ask::Ask;
use crate::ledger::decode_tok_s;
use crate::ledger::entry::{AttemptEntry, Entry, Usage, UsageSource};
use crate::refusal::Refusal;
use crate::relay::push_with_cost;
use crate::route::Seen;
use crate::table::Key;

/// How a request ends for its client.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) outcome: &'static str,
    pub(super) status: Option<u16>,
    pub(super) code: Option<String>,
    pub(super) close: bool,
}

impl Ending {
    pub(super) const fn ok() -> Self {
        Self { outcome: "ok", status: Some(200), code: None, close: false }
    }
}

/// A request that was never in flight.
pub(super) struct Refused<'a> {
    pub(super) id: &'a str,
    pub(super) protocol: Protocol,
    pub(super) received_ns: i64,
    /// Title and address of the application.
    pub(super) app: (Option<String>, Option<String>),
    pub(super) ask: Option<Box<Ask>>,
    pub(super) key: Option<Arc<Key>>,
    pub(super) refusal: &'a Refusal,
}

fn count(tokens: Option<i64>) -> Option<u64> {
    tokens.and_then(|tokens| u64::try_from(tokens).ok())
}

impl Worker {
    /// Takes an attempt from its connection, which is used again where that can be. Returns whose it was.
    pub(super) fn take_attempt(&mut self, token: u64, end: BodyEnd) -> Option<(Concluded, u64)> {
        let upstream = self.upstreams.get_mut(token)?;
        let mut exchange = upstream.exchange.take()?;
        let client = exchange.purpose.client.unwrap_or(u64::MAX);
        if upstream.unasked {
            let server = upstream.server.clone();
            self.distrust(server);
        }
        let upstream = self.upstreams.get_mut(token)?;
        let in_order = matches!(end, BodyEnd::Complete) && !exchange.is_broken();
        if in_order && exchange.keeps_connection() {
            self.release(token, true);
        } else if in_order && exchange.is_marked() && !exchange.is_done() && !upstream.closed {
            upstream.rest = Some(exchange.take_reader());
            upstream.idle_ns = now_ns();
            self.arm_upstream(token);
        } else {
            self.upstreams.remove(token);
        }
        Some((exchange.conclude(end, now_ns()), client))
    }

    /// Ends an attempt whose answer nobody wants any more.
    pub(super) fn cancel_attempt(&mut self, token: u64) -> Option<AttemptEntry> {
        let (concluded, _) = self.take_attempt(token, BodyEnd::Cancelled)?;
        Some(self.attempt_entry(&concluded, false, true))
    }

    /// What the ledger says of an attempt; the router is told as well.
    pub(super) fn attempt_entry(
        &self,
        concluded: &Concluded,
        served: bool,
        client_left: bool,
    ) -> AttemptEntry {
        let purpose = &concluded.purpose;
        let offer = &purpose.offer;
        let row = concluded.observation();
        let usage = used(row, concluded.row.sent_ns.is_some(), purpose.prompt_tokens, purpose.credible);
        let cost_usd = match &offer.price {
            _ if usage.source == UsageSource::None => Some(0.0),
            Some(price) => Some(cost_usd(price, &usage)),
            None => None,
        };
        let downgrade = downgrade::named(
            offer,
            concluded.observation().server_model.as_deref(),
            concluded.served_tier.as_deref(),
        );
        let sent_ns = concluded.row.sent_ns.unwrap_or(purpose.begun_ns);
        let embedding = row.event_kind.contains(&KIND_EMBEDDING);
        let ttft_ns =
            row.event_ns.first().filter(|_| row.streaming && !embedding).map(|first| first - sent_ns);
        self.shared.router.observe(
            &purpose.table,
            purpose.place,
            &Seen {
                ask: purpose.ask.as_deref(),
                ticket: concluded.permit.ticket(),
                outcome: row.outcome,
                status: row.status,
                client_left,
                prompt_tokens: count(row.prompt_tokens),
                cached_tokens: count(row.cached_tokens),
                completion_tokens: count(row.completion_tokens),
                ttft_ns,
                decode_tok_s: decode_tok_s(&row.event_ns, &row.event_tokens, row.completion_tokens),
                elapsed_ns: row.end_ns - sent_ns,
                retry_after_ns: row.retry_after_ms.map(|ms| ms.saturating_mul(1_000_000)),
                downgraded: downgrade.is_some(),
            },
            now_ns(),
        );
        AttemptEntry {
            offer: offer.id.clone(),
            provider: offer.provider.clone(),
            model: offer.model.clone(),
            upstream_model: offer.upstream_model.clone(),
            tier: offer.tier,
            endpoint: offer.target.endpoint(),
            protocol: purpose.protocols.1.name(),
            role: purpose.role,
            served,
            downgrade,
            usage,
            cost_usd,
            row: concluded.row.clone(),
        }
    }

    /// Ends a request: its line is written before the client has its last bytes.
    pub(super) fn finish(&mut self, token: u64, flight: Box<Flight>, ending: &Ending, last: &[u8]) {
        let by_close = flight.head_sent && flight.framing == Framing::UntilClose;
        let keep_alive = flight.keep_alive && !ending.close && !by_close && !self.shared.is_draining();
        self.settle(flight, ending);
        self.send_last(token, last, !keep_alive);
    }

    /// Writes a request's line, and settles what was held for it.
    pub(super) fn settle(&mut self, mut flight: Box<Flight>, ending: &Ending) {
        self.unqueue(&mut flight);
        let cost_usd = flight.attempts.iter().filter_map(|attempt| attempt.cost_usd).sum();
        let cost_is_partial = flight.attempts.iter().any(|attempt| attempt.cost_usd.is_none());
        let tokens =
            flight.attempts.iter().map(|it| it.usage.prompt_tokens + it.usage.completion_tokens).sum();
        let ended_ns = now_ns();
        let ok = ending.outcome == "ok";
        let first_token_ns = flight.first_token_ns.filter(|_| flight.ask.streaming);
        let entry = Entry {
            received_unix_ns: flight.received_unix_ns,
            received_ns: flight.received_ns,
            ended_ns,
            key: flight.key.as_ref().map(|key| key.id.clone()),
            app_title: flight.ask.app_title.clone(),
            app_referer: flight.ask.app_referer.clone(),
            protocol: flight.ask.protocol.name(),
            streaming: flight.ask.streaming,
            asked_model: flight.ask.model.clone(),
            outcome: ending.outcome,
            status: ending.status,
            code: ending.code.clone(),
            ttft_ns: first_token_ns.map(|ns| ns - flight.received_ns),
            queued_ns: flight.queued_ns,
            deadline_ns: flight.ask.preferences.deadline_ns,
            finish_by_ns: flight.ask.preferences.finish_by_ns,
            deadline_met: flight.deadline_met(ended_ns, ok),
            cost_usd,
            cost_is_partial,
            attempts: std::mem::take(&mut flight.attempts),
            id: std::mem::take(&mut flight.id),
        };
        self.shared.ledger.append(&entry);
        self.shared.counters.finished(&entry);
        if let Some(hold) = flight.hold.take() {
            self.shared.accounts.settle(hold, Used { usd: cost_usd, tokens });
        }
        self.shared.requests.fetch_sub(1, Ordering::AcqRel);
    }

    /// A request that was refused before it was in flight has its line, too.
    pub(super) fn record_refused(&self, refused: &Refused<'_>) {
        let now = now_ns();
        let ask = refused.ask.as_deref();
        let entry = Entry {
            id: refused.id.to_owned(),
            received_unix_ns: unix_ns() - (now - refused.received_ns),
            received_ns: refused.received_ns,
            ended_ns: now,
            key: refused.key.as_ref().map(|key| key.id.clone()),
            app_title: refused.app.0.clone(),
            app_referer: refused.app.1.clone(),
            protocol: refused.protocol.name(),
            streaming: ask.is_some_and(|ask| ask.streaming),
            asked_model: ask.map_or_else(String::new, |ask| ask.model.clone()),
            outcome: "refused",
            status: Some(refused.refusal.status),
            code: Some(refused.refusal.code.to_owned()),
            ttft_ns: None,
            queued_ns: 0,
            deadline_ns: ask.and_then(|ask| ask.preferences.deadline_ns),
            finish_by_ns: ask.and_then(|ask| ask.preferences.finish_by_ns),
            deadline_met: None,
            cost_usd: 0.0,
            cost_is_partial: false,
            attempts: Vec::new(),
        };
        // Who has no key must not be able to fill the disk.
        if refused.refusal.code != "invalid_api_key" {
            self.shared.ledger.append(&entry);
        }
        self.shared.counters.finished(&entry);
    }

    /// An answer that is no stream is whole.
    pub(super) fn whole_answer(&mut self, token: u64) {
        let Some((mut concluded, client_token)) = self.take_attempt(token, BodyEnd::Complete) else { return };
        let Some(mut flight) = self.take_flight(client_token) else { return };
        flight.live.retain(|live| live.token != token);
        let alone = flight.candidates.is_empty() && flight.models.is_empty() && flight.live.is_empty();
        let good = match concluded.outcome() {
            Outcome::Ok => true,
            // A status 204 is no answer to what was asked.
            Outcome::Empty => alone && !concluded.whole.trim_ascii().is_empty(),
            _ => false,
        };
        let body = good.then(|| client_body(&flight, &concluded));
        let body = match body {
            Some(Ok(body)) => body,
            Some(Err(why)) => {
                concluded.call_malformed(&why.to_string());
                return self.after_failure(client_token, flight, &concluded);
            }
            None => return self.after_failure(client_token, flight, &concluded),
        };
        for rival in std::mem::take(&mut flight.live) {
            flight.attempts.extend(self.cancel_attempt(rival.token));
        }
        flight.first_token_ns = Some(now_ns());
        let purpose = &concluded.purpose;
        let mut headers = head::offer_headers(&purpose.offer, purpose.role);
        headers.extend(flight.explanation());
        let entry = self.attempt_entry(&concluded, true, false);
        flight.attempts.push(entry);
        let keep_alive = flight.keep_alive && !self.shared.is_draining();
        let response =
            head::whole_response(200, "application/json", Some(&flight.id), &headers, keep_alive, &body);
        self.finish(client_token, flight, &Ending::ok(), &response);
    }
}

/// The body in the client's words, with its cost.
///
/// # Errors
/// It cannot be said in them.
fn client_body(flight: &Flight, concluded: &Concluded) -> Result<Vec<u8>, Untranslatable> {
    let (client, upstream) = concluded.purpose.protocols;
    let translated;
    let body: &[u8] = if client == upstream {
        &concluded.whole
    } else {
        translated = paceline_translate::response(client, upstream, &concluded.whole)?;
        &translated
    };
    let usage =
        used(concluded.observation(), true, concluded.purpose.prompt_tokens, concluded.purpose.credible);
    let known = usage.source == UsageSource::Server && usage != Usage::NOTHING;
    let cost = concluded.purpose.offer.price.as_ref().filter(|_| known).map(|price| cost_usd(price, &usage));
    let mut out = Vec::with_capacity(body.len() + 64);
    push_with_cost(body, cost, &mut out);
    if let Some(explanation) = flight.explanation_json()
        && let Some(at) = out.iter().position(|byte| *byte == b'{')
    {
        let member = format!("\"paceline\":{explanation},");
        out.splice(at + 1..at + 1, member.into_bytes());
    }
    Ok(out)
}
