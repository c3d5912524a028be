use serde_json::{Value, json};

use super::*;
use crate::config::SimConfig;
use crate::fault::FaultKind;
use crate::frames::Served;
use crate::request::{self, Call};

/// A call of the model `a "model"`, with further fields.
fn call(protocol: Protocol, fields: &str) -> Call {
    let config = SimConfig { models: vec!["a \"model\"".to_owned()], ..SimConfig::default() };
    let body =
        format!(r#"{{"model": "a \"model\"", "prompt": "a", "messages": [{{"content": "a"}}]{fields}}}"#);
    request::parse(protocol, body.as_bytes(), &config).unwrap()
}

fn frames(protocol: Protocol, shape: Shape, fault: Option<FaultKind>, role_first: bool) -> Frames {
    frames_of(&call(protocol, ""), shape, fault, role_first)
}

fn frames_of(call: &Call, shape: Shape, fault: Option<FaultKind>, role_first: bool) -> Frames {
    let served = Served::as_asked(call);
    let manner = Manner {
        served: &served,
        call,
        id: "chatcmpl-sim-7",
        created_s: 1_700_000_000,
        shape,
        token_ids: true,
        role_first,
        empty_events: false,
        usage: None,
        fault,
    };
    Frames::new(&manner, Arc::new(Text::plain(1)))
}

fn written(write: impl FnOnce(&mut Outbox)) -> String {
    let mut out = Outbox::default();
    write(&mut out);
    String::from_utf8(out.bytes).unwrap()
}

/// Takes the chunk framing and `data: ` off one event.
fn payload(chunk: &str) -> Value {
    let (size, rest) = chunk.split_once("\r\n").unwrap();
    let event = rest.strip_suffix("\r\n").unwrap();
    assert_eq!(usize::from_str_radix(size, 16).unwrap(), event.len());
    serde_json::from_str(event.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap()).unwrap()
}

const USAGE: Usage = Usage { prompt: 5, cached: 2, written: 0, completion: 9, reasoning: 1 };

const ENDING: Ending =
    Ending { reason: "stop", usage: Some(USAGE), usage_each: false, usage_asked: true, marker: true };

#[test]
fn a_chat_event_is_json_with_all_kinds() {
    let shape = Shape::cut(6, 6, 2, 2);
    let frames = frames(Protocol::Chat, shape, None, false);
    let event = payload(&written(|out| frames.tokens(out, &shape.piece(0..6), Some(USAGE), 3)));
    assert_eq!(event["model"], "a \"model\"");
    assert_eq!(event["object"], "chat.completion.chunk");
    let delta = &event["choices"][0]["delta"];
    assert_eq!(delta["role"], "assistant");
    for field in ["reasoning_content", "content"] {
        assert_eq!(delta[field].as_str().unwrap().split_whitespace().count(), 2, "{field}");
    }
    let call = &delta["tool_calls"][0];
    assert_eq!(call["id"], "call-sim-7");
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["q"].as_str().unwrap().split_whitespace().count(), 2);
    assert_eq!(event["choices"][0]["token_ids"].as_array().unwrap().len(), 6);
    assert_eq!(event["usage"]["total_tokens"], 14);
    assert_eq!(event["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
    assert_eq!(event["padding"], "xxx");
}

#[test]
fn a_tool_calls_arguments_join_to_one_json_object() {
    let shape = Shape::cut(5, 5, 0, 5);
    let frames = frames(Protocol::Chat, shape, None, true);
    let joined: String = (0..5)
        .map(|k| payload(&written(|out| frames.tokens(out, &shape.piece(k..k + 1), None, 0))))
        .map(|event| {
            let call = &event["choices"][0]["delta"]["tool_calls"][0];
            call["function"]["arguments"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(joined.split_whitespace().count(), 5, "a token is a word here too");
    let arguments: Value = serde_json::from_str(&joined).unwrap();
    assert_eq!(arguments["q"].as_str().unwrap().split_whitespace().count(), 5);
}

#[test]
fn a_completions_event_has_text() {
    let shape = Shape::content_only(3);
    let frames = frames(Protocol::Completions, shape, None, true);
    let event = payload(&written(|out| frames.tokens(out, &shape.piece(0..3), None, 0)));
    assert_eq!(event["object"], "text_completion");
    assert_eq!(event["choices"][0]["text"].as_str().unwrap().split_whitespace().count(), 3);
    assert!(event.get("usage").is_none());
}

#[test]
fn events_without_tokens_have_their_shapes() {
    let shape = Shape::cut(1, 1, 0, 0);
    let chat = frames(Protocol::Chat, shape, None, true);
    let completions = frames(Protocol::Completions, shape, None, true);
    assert_eq!(
        payload(&written(|out| chat.opening(out)))["choices"][0]["delta"],
        json!({"role": "assistant", "content": ""})
    );
    assert_eq!(payload(&written(|out| chat.empty(out)))["choices"][0]["delta"], json!({"content": ""}));
    assert_eq!(payload(&written(|out| completions.empty(out)))["choices"][0]["text"], "");
    let ended = written(|out| chat.end(out, &ENDING));
    let (finish, rest) = split(&ended);
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert!(finish.get("usage").is_none());
    let (usage, rest) = split(rest);
    assert_eq!(
        (usage["choices"].clone(), usage["usage"]["completion_tokens"].clone()),
        (json!([]), json!(9))
    );
    assert_eq!(rest, "e\r\ndata: [DONE]\n\n\r\n");
    let failed = written(|out| chat.error(out));
    let (error, rest) = split(&failed);
    assert_eq!(error["error"]["type"], "server_error");
    assert_eq!(rest, "e\r\ndata: [DONE]\n\n\r\n");
    assert_eq!(written(Outbox::end_of_body), "0\r\n\r\n");
}

/// The first event of several, and the rest.
fn split(chunks: &str) -> (Value, &str) {
    let (first, rest) = chunks.split_at(chunks.find("\n\n\r\n").unwrap() + 4);
    (payload(first), rest)
}

#[test]
fn log_probabilities_come_where_they_are_asked_for() {
    let shape = Shape::content_only(2);
    let asked = |protocol, fields: &str| {
        let frames = frames_of(&call(protocol, fields), shape, None, true);
        payload(&written(|out| frames.tokens(out, &shape.piece(0..2), None, 0)))["choices"][0].clone()
    };
    let chat = asked(Protocol::Chat, r#", "logprobs": true"#);
    let content = chat["logprobs"]["content"].as_array().unwrap();
    let joined: String = content.iter().map(|entry| entry["token"].as_str().unwrap()).collect();
    assert_eq!(joined, chat["delta"]["content"].as_str().unwrap());
    assert!(content.iter().all(|entry| entry["logprob"].as_f64().unwrap() < 0.0));
    let completions = asked(Protocol::Completions, r#", "logprobs": 1"#);
    assert_eq!(completions["logprobs"]["tokens"].as_array().unwrap().len(), 2);
    assert_eq!(completions["logprobs"]["token_logprobs"].as_array().unwrap().len(), 2);
    assert!(asked(Protocol::Chat, r#", "logprobs": false"#)["logprobs"].is_null());
}

#[test]
fn whole_answers_are_json() {
    let shape = Shape::cut(6, 6, 2, 2);
    let chat = frames(Protocol::Chat, shape, None, true);
    let body: Value = serde_json::from_slice(&chat.whole("tool_calls", Some(USAGE), 0)).unwrap();
    assert_eq!(body["object"], "chat.completion");
    let message = &body["choices"][0]["message"];
    assert_eq!(message["content"].as_str().unwrap().split_whitespace().count(), 2);
    assert_eq!(message["reasoning_content"].as_str().unwrap().split_whitespace().count(), 2);
    let arguments = message["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(arguments).is_ok());
    let shape = Shape::content_only(4);
    let body: Value =
        serde_json::from_slice(&frames(Protocol::Completions, shape, None, true).whole("length", None, 9))
            .unwrap();
    assert_eq!(body["choices"][0]["text"].as_str().unwrap().split_whitespace().count(), 4);
    assert_eq!(body["padding"].as_str().unwrap().len(), 9);
}

#[test]
fn styles_change_the_framing_and_not_the_json() {
    let shape = Shape::content_only(1);
    let event = |fault| {
        let frames = frames(Protocol::Chat, shape, fault, true);
        let chunk = written(|out| frames.tokens(out, &shape.piece(0..1), None, 0));
        chunk.split_once("\r\n").unwrap().1.strip_suffix("\r\n").unwrap().to_owned()
    };
    let plain = event(None);
    let json = plain.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
    assert_eq!(event(Some(FaultKind::Crlf)), format!("data: {json}\r\n\r\n"));
    assert_eq!(event(Some(FaultKind::NoSpace)), format!("data:{json}\n\n"));
    assert_eq!(event(Some(FaultKind::Comments)), format!(": keep-alive\n\ndata: {json}\n\n"));
    let two_lines = event(Some(FaultKind::MultiLine));
    assert_eq!(two_lines, format!("data: {{\ndata: {}\n\n", &json[1..]));
    assert!(serde_json::from_str::<Value>(&format!("{{\n{}", &json[1..])).is_ok());
}

#[test]
fn a_broken_event_is_not_json() {
    let shape = Shape::content_only(1);
    let frames = frames(Protocol::Chat, shape, None, true);
    let chunk = written(|out| frames.broken(out, &shape.piece(0..1)));
    let line = chunk.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    assert!(serde_json::from_str::<Value>(line).is_err());
}
