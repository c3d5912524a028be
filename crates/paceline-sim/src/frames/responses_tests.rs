use serde_json::{Value, json};

use super::*;
use crate::config::SimConfig;
use crate::fault::FaultKind;
use crate::frames::Served;
use crate::request::{self, Protocol};

const USAGE: Usage = Usage { prompt: 9, cached: 4, written: 2, completion: 6, reasoning: 2 };

fn frames(shape: Shape, fields: &str, empty_events: bool, fault: Option<FaultKind>) -> Frames {
    let body = format!(r#"{{"model": "truth", "input": "a"{fields}}}"#);
    let call = request::parse(Protocol::Responses, body.as_bytes(), &SimConfig::default()).unwrap();
    let served = Served::as_asked(&call);
    let manner = Manner {
        served: &served,
        call: &call,
        id: "resp-sim-7",
        created_s: 1_700_000_000,
        shape,
        token_ids: false,
        role_first: true,
        empty_events,
        usage: None,
        fault,
    };
    Frames::new(&manner, Arc::new(Text::plain(1)))
}

/// The events written: each one's name and JSON, whose type is the name.
fn events(write: impl FnOnce(&mut Outbox)) -> Vec<(String, Value)> {
    let mut out = Outbox::default();
    write(&mut out);
    let text = String::from_utf8(out.bytes).unwrap();
    let chunks = text.split_terminator("\n\n\r\n").map(|chunk| chunk.split_once("\r\n").unwrap().1);
    chunks
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let name = name.strip_prefix("event: ").unwrap();
            let json: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(json["type"], name);
            (name.to_owned(), json)
        })
        .collect()
}

fn whole_stream(frames: &mut Frames, shape: Shape, reason: &'static str) -> Vec<(String, Value)> {
    let ending = Ending { reason, usage: Some(USAGE), usage_each: false, usage_asked: true, marker: true };
    events(|out| {
        frames.opening(out);
        for token in 0..shape.total {
            frames.tokens(out, &shape.piece(token..token + 1), 0);
        }
        frames.end(out, &ending);
    })
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.trim_start_matches("response.")).collect()
}

fn joined(events: &[(String, Value)], name: &str) -> String {
    events.iter().filter(|(had, _)| had == name).map(|(_, json)| json["delta"].as_str().unwrap()).collect()
}

#[test]
fn a_text_is_opened_filled_and_closed_in_order() {
    let shape = Shape::content_only(2);
    let stream = whole_stream(&mut frames(shape, "", false, None), shape, "stop");
    assert_eq!(
        names(&stream),
        [
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "completed"
        ]
    );
    let sequence: Vec<u64> =
        stream.iter().map(|(_, json)| json["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(sequence, (0..10).collect::<Vec<_>>());
    let text = joined(&stream, "response.output_text.delta");
    let response = &stream[9].1["response"];
    assert_eq!(stream[6].1["text"], text.as_str());
    assert_eq!(response["output"][0]["content"][0]["text"], text.as_str());
    assert_eq!(
        (response["status"].clone(), response["id"].clone()),
        (json!("completed"), json!("resp-sim-7"))
    );
    assert_eq!(
        response["usage"],
        json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
               "output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15})
    );
    assert_eq!(
        (stream[0].1["response"]["status"].clone(), stream[0].1["response"]["usage"].clone()),
        (json!("in_progress"), Value::Null)
    );
}

#[test]
fn reasoning_text_and_a_tool_call_are_items_of_their_own() {
    let shape = Shape::cut(6, 6, 2, 2);
    for (fields, delta, part) in [
        ("", "response.reasoning_text.delta", "content"),
        (r#", "reasoning": {"summary": "auto"}"#, "response.reasoning_summary_text.delta", "summary"),
    ] {
        let stream = whole_stream(&mut frames(shape, fields, false, None), shape, "tool_calls");
        let added: Vec<(u64, &str)> = stream
            .iter()
            .filter(|(name, _)| name == "response.output_item.added")
            .map(|(_, json)| (json["output_index"].as_u64().unwrap(), json["item"]["type"].as_str().unwrap()))
            .collect();
        assert_eq!(added, [(0, "reasoning"), (1, "message"), (2, "function_call")]);
        assert_eq!(joined(&stream, delta).split_whitespace().count(), 2);
        let arguments = joined(&stream, "response.function_call_arguments.delta");
        assert_eq!(arguments.split_whitespace().count(), 2);
        let output = &stream.last().unwrap().1["response"]["output"];
        assert_eq!(output[0][part][0]["text"], joined(&stream, delta).as_str());
        assert_eq!(output[2]["arguments"], arguments.as_str());
        assert_eq!(output[2]["status"], "completed");
        let call: Value = serde_json::from_str(&arguments).unwrap();
        assert_eq!(call["q"].as_str().unwrap().split_whitespace().count(), 2);
        // Each item is done before the next is added.
        let done = names(&stream).iter().position(|name| *name == "output_item.done").unwrap();
        let second = stream.iter().position(|(_, json)| json["output_index"] == 1).unwrap();
        assert!(done < second);
    }
}

#[test]
fn a_limit_makes_it_incomplete() {
    let shape = Shape::content_only(1);
    let stream =
        whole_stream(&mut frames(shape, r#", "max_output_tokens": 1"#, false, None), shape, "length");
    let (name, json) = stream.last().unwrap();
    assert_eq!(name, "response.incomplete");
    assert_eq!(json["response"]["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(json["response"]["output"][0]["status"], "incomplete");
    assert_eq!(json["response"]["max_output_tokens"], 1);
}

#[test]
fn empty_deltas_belong_to_an_item_that_was_added() {
    let shape = Shape::cut(2, 2, 1, 0);
    let mut frames = frames(shape, "", true, None);
    let stream = events(|out| {
        frames.opening(out);
        frames.empty(out);
        frames.tokens(out, &shape.piece(0..2), 3);
    });
    assert_eq!(
        names(&stream)[2..],
        [
            "output_item.added",
            "content_part.added",
            "reasoning_text.delta",
            "reasoning_text.delta",
            "reasoning_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta"
        ]
    );
    assert_eq!((stream[4].1["delta"].clone(), stream[5].1["padding"].clone()), (json!(""), json!("xxx")));
}

#[test]
fn an_error_is_said_and_the_response_has_failed() {
    let shape = Shape::content_only(3);
    let mut frames = frames(shape, "", false, None);
    let stream = events(|out| frames.error(out));
    assert_eq!(names(&stream), ["error", "failed"]);
    assert!(stream[0].1["message"].is_string());
    assert_eq!(stream[1].1["response"]["error"]["code"], "server_error");
    assert_eq!(stream[1].1["response"]["output"], json!([]));
}

#[test]
fn a_whole_answer_is_the_response_of_the_last_event() {
    let shape = Shape::cut(6, 6, 2, 2);
    let mut frames = frames(shape, "", false, None);
    let whole: Value = serde_json::from_slice(&frames.whole("tool_calls", Some(USAGE), 0)).unwrap();
    let stream = whole_stream(&mut frames, shape, "tool_calls");
    assert_eq!(stream.last().unwrap().1["response"], whole);
    assert_eq!(whole["object"], "response");
    let padded: Value = serde_json::from_slice(&frames.whole("stop", None, 5)).unwrap();
    assert_eq!((padded["padding"].clone(), padded["usage"].clone()), (json!("xxxxx"), Value::Null));
}

#[test]
fn styles_reach_the_name_of_an_event_too() {
    let shape = Shape::content_only(1);
    let text = |fault| {
        let mut out = Outbox::default();
        frames(shape, "", false, Some(fault)).empty(&mut out);
        String::from_utf8(out.bytes).unwrap().split_once("\r\n").unwrap().1.to_owned()
    };
    assert!(text(FaultKind::Crlf).starts_with("event: response.output_text.delta\r\ndata: {"));
    assert!(text(FaultKind::NoSpace).starts_with("event:response.output_text.delta\ndata:{"));
    assert!(
        text(FaultKind::MultiLine).starts_with("event: response.output_text.delta\ndata: {\ndata: \"type\"")
    );
    assert!(text(FaultKind::Comments).starts_with(": keep-alive\n\nevent: "));
}
