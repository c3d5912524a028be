//! Translating, and reading what was written.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use paceline_translate::{StreamTranslator, request, response};
use paceline_wire::{
    BodyEnd, Head, KIND_REASONING, KIND_TOOL_CALL, Limits, Outcome, Protocol, Stamp, StreamObserver,
};
use serde_json::Value;

pub(crate) const CHAT: Protocol = Protocol::OpenaiChat;
pub(crate) const MESSAGES: Protocol = Protocol::AnthropicMessages;

/// A request of a chat client for a messages upstream, named `up`; the error is its text.
pub(crate) fn chat_request(body: &Value) -> Result<Value, String> {
    asked(CHAT, MESSAGES, body)
}

/// A request of a messages client for a chat upstream.
pub(crate) fn messages_request(body: &Value) -> Result<Value, String> {
    asked(MESSAGES, CHAT, body)
}

fn asked(client: Protocol, upstream: Protocol, body: &Value) -> Result<Value, String> {
    request(client, upstream, body.to_string().as_bytes(), "up")
        .map(|body| serde_json::from_slice(&body).unwrap())
        .map_err(|error| error.to_string())
}

/// A whole answer in the client's words.
pub(crate) fn answer(client: Protocol, upstream: Protocol, body: &Value) -> Result<Value, String> {
    response(client, upstream, body.to_string().as_bytes())
        .map(|body| serde_json::from_slice(&body).unwrap())
        .map_err(|error| error.to_string())
}

/// What came of a stream, event by event.
pub(crate) fn translated(
    client: Protocol,
    upstream: Protocol,
    usage_asked: bool,
    events: &[String],
) -> Result<(Vec<String>, bool), String> {
    let mut translator = StreamTranslator::new(client, upstream, usage_asked);
    let mut sent = Vec::new();
    for event in events {
        let mut out = Vec::new();
        translator.event(event.as_bytes(), &mut out).map_err(|error| error.to_string())?;
        sent.push(String::from_utf8(out).unwrap());
    }
    Ok((sent, translator.ended()))
}

/// The documents of some events, whose framing is checked. `[DONE]` is a text.
pub(crate) fn documents(client: Protocol, sent: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = sent;
    while !rest.is_empty() {
        let (event, tail) = rest.split_once("\n\n").unwrap_or_else(|| panic!("no whole event: {rest}"));
        rest = tail;
        let data = if client == MESSAGES {
            let (name, data) = event.split_once('\n').unwrap();
            let document: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: ").unwrap(), document["type"].as_str().unwrap());
            document
        } else {
            match event.strip_prefix("data: ").unwrap() {
                "[DONE]" => Value::from("[DONE]"),
                data => serde_json::from_str(data).unwrap(),
            }
        };
        found.push(data);
    }
    found
}

/// What an observer says of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<String>,
    pub(crate) end_marker: bool,
    /// Content, reasoning, arguments of calls; of a whole answer all of it in the first.
    pub(crate) texts: [String; 3],
    pub(crate) kinds: u8,
    pub(crate) finish: Option<String>,
    /// Prompt, completion, reasoning, cached, written to a cache; none is 0.
    pub(crate) tokens: [i64; 5],
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
}

/// An observer's account of a body.
pub(crate) fn observed(protocol: Protocol, streaming: bool, body: &str) -> Seen {
    let limits = Limits { max_event_bytes: 1 << 22, keep_text: true, max_body_bytes: 1 << 22 };
    let mut observer = StreamObserver::new(protocol, streaming, limits);
    let content_type = Some(if streaming { "text/event-stream" } else { "application/json" });
    let stamp = Stamp { ns: 1, kernel: true, read: 1 };
    observer.on_head(&Head { status: 200, content_type, retry_after: None, request_id: None }, stamp);
    observer.on_body(body.as_bytes(), stamp);
    let row = observer.finish(BodyEnd::Complete, 2);
    let mut texts = [const { String::new() }; 3];
    let mut at = 0;
    for (kinds, bytes) in row.event_kind.iter().zip(&row.event_bytes) {
        let end = at + *bytes as usize;
        let place = match *kinds {
            KIND_REASONING => 1,
            KIND_TOOL_CALL => 2,
            _ => 0,
        };
        texts[place].push_str(&row.text[at..end]);
        at = end;
    }
    Seen {
        outcome: row.outcome,
        error: row.error,
        end_marker: row.end_marker,
        texts,
        kinds: row.event_kind.iter().fold(0, |all, kinds| all | kinds),
        finish: row.finish_reason,
        tokens: [
            row.prompt_tokens,
            row.completion_tokens,
            row.reasoning_tokens,
            row.cached_tokens,
            row.cache_write_tokens,
        ]
        .map(|tokens| tokens.unwrap_or(0)),
        id: row.response_id,
        model: row.server_model,
    }
}

/// A stream of these documents as an upstream sends it.
pub(crate) fn stream(events: &[String]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// The data of each event of a recorded stream.
pub(crate) fn recorded(name: &str) -> Vec<String> {
    let text = data(name);
    text.split("\n\n")
        .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")))
        .map(str::to_owned)
        .collect()
}

/// A recorded response.
pub(crate) fn data(name: &str) -> String {
    let path = format!("{}/../paceline-wire/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A finish reason of a chat is that of a messages answer.
pub(crate) fn same_finish(chat: &str, messages: &str, calls: bool) -> bool {
    match messages {
        "end_turn" | "stop_sequence" | "pause_turn" => chat == "stop",
        "max_tokens" | "model_context_window_exceeded" => chat == "length",
        "tool_use" => chat == "tool_calls" || chat == "stop" && calls,
        "refusal" => chat == "content_filter",
        _ => false,
    }
}
