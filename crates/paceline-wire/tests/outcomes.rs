//! Each outcome, and what leads to it.

mod support;

use paceline_wire::{BodyEnd, Head, Observation, Outcome, Stamp, StreamObserver};
use support::{CHAT, COMPLETIONS, END_NS, LIMITS, Response, STOP, delta, events};

fn hello() -> String {
    delta(r#""content":"Hello""#)
}

fn error(row: &Observation) -> &str {
    row.error.as_deref().unwrap_or("no error")
}

fn cut() -> BodyEnd {
    BodyEnd::Cut("reset by peer".into())
}

#[test]
fn a_finish_reason_or_the_end_marker_makes_it_ok() {
    let chat = Response::stream(CHAT);
    for documents in [vec![&*hello(), STOP, "[DONE]"], vec![&*hello(), STOP], vec![&*hello(), "[DONE]"]] {
        let row = chat.observe(&events(&documents));
        assert_eq!((row.outcome, row.error), (Outcome::Ok, None), "{documents:?}");
    }
}

#[test]
fn without_either_it_is_truncated() {
    let row = Response::stream(CHAT).observe(&events(&[&hello()]));
    assert_eq!(row.outcome, Outcome::Truncated);
    assert_eq!(error(&row), "the response ended without a finish reason and without an end marker");
    assert_eq!(row.event_ns.len(), 1);
}

#[test]
fn a_cut_is_truncated_unless_the_end_marker_was_there() {
    let chat = Response::stream(CHAT).ends(cut());
    for documents in [vec![], vec![&*hello()], vec![&*hello(), STOP]] {
        let row = chat.observe(&events(&documents));
        assert_eq!((row.outcome, error(&row)), (Outcome::Truncated, "reset by peer"), "{documents:?}");
    }
    assert_eq!(chat.observe(&events(&[&hello(), STOP, "[DONE]"])).outcome, Outcome::Ok);
    assert_eq!(chat.observe(&events(&[STOP, "[DONE]"])).outcome, Outcome::Empty);
}

#[test]
fn half_an_event_at_the_end_is_a_cut_and_a_whole_one_counts() {
    let chat = Response::stream(CHAT);
    let row = chat.observe(&(events(&[&hello()]) + "data: {\"choices\":[{\"del"));
    assert_eq!(row.outcome, Outcome::Truncated);
    assert!(error(&row).starts_with("the response ended within an event"), "{row:?}");
    let row = chat.observe(&(events(&[&hello()]) + "data: [DONE]"));
    assert_eq!((row.outcome, row.end_marker), (Outcome::Ok, true));
    let row = chat.clone().ends(cut()).observe(&(events(&[&hello()]) + "data: [DONE]"));
    assert_eq!(row.outcome, Outcome::Truncated);
}

#[test]
fn no_token_is_empty() {
    let chat = Response::stream(CHAT);
    let role = delta(r#""role":"assistant","content":"""#);
    for body in ["", "\r\n", ": ping\n\n", &events(&["[DONE]"]), &events(&[&role, STOP, "[DONE]"])] {
        assert_eq!(chat.observe(body).outcome, Outcome::Empty, "{body:?}");
    }
    assert_eq!(Response::whole(CHAT).observe("").outcome, Outcome::Empty);
    let whole = r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}"#;
    assert_eq!(Response::whole(CHAT).observe(whole).outcome, Outcome::Empty);
}

#[test]
fn errors_in_the_stream_are_never_a_success() {
    let chat = Response::stream(CHAT);
    for (bad, text) in [
        (r#"{"error":{"message":"overloaded","type":"server_error"}}"#, "overloaded"),
        (r#"{"error":"overloaded","error_type":"overload"}"#, "overloaded"),
        (r#"{"error":{"code":7}}"#, r#"{"code":7}"#),
        (r#"{"object":"error","message":"overloaded","code":503}"#, "overloaded"),
        (r#"{"object":"error"}"#, "an error without a message"),
        (
            r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"error"}]}"#,
            "a choice ended with finish_reason `error`",
        ),
    ] {
        let row = chat.observe(&events(&[&hello(), bad, STOP, "[DONE]"]));
        assert_eq!((row.outcome, error(&row)), (Outcome::ErrorInStream, text));
        assert_eq!((row.event_ns.len(), row.end_marker, &*row.text), (1, true, "Hello"));
    }
    let named = events(&[&hello()]) + "event: error\ndata: {\"message\":\"boom\"}\n\n" + &events(&["[DONE]"]);
    let row = chat.observe(&named);
    assert_eq!((row.outcome, error(&row)), (Outcome::ErrorInStream, "boom"));
    let row = chat.observe(&named.replace("{\"message\":\"boom\"}", "plain boom"));
    assert_eq!((row.outcome, error(&row)), (Outcome::ErrorInStream, "plain boom"));
    // What servers write where there is no error.
    for none in [r#"{"error":null,"choices":[]}"#, r#"{"error":"","choices":[]}"#] {
        assert_eq!(chat.observe(&events(&[&hello(), none, STOP])).outcome, Outcome::Ok);
    }
}

#[test]
fn an_error_by_any_name_is_an_error_even_before_an_end_marker() {
    let chat = Response::stream(CHAT);
    for bad in [
        r#"{"code":500,"message":"CUDA OOM","type":"InternalServerError"}"#,
        r#"{"detail":"worker died"}"#,
        r#"{"status":"error","message":"gone"}"#,
        r#"{"errors":[{"message":"gone"}]}"#,
        r#"{"choices":[{"delta":{},"error":{"message":"gone"},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"abort"}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"cancelled"}]}"#,
    ] {
        let row = chat.observe(&events(&[&hello(), bad, "[DONE]"]));
        assert_eq!(row.outcome, Outcome::ErrorInStream, "{bad}: {row:?}");
    }
}

#[test]
fn usage_that_is_no_usage_says_nothing_and_harms_nothing() {
    let chat = Response::stream(CHAT);
    for usage in [r#""none""#, r#"{"completion_tokens":"5"}"#, r#"{"completion_tokens":-5}"#, "[]", "7"] {
        let last = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        let row = chat.observe(&events(&[&hello(), STOP, &last, "[DONE]"]));
        assert_eq!((row.outcome, row.completion_tokens), (Outcome::Ok, None), "{usage}: {row:?}");
    }
}

#[test]
fn a_malformed_event_ends_the_reading() {
    let chat = Response::stream(CHAT);
    for (bad, text) in [
        ("{\"choices\":[", "event 2 is not JSON (EOF while parsing"),
        ("{\"choices\":5}", "event 2 is not what the protocol says (invalid type: integer `5`"),
        (
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":7}}]}"#,
            "event 2 is not what the protocol says (invalid type: integer `7`",
        ),
        ("hello", "event 2 is not a JSON object: hello"),
        ("[]", "event 2 is not a JSON object: []"),
    ] {
        let body = events(&[&hello(), bad, &hello(), "[DONE]"]);
        let stamp = Stamp { ns: 1, kernel: true, read: 0 };
        let (row, failed) = chat.observe_stamped(&[(body.as_bytes(), stamp), (b"more", stamp)]);
        assert_eq!(row.outcome, Outcome::Malformed);
        assert!(error(&row).starts_with(text), "{}", error(&row));
        assert_eq!((failed, row.events, row.event_ns.len(), &*row.text), (true, 2, 1, "Hello"));
        assert_eq!(row.bytes_received, body.len() as u64 + 4);
    }
    let row = chat.observe_reads(&[b"data: {\"id\":\"\xff\"}\n\n"]);
    assert_eq!(row.outcome, Outcome::Malformed);
    assert!(error(&row).starts_with("event 1 is not UTF-8"));
}

#[test]
fn an_event_over_the_bound_is_malformed() {
    let mut chat = Response::stream(CHAT);
    chat.limits.max_event_bytes = 200;
    let body = events(&[&hello(), &delta(&format!(r#""content":"{}""#, "x".repeat(200)))]);
    let stamp = Stamp { ns: 1, kernel: true, read: 0 };
    let (row, failed) = chat.observe_stamped(&[(body.as_bytes(), stamp)]);
    assert_eq!((row.outcome, failed), (Outcome::Malformed, true));
    assert_eq!(error(&row), "event 2 is larger than max_event_bytes, 200 bytes");
}

#[test]
fn what_is_no_stream_is_told_by_its_first_byte() {
    let mut chat = Response::stream(CHAT);
    chat.content_type = "text/html";
    let row = chat.observe("<!doctype html>\n<title>Welcome</title>");
    assert_eq!(row.outcome, Outcome::Malformed);
    let text = "the answer is not an event stream (content-type: text/html): it begins with <!doctype html> <title>Welcome";
    assert!(error(&row).starts_with(text), "{}", error(&row));

    chat.content_type = "application/json";
    let whole = r#"{"id":"c","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let row = chat.observe(whole);
    assert_eq!((row.outcome, row.event_ns.len()), (Outcome::Malformed, 0));
    assert!(error(&row).ends_with("the server did not stream, it sent one JSON document"));
    let row = chat.observe(r#"{"error":{"message":"no capacity"}}"#);
    assert_eq!((row.outcome, error(&row)), (Outcome::ErrorInStream, "no capacity"));
    // A stream by another name is a stream.
    assert_eq!(chat.observe(&events(&[&hello(), STOP])).outcome, Outcome::Ok);

    chat.content_type = "text/plain";
    let row = chat.observe("Bad gateway, try later\n");
    assert_eq!(row.outcome, Outcome::Malformed);
    assert!(error(&row).ends_with("it has the line Bad gateway, try later"), "{}", error(&row));
}

#[test]
fn a_stream_where_none_was_asked_for_is_malformed() {
    let row = Response::whole(CHAT).observe(&events(&[&hello(), STOP]));
    assert_eq!(row.outcome, Outcome::Malformed);
    assert_eq!(error(&row), "the server streamed although no stream was asked for");
    let row = Response::whole(CHAT).observe("<html>");
    assert_eq!(error(&row), "the answer is not a JSON object: <html>");
}

#[test]
fn statuses_name_the_outcome_and_carry_the_servers_message() {
    for (status, body, outcome, text) in [
        (404, r#"{"error":{"message":"no such model"}}"#, Outcome::HttpError, "HTTP 404: no such model"),
        (429, r#"{"error":{"message":"slow down"}}"#, Outcome::RateLimited, "HTTP 429: slow down"),
        (500, "Internal\nServer Error", Outcome::HttpError, "HTTP 500: Internal Server Error"),
        (503, "", Outcome::HttpError, "HTTP 503"),
        (307, "", Outcome::HttpError, "HTTP 307"),
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-secret-123."}}"#,
            Outcome::HttpError,
            "HTTP 401: Incorrect API key provided: ***",
        ),
    ] {
        for response in [Response::stream(CHAT), Response::whole(COMPLETIONS)] {
            let row = response.status(status).observe(body);
            assert_eq!((row.outcome, error(&row), row.status), (outcome, text, Some(status)));
        }
    }
    // The status is known, whatever became of the body.
    let row = Response::stream(CHAT).status(500).ends(BodyEnd::Timeout).observe("");
    assert_eq!(row.outcome, Outcome::HttpError);
}

#[test]
fn bodies_are_bounded() {
    let stamp = Stamp { ns: 1, kernel: true, read: 0 };
    let body = "x".repeat(1_000);
    let mut response = Response::whole(CHAT);
    response.limits.max_body_bytes = 999;
    let (row, failed) = response.observe_stamped(&[(body.as_bytes(), stamp)]);
    assert_eq!((row.outcome, failed), (Outcome::Malformed, true));
    assert_eq!(error(&row), "the body is larger than 999 bytes");
    let (row, failed) = response.status(500).observe_stamped(&[(body.as_bytes(), stamp)]);
    assert_eq!((row.outcome, failed), (Outcome::HttpError, true));
    assert!(error(&row).chars().count() <= 500);
}

#[test]
fn the_ends_without_a_response() {
    for (end, outcome, text) in [
        (BodyEnd::ConnectError("refused".into()), Outcome::ConnectError, "refused"),
        (BodyEnd::SendError("broken pipe".into()), Outcome::ConnectError, "broken pipe"),
        (BodyEnd::Timeout, Outcome::Timeout, "timed out before any response"),
        (BodyEnd::Cancelled, Outcome::Cancelled, "cancelled before any response"),
        (cut(), Outcome::Truncated, "reset by peer"),
        (BodyEnd::Malformed("bad status line".into()), Outcome::Malformed, "bad status line"),
        (BodyEnd::Complete, Outcome::Truncated, "there was no response"),
    ] {
        let row = StreamObserver::new(CHAT, true, LIMITS).finish(end, END_NS);
        assert_eq!((row.outcome, error(&row), row.end_ns), (outcome, text, END_NS));
        assert_eq!((row.status, row.headers_ns, row.kernel_stamped), (None, None, false));
    }
}

#[test]
fn the_ends_within_a_response() {
    let body = events(&[&hello(), &hello()]);
    for (end, outcome, text) in [
        (BodyEnd::Timeout, Outcome::Timeout, "timed out after 2 token events"),
        (BodyEnd::Cancelled, Outcome::Cancelled, "cancelled after 2 token events"),
        (BodyEnd::SendError("broken pipe".into()), Outcome::Truncated, "broken pipe"),
        (BodyEnd::Malformed("bad chunk size".into()), Outcome::Malformed, "bad chunk size"),
    ] {
        let row = Response::stream(CHAT).ends(end).observe(&body);
        assert_eq!((row.outcome, error(&row), row.event_ns.len()), (outcome, text, 2));
    }
    let row = Response::stream(CHAT).ends(BodyEnd::Timeout).observe(": ping\n\n");
    assert_eq!(error(&row), "timed out before the first token");
    let row = Response::whole(CHAT).ends(cut()).observe(r#"{"choices":[{"message":{"content":"H"#);
    assert_eq!(row.outcome, Outcome::Truncated);
}

#[test]
fn retry_after_is_kept() {
    let mut observer = StreamObserver::new(CHAT, true, LIMITS);
    let head = Head { status: 429, content_type: None, retry_after: Some("1.5"), request_id: None };
    observer.on_head(&head, Stamp { ns: 7, kernel: false, read: 0 });
    let row = observer.finish(BodyEnd::Complete, 8);
    assert_eq!((row.retry_after_ms, row.headers_ns, row.response_id), (Some(1_500), Some(7), None));
}
