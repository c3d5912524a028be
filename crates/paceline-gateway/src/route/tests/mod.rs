//! The router as a whole.

mod affinity;
mod choice;
mod deadlines;
mod exploration;
mod filters;
mod permits;
mod recall;
mod speed;
mod world;

use std::sync::Arc;

use paceline_wire::{Outcome, Protocol};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::plan::{NoOffer, Plan};
use super::{PlanRequest, Router, Seen};
use crate::ask::Ask;
use crate::table::RouteTable;

pub(super) const S: i64 = 1_000_000_000;
pub(super) const MS: i64 = 1_000_000;

/// A document of one model `demo`.
pub(super) fn document(offers: &[Value]) -> Value {
    json!({
        "schema": "paceline.routes/1", "version": 1, "require_key": false,
        "models": [{"id": "demo"}],
        "offers": offers,
        "policy": {
            "time_worth_usd_per_hour": 10.0, "explore_share": 0.05, "min_samples": 5,
            "window_ns": 600 * S, "deadline_confidence": 0.9, "retry_share": 0.2, "attempts": 3,
            "breaker_failures": 5, "breaker_open_ns": 10 * S,
            "hedging": {"share": 0.05, "least_wait_ns": 50 * MS},
            "probing": {"every_ns": 60 * S, "usd_per_day": 1.0, "output_tokens": 1},
            "cache_affinity": true
        }
    })
}

pub(super) fn table(document: &Value) -> RouteTable {
    RouteTable::from_json(&document.to_string()).unwrap()
}

/// An offer at so many USD per million tokens, in and out; 0: its price is unknown.
pub(super) fn offer(id: &str, usd_per_mtok: f64) -> Value {
    let mut offer = json!({
        "id": id, "model": "demo", "provider": format!("provider-{id}"), "upstream_model": "demo",
        "tier": "standard", "protocols": ["openai-chat"],
        "target": {"scheme": "http", "host": "127.0.0.1", "port": 1, "path": "/v1", "addresses": ["127.0.0.1:1"]},
        "timeouts": {"connect_ns": S, "first_token_ns": 60 * S, "gap_ns": 60 * S, "total_ns": 600 * S}
    });
    if usd_per_mtok > 0.0 {
        offer["price"] = json!({"input_usd_per_mtok": usd_per_mtok, "output_usd_per_mtok": usd_per_mtok});
    }
    offer
}

pub(super) fn with(mut offer: Value, key: &str, value: Value) -> Value {
    offer[key] = value;
    offer
}

/// A streaming chat request with a prompt of 2,000 bytes and at most 100 tokens of answer.
pub(super) fn ask() -> Ask {
    let mut ask = Ask::of(Protocol::OpenaiChat, "demo");
    ask.streaming = true;
    ask.prompt_bytes = 2000;
    ask.max_tokens = Some(100);
    ask
}

/// A router with its table, a clock and a generator.
pub(super) struct Bench {
    pub(super) router: Router,
    pub(super) table: Arc<RouteTable>,
    pub(super) now_ns: i64,
    pub(super) rng: ChaCha8Rng,
}

impl Bench {
    pub(super) fn new(document: &Value) -> Self {
        let bench = Self {
            router: Router::new(1),
            table: Arc::new(table(document)),
            now_ns: 1000 * S,
            rng: ChaCha8Rng::seed_from_u64(2),
        };
        bench.router.apply(&bench.table);
        bench
    }

    pub(super) fn plan(&self, ask: &Ask) -> Result<Plan, NoOffer> {
        self.plan_as(ask, None)
    }

    pub(super) fn plan_as(&self, ask: &Ask, key_id: Option<&str>) -> Result<Plan, NoOffer> {
        self.router.plan(&PlanRequest {
            table: &self.table,
            ask,
            model: "demo",
            key_id,
            now_ns: self.now_ns,
            received_ns: self.now_ns,
        })
    }

    /// Ids in the order planned.
    pub(super) fn ids(&self, ask: &Ask) -> Vec<&str> {
        let plan = self.plan(ask).unwrap();
        plan.candidates.iter().map(|one| self.table.offers[one.offer].id.as_str()).collect()
    }

    /// How often each is first, of `turns`.
    pub(super) fn firsts(&self, ask: &Ask, turns: usize) -> Vec<usize> {
        let mut firsts = vec![0; self.table.offers.len()];
        for _ in 0..turns {
            firsts[self.plan(ask).unwrap().candidates[0].offer] += 1;
        }
        firsts
    }

    pub(super) fn place(&self, id: &str) -> usize {
        self.table.offers.iter().position(|offer| offer.id == id).unwrap()
    }

    /// An answer with that TTFT and decode rate; the clock goes on by 100 ms.
    pub(super) fn answers(&mut self, id: &str, ttft_ms: f64, tok_s: f64) {
        self.now_ns += 100 * MS;
        let ask = ask();
        let seen = answer(&ask, ttft_ms, tok_s);
        self.router.observe(&self.table, self.place(id), &seen, self.now_ns);
    }

    /// So many answers, spread by some percent.
    pub(super) fn warm(&mut self, id: &str, times: usize, ttft_ms: f64, tok_s: f64) {
        for _ in 0..times {
            let spread = 0.9 + 0.2 * self.rng.random::<f64>();
            self.answers(id, ttft_ms * spread, tok_s / spread);
        }
    }

    /// An attempt that ended so, after 50 ms.
    pub(super) fn ends(&mut self, id: &str, outcome: Outcome, status: Option<u16>) {
        self.now_ns += 100 * MS;
        let ask = ask();
        let seen = Seen {
            outcome,
            status,
            ttft_ns: None,
            decode_tok_s: None,
            elapsed_ns: 50 * MS,
            ..answer(&ask, 1.0, 1.0)
        };
        self.router.observe(&self.table, self.place(id), &seen, self.now_ns);
    }
}

pub(super) fn answer(ask: &Ask, ttft_ms: f64, tok_s: f64) -> Seen<'_> {
    Seen {
        ask: Some(ask),
        ticket: None,
        outcome: Outcome::Ok,
        status: Some(200),
        client_left: false,
        prompt_tokens: Some(500),
        cached_tokens: Some(0),
        completion_tokens: Some(100),
        ttft_ns: Some((ttft_ms * 1e6) as i64),
        decode_tok_s: Some(tok_s),
        elapsed_ns: ((ttft_ms / 1e3 + 100.0 / tok_s) * 1e9) as i64,
        retry_after_ns: None,
        downgraded: false,
    }
}
