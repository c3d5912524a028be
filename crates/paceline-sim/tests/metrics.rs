//! The metrics over the wire, against what the engine is doing at that instant.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat};

const CHAT: &str = "/v1/chat/completions";

fn page(engine: &Engine, path: &str) -> String {
    let mut client = engine.connect();
    client.get(path);
    let answer = client.answer();
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    answer.text().to_owned()
}

/// The value of a metric, whatever its labels.
fn value(page: &str, name: &str) -> f64 {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let matching: Vec<f64> = lines
        .filter(|line| line.split(['{', ' ']).next() == Some(name))
        .map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert!(!matching.is_empty(), "{name} is not in {page}");
    matching.iter().sum()
}

#[test]
fn running_and_waiting_are_those_of_the_instant() {
    let engine = Engine::start(json!({"mode": "engine", "engine": {"slots": 2, "output_tokens": 100_000,
        "prefix_cache_blocks": 10, "prefill_base_us": 100, "decode_step_base_us": 1_000}}));
    let idle = page(&engine, "/metrics");
    assert_eq!(value(&idle, "vllm:num_requests_running") + value(&idle, "vllm:num_requests_waiting"), 0.0);
    let mut clients: Vec<_> = (0..5).map(|_| engine.connect()).collect();
    clients.iter_mut().for_each(|client| client.post(CHAT, &Value::Null, &chat(true)));
    engine.wait_until(|stats| stats.queued == 3 && stats.events >= 2);
    let busy = page(&engine, "/metrics");
    assert_eq!(value(&busy, "vllm:num_requests_running"), 2.0);
    assert_eq!(value(&busy, "vllm:num_requests_waiting"), 3.0);
    assert!(value(&busy, "vllm:kv_cache_usage_perc") >= 0.2);
    drop(clients);
    engine.wait_until(|stats| stats.in_flight == 0);
    assert_eq!(value(&page(&engine, "/metrics"), "vllm:num_requests_running"), 0.0);
}

#[test]
fn sums_are_those_of_the_truth_log() {
    for config in [
        json!({"exact": {"ttft_us": 100, "itl_us": 100, "output_tokens": 5, "prefix_cache": true}}),
        json!({"mode": "engine", "engine": {"output_tokens": 5, "prefill_base_us": 100, "prefill_tok_s": 1e6,
            "decode_step_base_us": 100, "decode_step_per_seq_us": 1, "spec_burst": {"max_tokens": 3, "acceptance": 0.5}}}),
    ] {
        let engine = Engine::start(config);
        for words in [20, 40, 60] {
            let text = "word ".repeat(words);
            let body = json!({"model": "truth", "messages": [{"role": "user", "content": text}]});
            engine.post(CHAT, &Value::Null, &body);
        }
        let page = page(&engine, "/metrics");
        let truth = engine.truth();
        let sum = |key: &str| truth.iter().map(|record| record[key].as_f64().unwrap()).sum::<f64>();
        assert_eq!(value(&page, "vllm:prompt_tokens_total"), sum("prompt_tokens"));
        assert_eq!(value(&page, "vllm:prefix_cache_queries_total"), 120.0);
        assert_eq!((value(&page, "vllm:prefix_cache_hits_total"), sum("cached_tokens")), (48.0, 48.0));
        assert_eq!(value(&page, "vllm:generation_tokens_total"), 15.0);
        assert_eq!(value(&page, "vllm:request_success_total"), 3.0);
    }
}

#[test]
fn the_flavour_decides_the_names_and_the_path() {
    for (flavour, path, name) in [
        ("sglang", "/metrics", "sglang:num_running_reqs"),
        ("tgi", "/metrics", "tgi_queue_size"),
        ("llama.cpp", "/metrics", "llamacpp:requests_deferred"),
        ("trtllm", "/prometheus/metrics", "trtllm_num_requests_running"),
    ] {
        let engine = Engine::start(json!({"metrics": flavour, "api_key": "sk-one"}));
        assert_eq!(value(&page(&engine, path), name), 0.0);
    }
    let engine = Engine::start(json!({"metrics": "trtllm"}));
    let mut client = engine.connect();
    client.get("/metrics");
    assert_eq!(client.answer().json(), json!([]));
}
