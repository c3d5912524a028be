//! The router: what is known of all offers, behind one lock that is never held over I/O.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::breaker::BreakerState;
use super::budget::Budget;
use super::figures::OfferFigures;
use super::outputs::Outputs;
use super::permit::Permit;
use super::plan::{NoOffer, Plan, PlanRequest};
use super::seen::{Recalled, Seen};
use super::state::OfferState;
use crate::table::{Offer, Policy, RouteTable};

/// Retries that are there at any time.
const RETRY_FLOOR: f64 = 10.0;
/// While another request tries an offer whose breaker is half-open, it is worth asking again after so long.
const PROBE_WAIT_NS: i64 = 1_000_000_000;

/// Called with an offer's id when a place may have become free there, after somebody was told that it was full.
pub(crate) type OnFree = Arc<dyn Fn(&str) + Send + Sync>;

/// Why an offer cannot be asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// All places are taken; `on_free` tells when one may not be.
    Full,
    BreakerOpen {
        until_ns: i64,
    },
    CoolingDown {
        until_ns: i64,
    },
}

/// The router. Instants are CLOCK_MONOTONIC, in ns, and given.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    shared: Arc<Shared>,
}

/// What router and permits share.
pub(super) struct Shared {
    state: Mutex<State>,
    on_free: Mutex<Option<OnFree>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

/// What is known.
#[derive(Debug)]
pub(super) struct State {
    offers: Vec<OfferState>,
    places: HashMap<Arc<str>, usize>,
    outputs: HashMap<String, Outputs>,
    pub(super) explore: Budget,
    retry: Budget,
    hedge: Budget,
    pub(super) rng: ChaCha8Rng,
    policy: Option<Policy>,
    tickets: u64,
}

impl State {
    /// What is known of an offer.
    pub(super) fn offer(&mut self, offer: &Offer, policy: &Policy) -> &mut OfferState {
        let place = match self.places.get(offer.id.as_str()) {
            Some(place) => *place,
            None => {
                let state = OfferState::new(&offer.id, policy);
                self.places.insert(Arc::clone(&state.id), self.offers.len());
                self.offers.push(state);
                self.offers.len() - 1
            }
        };
        &mut self.offers[place]
    }

    fn known(&mut self, id: &str) -> Option<&mut OfferState> {
        self.places.get(id).and_then(|place| self.offers.get_mut(*place))
    }

    /// What is known of a model's answers.
    pub(super) fn outputs(&mut self, model: &str) -> &mut Outputs {
        if !self.outputs.contains_key(model) {
            self.outputs.insert(model.to_owned(), Outputs::default());
        }
        self.outputs.entry(model.to_owned()).or_default()
    }
}

impl Router {
    /// All that it draws comes from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            offers: Vec::new(),
            places: HashMap::new(),
            outputs: HashMap::new(),
            explore: Budget::new(0.0, 0.0),
            retry: Budget::new(0.0, RETRY_FLOOR),
            hedge: Budget::new(0.0, 0.0),
            rng: ChaCha8Rng::seed_from_u64(seed),
            policy: None,
            tickets: 0,
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), on_free: Mutex::new(None) }) }
    }

    /// Another table. What is known of an offer (by its id) stays.
    pub(crate) fn apply(&self, table: &RouteTable) {
        let mut state = self.shared.lock();
        let policy = table.policy;
        state.explore.set_share(policy.explore_share);
        state.retry.set_share(policy.retry_share);
        state.hedge.set_share(policy.hedging.share);
        state.policy = Some(policy);
        let known: std::collections::HashSet<&str> =
            table.offers.iter().map(|offer| offer.id.as_str()).collect();
        state.offers.retain(|offer| offer.in_flight > 0 || known.contains(offer.id.as_ref()));
        state.places =
            state.offers.iter().enumerate().map(|(place, offer)| (Arc::clone(&offer.id), place)).collect();
        state.outputs.retain(|model, _| table.models.iter().any(|known| known.id == *model));
        for offer in &table.offers {
            state.offer(offer, &policy).apply(&policy);
        }
    }

    /// `hook` is called, outside of the lock, when a place may be free where somebody was told `Full`. It may be called
    /// more often than that, and from any thread.
    pub(crate) fn set_on_free(&self, hook: OnFree) {
        *self.shared.on_free.lock().unwrap_or_else(PoisonError::into_inner) = Some(hook);
    }

    /// Which offers can answer, best first. Counts as one request for the budgets.
    ///
    /// # Errors
    /// When none can; it says which constraint removed which offer.
    pub(crate) fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan, NoOffer> {
        let mut state = self.shared.lock();
        state.retry.request();
        state.hedge.request();
        super::plan::plan(&mut state, request)
    }

    /// A place at an offer.
    ///
    /// # Errors
    /// When it cannot be asked now.
    pub(crate) fn admit(&self, table: &RouteTable, offer: usize, now_ns: i64) -> Result<Permit, NotNow> {
        self.admit_within(table, offer, now_ns, OfferState::places)
    }

    /// The same when no other offer is left: one that has only become slow by now is asked all the same.
    ///
    /// # Errors
    /// When it cannot be asked now.
    pub(crate) fn admit_last(&self, table: &RouteTable, offer: usize, now_ns: i64) -> Result<Permit, NotNow> {
        self.admit_within(table, offer, now_ns, OfferState::most_places)
    }

    fn admit_within(
        &self,
        table: &RouteTable,
        offer: usize,
        now_ns: i64,
        places: fn(&OfferState, &Offer) -> Option<u32>,
    ) -> Result<Permit, NotNow> {
        let mut state = self.shared.lock();
        state.tickets += 1;
        let ticket = state.tickets;
        let Some(offer) = table.offers.get(offer) else { return Err(NotNow::Full) };
        let known = state.offer(offer, &table.policy);
        if let Some(until_ns) = known.cooldown.until(now_ns) {
            return Err(NotNow::CoolingDown { until_ns });
        }
        if places(known, offer).is_some_and(|places| known.in_flight >= places) {
            known.awaited = true;
            return Err(NotNow::Full);
        }
        let probe = known.breaker.admit(now_ns).map_err(|until_ns| {
            known.awaited |= until_ns.is_none();
            NotNow::BreakerOpen { until_ns: until_ns.unwrap_or(now_ns.saturating_add(PROBE_WAIT_NS)) }
        })?;
        known.in_flight += 1;
        let (id, begun_with) = (Arc::clone(&known.id), known.in_flight);
        Ok(Permit::new(Arc::clone(&self.shared), id, ticket, begun_with, probe))
    }

    /// May a request be tried again, at another offer or the same? True takes one from the budget.
    pub(crate) fn may_retry(&self, now_ns: i64) -> bool {
        self.shared.lock().retry.take(now_ns)
    }

    /// May a second offer be asked, since the first is late? True takes one from the budget.
    pub(crate) fn may_hedge(&self, now_ns: i64) -> bool {
        self.shared.lock().hedge.take(now_ns)
    }

    /// An attempt has ended. Tell it before its permit is dropped.
    pub(crate) fn observe(&self, table: &RouteTable, offer: usize, seen: &Seen<'_>, now_ns: i64) {
        let Some(offer) = table.offers.get(offer) else { return };
        let mut state = self.shared.lock();
        let known = state.offer(offer, &table.policy);
        let freed = known.observe(seen, &table.policy, now_ns) && known.awaited;
        let answered = seen.class() == super::seen::Class::Success && seen.ask.is_some();
        if let (Some(tokens), true) = (seen.completion_tokens, answered) {
            state.outputs(&offer.model).add(tokens);
        }
        drop(state);
        if freed {
            self.shared.tell_free(&offer.id);
        }
    }

    /// An attempt of before this gateway's start, that ended at `at_ns`; older ones first. Speed, success and lengths are
    /// learned from it; breaker, cooldown and limits begin anew.
    pub(crate) fn recall(&self, table: &RouteTable, offer: usize, past: &Recalled, at_ns: i64) {
        let Some(offer) = table.offers.get(offer) else { return };
        let mut state = self.shared.lock();
        state.offer(offer, &table.policy).recall(past, &table.policy, at_ns);
        let answered = past.seen.class() == super::seen::Class::Success && !past.probe;
        if let (Some(tokens), true) = (past.seen.completion_tokens, answered) {
            state.outputs(&offer.model).add(tokens);
        }
    }

    /// The figures of each offer, in the table's order.
    pub(crate) fn figures(&self, table: &RouteTable, now_ns: i64) -> Vec<OfferFigures> {
        let mut state = self.shared.lock();
        table
            .offers
            .iter()
            .map(|offer| OfferFigures::of(offer, state.offer(offer, &table.policy), &table.policy, now_ns))
            .collect()
    }

    /// An offer that has told nothing for `probing.every_ns`, the one that has been silent longest first; it is not
    /// named again for as long. What probes may cost is the caller's to watch. None: none is due.
    pub(crate) fn probe_due(&self, table: &RouteTable, now_ns: i64) -> Option<usize> {
        let every_ns = table.policy.probing.every_ns;
        if every_ns <= 0 {
            return None;
        }
        let mut state = self.shared.lock();
        let silent_since =
            |known: &OfferState| known.last_seen_ns.max(known.probe_told_ns).unwrap_or(i64::MIN);
        let due = table
            .offers
            .iter()
            .enumerate()
            .filter_map(|(place, offer)| {
                let known = state.offer(offer, &table.policy);
                let since_ns = silent_since(known);
                let may = known.in_flight == 0
                    && known.cooldown.until(now_ns).is_none()
                    && !matches!(known.breaker.state(now_ns), BreakerState::Open { .. });
                (may && now_ns.saturating_sub(since_ns) >= every_ns).then_some((since_ns, place))
            })
            .min();
        let (_, place) = due?;
        state.offer(table.offers.get(place)?, &table.policy).probe_told_ns = Some(now_ns);
        Some(place)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with_offer(&self, id: &str, act: impl FnOnce(&mut OfferState, &Policy)) {
        let mut state = self.lock();
        let Some(policy) = state.policy else { return };
        if let Some(known) = state.known(id) {
            act(known, &policy);
        }
    }

    pub(super) fn release(&self, id: &str, waiting: Option<u64>, probe: bool) {
        let mut state = self.lock();
        let Some(known) = state.known(id) else { return };
        known.in_flight = known.in_flight.saturating_sub(1);
        if let Some(ticket) = waiting {
            known.ttft.waits_no_more(ticket);
        }
        if probe {
            known.breaker.abandoned();
        }
        // Told until nothing is in flight: one call may wake one who waits, and others may wait still.
        let awaited = known.awaited;
        known.awaited = awaited && known.in_flight > 0;
        drop(state);
        if awaited {
            self.tell_free(id);
        }
    }

    fn tell_free(&self, id: &str) {
        let hook = self.on_free.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(hook) = hook {
            hook(id);
        }
    }
}
