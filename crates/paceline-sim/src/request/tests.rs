use super::*;

fn ask(protocol: Protocol, body: &str) -> Result<Call, ApiError> {
    let config = SimConfig::from_json(r#"{"models": ["truth", "other"], "image_tokens": 10}"#).unwrap();
    parse(protocol, body.as_bytes(), &config)
}

fn chat(body: &str) -> Result<Call, ApiError> {
    ask(Protocol::Chat, body)
}

/// The prompt tokens of a body whose other fields are as they must be.
fn prompt_tokens(protocol: Protocol, fields: &str) -> u64 {
    let limit = if protocol == Protocol::Messages { r#""max_tokens": 5, "# } else { "" };
    ask(protocol, &format!(r#"{{"model": "truth", {limit}{fields}}}"#)).unwrap().prompt.tokens()
}

#[test]
fn paths_and_names_tell_protocols_apart() {
    for protocol in Protocol::ALL {
        assert_eq!(Protocol::at(protocol.path()), Some(protocol));
        assert!(protocol.id(7).ends_with("-sim-7"));
    }
    assert_eq!(Protocol::at("/v1/other"), None);
}

#[test]
fn what_is_asked_is_read() {
    let call = chat(
        r#"{"model": "other", "stream": true, "max_tokens": 9, "max_completion_tokens": 5, "temperature": 0,
            "stream_options": {"include_usage": true, "continuous_usage_stats": true}, "ignore_eos": true,
            "min_tokens": 3, "logprobs": true, "tools": [{"type": "function", "function": {"name": "f"}}],
            "messages": [{"role": "system", "content": "Be  brief."}, {"role": "assistant", "content": null},
                         {"role": "user", "content": [{"type": "text", "text": "one two"}]}]}"#,
    )
    .unwrap();
    assert_eq!((call.model.as_str(), call.streaming, call.max_tokens), ("other", true, Some(5)));
    assert!(call.include_usage && call.usage_each && call.ignore_eos && call.logprobs && !call.token_ids);
    assert_eq!((call.prompt.tokens(), call.min_tokens), (4, 3));
    let call = ask(
        Protocol::Responses,
        r#"{"model": "truth", "stream": true, "max_output_tokens": 5, "input": "a b", "instructions": "c",
            "reasoning": {"effort": "low", "summary": "auto"}, "store": false, "ignore_eos": true}"#,
    )
    .unwrap();
    assert_eq!((call.max_tokens, call.prompt.tokens()), (Some(5), 3));
    assert!(call.streaming && call.include_usage && call.ignore_eos && call.reasoning_summary);
    let call = ask(
        Protocol::Embeddings,
        r#"{"model": "truth", "input": ["a b", "c"], "dimensions": 8, "encoding_format": "base64"}"#,
    )
    .unwrap();
    assert_eq!(call.embedding, Embedding { inputs: 2, dimensions: 8, base64: true });
    assert_eq!((call.prompt.tokens(), call.streaming), (3, false));
}

#[test]
fn each_form_of_a_prompt_is_counted() {
    for (prompt, tokens) in
        [(r#""a b c""#, 3), (r#"["a b"]"#, 2), ("[1, 2, 3, 4]", 4), ("[[5, 6]]", 2), ("[]", 0)]
    {
        assert_eq!(
            prompt_tokens(Protocol::Completions, &format!(r#""prompt": {prompt}"#)),
            tokens,
            "{prompt}"
        );
    }
    for (input, tokens) in [(r#""a b c""#, 3), (r#"["a b", "c d"]"#, 4), ("[1, 2]", 2), ("[[5, 6], [7]]", 3)]
    {
        assert_eq!(prompt_tokens(Protocol::Embeddings, &format!(r#""input": {input}"#)), tokens, "{input}");
    }
}

#[test]
fn a_conversation_counts_all_that_was_said_called_and_shown() {
    let chat = r#""messages": [{"role": "user", "content": "one two"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function",
            "function": {"name": "f", "arguments": "{\"q\":\"a b\"}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "three"},
        {"role": "user", "content": [{"type": "text", "text": "four five"},
            {"type": "image_url", "image_url": {"url": "data:x"}}]}]"#;
    assert_eq!(prompt_tokens(Protocol::Chat, chat), 2 + 2 + 1 + 2 + 10);
    let responses = r#""instructions": "zero", "input": [{"role": "user", "content": "one two"},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "not read"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "three"}]},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{\"q\":\"a b\"}"},
        {"type": "function_call_output", "call_id": "1", "output": "four"},
        {"role": "user", "content": [{"type": "input_text", "text": "five six"},
            {"type": "input_image", "image_url": "data:x"}]}]"#;
    assert_eq!(prompt_tokens(Protocol::Responses, responses), 1 + 2 + 1 + 2 + 1 + 2 + 10);
    let messages = r#""system": [{"type": "text", "text": "zero"}], "messages": [{"role": "user", "content": "one two"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "not read", "signature": "s"},
            {"type": "tool_use", "id": "1", "name": "f", "input": {"q": "a b"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "three"},
            {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "four five"}]},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}]}]"#;
    assert_eq!(prompt_tokens(Protocol::Messages, messages), 1 + 2 + 2 + 1 + 2 + 10);
}

#[test]
fn what_is_wrong_is_named() {
    for (body, status, names) in [
        ("", 400, "EOF"),
        ("[1", 400, "cannot be read"),
        (r#"{"model": "truth", "messages": [{"content": "x"}]} {}"#, 400, "goes on"),
        (r#"{"messages": [{"content": "x"}]}"#, 400, "'model'"),
        (r#"{"model": "gone", "messages": [{"content": "x"}]}"#, 404, "truth, other"),
        (r#"{"model": "truth"}"#, 400, "'messages'"),
        (r#"{"model": "truth", "messages": []}"#, 400, "messages"),
        (r#"{"model": "truth", "messages": "x"}"#, 400, "messages"),
        (r#"{"model": "truth", "messages": [{"content": 7}]}"#, 400, "messages[0].content"),
        (r#"{"model": "truth", "messages": [{"content": "x"}], "max_tokens": 0}"#, 400, "max_tokens"),
        (r#"{"model": "truth", "messages": [{"content": "x"}], "max_tokens": -1}"#, 400, "max_tokens"),
        (
            r#"{"model": "truth", "messages": [{"content": "x"}], "max_tokens": 3, "min_tokens": 4}"#,
            400,
            "min_tokens",
        ),
        (r#"{"model": "truth", "messages": [{"content": "x"}], "stream": "yes"}"#, 400, "stream"),
        (r#"{"model": "truth", "messages": [{"content": "x"}], "n": 2}"#, 400, "n must be 1"),
    ] {
        let error = chat(body).unwrap_err();
        assert_eq!(error.status, status, "{body}");
        assert!(error.message.contains(names), "{body}: {}", error.message);
    }
}

#[test]
fn each_protocol_names_its_own_fields() {
    use Protocol::{Completions, Embeddings, Messages, Responses};
    for (protocol, fields, param) in [
        (Completions, r#""prompt": ["a", "b"]"#, "prompt"),
        (Completions, r#""prompt": [[1], [2]]"#, "prompt"),
        (Completions, r#""stop": "x""#, "prompt"),
        (Responses, r#""stream": true"#, "input"),
        (Responses, r#""input": "a", "max_output_tokens": 0"#, "max_output_tokens"),
        (Responses, r#""input": "a", "previous_response_id": "resp-1""#, "previous_response_id"),
        (Responses, r#""input": "a", "background": true"#, "background"),
        (Messages, r#""messages": [{"role": "user", "content": "a"}]"#, "max_tokens"),
        (Messages, r#""max_tokens": 5"#, "messages"),
        (Messages, r#""max_tokens": 5, "messages": []"#, "messages"),
        (Messages, r#""max_tokens": 5, "messages": [{"role": "system", "content": "a"}]"#, "messages"),
        (Messages, r#""max_tokens": 5, "messages": [{"role": "user"}]"#, "messages.content"),
        (Messages, r#""max_tokens": 5, "messages": [{"content": "a"}]"#, "messages.role"),
        (Embeddings, r#""user": "x""#, "input"),
        (Embeddings, r#""input": []"#, "input"),
        (Embeddings, r#""input": "a", "dimensions": 0"#, "dimensions"),
    ] {
        let error = ask(protocol, &format!(r#"{{"model": "truth", {fields}}}"#)).unwrap_err();
        assert_eq!((error.status, error.param), (400, Some(param)), "{fields}: {}", error.message);
    }
}
