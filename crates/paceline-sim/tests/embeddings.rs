//! OpenAI's embeddings.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Ended, Engine};

const PATH: &str = "/v1/embeddings";

fn request(input: &Value) -> Value {
    json!({"model": "truth", "input": input})
}

#[test]
fn each_text_has_its_vector_when_a_first_token_would_be_due() {
    let engine =
        Engine::start(json!({"embedding_dimensions": 12, "exact": {"ttft_us": 2_000, "itl_us": 500}}));
    let answer = engine.post(PATH, &Value::Null, &request(&json!(["one two", "three"])));
    let body = answer.json();
    let data = body["data"].as_array().unwrap();
    assert_eq!((data.len(), data[1]["index"].clone()), (2, json!(1)));
    assert_eq!(data[0]["embedding"].as_array().unwrap().len(), 12);
    assert_eq!(body["usage"], json!({"prompt_tokens": 3, "total_tokens": 3}));
    let truth = engine.truth();
    assert_eq!(answer.header("x-request-id"), truth[0]["id"].as_str());
    let event = &truth[0]["events"][0];
    assert_eq!((event[1].clone(), event[2].clone()), (json!(0), json!(8)));
    assert!(event[0].as_i64().unwrap() - truth[0]["received_ns"].as_i64().unwrap() >= 2_000_000);
    assert_eq!(truth[0]["protocol"], "openai-embeddings");
}

#[test]
fn base64_holds_the_same_numbers() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0}}));
    let mut body = request(&json!("one"));
    body["dimensions"] = json!(3);
    let floats = engine.post(PATH, &Value::Null, &body).json()["data"][0]["embedding"].clone();
    body["encoding_format"] = json!("base64");
    let coded = engine.post(PATH, &Value::Null, &body).json()["data"][0]["embedding"].clone();
    assert_eq!(floats.as_array().unwrap().len(), 3);
    assert_eq!(coded.as_str().unwrap().len(), 16, "three times four bytes");
}

#[test]
fn in_engine_mode_it_is_a_prefill_and_frees_its_slot() {
    let engine = Engine::start(json!({"mode": "engine", "engine": {"slots": 1, "prefill_base_us": 300}}));
    for _ in 0..3 {
        assert_eq!(engine.post(PATH, &Value::Null, &request(&json!("one two"))).status, 200);
    }
    let mut client = engine.connect();
    client.get("/metrics");
    let page = client.answer();
    assert!(page.text().contains("vllm:generation_tokens_total{engine=\"0\",model_name=\"truth\"} 0\n"));
    assert_eq!(engine.sim.stats().in_flight, 0);
}

#[test]
fn faults_of_whole_answers_befall_it_too() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0}}));
    let faulty = |fault: &str| engine.post(PATH, &json!({"fault": {"kind": fault}}), &request(&json!("one")));
    assert_eq!(faulty("http_503").status, 503);
    assert_eq!(faulty("cut").ended, Ended::Closed);
    assert_eq!(faulty("empty").json()["data"], json!([]));
    assert!(faulty("error_event").json()["error"].is_object());
    assert!(serde_json::from_slice::<Value>(&faulty("malformed_json").body).is_err());
    assert!(faulty("not_sse").text().contains("<html>"));
    assert_eq!(faulty("split_utf8").status, 200);
    let truth = engine.truth();
    let events: Vec<usize> = truth.iter().map(|record| record["events"].as_array().unwrap().len()).collect();
    assert_eq!(events, [0, 0, 0, 0, 0, 0, 1]);
}
