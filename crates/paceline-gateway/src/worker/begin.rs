//! The beginning of a request: what is asked, who asks, what it may cost, and where it could go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_io::clock::{now_ns, unix_ns};
use paceline_io::http1::Head;
use paceline_wire::Protocol;

use super::Worker;
use super::client::State;
use super::finish::Refused;
use super::flight::{Flight, LastWord};
use super::head::Framing;
use super::inbox::Received;
use crate::accounts::{Most, price};
use crate::ask::{Ask, app};
use crate::ledger::entry::Role;
use crate::refusal::Refusal;
use crate::route::PlanRequest;
use crate::settings::OnLedgerFailure;
use crate::table::{Key, RouteTable};

/// Headers of a protocol that an upstream of the same protocol has to see.
const FORWARDED: [&str; 3] = ["anthropic-version", "anthropic-beta", "openai-beta"];

/// The key that a client presents.
pub(crate) fn presented_key(head: &Head) -> Option<&str> {
    let bearer = head.header("authorization").and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| head.header("x-api-key")).filter(|key| !key.is_empty())
}

/// Why a request is refused before it is in flight, and what is known of it by then.
struct Early {
    refusal: Refusal,
    ask: Option<Box<Ask>>,
    key: Option<Arc<Key>>,
}

impl From<Refusal> for Early {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, ask: None, key: None }
    }
}

impl Worker {
    pub(super) fn begin(&mut self, token: u64, protocol: Protocol, received: Received) {
        let Received { head, body, first_ns } = received;
        let keep_alive = head.keep_alive;
        let id = self.shared.ledger.new_id(unix_ns());
        match self.take_on(protocol, &head, body, first_ns, &id) {
            Ok(mut flight) => {
                self.shared.requests.fetch_add(1, Ordering::AcqRel);
                flight.keep_alive = keep_alive;
                self.advance(token, flight, Role::First);
            }
            Err(early) => {
                let Early { refusal, ask, key } = *early;
                self.record_refused(&Refused {
                    id: &id,
                    protocol,
                    received_ns: first_ns,
                    // Who sends what cannot be read is named all the same.
                    app: app(&head),
                    ask,
                    key,
                    refusal: &refusal,
                });
                self.refuse(token, protocol, &id, &refusal, keep_alive);
            }
        }
    }

    fn take_on(
        &mut self,
        protocol: Protocol,
        head: &Head,
        body: Vec<u8>,
        first_ns: i64,
        id: &str,
    ) -> Result<Box<Flight>, Box<Early>> {
        let shared = &self.shared;
        let table = shared.table();
        let now_unix_ns = unix_ns();
        let unix_s = now_unix_ns.div_euclid(1_000_000_000);
        let refuse = |refusal: Refusal| Box::new(Early::from(refusal));
        self.may_take_on().map_err(refuse)?;
        let key = shared.accounts.authenticate(&table, presented_key(head), unix_s).map_err(refuse)?;
        let with_key = |refusal| Box::new(Early { refusal, ask: None, key: key.clone() });
        let ask = Ask::read(protocol, head, &body).map_err(with_key)?;
        let with_ask =
            |refusal| Box::new(Early { refusal, ask: Some(Box::new(ask.clone())), key: key.clone() });
        let models = models_of(&table, &ask, key.as_deref()).map_err(with_ask)?;
        let most = most_of(&table, &models, &ask);
        let hold = shared.accounts.reserve(key.as_ref(), most, unix_s, now_ns()).map_err(with_ask)?;
        let after = |ns: Option<i64>| ns.map_or(i64::MAX, |ns| first_ns.saturating_add(ns));
        let (deadline_at_ns, finish_at_ns) =
            (after(ask.preferences.deadline_ns), after(ask.preferences.finish_by_ns));
        let keep_alive_ns = shared.settings.keep_alive_ns;
        let comment_at_ns = if ask.streaming && keep_alive_ns > 0 {
            first_ns.saturating_add(keep_alive_ns)
        } else {
            i64::MAX
        };
        let framing = if head.is_http_1_0 { Framing::UntilClose } else { Framing::Chunked };
        let forwarded = FORWARDED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), head.header(name)?.to_owned())))
            .collect();
        Ok(Box::new(Flight {
            id: id.to_owned(),
            received_ns: first_ns,
            received_unix_ns: now_unix_ns - (now_ns() - first_ns),
            forwarded,
            body,
            ask: Arc::new(ask),
            table,
            key,
            hold: Some(hold),
            model: String::new(),
            models,
            candidates: VecDeque::new(),
            considered: Vec::new(),
            reason: String::new(),
            live: Vec::new(),
            begun: 0,
            attempts: Vec::new(),
            last_word: None,
            queued: None,
            queued_ns: 0,
            hedged: false,
            committed: None,
            first_token_ns: None,
            head_sent: false,
            comment_at_ns,
            deadline_at_ns,
            finish_at_ns,
            keep_alive: false,
            framing,
        }))
    }

    /// The gateway itself can take another request.
    fn may_take_on(&self) -> Result<(), Refusal> {
        let shared = &self.shared;
        let settings = &shared.settings;
        if shared.is_draining() {
            return Err(Refusal::draining());
        }
        if shared.requests.load(Ordering::Acquire) >= settings.clients.requests {
            return Err(Refusal::overloaded(settings.clients.requests));
        }
        if settings.ledger.on_failure == OnLedgerFailure::Stop && shared.ledger.is_failing() {
            return Err(Refusal::ledger_unavailable());
        }
        Ok(())
    }

    /// Plans the next of the models that may be tried; `false`: there is none left that any offer can answer for.
    pub(super) fn next_model(&self, flight: &mut Flight) -> bool {
        while let Some(model) = flight.models.pop_front() {
            let plan = self.shared.router.plan(&PlanRequest {
                table: &flight.table,
                ask: &flight.ask,
                model: &model,
                key_id: flight.key.as_ref().map(|key| key.id.as_str()),
                now_ns: now_ns(),
                received_ns: flight.received_ns,
            });
            match plan {
                Ok(plan) => {
                    flight.model = model;
                    flight.candidates = plan.candidates.into();
                    flight.considered.extend(plan.considered);
                    flight.reason = plan.reason;
                    return true;
                }
                Err(none) => {
                    // What an upstream said of an earlier model tells more than that a later one has no offer.
                    if flight.last_word.is_none() {
                        let considered = serde_json::json!(none.considered);
                        flight.blame(LastWord::Refusal(Refusal::no_offer(
                            none.status,
                            none.code,
                            none.message,
                            none.retry_after_ms,
                            considered,
                        )));
                    }
                    flight.considered.extend(none.considered);
                }
            }
        }
        false
    }

    /// Puts a request back with its client; when that has gone meanwhile, it is abandoned.
    pub(super) fn put_back(&mut self, token: u64, flight: Box<Flight>) {
        match self.clients.get_mut(token) {
            Some(client) => {
                client.enter(State::Busy(flight), now_ns());
                self.arm_client(token);
            }
            None => self.abandon(flight),
        }
    }

    /// Takes a request from its client, which must get it back.
    pub(super) fn take_flight(&mut self, token: u64) -> Option<Box<Flight>> {
        let client = self.clients.get_mut(token)?;
        match std::mem::replace(&mut client.state, State::Flushing { close: false }) {
            State::Busy(flight) => Some(flight),
            other => {
                client.state = other;
                None
            }
        }
    }
}

/// Ids of the models to try, in order: what is asked, its `models`, and the fallbacks that the table names.
fn models_of(table: &RouteTable, ask: &Ask, key: Option<&Key>) -> Result<VecDeque<String>, Refusal> {
    let names = table.models.iter().flat_map(|model| std::iter::once(&model.id).chain(&model.aliases));
    let mut models: VecDeque<String> = VecDeque::new();
    for name in std::iter::once(&ask.model).chain(&ask.fallbacks) {
        let Some(model) = table.model(name) else {
            return Err(Refusal::unknown_model(name, names.map(String::as_str)));
        };
        models.push_back(model.id.clone());
    }
    // Who wants no other offer than the first wants no other model either, unless by name.
    let named = if ask.preferences.allow_fallbacks { models.clone() } else { VecDeque::new() };
    for model in named {
        let fallbacks = table.model(&model).map_or(&[][..], |model| &model.fallbacks);
        models.extend(fallbacks.iter().filter_map(|name| Some(table.model(name)?.id.clone())));
    }
    let mut seen = std::collections::HashSet::new();
    models.retain(|model| seen.insert(model.clone()));
    if let Some(key) = key
        && let Some(allowed) = &key.models
    {
        let asked = models.front().cloned().unwrap_or_default();
        models.retain(|model| allowed.contains(model));
        if models.is_empty() {
            return Err(Refusal::model_not_allowed(&asked, &key.name));
        }
    }
    Ok(models)
}

/// The most that the request can cost at any offer that it could go to.
fn most_of(table: &RouteTable, models: &VecDeque<String>, ask: &Ask) -> Most {
    let offers = models.iter().flat_map(|model| table.offers_of(model)).map(|place| &table.offers[*place]);
    offers.fold(Most { usd: 0.0, tokens: 0 }, |most, offer| {
        let one = price::most(ask, offer);
        Most { usd: most.usd.max(one.usd), tokens: most.tokens.max(one.tokens) }
    })
}
