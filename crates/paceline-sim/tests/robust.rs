//! Bad requests, deaf clients, and an engine that is stopped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat, completion};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn malformed_requests_are_survived() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 1}}));
    let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(500));
    for garbage in [
        "\u{16}\u{3}\u{1}hello",
        "GET\r\n\r\n",
        "nonsense\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\ncontent-length: abc\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "POST /v1/completions HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
        long.as_str(),
        many.as_str(),
    ] {
        let mut client = engine.connect();
        // The engine may close before all of it is sent.
        let _ = std::io::Write::write_all(&mut client.socket, garbage.as_bytes());
        let answer = client.answer();
        assert_eq!(answer.status, 400, "{:.40}", garbage);
        assert_eq!(answer.header("connection"), Some("close"));
    }
    for body in ["", "{", "null", "[]", "{\"model\": 1}", "\u{0}", "{\"model\": \"truth\", \"prompt\": {}}"] {
        let mut client = engine.connect();
        client
            .send(&format!("POST /v1/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
        assert_eq!(client.answer().status, 400, "{body:?}");
    }
    let paths = [CHAT, "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings"];
    let units = [
        "[",
        "{\"a\":",
        "{\"model\":[",
        "{\"tools\":[",
        "{\"input\":[",
        "{\"messages\":[{\"content\":[",
        "{\"content\":[",
    ];
    for (path, unit) in paths.iter().flat_map(|path| units.map(|unit| (path, unit))) {
        let body = unit.repeat(20_000);
        let mut client = engine.connect();
        client.send(&format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
        assert_eq!(client.answer().status, 400, "{path}: {unit} without end");
    }
    // Half a request, and nothing, from clients that go.
    engine.connect().send("POST /v1/completions HTTP/1.1\r\ncontent-le");
    drop(engine.connect());
    assert!(engine.post("/v1/completions", &Value::Null, &completion(true)).is_done());
    engine.wait_until(|stats| stats.connections == 0);
}

#[test]
fn stopping_ends_what_is_on_its_way() {
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 1_000_000, "output_tokens": 100}}));
    let mut client = engine.connect();
    client.post(CHAT, &Value::Null, &chat(true));
    engine.wait_until(|stats| stats.events == 1);
    let last = engine.sim.stop();
    assert_eq!((last.events, last.in_flight, last.connections), (1, 0, 0));
    assert_eq!(engine.sim.stats(), last, "what is stopped still has its counters");
    let truth = engine.truth();
    assert_eq!(
        (truth[0]["end"].clone(), truth[0]["events"].as_array().unwrap().len()),
        (json!("stopped"), 1)
    );
}

#[test]
fn clients_that_never_read_are_survived() {
    let engine = Engine::start(
        json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 1_000_000, "token_ids": true}}),
    );
    let mut deaf = engine.connect();
    deaf.post(CHAT, &Value::Null, &chat(true));
    engine.wait_until(|stats| stats.events > 100);
    assert!(engine.post(CHAT, &json!({"output_tokens": 3}), &chat(true)).is_done(), "others are served");
    drop(deaf);
    engine.wait_until(|stats| stats.client_gone == 1 && stats.connections == 0);
}
