//! A client that leaves: when it is noticed, and what goes on after that.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Ended, Engine, streaming_protocols};

fn engine(more: &Value) -> Engine {
    let mut config = json!({"exact": {"ttft_us": 1_000, "itl_us": 2_000, "output_tokens": 20}});
    config.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    Engine::start(config)
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

#[test]
fn a_half_closed_connection_ends_the_answer_at_once_in_every_protocol() {
    for (path, request) in streaming_protocols() {
        let engine = engine(&json!({"exact": {"ttft_us": 1_000, "itl_us": 1_000, "output_tokens": 100_000}}));
        let mut body = request(true);
        body["max_tokens"] = json!(100_000);
        let mut client = engine.connect();
        client.post(path, &Value::Null, &body);
        engine.wait_until(|stats| stats.events >= 3);
        client.close_sending();
        assert_eq!(client.rest().1, Ended::Closed);
        engine.wait_until(|stats| stats.client_gone == 1 && stats.in_flight == 0);
        let record = engine.truth()[0].clone();
        assert_eq!((record["end"].clone(), record["gone_ns"].is_i64()), (json!("client_gone"), true));
        let last = record["events"].as_array().unwrap().last().unwrap()[0].clone();
        assert!(number(&record["gone_ns"]) >= number(&last), "{path}: nothing left after it was noticed");
        assert!(number(&record["end_ns"]) >= number(&record["gone_ns"]));
    }
}

#[test]
fn a_slow_cancel_goes_on_sending_for_as_long_as_told() {
    let engine = engine(&json!({"cancel_delay_us": 300_000}));
    let mut client = engine.connect();
    client.post("/v1/chat/completions", &json!({"output_tokens": 100_000}), &support::chat(true));
    engine.wait_until(|stats| stats.events >= 2);
    client.close_sending();
    let (received, ended) = client.rest();
    assert_eq!(ended, Ended::Closed);
    let text = String::from_utf8(received).unwrap();
    engine.wait_until(|stats| stats.in_flight == 0);
    let record = engine.truth()[0].clone();
    assert_eq!(record["end"], "client_gone");
    let gone = number(&record["gone_ns"]);
    assert!(number(&record["end_ns"]) >= gone + 300_000_000);
    let events = record["events"].as_array().unwrap();
    assert!(events.iter().any(|event| number(&event[0]) > gone), "it went on");
    let contents = text.matches("\"content\":\" ").count();
    assert_eq!(contents, events.len(), "all of it arrived");
}

#[test]
fn a_slow_cancel_keeps_the_slot_of_the_model() {
    let engine = Engine::start(json!({"mode": "engine", "cancel_delay_us": 200_000, "engine": {"slots": 1,
        "prefill_base_us": 100, "decode_step_base_us": 1_000, "decode_step_per_seq_us": 1, "output_tokens": 1_000_000}}));
    let mut first = engine.connect();
    first.post("/v1/chat/completions", &Value::Null, &support::chat(true));
    engine.wait_until(|stats| stats.events >= 2);
    first.close_sending();
    let mut second = engine.connect();
    let mut body = support::chat(true);
    body["max_tokens"] = json!(2);
    second.post("/v1/chat/completions", &Value::Null, &body);
    assert!(second.answer().is_done());
    let truth = engine.truth();
    assert_eq!((truth[0]["end"].clone(), truth[1]["end"].clone()), (json!("client_gone"), json!("complete")));
    assert!(number(&truth[1]["events"][0][0]) > number(&truth[0]["end_ns"]), "it had to wait for the slot");
    assert!(number(&truth[0]["end_ns"]) >= number(&truth[0]["gone_ns"]) + 200_000_000);
}

#[test]
fn a_server_may_take_no_notice() {
    let engine = engine(&json!({"ignore_half_close": true}));
    for stream in [true, false] {
        let mut client = engine.connect();
        client.post("/v1/chat/completions", &Value::Null, &support::chat(stream));
        engine.wait_until(|stats| stats.in_flight == 1);
        client.close_sending();
        let answer = client.answer();
        assert_eq!((answer.status, answer.ended), (200, Ended::Whole));
        assert_eq!(client.rest(), (Vec::new(), Ended::Closed));
    }
    engine.wait_until(|stats| stats.connections == 0);
    assert_eq!(engine.sim.stats().client_gone, 0);
    for record in engine.truth() {
        assert_eq!(record["end"], "complete");
        assert!(number(&record["gone_ns"]) < number(&record["end_ns"]));
    }
}

#[test]
fn what_is_made_is_sent_to_a_slow_reader_that_has_closed_its_half() {
    let engine = engine(&json!({}));
    let mut client = engine.connect();
    // Far more than the sockets' buffers hold.
    let sim = json!({"ttft_us": 0, "itl_us": 0, "fault": {"kind": "huge_event", "bytes": 30_000_000}});
    client.post("/v1/chat/completions", &sim, &support::chat(false));
    engine.wait_until(|stats| stats.requests == 1 && stats.in_flight == 0);
    client.close_sending();
    let answer = client.answer();
    assert_eq!(answer.ended, Ended::Whole);
    assert!(answer.body.len() > 30_000_000);
    assert_eq!(client.rest().1, Ended::Closed);
    engine.wait_until(|stats| stats.connections == 0);
}

#[test]
fn a_client_that_resets_has_gone_whatever_is_configured() {
    for config in [json!({"ignore_half_close": true}), json!({"cancel_delay_us": 60_000_000})] {
        let engine = engine(&config);
        let mut client = engine.connect();
        client.post("/v1/chat/completions", &json!({"output_tokens": 100_000}), &support::chat(true));
        engine.wait_until(|stats| stats.events >= 2);
        // What was not read makes the close a reset.
        drop(client);
        engine.wait_until(|stats| stats.client_gone == 1 && stats.in_flight == 0);
        let record = engine.truth()[0].clone();
        assert_eq!((record["end"].clone(), record["gone_ns"].is_i64()), (json!("client_gone"), true));
    }
}

#[test]
fn an_answer_that_never_goes_on_is_given_up_too() {
    let engine = engine(&json!({"cancel_delay_us": 5_000}));
    let mut client = engine.connect();
    client.post(
        "/v1/chat/completions",
        &json!({"fault": {"kind": "stall", "after_events": 1}}),
        &support::chat(true),
    );
    engine.wait_until(|stats| stats.events == 1);
    client.close_sending();
    assert_eq!(client.rest().1, Ended::Closed);
    engine.wait_until(|stats| stats.client_gone == 1 && stats.in_flight == 0);
}
