//! What changes while the engine runs, and what answers name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat, message, response, streaming_protocols};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn stages_follow_the_number_of_requests_and_the_log_says_which_it_was() {
    let engine = Engine::start(json!({
        "exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 3},
        "timeline": [
            {"after_requests": 1, "exact": {"output_tokens": 5}},
            {"after_requests": 2, "fault": {"kind": "http_503"}},
            {"after_requests": 3, "rate_limit": {"requests_per_min": 1}},
            {"after_requests": 5},
        ],
    }));
    let answers: Vec<_> = (0..6).map(|_| engine.post(CHAT, &Value::Null, &chat(true))).collect();
    let seen: Vec<(u16, usize)> = answers
        .iter()
        .map(|answer| (answer.status, if answer.status == 200 { answer.words().len() } else { 0 }))
        .collect();
    assert_eq!(seen, [(200, 3), (200, 5), (503, 0), (200, 3), (429, 0), (200, 3)]);
    let stages: Vec<Value> = engine.truth().iter().map(|record| record["stage"].clone()).collect();
    assert_eq!(json!(stages), json!([null, 0, 1, 2, 2, 3]));
}

#[test]
fn a_stage_of_the_first_instant_holds_from_the_beginning() {
    let engine = Engine::start(json!({
        "fault": {"kind": "cut"},
        "exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 3},
        "timeline": [{"at_ms": 0, "fault": null}, {"at_ms": 86_000_000, "fault": {"kind": "stall"}}],
    }));
    assert_eq!(engine.post(CHAT, &Value::Null, &chat(true)).words().len(), 3);
    let laid = engine.post(CHAT, &json!({"fault": {"kind": "http_500"}}), &chat(true));
    assert_eq!(laid.status, 500, "a request's own header goes before the stage");
    assert!(engine.truth().iter().all(|record| record["stage"] == 0));
}

#[test]
fn answers_name_another_model_and_tier_than_asked() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 2,
        "server_model": "truth-mini", "service_tier": "default", "speed": "standard"}}));
    for (path, request) in streaming_protocols() {
        let whole = engine.post(path, &Value::Null, &request(false)).json();
        assert_eq!(whole["model"], "truth-mini", "{path}");
        let tier = [&whole["service_tier"], &whole["usage"]["service_tier"]];
        assert!(tier.iter().any(|tier| **tier == "default"), "{path}");
        let events = engine.post(path, &Value::Null, &request(true)).events();
        let named = |event: &Value| {
            [&event["model"], &event["message"]["model"], &event["response"]["model"]]
                .iter()
                .any(|model| **model == "truth-mini")
        };
        assert!(events.iter().any(named), "{path}");
    }
    assert_eq!(
        engine.post("/v1/messages", &Value::Null, &message(false)).json()["usage"]["speed"],
        "standard"
    );
}

#[test]
fn a_tier_is_named_only_when_configured() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 2}}));
    let mut asked = response(false);
    asked["service_tier"] = json!("priority");
    let path = "/v1/responses";
    assert!(engine.post(path, &Value::Null, &asked).json().get("service_tier").is_none());
    let echoed = engine.post(path, &json!({"service_tier": "echo"}), &asked).json();
    assert_eq!(echoed["service_tier"], "priority");
    let nothing_asked = engine.post(path, &json!({"service_tier": "echo"}), &response(false)).json();
    assert!(nothing_asked.get("service_tier").is_none());
}
