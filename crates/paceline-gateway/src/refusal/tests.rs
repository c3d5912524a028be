//! Codes, shapes and events, against the reference (docs/reference/gateway-errors.md).

use std::collections::BTreeMap;

use paceline_wire::Protocol;
use serde_json::{Value, json};

use super::*;

const REFERENCE: &str = include_str!("../../../../docs/reference/gateway-errors.md");

/// One of each that the gateway makes by itself.
fn all() -> Vec<Refusal> {
    vec![
        Refusal::invalid_http("x"),
        Refusal::invalid_json("x", 1, 2),
        Refusal::invalid_request("n", "must be a number"),
        Refusal::body_too_large(1),
        Refusal::head_too_large(1),
        Refusal::request_timeout("body", 1),
        Refusal::unknown_path("/x", &["/v1/models"]),
        Refusal::method_not_allowed("PUT", "/x", "GET"),
        Refusal::unknown_model("demi", ["demo"].into_iter()),
        Refusal::unknown_generation("gen-1"),
        Refusal::invalid_api_key("The key is not known."),
        Refusal::model_not_allowed("demo", "team"),
        Refusal::rate_limit_exceeded("x", Some(1)),
        Refusal::budget_exhausted("x", json!({})),
        Refusal::deadline_missed(250),
        Refusal::queue_full("x", None),
        Refusal::session_limit("x", None),
        Refusal::upstream_failed("x"),
        Refusal::upstream_cut("x"),
        Refusal::upstream_rate_limited("x", None),
        Refusal::upstream_timeout("x"),
        Refusal::upstream_rejected(400, "x"),
        Refusal::ledger_unavailable(),
        Refusal::overloaded(1),
        Refusal::draining(),
        Refusal::untranslatable("x"),
    ]
}

/// Codes and statuses of the reference's table.
fn documented() -> BTreeMap<&'static str, u16> {
    REFERENCE
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let code = cells.next()?.trim().trim_end_matches('`');
            Some((code, cells.next()?.trim().parse().ok()?))
        })
        .collect()
}

#[test]
fn the_reference_has_each_code_and_no_other() {
    let documented = documented();
    let mut made: BTreeMap<&str, u16> = all().iter().map(|refusal| (refusal.code, refusal.status)).collect();
    // Why no offer is left: `Self::Name => ("code", status)`.
    for line in include_str!("../route/filters.rs").lines() {
        let Some((_, rest)) = line.split_once("=> (\"") else { continue };
        let Some((code, rest)) = rest.split_once("\", ") else { continue };
        let status = rest.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        made.insert(code, status.parse().unwrap());
    }
    assert!(made.contains_key("no_offer"));
    assert_eq!(documented, made);
}

#[test]
fn bodies_are_in_the_clients_shape() {
    for refusal in all() {
        for protocol in Protocol::ALL {
            let body: Value = serde_json::from_slice(&refusal.body(protocol, "gen-7")).unwrap();
            let error = &body["error"];
            assert_eq!(body["request_id"], "gen-7");
            assert_eq!(error["message"], refusal.message);
            if protocol == Protocol::AnthropicMessages {
                assert_eq!(body["type"], "error");
                assert_eq!(error["details"]["error_code"], refusal.code);
                assert_eq!(error["details"]["status"], refusal.status);
            } else {
                assert_eq!(error["code"], refusal.code);
                assert_eq!(error["metadata"]["status"], refusal.status);
                assert!(error["type"].is_string());
            }
        }
    }
    let body = |refusal: Refusal| -> Value {
        serde_json::from_slice(&refusal.body(Protocol::OpenaiChat, "g")).unwrap()
    };
    assert_eq!(body(Refusal::invalid_request("n", "is odd"))["error"]["param"], "n");
    assert_eq!(body(Refusal::draining())["error"]["param"], Value::Null);
    let limited = body(Refusal::rate_limit_exceeded("x", Some(1_500)));
    assert_eq!(limited["error"]["metadata"]["retry_after_ms"], 1_500);
}

#[test]
fn types_are_those_of_the_protocols() {
    use super::shape::{anthropic_type, openai_type};
    for (status, openai, anthropic) in [
        (400, "invalid_request_error", "invalid_request_error"),
        (401, "authentication_error", "authentication_error"),
        (402, "insufficient_quota", "billing_error"),
        (403, "permission_error", "permission_error"),
        (404, "invalid_request_error", "not_found_error"),
        (413, "invalid_request_error", "request_too_large"),
        (422, "invalid_request_error", "invalid_request_error"),
        (429, "rate_limit_error", "rate_limit_error"),
        (502, "server_error", "api_error"),
        (503, "server_error", "overloaded_error"),
        (504, "server_error", "timeout_error"),
    ] {
        assert_eq!((openai_type(status), anthropic_type(status)), (openai, anthropic));
    }
}

#[test]
fn events_end_a_stream_as_the_reference_shows() {
    let refusal = Refusal::upstream_cut("The answer broke off: the connection was closed.");
    for protocol in Protocol::ALL.into_iter().filter(|protocol| protocol.streams()) {
        let event = String::from_utf8(refusal.event(protocol, "gen-01J")).unwrap();
        assert!(event.ends_with("\n\n") && event.matches("\n\n").count() == 1, "one event: {event}");
        assert!(!event.contains("[DONE]") && !event.contains("message_stop"));
        // The reference's, read by the official clients in tests/contract/test_gateway_errors.py.
        assert!(REFERENCE.contains(event.trim_end()), "{}: {event}", protocol.name());
    }
    let lines = Refusal::upstream_cut("two\nlines").event(Protocol::OpenaiChat, "g");
    assert_eq!(String::from_utf8(lines).unwrap().matches('\n').count(), 2, "data is one line");
}

#[test]
fn headers_say_when_to_try_again() {
    let headers = |refusal: Refusal| refusal.headers();
    let wait = headers(Refusal::queue_full("x", Some(1_200)));
    assert_eq!(wait, [("retry-after", "2".to_owned()), ("retry-after-ms", "1200".to_owned())]);
    assert_eq!(headers(Refusal::queue_full("x", Some(0)))[0].1, "1");
    assert_eq!(headers(Refusal::deadline_missed(9)), [("x-should-retry", "false".to_owned())]);
    assert!(headers(Refusal::invalid_api_key("x")).is_empty());
}

#[test]
fn clients_words_are_short_and_on_one_line() {
    let model = format!("a\r\nb{}", "é".repeat(500));
    let refusal = Refusal::unknown_model(&model, ["demo"].into_iter());
    assert!(refusal.message.contains("\"abé") && refusal.message.contains('…'));
    assert!(refusal.message.chars().count() < 200);
    assert_eq!(
        Refusal::unknown_model("demi", ["demo"].into_iter()).message,
        "There is no model \"demi\". Did you mean \"demo\"?"
    );
    assert!(Refusal::unknown_model("zzzzzz", ["demo"].into_iter()).message.contains("/v1/models"));
}

fn passed_on(status: u16, body: &str, upstream: Protocol, client: Protocol) -> String {
    let headers = [("authorization".to_owned(), "Bearer top-secret-value".to_owned())];
    String::from_utf8(upstream_error(status, body.as_bytes(), upstream, client, &headers, "gen-1")).unwrap()
}

#[test]
fn an_upstreams_own_words_are_passed_on() {
    let body = r#"{"error": {"message": "too long",  "code": "context_length_exceeded", "odd": [1.50]}}"#;
    for client in [Protocol::OpenaiChat, Protocol::OpenaiCompletions, Protocol::OpenaiResponses] {
        assert_eq!(passed_on(400, body, Protocol::OpenaiChat, client), body, "byte for byte");
    }
    let read: Value =
        serde_json::from_str(&passed_on(400, body, Protocol::OpenaiChat, Protocol::AnthropicMessages))
            .unwrap();
    assert_eq!((&read["type"], &read["error"]["message"]), (&json!("error"), &json!("too long")));
    assert_eq!(read["error"]["details"]["error_code"], "upstream_rejected");
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens"}}"#;
    let read: Value =
        serde_json::from_str(&passed_on(422, anthropic, Protocol::AnthropicMessages, Protocol::OpenaiChat))
            .unwrap();
    assert_eq!(
        (&read["error"]["message"], &read["error"]["metadata"]["status"]),
        (&json!("max_tokens"), &json!(422))
    );
    for (body, says) in [("", "status 413"), ("<html>too big</html>", "<html>too big</html>"), ("[1]", "[1]")]
    {
        let read: Value =
            serde_json::from_str(&passed_on(413, body, Protocol::OpenaiChat, Protocol::OpenaiChat)).unwrap();
        assert!(read["error"]["message"].as_str().unwrap().contains(says), "{read}");
    }
    let long = passed_on(400, &"x".repeat(100_000), Protocol::OpenaiChat, Protocol::OpenaiChat);
    assert!(long.len() < 3_000);
}

#[test]
fn no_key_comes_back() {
    for (said, shown) in [
        ("Incorrect API key provided: sk-proj-abcdefghijklmnop1234.", "Incorrect API key provided: sk-***"),
        ("Bearer top-secret-value is wrong", "*** is wrong"),
        ("top-secret-value", "***"),
        ("key AIzaSyA1234567890abcdef is", "key AIza*** is"),
        ("the word sk-short stays", "the word sk-short stays"),
        ("use max_tokens, not key-value pairs", "use max_tokens, not key-value pairs"),
    ] {
        let body = json!({"error": {"message": said}}).to_string();
        let read: Value =
            serde_json::from_str(&passed_on(400, &body, Protocol::OpenaiChat, Protocol::OpenaiChat)).unwrap();
        assert_eq!(
            read["error"]["message"].as_str().unwrap().trim_end_matches('.'),
            shown.trim_end_matches('.')
        );
    }
}
