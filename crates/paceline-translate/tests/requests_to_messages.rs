//! Chat requests in the words of the messages protocol.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::chat_request;

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The least request, and what is more.
fn with(more: &Value) -> Value {
    let mut body = json!({"model": "m", "messages": [user("Hi")]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// What becomes of further fields, beside what is always there.
fn becomes(more: &Value) -> Value {
    let mut found = chat_request(&with(more)).unwrap();
    let fields = found.as_object_mut().unwrap();
    assert_eq!(fields.remove("model"), Some(json!("up")));
    if fields["max_tokens"] == json!(4096) {
        fields.remove("max_tokens");
    }
    if fields["messages"] == json!([user("Hi")]) {
        fields.remove("messages");
    }
    found
}

fn refused(more: &Value) -> String {
    chat_request(&with(more)).unwrap_err()
}

#[test]
fn the_least_request() {
    assert_eq!(
        chat_request(&with(&json!({}))).unwrap(),
        json!({"model": "up", "max_tokens": 4096, "messages": [user("Hi")]})
    );
}

#[test]
fn a_talk_with_tools() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        user("Weather?"),
        {"role": "assistant", "content": "\n", "tool_calls": [call("c:1", "{\"city\": \"Köln\"}"), call("c2", "")]},
        {"role": "tool", "tool_call_id": "c:1", "content": "7 °C"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        user("And now?"),
        {"role": "assistant", "content": [{"type": "text", "text": "Cold"}, {"type": "refusal", "refusal": "No."}]},
        user("Why?"),
    ]);
    let found = becomes(&json!({"messages": messages}));
    assert_eq!(
        found,
        json!({"system": "Be brief.\n\nBe kind.", "messages": [
            user("Weather?"),
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c_1", "name": "f", "input": {"city": "Köln"}},
                {"type": "tool_use", "id": "c2", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c_1", "content": "7 °C"},
                {"type": "tool_result", "tool_use_id": "c2", "content": [
                    {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"type": "text", "text": "And now?"},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "Cold"}, {"type": "text", "text": "No."}]},
            user("Why?"),
        ]})
    );
}

#[test]
fn images() {
    let image = |url: Value| json!([{"role": "user", "content": [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": url}]}]);
    let source = |url: Value| {
        chat_request(&with(&json!({"messages": image(url)})))
            .map(|found| found["messages"][0]["content"][1]["source"].clone())
    };
    let base64 = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    assert_eq!(source(json!({"url": PNG, "detail": "low"})).unwrap(), base64);
    assert_eq!(source(json!(PNG)).unwrap(), base64);
    let url = "https://h.example/cat.png";
    assert_eq!(source(json!({"url": url})).unwrap(), json!({"type": "url", "url": url}));
    for wrong in ["cat.png", "file:///cat.png", "data:image/png,abc", ""] {
        let error = source(json!({"url": wrong})).unwrap_err();
        assert!(error.starts_with("messages[0].content[1].image_url.url: "), "{error}");
    }
}

#[test]
fn marks_for_caches_stay() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let part = json!({"type": "text", "text": "a", "cache_control": mark});
    let openai = json!({"type": "text", "text": "b", "prompt_cache_breakpoint": {"mode": "explicit"}});
    let messages = json!([
        {"role": "system", "content": [part]},
        {"role": "system", "content": "c"},
        {"role": "user", "content": [openai]},
    ]);
    let tool = json!({"type": "function", "function": {"name": "f"}, "cache_control": mark});
    let found = becomes(&json!({"messages": messages, "tools": [tool]}));
    assert_eq!(found["system"], json!([part, {"type": "text", "text": "c"}]));
    let marked = json!([{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(found["messages"][0]["content"], marked);
    assert_eq!(found["tools"][0]["cache_control"], mark);
}

#[test]
fn fields_that_have_another_name() {
    for (asked, found) in [
        (json!({"max_tokens": 9}), json!({"max_tokens": 9})),
        (json!({"max_completion_tokens": 8, "max_tokens": 9}), json!({"max_tokens": 8})),
        (json!({"temperature": 0.5, "top_p": 0.9}), json!({"temperature": 0.5, "top_p": 0.9})),
        (json!({"temperature": 1.7, "top_k": 40}), json!({"temperature": 1, "top_k": 40})),
        (json!({"top_k": -1}), json!({})),
        (json!({"stop": "x"}), json!({"stop_sequences": ["x"]})),
        (json!({"stop": ["x", "y"]}), json!({"stop_sequences": ["x", "y"]})),
        (json!({"stop": []}), json!({})),
        (json!({"stop": null, "temperature": null}), json!({})),
        (json!({"stream": true, "stream_options": {"include_usage": true}}), json!({"stream": true})),
        (json!({"stream": false}), json!({"stream": false})),
        (json!({"user": "u"}), json!({"metadata": {"user_id": "u"}})),
        (json!({"safety_identifier": "u"}), json!({"metadata": {"user_id": "u"}})),
        (json!({"response_format": {"type": "text"}}), json!({})),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}}),
            json!({"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}),
        ),
    ] {
        assert_eq!(becomes(&asked), found, "{asked}");
    }
}

#[test]
fn tools_and_which_to_call() {
    let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
    let function = |name: &str| json!({"type": "function", "function": {"name": name, "description": "d", "parameters": schema, "strict": true}});
    let tool = |name: &str| json!({"name": name, "description": "d", "input_schema": schema, "strict": true});
    let tools = json!([function("f"), function("g")]);
    let both = json!([tool("f"), tool("g")]);
    let named = json!({"type": "function", "function": {"name": "f"}});
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}});
    for (choice, tools_found, choice_found) in [
        (json!({}), &both, Value::Null),
        (json!({"tool_choice": "auto"}), &both, json!({"type": "auto"})),
        (json!({"tool_choice": "none"}), &both, json!({"type": "none"})),
        (json!({"tool_choice": "required"}), &both, json!({"type": "any"})),
        (json!({"tool_choice": named}), &both, json!({"type": "tool", "name": "f"})),
        (json!({"tool_choice": allowed}), &json!([tool("f")]), json!({"type": "any"})),
        (json!({"parallel_tool_calls": true}), &both, Value::Null),
        (
            json!({"parallel_tool_calls": false}),
            &both,
            json!({"type": "auto", "disable_parallel_tool_use": true}),
        ),
        (
            json!({"parallel_tool_calls": false, "tool_choice": named}),
            &both,
            json!({"type": "tool", "name": "f", "disable_parallel_tool_use": true}),
        ),
    ] {
        let mut asked = choice.clone();
        asked["tools"] = tools.clone();
        let found = becomes(&asked);
        assert_eq!(&found["tools"], tools_found, "{choice}");
        assert_eq!(found["tool_choice"], choice_found, "{choice}");
    }
    assert_eq!(becomes(&json!({"tool_choice": "auto", "tools": []})), json!({}));
    let bare = becomes(&json!({"tools": [{"type": "function", "function": {"name": "f"}}]}));
    assert_eq!(bare["tools"][0]["input_schema"], json!({"type": "object", "properties": {}}));
    assert_eq!(refused(&json!({"tool_choice": "required"})), "tool_choice: there is no such tool");
}

#[test]
fn schemas_keep_their_order() {
    let body = br#"{"messages":[{"role":"user","content":"a"}],"tools":[{"function":{"name":"f","parameters":{"z": 1.0, "a": 2}}}]}"#;
    let found = paceline_translate::request(support::CHAT, support::MESSAGES, body, "up").unwrap();
    assert!(String::from_utf8(found).unwrap().contains(r#""input_schema":{"z": 1.0, "a": 2}"#));
}

#[test]
fn effort_and_thinking() {
    let on = |effort: &str| json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}});
    let off = json!({"thinking": {"type": "disabled"}});
    for (asked, found) in [
        (json!({"reasoning_effort": "minimal"}), on("low")),
        (json!({"reasoning_effort": "medium", "temperature": 0.2, "top_p": 0.5}), on("medium")),
        (json!({"reasoning_effort": "max"}), on("max")),
        (json!({"reasoning_effort": "none"}), off.clone()),
        (json!({"reasoning_effort": null}), json!({})),
        (json!({"reasoning": {"effort": "xhigh"}}), on("xhigh")),
        (json!({"reasoning": {"max_tokens": 2000}, "max_tokens": 4096}), on("medium")),
        (json!({"reasoning": {"enabled": true}}), json!({"thinking": {"type": "adaptive"}})),
        (json!({"reasoning": {"enabled": false, "effort": "high"}}), off),
        (
            json!({"reasoning": {"enabled": true, "exclude": true}}),
            json!({"thinking": {"type": "adaptive", "display": "omitted"}}),
        ),
    ] {
        let mut found_now = becomes(&asked);
        found_now.as_object_mut().unwrap().remove("max_tokens");
        assert_eq!(found_now, found, "{asked}");
    }
    let forced =
        json!({"reasoning_effort": "low", "tool_choice": "required", "tools": [{"function": {"name": "f"}}]});
    let found = becomes(&forced);
    assert_eq!((&found["thinking"], &found["output_config"]), (&Value::Null, &json!({"effort": "low"})));
    assert_eq!(refused(&json!({"reasoning_effort": "huge"})), "reasoning_effort: there is no effort `huge`");
}

#[test]
fn signed_thinking_goes_back_and_other_thinking_does_not() {
    let format = "anthropic-claude-v1";
    let details = json!([
        {"type": "reasoning.text", "text": "Hm", "format": format, "index": 0},
        {"type": "reasoning.text", "text": ", so", "format": format, "index": 0},
        {"type": "reasoning.text", "signature": "c2ln", "format": format, "index": 0},
        {"type": "reasoning.encrypted", "data": "AAAA", "format": format, "index": 1},
        {"type": "reasoning.encrypted", "data": "BBBB", "format": "google-gemini-v1", "index": 2},
        {"type": "reasoning.text", "text": "unsigned", "index": 3},
    ]);
    let said =
        json!({"role": "assistant", "content": "Yes", "reasoning": "Hm, so", "reasoning_details": details});
    let found = becomes(&json!({"messages": [user("a"), said, user("b")]}));
    assert_eq!(
        found["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "Hm, so", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "AAAA"},
            {"type": "text", "text": "Yes"},
        ])
    );
    let said = json!({"role": "assistant", "content": "Yes", "reasoning_content": "Hm"});
    let found = becomes(&json!({"messages": [user("a"), said, user("b")]}));
    assert_eq!(found["messages"][1]["content"], json!("Yes"));
}

#[test]
fn advice_and_what_is_the_gateways_are_dropped() {
    for more in [
        json!({"provider": {"order": ["a"]}, "models": ["b"], "route": "fallback", "explain": true, "speed": "fast"}),
        json!({"service_tier": "priority", "transforms": [], "store": true, "metadata": {"a": "b"}, "seed": 7}),
        json!({"frequency_penalty": 0.5, "presence_penalty": 0.5, "verbosity": "low", "prediction": {"type": "content"}}),
        json!({"n": 1, "logprobs": false, "top_logprobs": 0, "logit_bias": {}, "modalities": ["text"], "functions": []}),
        json!({"prompt_cache_key": "k", "chat_template_kwargs": {"a": 1}, "usage": {"include": true}}),
    ] {
        assert_eq!(becomes(&more), json!({}), "{more}");
    }
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let talk = |message: Value| json!({"messages": [message]});
    let parts = |part: Value| json!({"messages": [{"role": "user", "content": [part]}]});
    for (more, at) in [
        (json!({"n": 2}), "n"),
        (json!({"logprobs": true}), "logprobs"),
        (json!({"top_logprobs": 5}), "top_logprobs"),
        (json!({"logit_bias": {"5": -100}}), "logit_bias"),
        (json!({"audio": {"voice": "v"}}), "audio"),
        (json!({"modalities": ["text", "audio"]}), "modalities"),
        (json!({"functions": [{"name": "f"}]}), "functions"),
        (json!({"web_search_options": {"search_context_size": "low"}}), "web_search_options"),
        (json!({"guided_json": {"type": "object"}}), "guided_json"),
        (json!({"response_format": {"type": "json_object"}}), "response_format.type"),
        (json!({"response_format": {"type": "json_schema"}}), "response_format.json_schema.schema"),
        (json!({"tools": [{"type": "custom", "custom": {"name": "c"}}]}), "tools[0]"),
        (json!({"tools": [{"type": "function"}]}), "tools[0].function"),
        (json!({"tool_choice": {"type": "custom"}}), "tool_choice"),
        (json!({"tool_choice": "perhaps"}), "tool_choice"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"max_tokens": -1}), "max_tokens"),
        (json!({"stop": [1]}), "stop"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": {}}), "messages"),
        (talk(json!({"role": "system", "content": "a"})), "messages"),
        (talk(json!({"content": "a"})), "messages[0].role"),
        (talk(json!({"role": "function", "content": "a"})), "messages[0]"),
        (talk(json!({"role": "tool", "content": "a"})), "messages[0].tool_call_id"),
        (talk(json!({"role": "user", "content": 7})), "messages[0].content"),
        (talk(json!({"role": "assistant", "audio": {"id": "a"}})), "messages[0].audio"),
        (parts(json!({"type": "input_audio", "input_audio": {}})), "messages[0].content[0]"),
        (parts(json!({"type": "file", "file": {}})), "messages[0].content[0]"),
        (parts(json!({"type": "text"})), "messages[0].content[0].text"),
        (
            talk(
                json!({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]}),
            ),
            "messages[0].tool_calls[0].function.arguments",
        ),
    ] {
        let error = refused(&more);
        assert!(error.starts_with(&format!("{at}: ")), "{more}: {error}");
    }
}
