//! Whole answers, both ways.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use paceline_translate::{Untranslatable, can_translate, request, response};
use paceline_wire::{Outcome, Protocol};
use serde_json::{Value, json};
use support::{CHAT, MESSAGES, answer, data, observed, same_finish};

fn to_chat(body: &Value) -> Value {
    let mut found = answer(CHAT, MESSAGES, body).unwrap();
    assert!(found["created"].as_i64().unwrap() > 1_700_000_000);
    found.as_object_mut().unwrap().remove("created");
    found
}

#[test]
fn a_message_in_chats_words() {
    let found = to_chat(&serde_json::from_str(&data("anthropic-messages.all.json")).unwrap());
    let format = "anthropic-claude-v1";
    assert_eq!(
        found,
        json!({
            "id": "msg_1", "object": "chat.completion", "model": "claude-1",
            "choices": [{"index": 0, "logprobs": null, "finish_reason": "tool_calls", "native_finish_reason": "tool_use", "message": {
                "role": "assistant", "content": "It is \"7\" 😀\n", "refusal": null,
                "reasoning": "Hm, größer. ", "reasoning_content": "Hm, größer. ",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "Hm, größer. ", "signature": "c2ln", "format": format, "index": 0},
                    {"type": "reasoning.encrypted", "data": "AAAA", "format": format, "index": 1}],
                "tool_calls": [{"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": "{\"city\":\"Köln\"}"}}],
            }}],
            "usage": {"prompt_tokens": 32, "completion_tokens": 25, "total_tokens": 57,
                "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 7},
                "completion_tokens_details": {"reasoning_tokens": 9}},
        })
    );
}

#[test]
fn a_chat_answer_in_the_words_of_messages() {
    let chat = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": "It is 7.", "reasoning": "Hm",
            "tool_calls": [
                {"id": "c:1", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1}"}},
                {"type": "function", "function": {"name": "g", "arguments": ""}}]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 3}},
    });
    assert_eq!(
        answer(MESSAGES, CHAT, &chat).unwrap(),
        json!({
            "id": "chatcmpl-1", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": ""},
                {"type": "text", "text": "It is 7."},
                {"type": "tool_use", "id": "c_1", "name": "f", "input": {"b": 1}},
                {"type": "tool_use", "id": "toolu_chatcmpl-1_1", "name": "g", "input": {}}],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 3, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 5, "output_tokens": 15,
                "output_tokens_details": {"thinking_tokens": 3}},
        })
    );
}

#[test]
fn how_it_ended() {
    let chat = |more: &Value| {
        let mut choice = json!({"index": 0, "message": {"role": "assistant", "content": "a"}});
        for (name, value) in more.as_object().unwrap() {
            choice[name] = value.clone();
        }
        let found = answer(MESSAGES, CHAT, &json!({"id": "c", "choices": [choice]})).unwrap();
        (found["stop_reason"].clone(), found["stop_sequence"].clone())
    };
    assert_eq!(chat(&json!({"finish_reason": "stop"})), (json!("end_turn"), Value::Null));
    assert_eq!(chat(&json!({"finish_reason": "length"})), (json!("max_tokens"), Value::Null));
    let named = json!({"finish_reason": "stop", "stop_reason": "END"});
    assert_eq!(chat(&named), (json!("stop_sequence"), json!("END")));
    let token = json!({"finish_reason": "stop", "stop_reason": 151_643});
    assert_eq!(chat(&token), (json!("end_turn"), Value::Null));
}

#[test]
fn texts_are_found_where_servers_put_them() {
    for (message, blocks) in [
        (json!({"content": null, "refusal": "No."}), json!([{"type": "text", "text": "No."}])),
        (json!({"audio": {"transcript": "la"}}), json!([{"type": "text", "text": "la"}])),
        (
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]}),
            json!([{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "yes"}]),
        ),
        (
            json!({"content": "y", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
            json!([{"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": "y"}]),
        ),
        (json!({"content": ""}), json!([])),
    ] {
        let chat = json!({"id": "c", "choices": [{"message": message, "finish_reason": "stop"}]});
        assert_eq!(answer(MESSAGES, CHAT, &chat).unwrap()["content"], blocks, "{message}");
    }
}

#[test]
fn recorded_answers_are_read_the_same() {
    for (upstream, client, name) in
        [(MESSAGES, CHAT, "anthropic-messages.llama.json"), (CHAT, MESSAGES, "openai-chat.all.json")]
    {
        let body = data(name);
        let sent = response(client, upstream, body.as_bytes()).unwrap();
        let found = observed(client, false, std::str::from_utf8(&sent).unwrap());
        let expected = observed(upstream, false, &body);
        assert_eq!((found.outcome, &found.error), (Outcome::Ok, &None));
        assert_eq!((&found.texts, found.kinds), (&expected.texts, expected.kinds));
        assert_eq!((found.tokens, found.id, found.model), (expected.tokens, expected.id, expected.model));
        let (mut one, mut other) = (found.finish.unwrap(), expected.finish.unwrap());
        if client == MESSAGES {
            std::mem::swap(&mut one, &mut other);
        }
        assert!(same_finish(&one, &other, found.kinds & 4 > 0), "{one} {other}");
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    for (client, upstream, body, said) in [
        (CHAT, MESSAGES, json!({"type": "error"}), "the answer is no message"),
        (CHAT, MESSAGES, json!({"type": "message", "content": [{}]}), "content[0].type: this is missing"),
        (MESSAGES, CHAT, json!({"error": {}}), "the answer has no choices"),
        (MESSAGES, CHAT, json!({"choices": [{}]}), "choices[0].message: this is missing"),
        (
            MESSAGES,
            CHAT,
            json!({"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]}}]}),
            "choices[0].message.tool_calls[0].function.arguments: the arguments of a call are no JSON object",
        ),
    ] {
        assert_eq!(answer(client, upstream, &body).unwrap_err(), said);
    }
}

#[test]
fn only_these_two_protocols_are_a_pair() {
    for client in Protocol::ALL {
        for upstream in Protocol::ALL {
            let pair =
                client != upstream && [client, upstream].iter().all(|one| [CHAT, MESSAGES].contains(one));
            assert_eq!(can_translate(client, upstream), pair);
            if !pair {
                let said = format!("{} is not translated into {}", client.name(), upstream.name());
                assert_eq!(request(client, upstream, b"{}", "up"), Err(Untranslatable(said.clone())));
                assert_eq!(response(client, upstream, b"{}"), Err(Untranslatable(said)));
            }
        }
    }
}
