//! `docs/reference/sim.md` names every key there is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use paceline_sim::{SimConfig, SimStats};
use serde_json::{Value, json};
use support::{Engine, completion};

const PAGE: &str = include_str!("../../../docs/reference/sim.md");

/// The names that the configuration takes in the place of `?`, as its own refusal lists them.
fn taken(config: &str) -> Vec<String> {
    let refusal = SimConfig::from_json(config).unwrap_err().to_string();
    let names = refusal.split('`').skip(1).step_by(2).filter(|name| *name != "?");
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(!names.is_empty(), "{refusal}");
    names
}

fn assert_named(names: impl IntoIterator<Item = String>) {
    for name in names {
        assert!(
            PAGE.contains(&format!("`{name}`")) || PAGE.contains(&format!("\"{name}\"")),
            "{name} is not named"
        );
    }
}

#[test]
fn every_key_of_the_configuration_is_named() {
    for config in [
        r#"{"?": 1}"#,
        r#"{"exact": {"?": 1}}"#,
        r#"{"exact": {"stalls": [{"?": 1}]}}"#,
        r#"{"exact": {"usage": "?"}}"#,
        r#"{"engine": {"?": 1}}"#,
        r#"{"engine": {"spec_burst": {"?": 1}}}"#,
        r#"{"fault": {"?": 1}}"#,
        r#"{"timeline": [{"?": 1}]}"#,
        r#"{"fault": {"kind": "?"}}"#,
        r#"{"mode": "?"}"#,
        r#"{"metrics": "?"}"#,
        r#"{"rate_limit": {"?": 1}}"#,
    ] {
        assert_named(taken(config));
    }
}

#[test]
fn every_counter_and_every_key_of_the_truth_log_is_named() {
    let keys = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_named(keys(&serde_json::to_value(SimStats::default()).unwrap()));
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 1}}));
    engine.post("/v1/completions", &Value::Null, &completion(true));
    assert_named(keys(&engine.truth()[0]));
}
