//! Paths, refusals, connections, TLS.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::net::SocketAddr;

use paceline_io::clock::StampClock;
use paceline_io::poller::Poller;
use paceline_io::stream::{ReadEnd, Scratch, Stream};
use paceline_io::tls::client_config;
use paceline_sim::{Sim, SimConfig};
use serde_json::{Value, json};
use support::{Ended, Engine, chat, completion};

const CHAT: &str = "/v1/chat/completions";

fn quick() -> Engine {
    Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 3}}))
}

#[test]
fn health_and_models_are_there() {
    let engine = Engine::start(json!({"models": ["fast", "standard"]}));
    let mut client = engine.connect();
    client.get("/health");
    assert_eq!(client.answer().json(), json!({"status": "ok"}));
    client.get("/v1/models");
    let models = client.answer().json();
    assert_eq!(models["data"][1]["id"], "standard");
}

#[test]
fn wrong_requests_are_refused_and_the_connection_lives_on() {
    let engine = quick();
    let mut client = engine.connect();
    let mut refused = |path: &str, sim: Value, body: Value| {
        client.post(path, &sim, &body);
        let answer = client.answer();
        let error = answer.json()["error"].clone();
        (
            answer.status,
            error["code"].as_str().unwrap().to_owned(),
            error["message"].as_str().unwrap().to_owned(),
        )
    };
    let unknown = refused("/v1/audio/speech", Value::Null, json!({}));
    assert_eq!((unknown.0, unknown.1.as_str()), (404, "unknown_url"));
    assert!(unknown.2.contains("POST /v1/completions"));
    let model = refused(CHAT, Value::Null, json!({"model": "gpt-9", "messages": [{"content": "x"}]}));
    assert_eq!((model.0, model.1.as_str()), (404, "model_not_found"));
    assert!(model.2.contains("truth"));
    assert_eq!(refused(CHAT, Value::Null, json!({"model": "truth"})).0, 400);
    assert_eq!(refused(CHAT, Value::Null, json!([])).0, 400);
    assert_eq!(refused("/health", Value::Null, json!({})).0, 405);
    let header = refused(CHAT, json!({"ttft_sec": 1}), chat(true));
    assert!(header.0 == 400 && header.2.contains("ttft_sec"));
    client.post(CHAT, &Value::Null, &chat(true));
    assert!(client.answer().is_done());
    assert_eq!(engine.sim.stats().connections, 1);
    assert_eq!(engine.truth().len(), 1, "refusals without an id are not in the log");
}

#[test]
fn a_key_is_asked_for() {
    let engine = Engine::start(json!({"api_key": "sk-one", "exact": {"ttft_us": 0, "itl_us": 0}}));
    let status = |header: &str| {
        let mut client = engine.connect();
        client.send(&format!("GET /v1/models HTTP/1.1\r\n{header}\r\n"));
        client.answer().status
    };
    assert_eq!(status("authorization: Bearer sk-one\r\n"), 200);
    assert_eq!(status("authorization: Bearer sk-two\r\n"), 401);
    assert_eq!(status(""), 401);
    assert_eq!(engine.post(CHAT, &Value::Null, &chat(true)).status, 401);
}

#[test]
fn a_connection_serves_many_requests_and_closes_when_asked() {
    let engine = quick();
    let mut client = engine.connect();
    for number in 1..=50 {
        client.post(CHAT, &Value::Null, &chat(number % 2 == 0));
        let answer = client.answer();
        assert_eq!(answer.header("x-request-id"), Some(format!("chatcmpl-sim-{number}").as_str()));
        assert!(answer.header("connection").is_none());
    }
    client.send("GET /health HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(client.answer().header("connection"), Some("close"));
    assert_eq!(client.rest(), (Vec::new(), Ended::Closed));
    drop(client);
    engine.wait_until(|stats| stats.connections == 0);
}

#[test]
fn a_request_may_come_in_pieces_and_chunks() {
    let engine = quick();
    let mut client = engine.connect();
    let body = completion(true).to_string();
    let (first, second) = body.split_at(10);
    let request = format!(
        "POST /v1/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    for piece in request.as_bytes().chunks(7) {
        client.send(std::str::from_utf8(piece).unwrap());
    }
    assert_eq!(client.answer().words(), [1, 1, 1]);
}

#[test]
fn a_client_that_waits_for_leave_gets_it() {
    let engine = quick();
    let mut client = engine.connect();
    let body = chat(true).to_string();
    client.send(&format!(
        "POST {CHAT} HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    ));
    let leave = client.answer();
    assert_eq!(leave.status, 100);
    client.send(&body);
    assert!(client.answer().is_done());
}

#[test]
fn a_pipelined_request_is_refused_after_the_answer() {
    let engine = quick();
    let mut client = engine.connect();
    let body = chat(true).to_string();
    let request = format!("POST {CHAT} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    client.send(&format!("{request}{request}"));
    assert!(client.answer().is_done());
    let refusal = client.answer();
    assert_eq!((refusal.status, refusal.json()["error"]["code"].clone()), (400, json!("pipelining")));
    assert_eq!(client.rest().1, Ended::Closed);
}

#[test]
fn connections_beyond_the_limit_are_turned_away() {
    let engine = Engine::start(json!({"max_connections": 2}));
    let mut kept: Vec<_> = (0..2).map(|_| engine.connect()).collect();
    for client in &mut kept {
        client.get("/health");
        assert_eq!(client.answer().status, 200);
    }
    let refused = engine.connect().answer();
    assert_eq!(
        (refused.status, refused.json()["error"]["code"].clone()),
        (503, json!("too_many_connections"))
    );
    drop(kept);
    engine.wait_until(|stats| stats.connections == 0 && stats.connections_refused == 1);
    let mut client = engine.connect();
    client.get("/health");
    assert_eq!(client.answer().status, 200);
}

#[test]
fn what_cannot_be_listened_on_is_an_error() {
    let first = Sim::start(SimConfig::default()).unwrap();
    for listen in [first.address().to_string(), "nonsense".to_owned(), "256.1.1.1:5".to_owned()] {
        let config = SimConfig { listen: listen.clone(), ..SimConfig::default() };
        assert!(Sim::start(config).unwrap_err().to_string().contains(&listen));
    }
    let config = json!({"truth_log": "/nonexistent/truth"}).to_string();
    assert!(
        Sim::start(SimConfig::from_json(&config).unwrap()).unwrap_err().to_string().contains("/nonexistent")
    );
    let config = json!({"tls_cert_pem": "x", "tls_key_pem": "y"}).to_string();
    assert!(
        Sim::start(SimConfig::from_json(&config).unwrap()).unwrap_err().to_string().contains("tls_cert_pem")
    );
}

/// Speaks TLS to the engine: sends `request`, reads until `until` has come.
fn over_tls(address: SocketAddr, ca: &str, request: &str, until: &str) -> String {
    let mut stream = Stream::connect(address, true).unwrap();
    stream.start_tls_client(client_config(Some(ca)).unwrap(), "localhost").unwrap();
    let mut poller = Poller::new(4).unwrap();
    poller.add(&stream, 1).unwrap();
    stream.send(request.as_bytes()).ok();
    let (mut scratch, clock, mut got) = (Scratch::new(), StampClock::new(), Vec::new());
    while !String::from_utf8_lossy(&got).contains(until) {
        let mut ready = Vec::new();
        poller.wait(Some(10_000_000_000), &mut ready).unwrap();
        assert!(!ready.is_empty(), "nothing came for 10 s");
        let end =
            stream.read(&mut scratch, &clock, false, &mut |bytes, _| got.extend_from_slice(bytes)).unwrap();
        stream.flush().unwrap();
        assert!(end == ReadEnd::Drained, "{}", String::from_utf8_lossy(&got));
    }
    String::from_utf8(got).unwrap()
}

#[test]
fn tls_is_spoken_where_there_is_a_certificate() {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (signed.cert.pem(), signed.signing_key.serialize_pem());
    let engine = Engine::start(json!({"tls_cert_pem": certificate, "tls_key_pem": key,
        "exact": {"ttft_us": 500, "itl_us": 500, "output_tokens": 4}}));
    let body = chat(true).to_string();
    let request = format!("POST {CHAT} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let got = over_tls(engine.sim.address(), &certificate, &request, "0\r\n\r\n");
    assert!(got.starts_with("HTTP/1.1 200 OK") && got.contains("[DONE]"));
    let mut plain = engine.connect();
    plain.send("GET /health HTTP/1.1\r\n\r\n");
    let (_, ended) = plain.rest();
    assert_ne!(ended, Ended::Whole, "plain text gets no further");
    engine.wait_until(|stats| stats.connections == 0);
    assert_eq!(engine.truth()[0]["events"].as_array().unwrap().len(), 4);
}
