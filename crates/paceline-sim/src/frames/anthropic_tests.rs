use serde_json::{Value, json};

use super::*;
use crate::config::SimConfig;
use crate::frames::Served;
use crate::request::{self, Protocol};

const USAGE: Usage = Usage { prompt: 9, cached: 4, written: 2, completion: 6, reasoning: 2 };

fn frames(shape: Shape, role_first: bool, empty_events: bool) -> Frames {
    let body = br#"{"model": "truth", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}"#;
    let call = request::parse(Protocol::Messages, body, &SimConfig::default()).unwrap();
    let served = Served::as_asked(&call);
    let manner = Manner {
        served: &served,
        call: &call,
        id: "msg-sim-7",
        created_s: 1_700_000_000,
        shape,
        token_ids: false,
        role_first,
        empty_events,
        usage: Some(Usage { completion: 0, reasoning: 0, ..USAGE }),
        fault: None,
    };
    Frames::new(&manner, Arc::new(Text::plain(1)))
}

/// The events written; each one's type is its name.
fn events(write: impl FnOnce(&mut Outbox)) -> Vec<Value> {
    let mut out = Outbox::default();
    write(&mut out);
    let text = String::from_utf8(out.bytes).unwrap();
    let chunks = text.split_terminator("\n\n\r\n").map(|chunk| chunk.split_once("\r\n").unwrap().1);
    chunks
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let json: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(json["type"], name.strip_prefix("event: ").unwrap());
            json
        })
        .collect()
}

fn whole_stream(shape: Shape, reason: &'static str) -> Vec<Value> {
    let frames = frames(shape, true, false);
    let ending = Ending { reason, usage: Some(USAGE), usage_each: false, usage_asked: true, marker: true };
    events(|out| {
        frames.opening(out);
        for token in 0..shape.total {
            frames.tokens(out, &shape.piece(token..token + 1), 0);
        }
        frames.end(out, &ending);
    })
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["delta"]["type"].as_str().unwrap_or_else(|| event["type"].as_str().unwrap()))
        .collect()
}

fn joined(events: &[Value], field: &str) -> String {
    events.iter().filter_map(|event| event["delta"][field].as_str()).collect()
}

#[test]
fn a_text_is_opened_filled_and_closed_in_order() {
    let stream = whole_stream(Shape::content_only(2), "stop");
    assert_eq!(
        types(&stream),
        [
            "message_start",
            "ping",
            "content_block_start",
            "text_delta",
            "text_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let message = &stream[0]["message"];
    assert_eq!((message["id"].clone(), message["content"].clone()), (json!("msg-sim-7"), json!([])));
    // 9 of the prompt: 4 from the cache, 2 into it, 3 neither.
    assert_eq!(
        message["usage"],
        json!({"input_tokens": 3, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4,
               "output_tokens": 1})
    );
    assert_eq!(
        stream[6],
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
               "usage": {"input_tokens": 3, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4,
                         "output_tokens": 6, "output_tokens_details": {"thinking_tokens": 2}}})
    );
}

#[test]
fn thinking_text_and_a_tool_call_are_blocks_of_their_own() {
    let stream = whole_stream(Shape::cut(6, 6, 2, 2), "tool_calls");
    assert_eq!(
        types(&stream)[2..],
        [
            "content_block_start",
            "thinking_delta",
            "thinking_delta",
            "signature_delta",
            "content_block_stop",
            "content_block_start",
            "text_delta",
            "text_delta",
            "content_block_stop",
            "content_block_start",
            "input_json_delta",
            "input_json_delta",
            "input_json_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let blocks: Vec<&Value> = stream.iter().filter(|event| event["type"] == "content_block_start").collect();
    let kinds: Vec<(u64, &str)> = blocks
        .iter()
        .map(|event| (event["index"].as_u64().unwrap(), event["content_block"]["type"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds, [(0, "thinking"), (1, "text"), (2, "tool_use")]);
    assert_eq!(blocks[2]["content_block"]["input"], json!({}));
    assert_eq!(stream[12]["delta"]["partial_json"], "", "the first delta of a tool call holds nothing");
    let arguments: Value = serde_json::from_str(&joined(&stream, "partial_json")).unwrap();
    assert_eq!(arguments["q"].as_str().unwrap().split_whitespace().count(), 2);
    assert_eq!(joined(&stream, "thinking").split_whitespace().count(), 2);
    assert_eq!(stream[stream.len() - 2]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn a_whole_answer_is_what_the_stream_adds_up_to() {
    let shape = Shape::cut(6, 6, 2, 2);
    let stream = whole_stream(shape, "length");
    let whole = frames(shape, true, false).whole("length", Some(USAGE), 4);
    let whole: Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(
        (whole["type"].clone(), whole["stop_reason"].clone()),
        (json!("message"), json!("max_tokens"))
    );
    assert_eq!(whole["content"][0]["thinking"], joined(&stream, "thinking").as_str());
    assert_eq!(whole["content"][0]["signature"], joined(&stream, "signature").as_str());
    assert_eq!(whole["content"][1]["text"], joined(&stream, "text").as_str());
    let arguments: Value = serde_json::from_str(&joined(&stream, "partial_json")).unwrap();
    assert_eq!(whole["content"][2]["input"], arguments);
    assert_eq!(whole["usage"]["output_tokens"], 6);
    assert_eq!(whole["padding"], "xxxx");
}

#[test]
fn the_opening_may_come_with_the_first_token_and_empty_deltas_before_it() {
    let shape = Shape::content_only(2);
    let late = frames(shape, false, false);
    let stream = events(|out| {
        late.opening(out);
        late.tokens(out, &shape.piece(0..1), 0);
    });
    assert_eq!(types(&stream), ["message_start", "ping", "content_block_start", "text_delta"]);
    let early = frames(shape, false, true);
    let stream = events(|out| {
        early.opening(out);
        early.empty(out);
        early.tokens(out, &shape.piece(0..1), 0);
    });
    assert_eq!(types(&stream), ["message_start", "ping", "content_block_start", "text_delta", "text_delta"]);
    assert_eq!(stream[3]["delta"]["text"], "");
}

#[test]
fn an_answer_without_tokens_has_no_block() {
    let stream = whole_stream(Shape::content_only(0), "stop");
    assert_eq!(types(&stream), ["message_start", "ping", "message_delta", "message_stop"]);
}

#[test]
fn an_error_has_the_form_of_the_protocol() {
    let stream = events(|out| frames(Shape::content_only(1), true, false).error(out));
    assert_eq!(
        (stream[0]["type"].clone(), stream[0]["error"]["type"].clone()),
        (json!("error"), json!("api_error"))
    );
}
