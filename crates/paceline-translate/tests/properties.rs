//! No input panics; and what is written for a client, the observer of its protocol reads as the observer of the
//! upstream's reads what came.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use paceline_translate::{StreamTranslator, request, response};
use paceline_wire::{Outcome, Protocol};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use support::{CHAT, MESSAGES, Seen, data, observed, recorded, same_finish, stream};

const PAIRS: [(Protocol, Protocol); 2] = [(CHAT, MESSAGES), (MESSAGES, CHAT)];

/// A piece of an answer.
#[derive(Debug, Clone)]
enum Piece {
    Thought(String),
    Text(String),
    /// Id, name, arguments.
    Call(String, String, Value),
}

#[derive(Debug, Clone)]
struct Script {
    pieces: Vec<Piece>,
    finish: &'static str,
    /// Uncached, cached, written, output, reasoning.
    tokens: [i64; 5],
    /// How texts are cut.
    cuts: Vec<Index>,
    usage_early: bool,
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[{}\\[\\]\"\\\\]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Names that mean something, and others.
fn name() -> impl Strategy<Value = String> {
    let known = select(vec![
        "type",
        "role",
        "content",
        "messages",
        "text",
        "tool_calls",
        "function",
        "arguments",
        "id",
        "name",
        "index",
        "choices",
        "delta",
        "message",
        "usage",
        "input",
        "thinking",
        "signature",
        "source",
        "tools",
        "tool_choice",
        "system",
        "max_tokens",
        "content_block",
        "partial_json",
        "stop_reason",
        "finish_reason",
        "reasoning",
        "reasoning_details",
        "output_config",
        "response_format",
        "error",
        "stop",
        "prompt_tokens",
        "output_tokens",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,4}"]
}

fn arguments() -> impl Strategy<Value = Value> {
    vec(("\\PC{1,4}", value()), 0..3).prop_map(|fields| {
        // Floats are written in many ways, which is not what this is about.
        Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name, Value::from(value.to_string())))
                .collect::<Map<_, _>>(),
        )
    })
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        "\\PC{1,12}|[\\n\\r\\t\"\\\\{}]{1,3}".prop_map(Piece::Thought),
        "\\PC{1,12}|[\\n\\r\\t\"\\\\{}]{1,3}".prop_map(Piece::Text),
        ("[a-z0-9_]{1,8}", "[a-z]{1,6}", arguments())
            .prop_map(|(id, name, arguments)| Piece::Call(id, name, arguments)),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let tokens = (0..1000_i64, 0..1000_i64, 0..1000_i64, 1..1000_i64, 0..1000_i64)
        .prop_map(|(a, b, c, d, e)| [a, b, c, d, e.min(d)]);
    (
        vec(piece(), 1..7),
        select(vec!["stop", "length", "content_filter"]),
        tokens,
        vec(any::<Index>(), 0..6),
        any::<bool>(),
    )
        .prop_map(|(mut pieces, finish, tokens, cuts, usage_early)| {
            for (i, piece) in pieces.iter_mut().enumerate() {
                if let Piece::Call(id, ..) = piece {
                    *id = format!("{id}_{i}");
                }
            }
            let calls = pieces.iter().any(|piece| matches!(piece, Piece::Call(..)));
            let finish = if calls && finish == "stop" { "tool_calls" } else { finish };
            Script { pieces, finish, tokens, cuts, usage_early }
        })
}

impl Script {
    /// A text in pieces.
    fn cut(&self, text: &str) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        let mut at: Vec<usize> = self.cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
        at.extend([0, chars.len()]);
        at.sort_unstable();
        at.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect()).collect()
    }

    fn has_calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Call(..)))
    }

    fn chat_usage(&self) -> Value {
        let [uncached, cached, written, output, reasoning] = self.tokens;
        let prompt = uncached + cached + written;
        json!({"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
            "completion_tokens_details": {"reasoning_tokens": reasoning}})
    }

    fn chat_events(&self) -> Vec<String> {
        let chunk = |delta: Value, finish: Option<&str>| {
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        let mut index = 0;
        for piece in &self.pieces {
            match piece {
                Piece::Thought(text) => {
                    events.extend(
                        self.cut(text).iter().map(|text| chunk(json!({"reasoning_content": text}), None)),
                    );
                }
                Piece::Text(text) => {
                    events.extend(self.cut(text).iter().map(|text| chunk(json!({"content": text}), None)));
                }
                Piece::Call(id, name, arguments) => {
                    let call = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
                    events.push(chunk(json!({"tool_calls": [call]}), None));
                    for text in self.cut(&arguments.to_string()) {
                        let call = json!({"index": index, "function": {"arguments": text}});
                        events.push(chunk(json!({"tool_calls": [call]}), None));
                    }
                    index += 1;
                }
            }
        }
        let mut last = chunk(json!({}), Some(self.finish));
        if self.usage_early {
            last["usage"] = self.chat_usage();
            events.push(last);
        } else {
            events.push(last);
            events
                .push(json!({"id": "chatcmpl-1", "model": "m-1", "choices": [], "usage": self.chat_usage()}));
        }
        events.iter().map(Value::to_string).chain(["[DONE]".to_owned()]).collect()
    }

    fn chat_whole(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": null});
        let (mut text, mut thought, mut calls) = (String::new(), String::new(), Vec::new());
        for piece in &self.pieces {
            match piece {
                Piece::Thought(more) => thought.push_str(more),
                Piece::Text(more) => text.push_str(more),
                Piece::Call(id, name, arguments) => {
                    let function = json!({"name": name, "arguments": arguments.to_string()});
                    calls.push(json!({"id": id, "type": "function", "function": function}));
                }
            }
        }
        message["content"] = json!(text);
        message["reasoning"] = json!(thought);
        message["tool_calls"] = json!(calls);
        json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1",
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish}], "usage": self.chat_usage()})
    }

    fn stop_reason(&self) -> &'static str {
        match self.finish {
            "stop" => "end_turn",
            "length" => "max_tokens",
            "tool_calls" => "tool_use",
            _ => "refusal",
        }
    }

    fn messages_usage(&self) -> Value {
        let [uncached, cached, written, output, reasoning] = self.tokens;
        json!({"input_tokens": uncached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": written,
            "output_tokens": output, "output_tokens_details": {"thinking_tokens": reasoning}})
    }

    fn block(piece: &Piece, empty: bool) -> Value {
        let keep = |text: &str| if empty { String::new() } else { text.to_owned() };
        match piece {
            Piece::Thought(text) => json!({"type": "thinking", "thinking": keep(text), "signature": ""}),
            Piece::Text(text) => json!({"type": "text", "text": keep(text)}),
            Piece::Call(id, name, arguments) => {
                let input = if empty { json!({}) } else { arguments.clone() };
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        }
    }

    fn messages_events(&self) -> Vec<String> {
        let mut begins = self.messages_usage();
        begins["output_tokens"] = json!(1);
        let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": begins});
        let mut events = vec![json!({"type": "message_start", "message": message})];
        for (index, piece) in self.pieces.iter().enumerate() {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": Self::block(piece, true)}));
            let (kind, name, text) = match piece {
                Piece::Thought(text) => ("thinking_delta", "thinking", text.clone()),
                Piece::Text(text) => ("text_delta", "text", text.clone()),
                Piece::Call(_, _, arguments) => ("input_json_delta", "partial_json", arguments.to_string()),
            };
            for text in self.cut(&text) {
                events.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}}));
                events.push(json!({"type": "ping"}));
            }
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let usage = if self.usage_early {
            let [_, _, _, output, reasoning] = self.tokens;
            json!({"output_tokens": output, "output_tokens_details": {"thinking_tokens": reasoning}})
        } else {
            self.messages_usage()
        };
        let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": null});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push(json!({"type": "message_stop"}));
        events.iter().map(Value::to_string).collect()
    }

    fn messages_whole(&self) -> Value {
        let content: Vec<Value> = self.pieces.iter().map(|piece| Self::block(piece, false)).collect();
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": content,
            "stop_reason": self.stop_reason(), "stop_sequence": null, "usage": self.messages_usage()})
    }

    fn events(&self, upstream: Protocol) -> Vec<String> {
        if upstream == CHAT { self.chat_events() } else { self.messages_events() }
    }

    fn whole(&self, upstream: Protocol) -> String {
        if upstream == CHAT { self.chat_whole() } else { self.messages_whole() }.to_string()
    }
}

/// The client's answer is the upstream's.
fn same(client: Protocol, found: &Seen, expected: &Seen, calls: bool) -> Result<(), TestCaseError> {
    prop_assert_eq!((found.outcome, &found.error), (Outcome::Ok, &None));
    prop_assert_eq!(expected.outcome, Outcome::Ok);
    prop_assert_eq!(found.kinds, expected.kinds);
    prop_assert_eq!(found.tokens, expected.tokens);
    prop_assert_eq!((&found.id, &found.model), (&expected.id, &expected.model));
    let (found, expected) = (found.finish.clone().unwrap(), expected.finish.clone().unwrap());
    let (chat, messages) = if client == CHAT { (found, expected) } else { (expected, found) };
    prop_assert!(same_finish(&chat, &messages, calls), "{} {}", chat, messages);
    Ok(())
}

fn sorted(texts: &[String; 3]) -> Vec<char> {
    let mut chars: Vec<char> = texts.concat().chars().collect();
    chars.sort_unstable();
    chars
}

/// Everything that can be done with some bytes.
fn touch(bytes: &[u8]) {
    for (client, upstream) in PAIRS {
        let _ = request(client, upstream, bytes, "up");
        let _ = response(client, upstream, bytes);
        let mut translator = StreamTranslator::new(client, upstream, true);
        let mut out = Vec::new();
        let _ = translator.event(bytes, &mut out);
        let _ = translator.event(b"[DONE]", &mut out);
        assert!(translator.ended());
    }
}

/// Valid bodies of all kinds, to be spoilt.
fn bodies() -> Vec<String> {
    let mut found = vec![
        json!({"model": "m", "max_tokens": 9, "stream": true, "temperature": 1, "stop": ["x"], "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
            "tool_choice": {"type": "function", "function": {"name": "f"}}, "reasoning": {"effort": "low"},
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
                {"role": "assistant", "reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": "s"}],
                    "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "r"}]}).to_string(),
        json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "s"}], "thinking": {"type": "enabled", "budget_tokens": 4},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}}, "metadata": {"user_id": "u"},
            "tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
            "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": {"type": "url", "url": "https://h.example"}}]}]}]}).to_string(),
        data("anthropic-messages.all.json"),
        data("openai-chat.all.json"),
    ];
    found.extend(recorded("anthropic-messages.all.sse"));
    found.extend(recorded("openai-chat.all.sse"));
    found
}

/// What stands in place of a part of a body.
const SPOILS: [&str; 16] = [
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"x\"",
    "\"\\ud800\"",
    "{}",
    "[]",
    "[{},{}]",
    "{\"type\":\"text\",\"text\":1}",
    "[[[[[[[[]]]]]]]]",
    "\"é😀\"",
    "",
];

#[test]
fn depth_is_no_danger() {
    for nested in ["[", "{\"a\":", "{\"messages\":[{\"content\":["] {
        touch(nested.repeat(100_000).as_bytes());
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for field in ["messages", "tools", "content", "choices", "delta", "stop", "max_tokens", "usage", "other"]
    {
        touch(format!("{{\"type\":\"message_start\",\"{field}\":{deep}}}").as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_stays_what_it_is(script in script()) {
        for (client, upstream) in PAIRS {
            let events = script.events(upstream);
            let expected = observed(upstream, true, &stream(&events));
            let mut translator = StreamTranslator::new(client, upstream, true);
            let mut sent = Vec::new();
            for event in &events {
                translator.event(event.as_bytes(), &mut sent).unwrap();
            }
            prop_assert!(translator.ended());
            let sent = String::from_utf8(sent).unwrap();
            let found = observed(client, true, &sent);
            same(client, &found, &expected, script.has_calls())?;
            prop_assert!(found.end_marker);
            prop_assert_eq!(&found.texts, &expected.texts);
        }
    }

    #[test]
    fn a_whole_answer_stays_what_it_is(script in script()) {
        for (client, upstream) in PAIRS {
            let body = script.whole(upstream);
            let expected = observed(upstream, false, &body);
            let sent = response(client, upstream, body.as_bytes()).unwrap();
            let found = observed(client, false, std::str::from_utf8(&sent).unwrap());
            same(client, &found, &expected, script.has_calls())?;
            // Chat has no order among what is thought, said and called.
            prop_assert_eq!(sorted(&found.texts), sorted(&expected.texts));
        }
    }

    #[test]
    fn a_whole_answer_comes_back(script in script()) {
        let there = response(CHAT, MESSAGES, script.messages_whole().to_string().as_bytes()).unwrap();
        let back = response(MESSAGES, CHAT, &there).unwrap();
        let back: Value = serde_json::from_slice(&back).unwrap();
        let whole = script.messages_whole();
        prop_assert_eq!(&back["usage"], &whole["usage"]);
        prop_assert_eq!(&back["stop_reason"], &whole["stop_reason"]);
        let calls = |body: &Value| -> Vec<Value> {
            body["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use").cloned().collect()
        };
        prop_assert_eq!(calls(&back), calls(&whole));
    }

    #[test]
    fn any_json_is_read_or_refused(value in value(), fields in vec((name(), value()), 0..8)) {
        touch(value.to_string().as_bytes());
        touch(Value::Object(fields.into_iter().collect()).to_string().as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..64)) {
        touch(&bytes);
    }

    #[test]
    fn spoilt_bodies_are_read_or_refused(
        which in any::<Index>(), at in vec((any::<Index>(), any::<Index>(), select(&SPOILS[..])), 1..4)
    ) {
        let bodies = bodies();
        let mut body = bodies[which.index(bodies.len())].clone();
        for (from, to, spoil) in at {
            // From one mark of JSON to another: mostly still JSON, but another.
            let marks: Vec<usize> = body.match_indices([':', ',', '{', '}', '[', ']']).map(|(at, _)| at).collect();
            if marks.is_empty() {
                break;
            }
            let from = marks[from.index(marks.len())];
            let later: Vec<usize> = marks.iter().copied().filter(|mark| *mark > from).take(3).collect();
            let to = if later.is_empty() { body.len() } else { later[to.index(later.len())] };
            body.replace_range((from + 1).min(to)..to, spoil);
        }
        touch(body.as_bytes());
    }

    #[test]
    fn spoilt_streams_are_read_or_refused(script in script(), drop in vec(any::<Index>(), 0..4), twice in any::<Index>()) {
        for (client, upstream) in PAIRS {
            let mut events = script.events(upstream);
            for at in &drop {
                events.remove(at.index(events.len()));
            }
            let again = events[twice.index(events.len())].clone();
            events.insert(twice.index(events.len()), again);
            let mut translator = StreamTranslator::new(client, upstream, true);
            let mut out = Vec::new();
            let fine = events.iter().all(|event| translator.event(event.as_bytes(), &mut out).is_ok());
            // Whatever was left out, what is sent is whole events of the client's protocol.
            let sent = String::from_utf8(out).unwrap();
            support::documents(client, &sent);
            if fine && translator.ended() {
                prop_assert!(matches!(observed(client, true, &sent).outcome, Outcome::Ok | Outcome::Empty));
            }
        }
    }
}
