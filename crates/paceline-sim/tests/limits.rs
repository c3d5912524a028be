//! Rate limits, and the headers that every answer has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Engine, chat, message, streaming_protocols};

fn retry_after(answer: &Answer) -> u64 {
    answer.header("retry-after").unwrap().parse().unwrap()
}

#[test]
fn every_answer_has_a_date_and_a_name() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 1}}));
    for (path, request) in streaming_protocols() {
        for stream in [true, false] {
            let answer = engine.post(path, &Value::Null, &request(stream));
            assert!(answer.header("date").unwrap().ends_with(" GMT"));
            assert!(answer.header("x-request-id").unwrap().contains("-sim-"));
            assert!(!answer.head.iter().any(|line| line.contains("ratelimit")), "none is configured");
        }
    }
    let mut client = engine.connect();
    client.get("/v1/models");
    let models = client.answer();
    assert!(models.header("date").is_some() && models.header("x-request-id").is_some());
    assert!(engine.post("/v1/nowhere", &Value::Null, &json!({})).header("x-request-id").is_some());
}

#[test]
fn requests_beyond_the_limit_are_refused_and_logged() {
    let engine = Engine::start(json!({"rate_limit": {"requests_per_min": 2, "tokens_per_min": 100_000},
        "exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 5}}));
    let path = "/v1/chat/completions";
    let first = engine.post(path, &Value::Null, &chat(true));
    assert_eq!(first.header("x-ratelimit-limit-requests"), Some("2"));
    assert_eq!(first.header("x-ratelimit-remaining-requests"), Some("1"));
    assert_eq!(first.header("x-ratelimit-limit-tokens"), Some("100000"));
    // Three of the prompt and five of the answer.
    assert_eq!(first.header("x-ratelimit-remaining-tokens"), Some("99992"));
    assert!(first.header("x-ratelimit-reset-requests").is_some());
    assert_eq!(engine.post(path, &Value::Null, &chat(false)).status, 200);
    let refused = engine.post(path, &Value::Null, &chat(true));
    assert_eq!(
        (refused.status, refused.json()["error"]["code"].clone()),
        (429, json!("rate_limit_exceeded"))
    );
    assert!((1..=30).contains(&retry_after(&refused)));
    assert_eq!(refused.header("x-ratelimit-remaining-requests"), Some("0"));
    let truth = engine.truth();
    let statuses: Vec<i64> = truth.iter().map(|record| record["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn anthropics_headers_have_their_own_names() {
    let engine =
        Engine::start(json!({"rate_limit": {"requests_per_min": 1}, "exact": {"ttft_us": 0, "itl_us": 0}}));
    let first = engine.post("/v1/messages", &Value::Null, &message(true));
    assert_eq!(first.header("anthropic-ratelimit-requests-limit"), Some("1"));
    assert!(first.header("anthropic-ratelimit-requests-reset").unwrap().ends_with('Z'));
    assert!(
        first.header("anthropic-ratelimit-tokens-limit").is_none()
            && first.header("x-ratelimit-limit-requests").is_none()
    );
    let refused = engine.post("/v1/messages", &Value::Null, &message(true));
    assert_eq!((refused.status, refused.json()["error"]["type"].clone()), (429, json!("rate_limit_error")));
    assert!((1..=60).contains(&retry_after(&refused)));
}
