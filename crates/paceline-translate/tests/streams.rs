//! Streams, both ways, event by event.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use paceline_wire::Outcome;
use serde_json::{Value, json};
use support::{CHAT, MESSAGES, documents, observed, recorded, same_finish, stream, translated};

fn texts(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| event.as_str().map_or_else(|| event.to_string(), str::to_owned)).collect()
}

/// What a chat client gets for each event: the deltas, finish reasons and usages.
fn to_chat(usage_asked: bool, events: &[Value]) -> Vec<Vec<Value>> {
    let (sent, ended) = translated(CHAT, MESSAGES, usage_asked, &texts(events)).unwrap();
    assert!(ended);
    sent.iter()
        .map(|sent| {
            documents(CHAT, sent)
                .into_iter()
                .map(|mut chunk| {
                    if chunk.is_string() {
                        return chunk;
                    }
                    assert_eq!((&chunk["id"], &chunk["model"]), (&json!("msg_1"), &json!("m")));
                    assert_eq!(chunk["object"], "chat.completion.chunk");
                    if !chunk["usage"].is_null() {
                        assert_eq!(chunk["choices"], json!([]));
                        return chunk["usage"].take();
                    }
                    let choice = &mut chunk["choices"][0];
                    if choice["finish_reason"].is_null() {
                        choice["delta"].take()
                    } else {
                        choice["finish_reason"].take()
                    }
                })
                .collect()
        })
        .collect()
}

fn block_start(index: u32, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn block_delta(index: u32, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn block_stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn message_start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "usage": {"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 1}}})
}

fn message_delta(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}})
}

fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn a_message_event_by_event_for_chat() {
    let text = json!({"type": "text", "text": ""});
    let detail = |more: Value| {
        let mut detail = json!({"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0});
        for (name, value) in more.as_object().unwrap() {
            detail[name] = value.clone();
        }
        json!([detail])
    };
    let script = [
        (message_start(), vec![json!({"role": "assistant", "content": ""})]),
        (json!({"type": "ping"}), vec![]),
        (block_start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})), vec![]),
        (
            block_delta(0, &json!({"type": "thinking_delta", "thinking": "Hm"})),
            vec![
                json!({"reasoning": "Hm", "reasoning_content": "Hm", "reasoning_details": detail(json!({"text": "Hm"}))}),
            ],
        ),
        (
            block_delta(0, &json!({"type": "signature_delta", "signature": "c2ln"})),
            vec![json!({"reasoning_details": detail(json!({"signature": "c2ln"}))})],
        ),
        (block_stop(0), vec![]),
        (block_start(1, &text), vec![]),
        (block_delta(1, &json!({"type": "text_delta", "text": "It is"})), vec![json!({"content": "It is"})]),
        (block_delta(1, &json!({"type": "citations_delta", "citation": {"cited_text": "no"}})), vec![]),
        (block_stop(1), vec![]),
        (
            block_start(2, &json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}})),
            vec![
                json!({"tool_calls": [{"index": 0, "id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
            ],
        ),
        (block_delta(2, &json!({"type": "input_json_delta", "partial_json": ""})), vec![]),
        (
            block_delta(2, &json!({"type": "input_json_delta", "partial_json": "{\"a\":"})),
            vec![json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\":"}}]})],
        ),
        (
            block_delta(2, &json!({"type": "input_json_delta", "partial_json": "1}"})),
            vec![json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})],
        ),
        (block_stop(2), vec![]),
        (
            block_start(3, &json!({"type": "tool_use", "id": "t2", "name": "g", "input": {}})),
            vec![
                json!({"tool_calls": [{"index": 1, "id": "t2", "type": "function", "function": {"name": "g", "arguments": ""}}]}),
            ],
        ),
        (block_stop(3), vec![json!({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]})]),
        (json!({"type": "something_new"}), vec![]),
        (message_delta("tool_use"), vec![json!("tool_calls")]),
        (
            message_stop(),
            vec![
                json!({"prompt_tokens": 25, "completion_tokens": 7, "total_tokens": 32,
                    "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 0}}),
                json!("[DONE]"),
            ],
        ),
    ];
    let (events, expected): (Vec<_>, Vec<_>) = script.into_iter().unzip();
    assert_eq!(to_chat(true, &events), expected);
}

#[test]
fn chat_gets_usage_only_where_it_asked() {
    let events = [message_start(), message_delta("max_tokens"), message_stop()];
    let all: Vec<Value> = to_chat(false, &events).concat();
    assert_eq!(all[1..], [json!("length"), json!("[DONE]")]);
}

#[test]
fn a_chat_chunk_by_chunk_for_messages() {
    let chunk = |delta: Value| json!({"id": "c-1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let call = |index: u32, mut more: Value| {
        more["index"] = json!(index);
        more
    };
    let start = json!({"type": "message_start", "message": {"type": "message", "id": "c-1", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 0,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}}});
    let tool = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let arguments = |index: u32, text: &str| {
        block_delta(index, &json!({"type": "input_json_delta", "partial_json": text}))
    };
    let script = [
        (json!({"id": "", "choices": [], "prompt_filter_results": []}), vec![]),
        (chunk(json!({"role": "assistant", "content": ""})), vec![start]),
        (
            chunk(json!({"reasoning_content": "Hm"})),
            vec![
                block_start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
                block_delta(0, &json!({"type": "thinking_delta", "thinking": "Hm"})),
            ],
        ),
        (
            chunk(json!({"content": "It"})),
            vec![
                block_stop(0),
                block_start(1, &json!({"type": "text", "text": ""})),
                block_delta(1, &json!({"type": "text_delta", "text": "It"})),
            ],
        ),
        (
            chunk(json!({"content": " is"})),
            vec![block_delta(1, &json!({"type": "text_delta", "text": " is"}))],
        ),
        (
            chunk(
                json!({"tool_calls": [call(0, json!({"id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}))]}),
            ),
            vec![block_stop(1), block_start(2, &tool("t1", "f"))],
        ),
        (
            chunk(json!({"tool_calls": [call(0, json!({"function": {"arguments": "{\"a\":"}})),
                call(1, json!({"id": "t2", "function": {"name": "g", "arguments": "{}"}}))]})),
            vec![arguments(2, "{\"a\":")],
        ),
        (
            chunk(json!({"tool_calls": [call(0, json!({"function": {"arguments": "1}"}}))]})),
            vec![arguments(2, "1}"), block_stop(2), block_start(3, &tool("t2", "g")), arguments(3, "{}")],
        ),
        (
            json!({"id": "c-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            vec![block_stop(3)],
        ),
        (
            json!({"id": "c-1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}}}),
            vec![
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                    "usage": {"input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8, "output_tokens": 5}}),
                message_stop(),
            ],
        ),
        (json!("[DONE]"), vec![]),
    ];
    let (events, expected): (Vec<_>, Vec<_>) = script.into_iter().unzip();
    let (sent, ended) = translated(MESSAGES, CHAT, false, &texts(&events)).unwrap();
    assert!(ended);
    let found: Vec<_> = sent.iter().map(|sent| documents(MESSAGES, sent)).collect();
    assert_eq!(found, expected);
}

/// All blocks of what a messages client gets of these deltas: (type, text).
fn blocks(deltas: &[Value]) -> Result<Vec<(String, String)>, String> {
    let mut events: Vec<Value> =
        deltas.iter().map(|delta| json!({"id": "c", "choices": [{"delta": delta}]})).collect();
    events.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
    events.push(json!("[DONE]"));
    let (sent, ended) = translated(MESSAGES, CHAT, true, &texts(&events))?;
    assert!(ended);
    let mut found: Vec<(String, String)> = Vec::new();
    for event in documents(MESSAGES, &sent.concat()) {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(event["index"], found.len());
                let block = &event["content_block"];
                let name = block["name"].as_str().or(block["type"].as_str()).unwrap();
                found.push((name.to_owned(), String::new()));
            }
            "content_block_delta" => {
                assert_eq!(event["index"], found.len() - 1);
                let delta = event["delta"].as_object().unwrap();
                let text = delta.iter().find(|(name, _)| *name != "type").unwrap().1.as_str().unwrap();
                found.last_mut().unwrap().1.push_str(text);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn calls(calls: &[(u32, &str, &str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(index, id, name, arguments)| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}}))
        .collect();
    json!({"tool_calls": calls})
}

fn named(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn blocks_come_one_after_the_other() {
    for (deltas, expected) in [
        // Text between calls, and after one that is not whole.
        (
            vec![
                calls(&[(0, "a", "f", "{")]),
                json!({"content": "x"}),
                calls(&[(1, "b", "g", "{\"b\":")]),
                json!({"content": "y"}),
                calls(&[(0, "", "", "}")]),
                calls(&[(1, "", "", "2}")]),
            ],
            named(&[("f", "{}"), ("text", "x"), ("g", "{\"b\":2}"), ("text", "y")]),
        ),
        // Never whole: what waited comes at the end.
        (
            vec![calls(&[(0, "a", "f", "")]), calls(&[(1, "b", "g", "{}")]), json!({"content": "x"})],
            named(&[("f", ""), ("g", "{}"), ("text", "x")]),
        ),
        // Every call has number 0.
        (
            vec![calls(&[(0, "a", "f", "{}")]), calls(&[(0, "b", "f", "{\"x\":1}")])],
            named(&[("f", "{}"), ("f", "{\"x\":1}")]),
        ),
        // Name and id are repeated with each piece; a space comes late.
        (
            vec![
                calls(&[(0, "a", "f", "{")]),
                calls(&[(0, "a", "f", "}")]),
                json!({"content": "x"}),
                calls(&[(0, "a", "f", " ")]),
            ],
            named(&[("f", "{}"), ("text", "x")]),
        ),
        (
            vec![
                json!({"reasoning": "a"}),
                json!({"content": "b"}),
                json!({"reasoning": "c"}),
                json!({"refusal": "d"}),
            ],
            named(&[("thinking", "a"), ("text", "b"), ("thinking", "c"), ("text", "d")]),
        ),
    ] {
        assert_eq!(blocks(&deltas).unwrap(), expected);
    }
    let late = [calls(&[(0, "a", "f", "{}")]), json!({"content": "x"}), calls(&[(0, "", "", "{}")])];
    assert_eq!(
        blocks(&late).unwrap_err(),
        "choices[0].delta.tool_calls[0].function.arguments: the arguments of a call go on after their end"
    );
    let nameless = [calls(&[(0, "a", "", "{}")])];
    assert!(blocks(&nameless).unwrap_err().starts_with("choices[0].delta.tool_calls[0].function.name: "));
}

#[test]
fn the_end_of_a_message_waits_for_the_usage_or_the_marker() {
    let chunk = |choice: Value| json!({"id": "c", "choices": [choice]}).to_string();
    let say = chunk(json!({"delta": {"content": "a"}}));
    let finish = chunk(json!({"delta": {}, "finish_reason": "length"}));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}).to_string();
    let done = "[DONE]".to_owned();
    for (events, at) in [
        (vec![say.clone(), finish.clone(), usage.clone(), done.clone()], 2),
        (vec![say.clone(), finish.clone(), done.clone(), usage.clone()], 2),
        (vec![say.clone(), usage.clone(), finish, done.clone()], 3),
        (vec![say, done], 1),
        (vec!["[DONE]".to_owned()], 0),
    ] {
        let (sent, ended) = translated(MESSAGES, CHAT, false, &events).unwrap();
        assert!(ended);
        let ends = sent.iter().position(|sent| sent.contains("message_stop")).unwrap();
        assert_eq!(ends, at);
        assert!(sent[at].contains("message_delta"));
        assert!(sent[at + 1..].iter().all(String::is_empty));
    }
}

#[test]
fn errors_are_left_to_whoever_reads_the_stream() {
    let error = json!({"error": {"message": "boom"}}).to_string();
    let ends = json!({"choices": [{"delta": {}, "finish_reason": "error"}]}).to_string();
    for (client, upstream, events) in [
        (MESSAGES, CHAT, vec![error.clone()]),
        (
            CHAT,
            MESSAGES,
            vec![error, json!({"type": "error", "error": {"type": "overloaded_error"}}).to_string()],
        ),
    ] {
        assert_eq!(
            translated(client, upstream, true, &events).unwrap(),
            (vec![String::new(); events.len()], false)
        );
    }
    let (sent, ended) = translated(MESSAGES, CHAT, true, &[ends]).unwrap();
    assert!(sent[0].starts_with("event: message_start") && !sent[0].contains("message_delta") && !ended);
    for (client, upstream) in [(MESSAGES, CHAT), (CHAT, MESSAGES)] {
        for wrong in ["{", "[]", "7"] {
            assert!(
                translated(client, upstream, true, &[wrong.to_owned()]).unwrap_err().starts_with("event: ")
            );
        }
    }
}

#[test]
fn recorded_streams_are_read_the_same() {
    for (upstream, client, name) in [
        (MESSAGES, CHAT, "anthropic-messages.llama.sse"),
        (MESSAGES, CHAT, "anthropic-messages.all.sse"),
        (CHAT, MESSAGES, "openai-chat.llama.sse"),
        (CHAT, MESSAGES, "openai-chat.all.sse"),
    ] {
        let mut events = recorded(name);
        for event in &mut events {
            // Its second call has no name, which no server leaves out.
            let nameless = r#"{"index":1,"function":{"arguments""#;
            *event = event.replace(nameless, r#"{"index":1,"id":"t2","function":{"name":"g","arguments""#);
        }
        // What a server's own tools do is no part of a chat.
        events.retain(|event| !event.contains(r#""partial_json":"{\"query\""#));
        let expected = observed(upstream, true, &stream(&events));
        let (sent, ended) = translated(client, upstream, true, &events).unwrap();
        assert!(ended, "{name}");
        let found = observed(client, true, &sent.concat());
        assert_eq!((found.outcome, &found.error, found.end_marker), (Outcome::Ok, &None, true), "{name}");
        assert_eq!((found.kinds, found.tokens), (expected.kinds, expected.tokens), "{name}");
        assert_eq!((found.id, found.model), (expected.id, expected.model), "{name}");
        assert_eq!(found.texts[..2], expected.texts[..2], "{name}");
        let sorted = |text: &str| {
            let mut chars: Vec<char> = text.chars().collect();
            chars.sort_unstable();
            chars
        };
        // Pieces of two calls that came in turn have been put in order.
        assert_eq!(sorted(&found.texts[2]), sorted(&expected.texts[2]), "{name}");
        let (mut one, mut other) = (found.finish.unwrap(), expected.finish.unwrap());
        if client == MESSAGES {
            std::mem::swap(&mut one, &mut other);
        }
        assert!(same_finish(&one, &other, found.kinds & 4 > 0), "{name}: {one} {other}");
    }
}
