//! OpenAI's Responses over the wire; the form of each event is tested beside its code.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, response};

const PATH: &str = "/v1/responses";

fn engine() -> Engine {
    Engine::start(json!({"exact": {"ttft_us": 300, "itl_us": 200, "output_tokens": 6, "reasoning_tokens": 2,
                                   "tool_tokens": 1}}))
}

#[test]
fn a_stream_follows_the_schedule_and_ends_with_the_whole_response() {
    let engine = engine();
    let answer = engine.post(PATH, &Value::Null, &response(true));
    assert_eq!(answer.words(), [1; 6]);
    assert!(answer.is_done());
    let types = answer.types();
    assert_eq!((types[0].as_str(), types[1].as_str()), ("response.created", "response.in_progress"));
    assert_eq!(types.last().map(String::as_str), Some("response.completed"));
    assert!(!answer.text().contains("[DONE]"));
    assert_eq!(answer.usage(), (3, 0, 6));
    let last = answer.events().last().unwrap()["response"].clone();
    assert_eq!(last["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
    assert_eq!(last["output"].as_array().unwrap().len(), 3);
    let truth = engine.truth();
    assert_eq!(
        (truth[0]["id"].clone(), truth[0]["protocol"].clone()),
        (last["id"].clone(), json!("openai-responses"))
    );
    let kinds: Vec<i64> =
        truth[0]["events"].as_array().unwrap().iter().map(|event| event[2].as_i64().unwrap()).collect();
    assert_eq!(kinds, [2, 2, 1, 1, 1, 4]);
    for (k, event) in truth[0]["events"].as_array().unwrap().iter().enumerate() {
        let after = event[0].as_i64().unwrap() - truth[0]["received_ns"].as_i64().unwrap();
        assert!(after >= 300_000 + 200_000 * k as i64);
    }
}

#[test]
fn a_whole_answer_is_one_object() {
    let engine = engine();
    let body = engine.post(PATH, &Value::Null, &response(false)).json();
    assert_eq!((body["object"].clone(), body["status"].clone()), (json!("response"), json!("completed")));
    assert_eq!(body["output"][1]["content"][0]["text"].as_str().unwrap().split_whitespace().count(), 3);
    let truth = engine.truth();
    assert_eq!(
        (truth[0]["id"].clone(), truth[0]["events"][0][1].clone(), truth[0]["events"][0][2].clone()),
        (body["id"].clone(), json!(6), json!(7))
    );
}

#[test]
fn a_limit_cuts_and_is_said_and_eos_may_be_ignored() {
    let engine = engine();
    let mut body = response(true);
    body["max_output_tokens"] = json!(4);
    let answer = engine.post(PATH, &Value::Null, &body);
    assert_eq!((answer.words().len(), answer.finish_reason().as_deref()), (4, Some("max_output_tokens")));
    assert_eq!(answer.types().last().map(String::as_str), Some("response.incomplete"));
    body["max_output_tokens"] = json!(9);
    body["ignore_eos"] = json!(true);
    assert_eq!(engine.post(PATH, &Value::Null, &body).words().len(), 9);
    body["ignore_eos"] = json!(false);
    body["min_tokens"] = json!(8);
    assert_eq!(engine.post(PATH, &Value::Null, &body).words().len(), 8);
}

#[test]
fn no_usage_is_null() {
    let engine = engine();
    let answer = engine.post(PATH, &json!({"usage": "none"}), &response(true));
    assert!(answer.events().last().unwrap()["response"]["usage"].is_null());
    assert!(engine.post(PATH, &json!({"usage": "none"}), &response(false)).json()["usage"].is_null());
}

#[test]
fn refusals_have_openais_shape() {
    let engine = engine();
    let refused = engine.post(PATH, &Value::Null, &json!({"model": "truth"}));
    assert_eq!((refused.status, refused.json()["error"]["param"].clone()), (400, json!("input")));
}
