//! What is counted of all requests since the gateway began.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use paceline_wire::Outcome;

use super::histogram::{DURATION_S, Histogram, PER_TOKEN_S, TTFT_S};
use crate::ledger::entry::{AttemptEntry, Entry, Role};

/// Requests by the model that was asked for, how they ended, and the error's code (empty: none).
pub(super) type RequestLabels = (String, &'static str, String);

/// Of one offer. Costs are in 1e-9 USD, so that sums of whole numbers lose nothing.
#[derive(Debug)]
pub(crate) struct OfferCounters {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) tier: &'static str,
    pub(super) outcomes: [AtomicU64; Outcome::ALL.len()],
    pub(super) served: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) hedges: AtomicU64,
    pub(super) hedges_won: AtomicU64,
    pub(super) probes: AtomicU64,
    pub(super) downgrades: AtomicU64,
    pub(super) prompt_tokens: AtomicU64,
    pub(super) completion_tokens: AtomicU64,
    pub(super) reasoning_tokens: AtomicU64,
    pub(super) cached_tokens: AtomicU64,
    pub(super) cache_write_tokens: AtomicU64,
    cost_nano_usd: AtomicU64,
    pub(super) unpriced: AtomicU64,
    pub(super) ttft: Histogram,
    pub(super) per_token: Histogram,
    pub(super) duration: Histogram,
}

/// All counters; each call takes at most a read lock for a few instructions, but for the first of its kind.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: RwLock<HashMap<RequestLabels, Arc<AtomicU64>>>,
    offers: RwLock<HashMap<String, Arc<OfferCounters>>>,
    pub(super) connections_refused: AtomicU64,
    queued_ns: AtomicU64,
    pub(super) deadlines_met: AtomicU64,
    pub(super) deadlines_missed: AtomicU64,
    client_ttft: ClientTtft,
}

#[derive(Debug)]
struct ClientTtft(Histogram);

impl Default for ClientTtft {
    fn default() -> Self {
        Self(Histogram::new(&TTFT_S))
    }
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A client was turned away, since there are as many as may be.
    pub(crate) fn connection_refused(&self) {
        add(&self.connections_refused, 1);
    }

    /// A request has ended, and the ledger has (or has lost) its entry: all that is counted of it.
    pub(crate) fn finished(&self, entry: &Entry) {
        // What a client asks for is anything; what an attempt was made at is in the table.
        let model = entry.attempts.last().map_or("", |attempt| attempt.model.as_str());
        let code = entry.code.as_deref().unwrap_or("");
        add(&self.requests_of(model, entry.outcome, code), 1);
        add(&self.queued_ns, u64::try_from(entry.queued_ns).unwrap_or(0));
        match entry.deadline_met {
            Some(true) => add(&self.deadlines_met, 1),
            Some(false) => add(&self.deadlines_missed, 1),
            None => {}
        }
        if let Some(ttft_ns) = entry.ttft_ns {
            self.client_ttft.0.add_ns(ttft_ns);
        }
        for attempt in &entry.attempts {
            self.offer(attempt).attempted(attempt);
        }
    }

    fn requests_of(&self, model: &str, outcome: &'static str, code: &str) -> Arc<AtomicU64> {
        let labels = (model.to_owned(), outcome, code.to_owned());
        get_or_put(&self.requests, labels, Arc::default)
    }

    fn offer(&self, attempt: &AttemptEntry) -> Arc<OfferCounters> {
        let known = self.offers.read().unwrap_or_else(PoisonError::into_inner).get(&attempt.offer).cloned();
        known.unwrap_or_else(|| {
            get_or_put(&self.offers, attempt.offer.clone(), || Arc::new(OfferCounters::new(attempt)))
        })
    }

    pub(super) fn client_ttft(&self) -> &Histogram {
        &self.client_ttft.0
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum that is shown")]
    pub(super) fn queued_s(&self) -> f64 {
        get(&self.queued_ns) as f64 / 1e9
    }

    /// Requests that are over, by how they ended.
    pub(super) fn by_outcome(&self) -> BTreeMap<&'static str, u64> {
        let mut sums = BTreeMap::new();
        for ((_, outcome, _), count) in self.requests() {
            *sums.entry(outcome).or_default() += count;
        }
        sums
    }

    /// Requests by their labels, in order.
    pub(super) fn requests(&self) -> Vec<(RequestLabels, u64)> {
        let requests = self.requests.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = requests.iter().map(|(labels, count)| (labels.clone(), get(count))).collect();
        all.sort_unstable();
        all
    }

    /// Offers by id, in order.
    pub(super) fn offers(&self) -> Vec<(String, Arc<OfferCounters>)> {
        let offers = self.offers.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = offers.iter().map(|(id, counters)| (id.clone(), counters.clone())).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

impl OfferCounters {
    fn new(attempt: &AttemptEntry) -> Self {
        Self {
            provider: attempt.provider.clone(),
            model: attempt.model.clone(),
            tier: attempt.tier.as_str(),
            outcomes: std::array::from_fn(|_| AtomicU64::new(0)),
            served: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            hedges: AtomicU64::new(0),
            hedges_won: AtomicU64::new(0),
            probes: AtomicU64::new(0),
            downgrades: AtomicU64::new(0),
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
            reasoning_tokens: AtomicU64::new(0),
            cached_tokens: AtomicU64::new(0),
            cache_write_tokens: AtomicU64::new(0),
            cost_nano_usd: AtomicU64::new(0),
            unpriced: AtomicU64::new(0),
            ttft: Histogram::new(&TTFT_S),
            per_token: Histogram::new(&PER_TOKEN_S),
            duration: Histogram::new(&DURATION_S),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a sum that is shown")]
    pub(super) fn cost_usd(&self) -> f64 {
        get(&self.cost_nano_usd) as f64 / 1e9
    }

    fn attempted(&self, attempt: &AttemptEntry) {
        let seen = &attempt.row.observation;
        if let Some(place) = Outcome::ALL.iter().position(|outcome| *outcome == seen.outcome) {
            add(&self.outcomes[place], 1);
        }
        add(&self.served, u64::from(attempt.served));
        match attempt.role {
            Role::First => {}
            Role::Retry => add(&self.retries, 1),
            Role::Hedge => {
                add(&self.hedges, 1);
                add(&self.hedges_won, u64::from(attempt.served));
            }
            Role::Probe => add(&self.probes, 1),
        }
        add(&self.downgrades, u64::from(attempt.downgrade.is_some()));
        add(&self.prompt_tokens, attempt.usage.prompt_tokens);
        add(&self.completion_tokens, attempt.usage.completion_tokens);
        add(&self.reasoning_tokens, attempt.usage.reasoning_tokens);
        add(&self.cached_tokens, attempt.usage.cached_tokens);
        add(&self.cache_write_tokens, attempt.usage.cache_write_tokens);
        match attempt.cost_usd {
            Some(cost_usd) => add(&self.cost_nano_usd, nano(cost_usd)),
            None => add(&self.unpriced, 1),
        }
        self.timed(attempt);
    }

    fn timed(&self, attempt: &AttemptEntry) {
        let seen = &attempt.row.observation;
        let (Some(sent_ns), Some(first_ns), Some(last_ns)) =
            (attempt.row.sent_ns, seen.event_ns.first(), seen.event_ns.last())
        else {
            return;
        };
        // The first event of an answer that is no stream is all of it, and no TTFT.
        if seen.streaming {
            self.ttft.add_ns(first_ns - sent_ns);
        }
        if seen.outcome != Outcome::Ok {
            return;
        }
        self.duration.add_ns(seen.end_ns - sent_ns);
        // As `tpot_ms` of a report: the tokens of the first event came with it.
        let in_first = seen.event_tokens.first().map_or(1, |tokens| i64::from(*tokens).max(1));
        let rest = seen.completion_tokens.unwrap_or(0) - in_first;
        if seen.streaming && rest > 0 {
            self.per_token.add_ns((last_ns - first_ns) / rest);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is finite, 0 or more; `as` saturates"
)]
fn nano(usd: f64) -> u64 {
    (usd * 1e9).round() as u64
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

pub(super) fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn get_or_put<K: Eq + Hash, V>(
    map: &RwLock<HashMap<K, Arc<V>>>,
    key: K,
    make: impl FnOnce() -> Arc<V>,
) -> Arc<V> {
    if let Some(known) = map.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return known.clone();
    }
    map.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert_with(make).clone()
}
