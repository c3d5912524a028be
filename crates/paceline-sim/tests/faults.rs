//! Each fault, as it looks on the wire and in the truth log.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Ended, Engine, chat, completion};

const CHAT: &str = "/v1/chat/completions";

fn engine() -> Engine {
    Engine::start(json!({"exact": {"ttft_us": 200, "itl_us": 200, "output_tokens": 6}}))
}

fn faulty(engine: &Engine, fault: Value, stream: bool) -> Answer {
    engine.post(CHAT, &json!({"fault": fault}), &chat(stream))
}

/// What the log says of the only request: its end, and how many events left.
fn logged(engine: &Engine) -> (String, usize) {
    let truth = engine.truth();
    assert_eq!(truth.len(), 1);
    (truth[0]["end"].as_str().unwrap().to_owned(), truth[0]["events"].as_array().unwrap().len())
}

fn is_sound(answer: &Answer) -> bool {
    answer.ended == Ended::Whole
        && answer.words() == [1; 6]
        && answer.finish_reason().is_some()
        && answer.is_done()
}

#[test]
fn statuses_come_in_openais_shape_and_with_an_id() {
    let engine = engine();
    for status in [400, 401, 404, 429, 500, 503] {
        for stream in [true, false] {
            let fault = json!({"kind": format!("http_{status}"), "retry_after_s": 7});
            let answer = faulty(&engine, fault, stream);
            assert_eq!(answer.status, status);
            assert!(answer.json()["error"]["message"].is_string());
            assert_eq!(answer.header("retry-after"), (status == 429).then_some("7"));
            assert!(answer.header("x-request-id").is_some());
        }
    }
    let truth = engine.truth();
    assert_eq!(truth.len(), 12);
    assert_eq!((truth[6]["status"].clone(), truth[6]["fault"].clone()), (json!(429), json!("http_429")));
    assert!(truth.iter().all(|record| record["end"] == "error" && record["events"] == json!([])));
}

#[test]
fn an_error_event_comes_in_place_of_the_rest() {
    for (after, sent) in [(0, 0), (2, 2), (6, 6), (99, 6)] {
        let engine = engine();
        let answer = faulty(&engine, json!({"kind": "error_event", "after_events": after}), true);
        assert_eq!((answer.status, answer.ended), (200, Ended::Whole));
        assert_eq!(answer.words().len(), sent);
        assert!(answer.events().last().unwrap()["error"]["message"].is_string());
        assert!(answer.finish_reason().is_none() && answer.is_done());
        assert_eq!(logged(&engine), ("error".to_owned(), sent));
    }
    let engine = engine();
    let whole = faulty(&engine, json!({"kind": "error_event"}), false);
    assert!(whole.status == 200 && whole.json()["error"].is_object());
    assert_eq!(logged(&engine), ("error".to_owned(), 0));
}

#[test]
fn a_cut_and_a_reset_end_the_connection() {
    for (kind, ended) in [("cut", Ended::Closed), ("reset", Ended::Reset)] {
        for (after, sent) in [(0, 0), (2, 2), (6, 6)] {
            let engine = engine();
            let answer = faulty(&engine, json!({"kind": kind, "after_events": after}), true);
            assert_eq!((answer.status, answer.ended), (200, ended));
            assert_eq!(answer.words().len(), sent);
            assert!(answer.finish_reason().is_none() && !answer.is_done());
            assert_eq!(logged(&engine), (kind.to_owned(), sent));
        }
        let engine = engine();
        let half = faulty(&engine, json!({"kind": kind, "after_events": 1}), false);
        assert_eq!((half.status, half.ended), (200, ended));
        let length: usize = half.header("content-length").unwrap().parse().unwrap();
        assert!(!half.body.is_empty() && half.body.len() < length);
        let nothing = faulty(&engine, json!({"kind": kind, "after_events": 0}), false);
        assert_eq!((nothing.status, nothing.ended), (0, ended));
        assert!(engine.truth().iter().all(|record| record["end"] == kind && record["events"] == json!([])));
    }
}

#[test]
fn a_body_may_end_in_order_and_too_early() {
    let engine = engine();
    let answer = faulty(&engine, json!({"kind": "end_early", "after_events": 2}), true);
    assert_eq!((answer.ended, answer.words().len()), (Ended::Whole, 2));
    assert!(answer.finish_reason().is_none() && !answer.is_done());
    assert_eq!(logged(&engine), ("complete".to_owned(), 2));
}

#[test]
fn an_end_marker_may_be_missing() {
    let answer = faulty(&engine(), json!({"kind": "no_end_marker"}), true);
    assert_eq!((answer.ended, answer.words().len()), (Ended::Whole, 6));
    assert!(answer.finish_reason().is_some() && !answer.is_done());
}

#[test]
fn an_answer_may_be_empty() {
    let engine = engine();
    let answer = faulty(&engine, json!({"kind": "empty"}), true);
    assert!(answer.words().is_empty() && answer.is_done() && answer.finish_reason().is_some());
    let whole = faulty(&engine, json!({"kind": "empty"}), false).json();
    assert_eq!(whole["choices"][0]["message"]["content"], "");
    assert_eq!(whole["usage"]["completion_tokens"], 0);
    assert!(engine.truth().iter().all(|record| record["events"] == json!([])));
}

#[test]
fn a_stalled_stream_stays_open_until_the_client_goes() {
    let engine = engine();
    let mut client = engine.connect();
    client.post(CHAT, &json!({"fault": {"kind": "stall", "after_events": 2}}), &chat(true));
    engine.wait_until(|stats| stats.events == 2);
    let mut whole = engine.connect();
    whole.post(CHAT, &json!({"fault": {"kind": "stall"}}), &chat(false));
    engine.wait_until(|stats| stats.in_flight == 2);
    drop((client, whole));
    engine.wait_until(|stats| stats.client_gone == 2 && stats.connections == 0 && stats.in_flight == 0);
    let truth = engine.truth();
    let mut ends: Vec<(&str, usize)> = truth
        .iter()
        .map(|record| (record["end"].as_str().unwrap(), record["events"].as_array().unwrap().len()))
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, [("client_gone", 0), ("client_gone", 2)]);
}

#[test]
fn one_event_may_be_malformed() {
    let engine = engine();
    let answer = faulty(&engine, json!({"kind": "malformed_json", "after_events": 2}), true);
    // Role, six events of which one is broken, finish; then [DONE].
    assert_eq!((answer.payloads().len(), answer.events().len()), (9, 7));
    assert!(serde_json::from_str::<Value>(&answer.payloads()[3]).is_err());
    assert!(answer.is_done());
    let whole = faulty(&engine, json!({"kind": "malformed_json"}), false);
    assert_eq!(whole.ended, Ended::Whole);
    assert!(serde_json::from_slice::<Value>(&whole.body).is_err());
    let truth = engine.truth();
    assert_eq!(truth[0]["events"].as_array().unwrap().len(), 5);
    assert_eq!(truth[1]["events"], json!([]));
}

#[test]
fn framings_differ_and_say_the_same() {
    let engine = engine();
    for (kind, has, lacks) in [
        ("crlf", "\r\n\r\n", "}\n\n"),
        ("no_space", "data:{", "data: "),
        ("comments", ": keep-alive\n\ndata: {", "\r\n"),
        ("multi_line", "data: {\ndata: \"id\"", "data: {\""),
    ] {
        let answer = faulty(&engine, json!({"kind": kind}), true);
        assert!(answer.text().contains(has), "{kind}");
        assert!(!answer.text().contains(lacks), "{kind}");
        assert!(is_sound(&answer), "{kind}");
    }
}

#[test]
fn a_multi_byte_character_is_cut_across_writes() {
    let engine = engine();
    let answer = faulty(&engine, json!({"kind": "split_utf8"}), true);
    assert!(is_sound(&answer));
    assert!(!answer.text().is_ascii());
    let whole = faulty(&engine, json!({"kind": "split_utf8"}), false).json();
    assert!(!whole["choices"][0]["message"]["content"].as_str().unwrap().is_ascii());
    let truth = engine.truth();
    let events = truth[0]["events"].as_array().unwrap();
    assert_eq!(events.len(), 6);
    for (k, event) in events.iter().enumerate() {
        // The instant of the second half: 0.3 ms after the first, which was not early.
        let after = event[0].as_i64().unwrap() - truth[0]["received_ns"].as_i64().unwrap();
        assert!(after >= 200_000 * (k as i64 + 1) + 300_000);
    }
    assert_eq!(truth[1]["events"].as_array().unwrap().len(), 1);
}

#[test]
fn an_event_may_be_huge() {
    let engine = engine();
    for stream in [true, false] {
        let answer =
            faulty(&engine, json!({"kind": "huge_event", "bytes": 3_000_000, "after_events": 1}), stream);
        assert!(answer.body.len() > 3_000_000);
        if stream {
            assert!(is_sound(&answer));
            let sizes: Vec<bool> =
                answer.payloads().iter().map(|payload| payload.len() > 3_000_000).collect();
            assert_eq!(sizes.iter().position(|huge| *huge), Some(2), "the role, one event, and then it");
            assert_eq!(sizes.iter().filter(|huge| **huge).count(), 1);
        } else {
            assert_eq!(answer.json()["usage"]["completion_tokens"], 6);
        }
    }
}

#[test]
fn a_slow_head_moves_the_whole_schedule() {
    for stream in [true, false] {
        let engine = engine();
        let answer = faulty(&engine, json!({"kind": "slow_headers", "us": 3_000}), stream);
        assert_eq!(answer.status, 200);
        let truth = engine.truth();
        let after = |ns: &Value| ns.as_i64().unwrap() - truth[0]["received_ns"].as_i64().unwrap();
        assert!(after(&truth[0]["headers_sent_ns"]) >= 3_000_000);
        let first_due = if stream { 3_200_000 } else { 4_200_000 };
        assert!(after(&truth[0]["events"][0][0]) >= first_due);
    }
}

#[test]
fn usage_may_be_wrong() {
    let engine = engine();
    let mut body = chat(true);
    body["stream_options"] = json!({"include_usage": true});
    let answer = engine.post(CHAT, &json!({"fault": {"kind": "wrong_usage"}}), &body);
    assert_eq!(answer.words().len(), 6);
    assert_eq!(answer.events().last().unwrap()["usage"]["completion_tokens"], 19);
}

#[test]
fn an_answer_may_be_no_stream_at_all() {
    let engine = engine();
    for stream in [true, false] {
        let answer = faulty(&engine, json!({"kind": "not_sse"}), stream);
        assert_eq!((answer.status, answer.ended), (200, Ended::Whole));
        assert!(answer.header("content-type").unwrap().starts_with("text/html"));
        assert!(answer.text().contains("<html>"));
    }
}

#[test]
fn several_events_may_leave_with_one_write() {
    let engine = engine();
    let answer = faulty(&engine, json!({"kind": "coalesce", "events": 4}), true);
    assert!(is_sound(&answer));
    let truth = engine.truth();
    let sent: Vec<i64> =
        truth[0]["events"].as_array().unwrap().iter().map(|event| event[0].as_i64().unwrap()).collect();
    assert_eq!(sent.len(), 6);
    assert!(sent[..4].iter().all(|ns| *ns == sent[0]) && sent[4..].iter().all(|ns| *ns == sent[4]));
    // Four events leave when the fourth is due.
    assert!(sent[4] > sent[0] && sent[0] - truth[0]["received_ns"].as_i64().unwrap() >= 800_000);
}

#[test]
fn bytes_may_leave_one_by_one() {
    let engine = engine();
    assert!(is_sound(&faulty(&engine, json!({"kind": "byte_at_a_time"}), true)));
    assert_eq!(
        faulty(&engine, json!({"kind": "byte_at_a_time"}), false).json()["usage"]["completion_tokens"],
        6
    );
}

#[test]
fn a_configured_fault_befalls_its_share_and_a_header_lifts_it() {
    let outcomes = |seed: u64| -> Vec<u16> {
        let engine =
            Engine::start(json!({"seed": seed, "exact": {"ttft_us": 0, "itl_us": 0, "output_tokens": 1},
            "fault": {"kind": "http_503", "share": 0.3}}));
        let mut client = engine.connect();
        (0..300)
            .map(|_| {
                client.post("/v1/completions", &Value::Null, &completion(true));
                client.answer().status
            })
            .collect()
    };
    let first = outcomes(5);
    assert_eq!(first, outcomes(5), "the seed decides");
    let faults = first.iter().filter(|status| **status == 503).count();
    assert!((60..=120).contains(&faults), "{faults} of 300 at a share of 0.3");
    let engine = Engine::start(json!({"exact": {"ttft_us": 0, "itl_us": 0}, "fault": {"kind": "cut"}}));
    assert!(engine.post(CHAT, &json!({"fault": null}), &chat(true)).is_done());
    assert_eq!(engine.post(CHAT, &Value::Null, &chat(true)).ended, Ended::Closed);
}

#[test]
fn completions_have_the_same_faults() {
    let engine = engine();
    let answer = |fault: Value| engine.post("/v1/completions", &json!({"fault": fault}), &completion(true));
    assert_eq!(answer(json!({"kind": "cut", "after_events": 3})).words().len(), 3);
    assert!(answer(json!({"kind": "multi_line"})).is_done());
    assert!(answer(json!({"kind": "error_event"})).events().last().unwrap()["error"].is_object());
    assert_eq!(answer(json!({"kind": "malformed_json"})).payloads().len(), 8);
}
