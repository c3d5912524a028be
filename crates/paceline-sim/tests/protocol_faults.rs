//! Each fault in each protocol that streams.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Ended, Engine, streaming_protocols};

fn engine() -> Engine {
    Engine::start(json!({"exact": {"ttft_us": 100, "itl_us": 100, "output_tokens": 6}}))
}

/// Calls `check` with the answers of each protocol to `fault`, as a stream and whole.
fn in_each(fault: &Value, check: impl Fn(&str, &Answer, &Answer)) {
    let engine = engine();
    for (path, request) in streaming_protocols() {
        let answer = |stream: bool| engine.post(path, &json!({"fault": fault}), &request(stream));
        check(path, &answer(true), &answer(false));
    }
}

#[test]
fn statuses_replace_the_answer() {
    for status in [400, 401, 404, 429, 500, 503] {
        in_each(&json!({"kind": format!("http_{status}")}), |path, stream, whole| {
            for answer in [stream, whole] {
                assert_eq!(answer.status, status, "{path}");
                assert!(answer.json()["error"]["message"].is_string(), "{path}");
            }
        });
    }
}

#[test]
fn an_error_comes_in_the_form_of_the_protocol() {
    in_each(&json!({"kind": "error_event", "after_events": 2}), |path, stream, whole| {
        assert_eq!((stream.words().len(), stream.ended), (2, Ended::Whole), "{path}");
        assert!(stream.finish_reason().is_none(), "{path}");
        let types = stream.types();
        let events = stream.events();
        match path {
            "/v1/responses" => {
                assert_eq!(types[types.len() - 2..], ["error", "response.failed"]);
            }
            "/v1/messages" => {
                assert_eq!(types.last().unwrap(), "error");
                assert_eq!(events.last().unwrap()["error"]["type"], "api_error");
            }
            _ => assert!(events.last().unwrap()["error"].is_object() && stream.is_done()),
        }
        assert!(whole.json()["error"]["message"].is_string(), "{path}");
    });
}

#[test]
fn cuts_and_early_ends_leave_no_end_marker() {
    for (kind, ended) in [("cut", Ended::Closed), ("reset", Ended::Reset), ("end_early", Ended::Whole)] {
        in_each(&json!({"kind": kind, "after_events": 2}), |path, stream, _| {
            assert_eq!((stream.words().len(), stream.ended), (2, ended), "{path} {kind}");
            assert!(!stream.is_done() && stream.finish_reason().is_none(), "{path} {kind}");
        });
    }
}

#[test]
fn a_missing_end_marker_is_all_that_is_missing() {
    in_each(&json!({"kind": "no_end_marker"}), |path, stream, whole| {
        assert_eq!(
            (stream.words().len(), stream.ended, stream.is_done()),
            (6, Ended::Whole, false),
            "{path}"
        );
        // In Responses the end marker is what says how it ended.
        assert_eq!(stream.finish_reason().is_some(), path != "/v1/responses");
        assert_eq!(whole.usage().2, 6);
    });
}

#[test]
fn an_empty_answer_ends_well() {
    in_each(&json!({"kind": "empty"}), |path, stream, whole| {
        assert!(stream.words().is_empty() && stream.is_done() && stream.finish_reason().is_some(), "{path}");
        assert_eq!(whole.usage().2, 0, "{path}");
    });
}

#[test]
fn one_event_is_broken_and_the_rest_are_sound() {
    in_each(&json!({"kind": "malformed_json", "after_events": 2}), |path, stream, whole| {
        let payloads = stream.payloads();
        let broken = payloads
            .iter()
            .filter(|payload| *payload != "[DONE]" && serde_json::from_str::<Value>(payload).is_err());
        assert_eq!((broken.count(), stream.words().len()), (1, 5), "{path}");
        assert!(stream.is_done(), "{path}");
        assert!(serde_json::from_slice::<Value>(&whole.body).is_err(), "{path}");
    });
}

#[test]
fn framings_and_writes_change_nothing_of_what_is_said() {
    for kind in [
        "crlf",
        "no_space",
        "comments",
        "multi_line",
        "split_utf8",
        "coalesce",
        "byte_at_a_time",
        "slow_headers",
    ] {
        in_each(&json!({"kind": kind, "us": 2_000}), |path, stream, whole| {
            assert_eq!(stream.words(), [1; 6], "{path} {kind}");
            assert!(stream.is_done() && stream.finish_reason().is_some(), "{path} {kind}");
            assert_eq!(whole.usage().2, 6, "{path} {kind}");
        });
    }
}

#[test]
fn one_event_is_huge() {
    in_each(&json!({"kind": "huge_event", "bytes": 300_000, "after_events": 1}), |path, stream, whole| {
        let huge = stream.payloads().iter().filter(|payload| payload.len() > 300_000).count();
        assert_eq!((huge, stream.words().len()), (1, 6), "{path}");
        assert!(whole.body.len() > 300_000, "{path}");
    });
}

#[test]
fn usage_is_wrong_and_no_stream_is_none() {
    let engine = engine();
    for (path, request) in streaming_protocols() {
        let mut body = request(true);
        body["stream_options"] = json!({"include_usage": true});
        let answer = engine.post(path, &json!({"fault": {"kind": "wrong_usage"}}), &body);
        assert_eq!(answer.usage().2, 19, "{path}");
    }
    in_each(&json!({"kind": "not_sse"}), |path, stream, whole| {
        assert!(stream.text().contains("<html>") && whole.text().contains("<html>"), "{path}");
    });
}

#[test]
fn a_stall_lasts_until_the_client_goes() {
    for (path, request) in streaming_protocols() {
        let engine = engine();
        let mut client = engine.connect();
        client.post(path, &json!({"fault": {"kind": "stall", "after_events": 2}}), &request(true));
        engine.wait_until(|stats| stats.events == 2);
        drop(client);
        engine.wait_until(|stats| stats.client_gone == 1 && stats.in_flight == 0);
        assert_eq!(engine.truth()[0]["end"], "client_gone", "{path}");
    }
}
