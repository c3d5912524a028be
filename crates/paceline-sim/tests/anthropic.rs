//! Anthropic's messages over the wire; the form of each event is tested beside its code.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, message};

const PATH: &str = "/v1/messages";

fn engine() -> Engine {
    Engine::start(json!({"exact": {"ttft_us": 300, "itl_us": 200, "output_tokens": 6, "reasoning_tokens": 2,
                                   "tool_tokens": 1}}))
}

#[test]
fn a_stream_follows_the_schedule_and_says_its_usage_at_both_ends() {
    let engine = engine();
    let answer = engine.post(PATH, &Value::Null, &message(true));
    assert_eq!(answer.words(), [1; 6]);
    let types = answer.types();
    assert_eq!((types[0].as_str(), types[1].as_str()), ("message_start", "ping"));
    assert_eq!(types.last().map(String::as_str), Some("message_stop"));
    assert_eq!(answer.finish_reason().as_deref(), Some("tool_use"));
    assert_eq!(answer.usage(), (3, 0, 6));
    let start = answer.events()[0]["message"].clone();
    assert_eq!(start["usage"]["input_tokens"], 3);
    assert_eq!(answer.header("request-id"), start["id"].as_str());
    let truth = engine.truth();
    assert_eq!(
        (truth[0]["id"].clone(), truth[0]["protocol"].clone()),
        (start["id"].clone(), json!("anthropic-messages"))
    );
    let kinds: Vec<i64> =
        truth[0]["events"].as_array().unwrap().iter().map(|event| event[2].as_i64().unwrap()).collect();
    assert_eq!(kinds, [2, 2, 1, 1, 1, 4]);
}

#[test]
fn a_whole_answer_is_one_message() {
    let body = engine().post(PATH, &Value::Null, &message(false)).json();
    assert_eq!((body["type"].clone(), body["stop_reason"].clone()), (json!("message"), json!("tool_use")));
    let kinds: Vec<&str> =
        body["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(body["usage"]["output_tokens"], 6);
}

#[test]
fn a_limit_must_be_there_and_cuts() {
    let engine = engine();
    let mut body = message(true);
    body["max_tokens"] = json!(4);
    let answer = engine.post(PATH, &Value::Null, &body);
    assert_eq!((answer.words().len(), answer.finish_reason().as_deref()), (4, Some("max_tokens")));
    body.as_object_mut().unwrap().remove("max_tokens");
    let refused = engine.post(PATH, &Value::Null, &body);
    let error = refused.json();
    assert_eq!((refused.status, error["type"].clone()), (400, json!("error")));
    assert_eq!(error["error"]["type"], "invalid_request_error");
    assert_eq!(error["error"]["message"], "max_tokens: Field required");
    assert_eq!(refused.header("request-id"), error["request_id"].as_str());
}

#[test]
fn statuses_have_anthropics_types() {
    let engine = engine();
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "overloaded_error"),
    ] {
        let fault = json!({"fault": {"kind": format!("http_{status}")}});
        let refused = engine.post(PATH, &fault, &message(true));
        assert_eq!((refused.status, refused.json()["error"]["type"].clone()), (status, json!(kind)));
    }
    let mut client = engine.connect();
    client.get(PATH);
    let refused = client.answer();
    assert_eq!((refused.status, refused.json()["type"].clone()), (405, json!("error")));
    let elsewhere = engine.post("/v1/messages/batches", &Value::Null, &json!({}));
    assert_eq!(
        (elsewhere.status, elsewhere.json()["error"]["type"].clone()),
        (404, json!("not_found_error"))
    );
}

#[test]
fn the_key_comes_in_either_header() {
    let engine = Engine::start(json!({"api_key": "sk-one", "exact": {"ttft_us": 0, "itl_us": 0}}));
    let status = |header: &str| {
        let mut client = engine.connect();
        let body = message(true).to_string();
        let request = format!("POST {PATH} HTTP/1.1\r\n{header}content-length: {}\r\n\r\n{body}", body.len());
        client.send(&request);
        client.answer().status
    };
    assert_eq!(status("x-api-key: sk-one\r\nanthropic-version: 2023-06-01\r\n"), 200);
    assert_eq!(status("authorization: Bearer sk-one\r\n"), 200);
    assert_eq!(status("x-api-key: sk-two\r\n"), 401);
    assert_eq!(status(""), 401);
}

#[test]
fn no_usage_is_not_there() {
    let answer = engine().post(PATH, &json!({"usage": "none"}), &message(true));
    assert!(!answer.text().contains("usage"));
    assert!(answer.is_done());
}

#[test]
fn in_engine_mode_the_end_says_what_the_beginning_could_not_know() {
    let engine = Engine::start(json!({"mode": "engine", "engine": {"prefill_base_us": 100,
        "prefill_tok_s": 1_000_000, "decode_step_base_us": 100, "decode_step_per_seq_us": 1}}));
    let mut body = message(true);
    body["max_tokens"] = json!(3);
    body["messages"][0]["content"] = json!("word ".repeat(40));
    assert_eq!(engine.post(PATH, &Value::Null, &body).usage(), (40, 0, 3));
    let second = engine.post(PATH, &Value::Null, &body);
    assert_eq!(second.usage(), (40, 32, 3));
    assert_eq!(second.events()[0]["message"]["usage"]["input_tokens"], 40);
    let usage = second.events()[second.events().len() - 2]["usage"].clone();
    assert_eq!(
        (usage["input_tokens"].clone(), usage["cache_creation_input_tokens"].clone()),
        (json!(8), json!(0))
    );
}
