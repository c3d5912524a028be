//! OpenAI responses, streamed and whole.

mod support;

use paceline_wire::{KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL, Observation, Outcome};
use support::{RESPONSES, Response, data, events};

const TEXT: &str =
    "A plan. Hm, größer. It is \"7\" 😀\nNo more.{\"city\":\"Köln\"}{}SELECT 1{\"q\":1}print(1)ls -l";
const HELLO: &str = r#"{"type":"response.output_text.delta","delta":"Hello"}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#;

fn stream(documents: &[&str]) -> Observation {
    Response::stream(RESPONSES).observe(&events(documents))
}

fn whole(body: &str) -> Observation {
    Response::whole(RESPONSES).observe(body)
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
fn every_text_of_a_stream_counts_once() {
    let row = Response::stream(RESPONSES).observe(&data("openai-responses.all.sse"));
    assert_eq!((row.outcome, &row.error, &*row.text), (Outcome::Ok, &None, TEXT));
    let (content, reasoning, call) = (KIND_CONTENT, KIND_REASONING, KIND_TOOL_CALL);
    assert_eq!(
        row.event_kind,
        [
            reasoning, reasoning, reasoning, content, content, content, call, call, call, call, call, call,
            call, call
        ]
    );
    assert_eq!(row.event_bytes, [2, 6, 14, 6, 9, 8, 9, 7, 2, 7, 1, 7, 8, 5]);
    // Log probabilities were listed for one event; an empty list says nothing.
    assert_eq!(row.event_tokens, [-1, -1, -1, -1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1]);
    assert_eq!(usage(&row), [Some(30), Some(25), Some(9), Some(20), Some(4)]);
    assert_eq!(row.response_id.as_deref(), Some("resp_1"));
    assert_eq!(row.server_model.as_deref(), Some("m-1"));
    assert_eq!(row.finish_reason.as_deref(), Some("completed"));
    assert!(row.end_marker);
    assert_eq!(row.answer(), "It is \"7\" 😀\nNo more.");
}

#[test]
fn a_whole_response_reads_as_its_stream() {
    let row = whole(&data("openai-responses.all.json"));
    assert_eq!((row.outcome, &row.error, &*row.text), (Outcome::Ok, &None, TEXT));
    assert_eq!(row.event_kind, [KIND_CONTENT | KIND_REASONING | KIND_TOOL_CALL]);
    assert_eq!(row.event_tokens, [25]);
    assert_eq!(usage(&row), [Some(30), Some(25), Some(9), Some(20), Some(4)]);
    assert_eq!((row.finish_reason.as_deref(), row.end_marker), (Some("completed"), false));
    assert_eq!(row.answer(), "It is \"7\" 😀\nNo more.");
}

#[test]
fn what_llama_server_sends_is_read() {
    let row = Response::stream(RESPONSES).observe(&data("openai-responses.llama.sse"));
    assert_eq!((row.outcome, &*row.text, row.event_ns.len()), (Outcome::Ok, "Say hello<|im_end|>", 8));
    assert_eq!(usage(&row), [Some(26), Some(8), None, Some(0), None]);
    assert_eq!(row.server_model.as_deref(), Some("gemma-3-270m"));
    assert!(row.server_timings.is_some_and(|timings| timings.contains("\"predicted_n\":8")));
    let row = whole(&data("openai-responses.llama.json"));
    assert_eq!((row.outcome, &*row.text), (Outcome::Ok, "Say hi<|im_end|>"));
    assert_eq!(usage(&row), [Some(26), Some(8), None, Some(21), None]);
}

#[test]
fn an_end_that_repeats_nothing_is_the_text() {
    let row = stream(&[
        r#"{"type":"response.output_text.delta","delta":"a"}"#,
        r#"{"type":"response.output_text.done","text":"a"}"#,
        r#"{"type":"response.function_call_arguments.done","arguments":"{\"a\":1}"}"#,
        r#"{"type":"response.function_call_arguments.done","arguments":"{\"b\":1}"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","arguments":"{\"b\":1}"}}"#,
        COMPLETED,
    ]);
    assert_eq!((row.outcome, &*row.text), (Outcome::Ok, "a{\"a\":1}{\"b\":1}"));
    assert_eq!(row.event_bytes, [1, 7, 7]);
}

#[test]
fn an_incomplete_response_says_why() {
    let end = |details: &str| {
        format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{details}}}}}"#
        )
    };
    for (details, reason) in [
        (r#"{"reason":"max_output_tokens"}"#, "max_output_tokens"),
        (r#"{"reason":null}"#, "incomplete"),
        ("null", "incomplete"),
    ] {
        let row = stream(&[HELLO, &end(details)]);
        assert_eq!((row.outcome, row.end_marker), (Outcome::Ok, true));
        assert_eq!(row.finish_reason.as_deref(), Some(reason));
    }
    let row = stream(&[HELLO, r#"{"type":"response.completed"}"#]);
    assert_eq!((row.outcome, row.finish_reason.as_deref()), (Outcome::Ok, Some("completed")));
    let row = whole(
        r#"{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}"#,
    );
    assert_eq!((row.outcome, row.finish_reason.as_deref()), (Outcome::Ok, Some("content_filter")));
}

#[test]
fn without_the_closing_event_it_is_truncated() {
    let row = stream(&[HELLO, r#"{"type":"response.output_text.done","text":"Hello"}"#]);
    assert_eq!(row.outcome, Outcome::Truncated);
    // Some servers end every stream as chat completions end.
    assert_eq!(stream(&[HELLO, "[DONE]"]).outcome, Outcome::Ok);
}

#[test]
fn errors_are_found_wherever_they_are() {
    let named = events(&[HELLO]) + "event: error\ndata: {\"type\":\"error\",\"message\":\"boom\"}\n\n";
    let row = Response::stream(RESPONSES).observe(&named);
    assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some("boom")));
    for (bad, text) in [
        (r#"{"type":"error","code":"x","message":"boom","param":null}"#, "boom"),
        (r#"{"type":"error","error":{"type":"server_error","message":"boom"}}"#, "boom"),
        (r#"{"type":"response.error","error":{"message":"boom"}}"#, "boom"),
        (r#"{"type":"response.error","message":"boom"}"#, "boom"),
        (r#"{"type":"response.error"}"#, "the server sent `response.error` without a message"),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}"#,
            "boom",
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":null}}"#,
            "the response ended with status `failed`",
        ),
        (r#"{"type":"response.failed"}"#, "the server sent `response.failed` without a message"),
        (
            r#"{"type":"response.completed","response":{"status":"cancelled"}}"#,
            "the response ended with status `cancelled`",
        ),
        (r#"{"error":{"message":"boom"}}"#, "boom"),
        (r#"{"detail":"boom"}"#, "boom"),
        (r#"{"type":"response.output_text.delta","delta":"x","error":{"message":"boom"}}"#, "boom"),
    ] {
        let row = stream(&[HELLO, bad, COMPLETED]);
        assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some(text)), "{bad}");
        assert_eq!(row.text, "Hello", "{bad}");
    }
    for bad in [
        r#"{"id":"r","status":"failed","error":{"code":"x","message":"boom"},"output":[]}"#,
        r#"{"error":{"message":"boom"}}"#,
        r#"{"detail":"boom"}"#,
    ] {
        let row = whole(bad);
        assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some("boom")), "{bad}");
    }
    let row = Response::stream(RESPONSES).observe(&data("openai-responses.error.sse"));
    assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some("The model broke.")));
}

#[test]
fn events_of_other_kinds_are_passed_over() {
    let row = stream(&[
        r#"{"type":"response.future_text.delta","delta":{"a":[1]},"text":7}"#,
        r#"{"type":"response.shell_call_output_content.delta","delta":{"stdout":"x"}}"#,
        r#"{"type":"keepalive","sequence_number":3}"#,
        r#"{"type":"future","message":"no error"}"#,
        HELLO,
        r#"{"type":"response.output_text.delta","delta":""}"#,
        r#"{"type":"response.output_text.delta","delta":null}"#,
        r#"{"type":"response.output_text.delta"}"#,
        COMPLETED,
        "{nonsense",
    ]);
    assert_eq!((row.outcome, &*row.text, row.event_ns.len(), row.events), (Outcome::Ok, "Hello", 1, 9));
}

#[test]
fn what_is_not_of_the_protocol_is_malformed() {
    for bad in [
        r#"{"type":"response.output_text.delta","delta":7}"#,
        r#"{"type":7}"#,
        r#"{"type":"response.completed","response":7}"#,
        "[]",
        "{",
    ] {
        assert_eq!(stream(&[HELLO, bad, COMPLETED]).outcome, Outcome::Malformed, "{bad}");
    }
    let row = stream(&[HELLO, r#"{"type":"response.completed","response":{"usage":"none"}}"#]);
    assert_eq!((row.outcome, row.completion_tokens), (Outcome::Ok, None));
}

#[test]
fn no_text_is_empty() {
    assert_eq!(stream(&[COMPLETED]).outcome, Outcome::Empty);
    assert_eq!(whole(r#"{"id":"r","status":"completed","output":[]}"#).outcome, Outcome::Empty);
}

#[test]
fn usage_on_each_event_counts_its_tokens() {
    let with = |text: &str, tokens: u32| {
        format!(
            r#"{{"type":"response.output_text.delta","delta":"{text}","usage":{{"input_tokens":3,"output_tokens":{tokens}}}}}"#
        )
    };
    let row = stream(&[&with("a", 1), &with("bcd", 4), COMPLETED]);
    assert_eq!((row.event_tokens, row.completion_tokens), (vec![1, 3], Some(4)));
}

#[test]
fn one_document_where_a_stream_was_asked_for_is_malformed() {
    let row = Response::stream(RESPONSES).observe(&data("openai-responses.all.json"));
    assert_eq!(row.outcome, Outcome::Malformed);
    let row = Response::stream(RESPONSES).observe(r#"{"error":{"message":"boom"}}"#);
    assert_eq!((row.outcome, row.error.as_deref()), (Outcome::ErrorInStream, Some("boom")));
}
