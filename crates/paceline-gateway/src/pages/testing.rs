//! A table and figures for tests of pages.

use serde_json::json;

use crate::ledger::LedgerState;
use crate::route::{OfferFigures, Router};
use crate::table::{Offer, RouteTable};

/// Two models: `author/demo` with two offers, of which one is priced and for the key `k1` alone, and `small` with one.
pub(crate) fn table() -> RouteTable {
    let offer = |id: &str, model: &str, more: serde_json::Value| {
        let mut offer = json!({
            "id": id, "model": model, "provider": "Prov \"x\"", "upstream_model": "up", "tier": "standard",
            "protocols": ["openai-chat"],
            "target": {
                "scheme": "http", "host": "127.0.0.1", "port": 9, "path": "/v1", "addresses": ["127.0.0.1:9"],
                "headers": [["authorization", "Bearer secret-of-the-upstream"]],
            },
            "timeouts": {"connect_ns": 1, "first_token_ns": 1, "gap_ns": 1, "total_ns": 1},
        });
        for (name, value) in more.as_object().unwrap() {
            offer[name] = value.clone();
        }
        offer
    };
    let document = json!({
        "schema": "paceline.routes/1", "version": 7, "require_key": false,
        "models": [
            {"id": "author/demo", "aliases": ["demo"], "description": "A model."},
            {"id": "small"},
        ],
        "offers": [
            offer("a", "author/demo", json!({
                "price": {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 15.0, "cache_read_usd_per_mtok": 0.3},
                "context_tokens": 8192, "max_output_tokens": 1024, "parameters": ["tools", "seed"],
                "allow_keys": ["k1"], "tier": "fast",
            })),
            offer("b", "author/demo", json!({"context_tokens": 4096})),
            offer("c", "small", json!({"protocols": ["openai-embeddings"], "parameters": []})),
        ],
        "keys": [
            {"id": "k1", "name": "one", "sha256": "0".repeat(64)},
            {"id": "k2", "name": "two", "sha256": "1".repeat(64), "models": ["small"]},
        ],
        "policy": {
            "time_worth_usd_per_hour": 1.0, "explore_share": 0.1, "min_samples": 5, "window_ns": 600_000_000_000_i64,
            "deadline_confidence": 0.9, "retry_share": 0.1, "attempts": 3, "breaker_failures": 5,
            "breaker_open_ns": 1_000_000_000,
            "hedging": {"share": 0.0, "least_wait_ns": 0},
            "probing": {"every_ns": 0, "usd_per_day": 0.0, "output_tokens": 1},
            "cache_affinity": true,
        },
    });
    RouteTable::from_json(&document.to_string()).unwrap()
}

/// What a router that has seen nothing knows of an offer.
pub(crate) fn figures(offer: &Offer) -> OfferFigures {
    let router = Router::new(1);
    let table = table();
    router.apply(&table);
    let known = router.figures(&table, 0);
    known.into_iter().find(|known| known.offer == offer.id).unwrap()
}

pub(crate) fn ledger() -> LedgerState {
    LedgerState {
        failing: false,
        why: None,
        since_unix_s: None,
        written: 4,
        lost: 1,
        bytes: 100,
        segment: Some(1),
        syncs_failed: 0,
    }
}
