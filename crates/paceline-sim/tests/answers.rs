//! Known answers: what the engine says, in each protocol, and that it keeps to its schedule.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, streaming_protocols};

const PROMPT: &str = "one two three";

fn engine(quality: f64, exact: Value) -> Engine {
    Engine::start(json!({
        "quality": quality,
        "answers": [{"prompt": PROMPT, "answer": "Answer: a \"b\" 7", "wrong": "Answer: none"}],
        "exact": exact,
    }))
}

/// All that the events of a stream say in content, of whatever protocol.
fn content(events: &[Value]) -> String {
    let said = |event: &Value| {
        [&event["choices"][0]["delta"]["content"], &event["choices"][0]["text"], &event["delta"]["text"]]
            .into_iter()
            .chain((event["type"] == "response.output_text.delta").then_some(&event["delta"]))
            .find_map(|text| text.as_str().map(str::to_owned))
    };
    events.iter().filter_map(said).collect()
}

#[test]
fn a_known_prompt_is_answered_at_the_end_in_every_protocol() {
    let exact = json!({"ttft_us": 0, "itl_us": 0, "output_tokens": 12, "reasoning_tokens": 3});
    for (path, request) in streaming_protocols() {
        let right = engine(1.0, exact.clone()).post(path, &Value::Null, &request(true));
        let text = content(&right.events());
        assert!(text.ends_with("\nAnswer: a \"b\" 7"), "{path}: {text}");
        let content_tokens = if path.ends_with("/completions") && !path.contains("chat") { 12 } else { 9 };
        assert_eq!(text.split_whitespace().count(), content_tokens, "{path}: {text}");
        let wrong = engine(0.0, exact.clone()).post(path, &Value::Null, &request(true));
        assert!(content(&wrong.events()).ends_with("\nAnswer: none"), "{path}");
        let whole = engine(1.0, exact.clone()).post(path, &Value::Null, &request(false)).text().to_owned();
        assert!(whole.contains(r#"\nAnswer: a \"b\" 7""#), "{path}: {whole}");
    }
}

#[test]
fn another_prompt_is_answered_with_words_and_a_limit_cuts_the_answer_off() {
    let engine = engine(1.0, json!({"ttft_us": 0, "itl_us": 0, "output_tokens": 12}));
    let mut body = support::chat(true);
    body["messages"][0]["content"] = json!("one two four");
    let other = engine.post("/v1/chat/completions", &Value::Null, &body);
    assert!(!content(&other.events()).contains("Answer"));
    let mut body = support::chat(true);
    body["max_tokens"] = json!(8);
    let cut = engine.post("/v1/chat/completions", &Value::Null, &body);
    assert_eq!(cut.finish_reason().as_deref(), Some("length"));
    assert!(!content(&cut.events()).contains("Answer"));
}

#[test]
fn an_answer_is_timed_as_any_other() {
    let engine = engine(1.0, json!({"ttft_us": 2000, "itl_us": 1000, "output_tokens": 6}));
    engine.post("/v1/chat/completions", &Value::Null, &support::chat(true));
    let truth = engine.truth();
    let events = truth[0]["events"].as_array().unwrap();
    assert_eq!(events.iter().map(|event| event[1].as_i64().unwrap()).collect::<Vec<_>>(), [1; 6]);
    let received_ns = truth[0]["received_ns"].as_i64().unwrap();
    for (place, event) in events.iter().enumerate() {
        assert!(event[0].as_i64().unwrap() - received_ns >= 2_000_000 + 1_000_000 * place as i64);
    }
}
