//! Engine mode over the wire; what the model does by itself is tested beside it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat};

const CHAT: &str = "/v1/chat/completions";

fn prompt(words: usize, max_tokens: u64, stream: bool) -> Value {
    let text: String = (0..words).map(|k| format!("word{k} ")).collect();
    json!({"model": "truth", "stream": stream, "max_tokens": max_tokens, "stream_options": {"include_usage": true},
           "messages": [{"role": "user", "content": text}]})
}

fn fast(more: &Value) -> Value {
    let mut engine = json!({"prefill_base_us": 200, "prefill_tok_s": 1_000_000, "decode_step_base_us": 200,
                            "decode_step_per_seq_us": 10});
    engine.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    json!({"mode": "engine", "engine": engine})
}

#[test]
fn a_prompt_that_was_seen_before_is_cached() {
    let engine = Engine::start(fast(&json!({})));
    let usage = |stream: bool| {
        let answer = engine.post(CHAT, &Value::Null, &prompt(100, 5, stream));
        if stream { answer.events().last().unwrap()["usage"].clone() } else { answer.json()["usage"].clone() }
    };
    let first = usage(true);
    assert_eq!(first["prompt_tokens_details"]["cached_tokens"], 0);
    assert_eq!((first["prompt_tokens"].clone(), first["completion_tokens"].clone()), (json!(100), json!(5)));
    assert_eq!(usage(true)["prompt_tokens_details"]["cached_tokens"], 96);
    assert_eq!(usage(false)["prompt_tokens_details"]["cached_tokens"], 96);
    let truth = engine.truth();
    let tokens = |record: &Value| -> i64 {
        record["events"].as_array().unwrap().iter().map(|event| event[1].as_i64().unwrap()).sum()
    };
    assert!(truth.iter().all(|record| tokens(record) == 5 && record["end"] == "complete"));
    assert_eq!(
        (truth[0]["events"].as_array().unwrap().len(), truth[2]["events"].as_array().unwrap().len()),
        (5, 1)
    );
}

#[test]
fn bursts_reason_and_answer_in_one_event_each() {
    let engine = Engine::start(fast(
        &json!({"reasoning_tokens": 20, "spec_burst": {"max_tokens": 4, "acceptance": 0.8}}),
    ));
    let answer = engine.post(CHAT, &Value::Null, &prompt(10, 100, true));
    let words = answer.words();
    assert_eq!(words.iter().sum::<usize>(), 100);
    assert!(words.iter().any(|words| *words > 1) && words.iter().all(|words| (1..=4).contains(words)));
    assert_eq!(answer.finish_reason().as_deref(), Some("length"));
    let usage = answer.events().last().unwrap()["usage"].clone();
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 20);
    let truth = engine.truth();
    let events = truth[0]["events"].as_array().unwrap();
    let logged: Vec<u64> = events.iter().map(|event| event[1].as_u64().unwrap()).collect();
    assert_eq!(logged, words.iter().map(|words| *words as u64).collect::<Vec<_>>());
    assert_eq!((events[0][2].clone(), events.last().unwrap()[2].clone()), (json!(2), json!(1)));
}

#[test]
fn a_full_queue_refuses_and_a_client_that_goes_frees_its_slot() {
    let engine = Engine::start(fast(&json!({"slots": 1, "queue_limit": 1, "decode_step_base_us": 1_000})));
    let mut running = engine.connect();
    running.post(CHAT, &Value::Null, &prompt(1, 1_000_000, true));
    engine.wait_until(|stats| stats.in_flight == 1);
    let mut waiting = engine.connect();
    waiting.post(CHAT, &Value::Null, &prompt(1, 3, true));
    engine.wait_until(|stats| stats.queued == 1);
    let refused = engine.post(CHAT, &Value::Null, &prompt(1, 3, true));
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(refused.json()["error"]["code"], "queue_full");
    drop(running);
    assert!(waiting.answer().is_done(), "the slot is free");
    engine.wait_until(|stats| stats.client_gone == 1 && stats.queued == 0 && stats.in_flight == 0);
    let truth = engine.truth();
    let ends: Vec<&str> = truth.iter().map(|record| record["end"].as_str().unwrap()).collect();
    assert_eq!(ends, ["error", "client_gone", "complete"]);
}

#[test]
fn many_requests_share_the_slots_and_all_end() {
    let engine = Engine::start(fast(&json!({"slots": 4})));
    let mut clients: Vec<_> = (0..40).map(|_| engine.connect()).collect();
    for client in &mut clients {
        client.post(CHAT, &Value::Null, &prompt(20, 10, true));
    }
    for client in &mut clients {
        let answer = client.answer();
        assert_eq!((answer.words().len(), answer.is_done()), (10, true));
    }
    assert_eq!(engine.truth().len(), 40);
}

#[test]
fn faults_befall_engine_mode_too_and_free_their_slots() {
    let engine = Engine::start(fast(&json!({"slots": 1})));
    for fault in
        ["cut", "reset", "error_event", "end_early", "empty", "not_sse", "http_500", "coalesce", "split_utf8"]
    {
        let answer =
            engine.post(CHAT, &json!({"fault": {"kind": fault, "after_events": 2}}), &prompt(1, 6, true));
        let words = match fault {
            "empty" | "not_sse" | "http_500" => 0,
            "coalesce" | "split_utf8" => 6,
            _ => 2,
        };
        assert_eq!(answer.words().len(), words, "{fault}");
    }
    assert!(engine.post(CHAT, &Value::Null, &prompt(1, 6, true)).is_done());
    assert_eq!(engine.post(CHAT, &json!({"ttft_us": 1}), &chat(true)).status, 400);
    let stats = engine.sim.stats();
    assert_eq!((stats.in_flight, stats.queued), (0, 0));
}
