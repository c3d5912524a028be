//! Tables for tests.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::table::{Key, Offer, RouteTable};

/// An offer of the model `demo`, with no limit and no price.
pub(super) fn offer(id: &str) -> Offer {
    serde_json::from_value(offer_json(id)).unwrap()
}

fn offer_json(id: &str) -> Value {
    json!({
        "id": id, "model": "demo", "provider": "p", "upstream_model": "m", "tier": "standard",
        "protocols": ["openai-chat"],
        "target": {"scheme": "http", "host": "h", "port": 1, "path": "", "addresses": ["127.0.0.1:1"]},
        "timeouts": {"connect_ns": 1, "first_token_ns": 1, "gap_ns": 1, "total_ns": 1},
    })
}

/// A table with one offer and these keys; probes may cost a dollar a day.
pub(super) fn table(require_key: bool, keys: &[Value]) -> RouteTable {
    let document = json!({
        "schema": "paceline.routes/1", "version": 1, "require_key": require_key,
        "models": [{"id": "demo"}], "offers": [offer_json("a")], "keys": keys,
        "policy": {
            "time_worth_usd_per_hour": 1.0, "explore_share": 0.0, "min_samples": 1, "window_ns": 1,
            "deadline_confidence": 0.9, "retry_share": 0.1, "attempts": 3, "breaker_failures": 5,
            "breaker_open_ns": 1, "hedging": {"share": 0.0, "least_wait_ns": 0},
            "probing": {"every_ns": 0, "usd_per_day": 1.0, "output_tokens": 1}, "cache_affinity": false,
        },
    });
    RouteTable::from_json(&document.to_string()).unwrap()
}

/// A key `name`, presented as `sk-name`, with these members beside.
pub(super) fn key_json(name: &str, more: Value) -> Value {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("sk-{name}").as_bytes());
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut key = json!({"id": name, "name": format!("{name}'s"), "sha256": hex});
    if let (Some(key), Value::Object(more)) = (key.as_object_mut(), more) {
        key.extend(more);
    }
    key
}

pub(super) fn key(name: &str, more: Value) -> Arc<Key> {
    Arc::new(serde_json::from_value(key_json(name, more)).unwrap())
}

pub(super) fn budget(period: &str, limit_usd: f64, spent_usd: f64, as_of_unix_s: i64) -> Value {
    json!({"period": period, "limit_usd": limit_usd, "spent_usd": spent_usd, "as_of_unix_s": as_of_unix_s})
}
