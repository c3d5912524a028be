//! Requests of the messages protocol in chat's words.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{chat_request, messages_request};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn with(more: &Value) -> Value {
    let mut body = json!({"model": "m", "max_tokens": 8, "messages": [user("Hi")]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// What becomes of further fields, beside what is always there.
fn becomes(more: &Value) -> Value {
    let mut found = messages_request(&with(more)).unwrap();
    let fields = found.as_object_mut().unwrap();
    assert_eq!(fields.remove("model"), Some(json!("up")));
    assert!(fields.remove("max_tokens").is_some());
    if fields["messages"] == json!([user("Hi")]) {
        fields.remove("messages");
    }
    found
}

fn refused(more: &Value) -> String {
    messages_request(&with(more)).unwrap_err()
}

#[test]
fn a_talk_with_tools() {
    let png = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let url = "https://h.example/cat.png";
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "Look"}, png, {"type": "image", "source": {"type": "url", "url": url}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "signed", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "AAAA"},
            {"type": "text", "text": "I will."},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": 2}},
            {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "seven", "is_error": true},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "see"}, png]},
            {"type": "text", "text": "Go on", "cache_control": {"type": "ephemeral"}},
        ]},
        {"role": "system", "content": "Now in French."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": ""}, {"type": "text", "text": "Oui"}]},
        user("Merci"),
    ]);
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let system = json!([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}]);
    assert_eq!(
        becomes(&json!({"messages": messages, "system": system}))["messages"],
        json!([
            {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": [{"type": "text", "text": "Look"}, image, {"type": "image_url", "image_url": {"url": url}}]},
            {"role": "assistant", "content": "I will.", "tool_calls": [
                call("t1", "f", "{\"a\":2,\"b\":1}"), call("t2", "g", "{}")]},
            {"role": "tool", "tool_call_id": "t1", "content": "seven"},
            {"role": "tool", "tool_call_id": "t2", "content": "see"},
            {"role": "user", "content": [
                {"type": "text", "text": "Image from tool call t2:"}, image, {"type": "text", "text": "Go on"}]},
            {"role": "system", "content": "Now in French."},
            {"role": "assistant", "content": "Oui", "reasoning_content": "Hm"},
            user("Merci"),
        ])
    );
}

#[test]
fn fields_that_have_another_name() {
    let schema = json!({"type": "object"});
    for (asked, found) in [
        (json!({}), json!({})),
        (json!({"system": "s"}), json!({"messages": [{"role": "system", "content": "s"}, user("Hi")]})),
        (json!({"temperature": 0.5, "top_p": 0.9, "top_k": 3}), json!({"temperature": 0.5, "top_p": 0.9})),
        (json!({"stop_sequences": ["x", "y"]}), json!({"stop": ["x", "y"]})),
        (json!({"stop_sequences": []}), json!({})),
        (json!({"stream": true}), json!({"stream": true, "stream_options": {"include_usage": true}})),
        (json!({"stream": false}), json!({"stream": false})),
        (json!({"metadata": {"user_id": "u"}}), json!({"user": "u"})),
        (
            json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}}}),
        ),
        (json!({"output_config": {"effort": "xhigh"}}), json!({"reasoning_effort": "xhigh"})),
        (json!({"thinking": {"type": "disabled"}}), json!({"reasoning_effort": "none"})),
        (json!({"thinking": {"type": "adaptive"}}), json!({})),
        (
            json!({"max_tokens": 10_000, "thinking": {"type": "enabled", "budget_tokens": 2_000}}),
            json!({"reasoning_effort": "low"}),
        ),
        (
            json!({"max_tokens": 10_000, "thinking": {"type": "enabled", "budget_tokens": 5_000}}),
            json!({"reasoning_effort": "medium"}),
        ),
        (
            json!({"max_tokens": 10_000, "thinking": {"type": "enabled", "budget_tokens": 8_000}}),
            json!({"reasoning_effort": "high"}),
        ),
        (
            json!({"thinking": {"type": "enabled", "budget_tokens": 8}, "output_config": {"effort": "low"}}),
            json!({"reasoning_effort": "low"}),
        ),
        (
            json!({"service_tier": "auto", "speed": "fast", "cache_control": {"type": "ephemeral"}, "provider": {}}),
            json!({}),
        ),
        (
            json!({"container": null, "mcp_servers": [], "diagnostics": {}, "context_management": {}}),
            json!({}),
        ),
    ] {
        assert_eq!(becomes(&asked), found, "{asked}");
    }
}

#[test]
fn tools_and_which_to_call() {
    let schema = json!({"type": "object", "properties": {"a": {}}});
    let tool = json!({"name": "f", "description": "d", "input_schema": schema, "strict": true, "cache_control": {"type": "ephemeral"}});
    let function = json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": schema, "strict": true}});
    for (choice, found, parallel) in [
        (Value::Null, Value::Null, Value::Null),
        (json!({"type": "auto"}), json!("auto"), Value::Null),
        (json!({"type": "none"}), json!("none"), Value::Null),
        (json!({"type": "any", "disable_parallel_tool_use": true}), json!("required"), json!(false)),
        (json!({"type": "auto", "disable_parallel_tool_use": false}), json!("auto"), Value::Null),
        (
            json!({"type": "tool", "name": "f"}),
            json!({"type": "function", "function": {"name": "f"}}),
            Value::Null,
        ),
    ] {
        let body = becomes(&json!({"tools": [tool], "tool_choice": choice}));
        assert_eq!(body["tools"], json!([function]));
        assert_eq!((&body["tool_choice"], &body["parallel_tool_calls"]), (&found, &parallel), "{choice}");
    }
    assert_eq!(becomes(&json!({"tools": [], "tool_choice": {"type": "auto"}})), json!({}));
}

#[test]
fn what_cannot_be_said_is_refused_by_name() {
    let block = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let said = |block: Value| json!({"messages": [{"role": "assistant", "content": [block]}]});
    for (more, at) in [
        (json!({"max_tokens": null}), "max_tokens"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"container": "c"}), "container"),
        (json!({"mcp_servers": [{}]}), "mcp_servers"),
        (json!({"inference_geo": "eu"}), "inference_geo"),
        (json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}), "tools[0]"),
        (json!({"tools": [{"name": "f"}]}), "tools[0].input_schema"),
        (json!({"tool_choice": {"type": "perhaps"}}), "tool_choice"),
        (json!({"output_config": {"format": {"type": "xml"}}}), "output_config.format"),
        (json!({"stop_sequences": [1]}), "stop_sequences"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"messages": [{"role": "user"}]}), "messages[0].content"),
        (json!({"messages": [{"role": "tool", "content": "a"}]}), "messages[0]"),
        (json!({"system": [{"type": "image"}]}), "system[0]"),
        (block(json!({"type": "document", "source": {}})), "messages[0].content[0]"),
        (
            block(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "messages[0].content[0].source",
        ),
        (block(json!({"type": "text"})), "messages[0].content[0].text"),
        (block(json!({"type": "tool_result"})), "messages[0].content[0].tool_use_id"),
        (
            block(json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "search_result"}]})),
            "messages[0].content[0].content[0]",
        ),
        (
            said(json!({"type": "server_tool_use", "id": "s", "name": "n", "input": {}})),
            "messages[0].content[0]",
        ),
    ] {
        let error = refused(&more);
        assert!(error.starts_with(&format!("{at}: ")), "{more}: {error}");
    }
}

#[test]
fn what_has_an_equivalent_comes_back() {
    let tool = json!({"name": "f", "description": "d", "input_schema": {"type": "object"}});
    let asked = json!({
        "model": "up",
        "max_tokens": 8,
        "system": "s",
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "source": {"type": "url", "url": "https://h.example/a.png"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA=="}}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "b"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"x": [1, null]}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "c"}, {"type": "text", "text": "d"}]},
        ],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["x"],
        "stream": true,
        "tools": [tool],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
        "metadata": {"user_id": "u"},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    });
    assert_eq!(chat_request(&messages_request(&asked).unwrap()).unwrap(), asked);
}
