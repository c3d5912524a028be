//! Exact mode: what the cache has, and what it does to the TTFT.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat, streaming_protocols};

const CHAT: &str = "/v1/chat/completions";

/// A conversation of so many words, in messages of ten.
fn conversation(words: usize) -> Value {
    let all: Vec<String> = (0..words).map(|k| format!("word{k}")).collect();
    let messages: Vec<Value> = all
        .chunks(10)
        .enumerate()
        .map(|(k, words)| json!({"role": if k % 2 == 0 { "user" } else { "assistant" }, "content": words.join(" ")}))
        .collect();
    json!({"model": "truth", "stream": true, "stream_options": {"include_usage": true}, "messages": messages})
}

#[test]
fn each_turn_finds_the_one_before_and_pays_for_what_is_new() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 1_000, "itl_us": 0, "output_tokens": 1,
        "prefix_cache": true, "ttft_us_per_uncached_token": 50}}));
    let turns = [(30, 0), (50, 16), (70, 48), (70, 64)];
    for (words, cached) in turns {
        assert_eq!(engine.post(CHAT, &Value::Null, &conversation(words)).usage(), (words as u64, cached, 1));
    }
    for (record, (words, cached)) in engine.truth().iter().zip(turns) {
        assert_eq!(
            (record["prompt_tokens"].clone(), record["cached_tokens"].clone()),
            (json!(words), json!(cached))
        );
        let ttft = record["events"][0][0].as_i64().unwrap() - record["received_ns"].as_i64().unwrap();
        assert!(ttft >= 1_000_000 + 50_000 * (words as i64 - cached as i64));
    }
}

#[test]
fn every_protocol_says_what_was_cached() {
    for (path, request) in streaming_protocols() {
        for stream in [true, false] {
            let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 2}}));
            let mut body = request(stream);
            body["stream_options"] = json!({"include_usage": true});
            let answer = engine.post(path, &json!({"cached_tokens": 2}), &body);
            assert_eq!(answer.usage(), (3, 2, 2), "{path} {stream}");
            assert_eq!(engine.truth()[0]["cached_tokens"], 2);
        }
    }
}

#[test]
fn no_more_is_cached_than_there_is() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "output_tokens": 1, "cached_tokens": 50}}));
    assert_eq!(engine.post(CHAT, &Value::Null, &chat(false)).usage(), (3, 3, 1));
}

#[test]
fn an_image_is_part_of_the_prompt() {
    let engine = Engine::start(json!({"image_tokens": 40,
        "exact": {"ttft_us": 0, "output_tokens": 1, "prefix_cache": true}}));
    let shown = |url: &str| {
        let content =
            json!([{"type": "text", "text": "what is it"}, {"type": "image_url", "image_url": {"url": url}}]);
        let body = json!({"model": "truth", "messages": [{"role": "user", "content": content}]});
        engine.post(CHAT, &Value::Null, &body).usage()
    };
    assert_eq!(shown("data:image/png;base64,AAAA"), (43, 0, 1));
    assert_eq!(shown("data:image/png;base64,AAAA"), (43, 32, 1));
    assert_eq!(shown("data:image/png;base64,BBBB"), (43, 0, 1));
}
