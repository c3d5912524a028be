//! Anthropic messages, streamed and whole.

mod support;

use paceline_wire::{BodyEnd, KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL, Observation, Outcome};
use support::{MESSAGES, Response, data, events};

const TEXT: &str = "Hm, größer. It is \"7\" 😀\n{\"city\":\"Köln\"}{\"query\":\"x\"}";
const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","model":"c","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":20,"output_tokens":1}}}"#;
const HELLO: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#;
const END: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn stream(documents: &[&str]) -> Observation {
    Response::stream(MESSAGES).observe(&events(documents))
}

fn whole(body: &str) -> Observation {
    Response::whole(MESSAGES).observe(body)
}

fn usage(row: &Observation) -> [Option<i64>; 5] {
    [
        row.prompt_tokens,
        row.completion_tokens,
        row.reasoning_tokens,
        row.cached_tokens,
        row.cache_write_tokens,
    ]
}

#[test]
fn every_text_of_a_stream_counts_and_nothing_else() {
    let row = Response::stream(MESSAGES).observe(&data("anthropic-messages.all.sse"));
    assert_eq!((row.outcome, &row.error, &*row.text), (Outcome::Ok, &None, TEXT));
    let (content, reasoning, call) = (KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL);
    assert_eq!(row.event_kind, [reasoning, reasoning, content, content, call, call, call]);
    assert_eq!(row.event_bytes, [4, 10, 6, 9, 8, 8, 13]);
    assert_eq!(row.event_tokens, [-1; 7]);
    assert_eq!(usage(&row), [Some(32), Some(25), Some(9), Some(20), Some(7)]);
    assert_eq!(row.response_id.as_deref(), Some("msg_1"));
    assert_eq!(row.server_model.as_deref(), Some("claude-1"));
    assert_eq!((row.finish_reason.as_deref(), row.end_marker), (Some("tool_use"), true));
    assert_eq!(row.answer(), "It is \"7\" 😀\n");
}

#[test]
fn a_whole_message_reads_as_its_stream() {
    let row = whole(&data("anthropic-messages.all.json"));
    assert_eq!((row.outcome, &row.error, &*row.text), (Outcome::Ok, &None, TEXT));
    assert_eq!(row.event_kind, [KIND_CONTENT | KIND_REASONING | KIND_TOOL_CALL]);
    assert_eq!(row.event_tokens, [25]);
    assert_eq!(usage(&row), [Some(32), Some(25), Some(9), Some(20), Some(7)]);
    assert_eq!((row.finish_reason.as_deref(), row.end_marker), (Some("tool_use"), false));
    assert_eq!(row.answer(), "It is \"7\" 😀\n");
}

#[test]
fn what_llama_server_sends_is_read() {
    let row = Response::stream(MESSAGES).observe(&data("anthropic-messages.llama.sse"));
    assert_eq!((row.outcome, &*row.text, row.event_ns.len()), (Outcome::Ok, "Say hello<|im_end|>", 8));
    assert_eq!(usage(&row), [Some(26), Some(8), None, Some(21), None]);
    assert_eq!(row.finish_reason.as_deref(), Some("max_tokens"));
    let row = whole(&data("anthropic-messages.llama.json"));
    assert_eq!((row.outcome, &*row.text), (Outcome::Ok, "<|im_end|>\n<"));
    assert_eq!(usage(&row), [Some(26), Some(8), None, Some(21), None]);
}

#[test]
fn later_usage_wins_field_by_field() {
    let later = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":6,"cache_read_input_tokens":null,"cache_creation_input_tokens":0,"output_tokens":9}}"#;
    let row = stream(&[START, HELLO, later, STOP]);
    assert_eq!(usage(&row), [Some(26), Some(9), None, Some(20), Some(0)]);
    let earlier = r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"input_tokens":1,"output_tokens":4}}"#;
    let row = stream(&[START, HELLO, earlier, later, STOP]);
    assert_eq!(usage(&row), [Some(26), Some(9), None, Some(20), Some(0)]);
}

#[test]
fn the_count_at_the_start_is_a_placeholder() {
    let cut = BodyEnd::Cut("cut".into());
    let row = Response::stream(MESSAGES).ends(cut).observe(&events(&[START, HELLO]));
    assert_eq!((row.outcome, usage(&row)), (Outcome::Truncated, [Some(32), None, None, Some(20), Some(7)]));
}

#[test]
fn a_block_may_begin_with_text() {
    let row = stream(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"A"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","input":{}}}"#,
        END,
        STOP,
    ]);
    assert_eq!((row.outcome, &*row.text), (Outcome::Ok, "HmA"));
}

#[test]
fn a_stop_reason_or_the_end_marker_makes_it_ok() {
    for documents in [vec![START, HELLO, END, STOP], vec![START, HELLO, END], vec![START, HELLO, STOP]] {
        assert_eq!(stream(&documents).outcome, Outcome::Ok, "{documents:?}");
    }
    assert_eq!(stream(&[START, HELLO]).outcome, Outcome::Truncated);
    assert_eq!(stream(&[START, END, STOP]).outcome, Outcome::Empty);
    let row = stream(&[START, HELLO, END, STOP, "{nonsense"]);
    assert_eq!((row.outcome, row.events), (Outcome::Ok, 4));
}

#[test]
fn errors_are_found_wherever_they_are() {
    let named = Response::stream(MESSAGES).observe(&data("anthropic-messages.error.sse"));
    assert_eq!((named.outcome, named.error.as_deref()), (Outcome::ErrorInStream, Some("Overloaded")));
    for (bad, text) in [
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "Overloaded"),
        (r#"{"type":"error","error":{"type":"api_error"}}"#, r#"{"type":"api_error"}"#),
        (r#"{"type":"error","message":"boom"}"#, "boom"),
        (r#"{"type":"error"}"#, r#"{"type":"error"}"#),
        (r#"{"error":"boom"}"#, "boom"),
        (r#"{"detail":"boom"}"#, "boom"),
        (
            r#"{"type":"message_delta","delta":{"stop_reason":"error"}}"#,
            "the message ended with stop_reason `error`",
        ),
        (r#"{"type":"content_block_delta","delta":{"text":"x"},"error":{"message":"boom"}}"#, "boom"),
    ] {
        let row = stream(&[START, HELLO, bad, STOP]);
        assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some(text)), "{bad}");
        assert_eq!(row.text, "Hello", "{bad}");
    }
    for bad in [
        r#"{"type":"error","error":{"type":"api_error","message":"boom"}}"#,
        r#"{"type":"error","message":"boom"}"#,
        r#"{"detail":"boom"}"#,
    ] {
        let row = whole(bad);
        assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some("boom")), "{bad}");
    }
    let row = Response::stream(MESSAGES)
        .status(529)
        .observe(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert_eq!((row.outcome, row.error.as_deref()), (Outcome::HttpError, Some("HTTP 529: Overloaded")));
}

#[test]
fn events_and_deltas_of_other_kinds_are_passed_over() {
    let row = stream(&[
        START,
        r#"{"type":"ping"}"#,
        r#"{"type":"future","message":{"content":7},"delta":7}"#,
        r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"c2ln"}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"future_delta","more":[1]}}"#,
        r#"{"type":"content_block_delta","delta":null}"#,
        HELLO,
        END,
        STOP,
    ]);
    assert_eq!((row.outcome, &*row.text, row.event_ns.len()), (Outcome::Ok, "Hello", 1));
}

#[test]
fn what_is_not_of_the_protocol_is_malformed() {
    for bad in [
        r#"{"type":"content_block_delta","delta":{"text":7}}"#,
        r#"{"type":"content_block_delta","delta":7}"#,
        r#"{"type":"message_start","message":7}"#,
        r#"{"type":7}"#,
        "{",
    ] {
        assert_eq!(stream(&[START, HELLO, bad, STOP]).outcome, Outcome::Malformed, "{bad}");
    }
    assert_eq!(whole(r#"{"type":"message","content":[7]}"#).outcome, Outcome::Malformed);
}

#[test]
fn a_message_without_text_is_empty() {
    let row = whole(r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#);
    assert_eq!((row.outcome, row.finish_reason.as_deref()), (Outcome::Empty, Some("end_turn")));
}
