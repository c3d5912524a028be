//! Exact mode: what leaves, in which order, and against its own schedule.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat, completion};

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// Checks a logged answer against its schedule: tokens of each event, and the instants after the request at which they
/// were due, in us.
fn assert_schedule(record: &Value, expected: &[(i64, i64)]) {
    let events: Vec<(i64, i64)> = record["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (number(&event[0]) - number(&record["received_ns"]), number(&event[1])))
        .collect();
    assert_eq!(events.len(), expected.len(), "{record}");
    for ((sent_ns, tokens), (due_us, expected_tokens)) in events.iter().zip(expected) {
        assert_eq!(tokens, expected_tokens);
        assert!(*sent_ns >= due_us * 1_000, "event sent {sent_ns} ns after the request, due at {due_us} us");
    }
    assert!(events.is_sorted_by_key(|(sent_ns, _)| *sent_ns), "{record}");
    assert!(number(&record["end_ns"]) - number(&record["received_ns"]) >= events.last().unwrap().0);
    assert!(number(&record["headers_sent_ns"]) >= number(&record["received_ns"]));
}

#[test]
fn tokens_leave_one_by_one_when_they_are_due() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 3000, "itl_us": 1000, "output_tokens": 5}}));
    let answer = engine.post("/v1/chat/completions", &Value::Null, &chat(true));
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(answer.events()[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(answer.words(), [1; 5]);
    assert_eq!(answer.finish_reason().as_deref(), Some("stop"));
    assert!(answer.is_done());
    let truth = engine.truth();
    assert_eq!(truth.len(), 1);
    assert_eq!(truth[0]["id"], answer.events()[0]["id"]);
    assert_eq!(truth[0]["id"], "chatcmpl-sim-1");
    assert_eq!(answer.header("x-request-id"), Some("chatcmpl-sim-1"));
    assert_eq!((truth[0]["prompt_tokens"].clone(), truth[0]["fault"].clone()), (json!(3), Value::Null));
    assert_eq!(
        (truth[0]["path"].clone(), truth[0]["end"].clone()),
        (json!("/v1/chat/completions"), json!("complete"))
    );
    let due: Vec<(i64, i64)> = (0..5).map(|k| (3_000 + k * 1_000, 1)).collect();
    assert_schedule(&truth[0], &due);
}

#[test]
fn a_header_sets_bursts_stalls_and_a_limit_for_one_request() {
    let engine = Engine::start(json!({}));
    let sim = json!({"ttft_us": 2000, "itl_us": 500, "tokens_per_event": 4, "output_tokens": 100,
                     "stalls": [{"after_tokens": 5, "stall_us": 4000}], "role_first": false});
    let mut body = chat(true);
    body["max_tokens"] = json!(10);
    let answer = engine.post("/v1/chat/completions", &sim, &body);
    assert_eq!(answer.words(), [4, 4, 2]);
    assert_eq!(answer.events()[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(answer.finish_reason().as_deref(), Some("length"));
    // Event 1 begins with token 4, before the stall; event 2 with token 8.
    assert_schedule(&engine.truth()[0], &[(2_000, 4), (4_000, 4), (10_000, 2)]);
}

#[test]
fn reasoning_content_and_tool_calls_have_their_kinds() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 100, "output_tokens": 7,
        "reasoning_tokens": 3, "tool_tokens": 2, "tokens_per_event": 2}}));
    let answer = engine.post("/v1/chat/completions", &Value::Null, &chat(true));
    assert_eq!(answer.words(), [2, 2, 2, 1]);
    assert_eq!(answer.finish_reason().as_deref(), Some("tool_calls"));
    let completions = engine.post("/v1/completions", &Value::Null, &completion(true));
    assert_eq!(completions.words(), [2, 2, 2, 1]);
    let kinds = |record: &Value| -> Vec<i64> {
        record["events"].as_array().unwrap().iter().map(|event| number(&event[2])).collect()
    };
    let truth = engine.truth();
    // Tokens 0 to 2 are reasoning, 3 and 4 content, 5 and 6 the tool call.
    assert_eq!(kinds(&truth[0]), [2, 3, 5, 4]);
    assert_eq!(kinds(&truth[1]), [1; 4]);
    assert_eq!(truth[1]["id"], "cmpl-sim-2");
}

#[test]
fn empty_events_come_first_and_count_as_nothing() {
    let engine = Engine::start(
        json!({"exact": {"ttft_us": 4000, "itl_us": 0, "output_tokens": 2, "empty_first_events": 3}}),
    );
    let answer = engine.post("/v1/completions", &Value::Null, &completion(true));
    let texts: Vec<usize> = answer
        .events()
        .iter()
        .map(|event| event["choices"][0]["text"].as_str().unwrap().split_whitespace().count())
        .collect();
    assert_eq!(texts, [0, 0, 0, 1, 1, 0]);
    assert_schedule(&engine.truth()[0], &[(4_000, 1), (4_000, 1)]);
}

#[test]
fn whole_answers_come_when_their_last_event_is_due() {
    let engine = Engine::start(
        json!({"exact": {"ttft_us": 2000, "itl_us": 1000, "output_tokens": 6, "tokens_per_event": 4,
        "reasoning_tokens": 1}}),
    );
    let chat = engine.post("/v1/chat/completions", &Value::Null, &chat(false));
    let body = chat.json();
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["choices"][0]["message"]["content"].as_str().unwrap().split_whitespace().count(), 5);
    assert_eq!(
        body["usage"],
        json!({"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 1}})
    );
    let text = engine.post("/v1/completions", &Value::Null, &completion(false)).json();
    assert_eq!(text["choices"][0]["text"].as_str().unwrap().split_whitespace().count(), 6);
    let truth = engine.truth();
    assert_schedule(&truth[0], &[(6_000, 6)]);
    assert_eq!(truth[0]["events"][0][2], 3);
    assert_schedule(&truth[1], &[(6_000, 6)]);
    assert_eq!(truth[1]["id"], text["id"]);
}

#[test]
fn usage_is_sent_as_configured_and_asked() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 3}}));
    let usages = |mode: &str, asked: bool| -> Vec<Value> {
        let mut body = chat(true);
        body["stream_options"] = json!({"include_usage": asked});
        let answer = engine.post("/v1/chat/completions", &json!({"usage": mode}), &body);
        answer
            .events()
            .iter()
            .map(|event| event["usage"]["completion_tokens"].clone())
            .filter(|n| !n.is_null())
            .collect()
    };
    assert_eq!(usages("final", true), [3]);
    assert!(usages("final", false).is_empty());
    assert!(usages("none", true).is_empty());
    assert_eq!(usages("each", false), [1, 2, 3, 3, 3]);
    assert_eq!(usages("wrong", true), [13]);
    let whole = engine.post("/v1/chat/completions", &json!({"usage": "none"}), &chat(false)).json();
    assert!(whole.get("usage").is_none());
}

#[test]
fn token_ids_come_where_they_are_asked_for() {
    let engine = Engine::start(
        json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 4, "tokens_per_event": 2}}),
    );
    let ids = |sim: Value, asked: bool| -> Vec<usize> {
        let mut body = chat(true);
        body["return_token_ids"] = json!(asked);
        let answer = engine.post("/v1/chat/completions", &sim, &body);
        answer
            .events()
            .iter()
            .filter_map(|event| Some(event["choices"][0]["token_ids"].as_array()?.len()))
            .collect()
    };
    assert_eq!(ids(json!({"token_ids": true}), false), [2, 2]);
    assert_eq!(ids(json!({}), true), [2, 2]);
    assert!(ids(json!({}), false).is_empty());
}

#[test]
fn the_answer_runs_to_the_limit_when_eos_is_ignored() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 4}}));
    let mut body = chat(true);
    body["max_completion_tokens"] = json!(9);
    assert_eq!(engine.post("/v1/chat/completions", &Value::Null, &body).words().len(), 4);
    body["ignore_eos"] = json!(true);
    let answer = engine.post("/v1/chat/completions", &Value::Null, &body);
    assert_eq!((answer.words().len(), answer.finish_reason().as_deref()), (9, Some("length")));
}

#[test]
fn the_same_seed_says_the_same() {
    let said = |seed: u64| {
        let engine = Engine::start(json!({"seed": seed, "exact": {"ttft_us": 0, "itl_us": 0}}));
        engine.post("/v1/completions", &Value::Null, &completion(false)).json()["choices"][0]["text"].clone()
    };
    assert_eq!(said(1), said(1));
    assert_ne!(said(1), said(2));
}

#[test]
fn a_slow_reader_gets_all_of_it() {
    let engine = Engine::start(
        json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 100_000, "token_ids": true}}),
    );
    let mut client = engine.connect();
    client.post("/v1/chat/completions", &Value::Null, &chat(true));
    // Far more than the sockets' buffers hold: the engine has to wait for the reader.
    engine.wait_until(|stats| stats.events > 1_000);
    let answer = client.answer();
    assert_eq!(answer.words().len(), 100_000);
    assert!(answer.is_done());
    assert_eq!(engine.truth()[0]["events"].as_array().unwrap().len(), 100_000);
}
