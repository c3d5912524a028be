//! Requests in each protocol, as clients send them and as they should not.

use paceline_io::http1::Head;
use paceline_wire::Protocol;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::refusal::Refusal;

fn read(protocol: Protocol, body: &str) -> Result<Ask, Refusal> {
    Ask::read(protocol, &Head::default(), body.as_bytes())
}

fn chat(body: &Value) -> Ask {
    read(Protocol::OpenaiChat, &body.to_string()).unwrap()
}

fn with(provider: &Value) -> Result<Preferences, Refusal> {
    let body = json!({"model": "m", "provider": provider});
    read(Protocol::OpenaiChat, &body.to_string()).map(|ask| ask.preferences)
}

fn refused(body: &Value) -> Refusal {
    read(Protocol::OpenaiChat, &body.to_string()).unwrap_err()
}

fn headers(headers: &[(&str, &str)]) -> Head {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Head { headers, ..Head::default() }
}

#[test]
fn a_plain_chat_is_read() {
    let ask = chat(&json!({
        "model": "demo", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 10, "n": 2,
        "temperature": 0.5, "tools": [{"type": "function"}], "stop": null,
        "messages": [{"role": "user", "content": "hello"}],
    }));
    assert_eq!((ask.model.as_str(), ask.streaming, ask.usage_asked), ("demo", true, true));
    assert_eq!((ask.max_tokens, ask.answers, ask.explain), (Some(10), 2, false));
    assert_eq!(ask.parameters, ["temperature", "tools"]);
    assert_eq!(ask.preferences, Preferences::default());
    let tools = r#"[{"type":"function"}]"#;
    assert_eq!(ask.prompt_bytes, (tools.len() + "user".len() + "hello".len()) as u64);
}

#[test]
fn the_larger_bound_on_tokens_and_answers_counts() {
    let ask = chat(&json!({"model": "m", "max_tokens": 10, "max_completion_tokens": 20.0, "n": 2}));
    assert_eq!(ask.max_tokens, Some(20));
    let ask = read(Protocol::OpenaiCompletions, r#"{"model":"m","n":2,"best_of":5,"prompt":"x"}"#).unwrap();
    assert_eq!(ask.answers, 5);
    let ask = read(Protocol::OpenaiResponses, r#"{"model":"m","max_output_tokens":7,"input":"x"}"#).unwrap();
    assert_eq!((ask.max_tokens, ask.usage_asked), (Some(7), true));
}

#[test]
fn models_have_suffixes_and_followers() {
    let ask = chat(&json!({"model": "a/b:nitro", "models": ["a/b", "c:floor", "c", "d:free"]}));
    assert_eq!((ask.model.as_str(), ask.preferences.sort), ("a/b", Some(Sort::Throughput)));
    assert_eq!(ask.fallbacks, ["c", "d:free"]);
    let ask = chat(&json!({"models": ["a:floor", "b"]}));
    assert_eq!((ask.model.as_str(), ask.preferences.sort), ("a", Some(Sort::Price)));
    assert_eq!(ask.fallbacks, ["b"]);
    let ask = chat(&json!({"model": "a:nitro", "provider": {"sort": "latency"}}));
    assert_eq!(ask.preferences.sort, Some(Sort::Latency), "what is said outright counts more");
    for body in [json!({}), json!({"model": null}), json!({"model": ""}), json!({"model": "x".repeat(257)})] {
        let refusal = refused(&body);
        assert_eq!(refusal.metadata.unwrap()["field"], "model", "{body}");
    }
}

#[test]
fn preferences_are_openrouters() {
    let read = with(&json!({
        "order": ["A", "b"], "only": ["a"], "ignore": ["c"], "allow_fallbacks": false, "require_parameters": true,
        "sort": {"by": "throughput", "partition": "model"},
        "preferred_min_throughput": {"p50": 50, "p90": 20.5}, "preferred_max_latency": 1.5,
        "max_price": {"prompt": 1, "completion": "2.5", "request": 0},
        "deadline_ms": 250, "finish_by_ms": 4000.5, "hedge": true,
        "data_collection": "allow", "zdr": false, "quantizations": [], "experimental": {},
    }))
    .unwrap();
    assert_eq!(
        read,
        Preferences {
            order: vec!["A".to_owned(), "b".to_owned()],
            only: vec!["a".to_owned()],
            ignore: vec!["c".to_owned()],
            allow_fallbacks: false,
            require_parameters: true,
            sort: Some(Sort::Throughput),
            max_latency_s: vec![Bound { quantile: 0.5, value: 1.5 }],
            min_throughput_tok_s: vec![
                Bound { quantile: 0.5, value: 50.0 },
                Bound { quantile: 0.9, value: 20.5 }
            ],
            max_price: MaxPrice {
                prompt_usd_per_mtok: Some(1.0),
                completion_usd_per_mtok: Some(2.5),
                request_usd: Some(0.0)
            },
            deadline_ns: Some(250_000_000),
            finish_by_ns: Some(4_000_500_000),
            hedge: Some(true),
        }
    );
    assert_eq!(with(&json!(null)).unwrap(), Preferences::default());
    let nulls =
        json!({"order": null, "sort": null, "max_price": null, "deadline_ms": null, "allow_fallbacks": null});
    assert_eq!(with(&nulls).unwrap(), Preferences::default());
}

#[test]
fn what_is_wrong_in_them_is_named() {
    for (provider, field, says) in [
        (json!([]), "provider", "must be an object, and is a list"),
        (json!({"odrer": ["a"]}), "provider.odrer", "the closest that is: `order`"),
        (json!({"order": "a"}), "provider.order", "must be a list of strings, and is a string"),
        (json!({"only": vec!["a"; 65]}), "provider.only", "64 entries"),
        (json!({"sort": "speed"}), "provider.sort", "\"price\", \"throughput\" or \"latency\""),
        (json!({"sort": {"by": 3}}), "provider.sort.by", "must be a string"),
        (json!({"sort": {"by": "price", "partition": "none"}}), "provider.sort.partition", "\"model\""),
        (json!({"allow_fallbacks": "no"}), "provider.allow_fallbacks", "true or false"),
        (json!({"preferred_max_latency": -1}), "provider.preferred_max_latency", "above 0"),
        (json!({"preferred_max_latency": {"p95": 1}}), "provider.preferred_max_latency.p95", "`p90`"),
        (json!({"max_price": {"prompt": "cheap"}}), "provider.max_price.prompt", "a number"),
        (json!({"max_price": {"image": 1}}), "provider.max_price.image", "cannot be honoured"),
        (json!({"deadline_ms": 0}), "provider.deadline_ms", "above 0"),
        (json!({"deadline_ms": 1e12}), "provider.deadline_ms", "at most 86400000"),
        (json!({"hedge": 1}), "provider.hedge", "true or false"),
        (json!({"data_collection": "deny"}), "provider.data_collection", "cannot be"),
        (json!({"zdr": true}), "provider.zdr", "cannot be true"),
        (json!({"quantizations": ["fp8"]}), "provider.quantizations", "cannot be honoured"),
    ] {
        let refusal = with(&provider).unwrap_err();
        assert_eq!((refusal.status, refusal.code), (400, "invalid_request"), "{provider}");
        assert_eq!(refusal.metadata.as_ref().unwrap()["field"], field, "{provider}");
        assert!(refusal.message.contains(says), "{provider}: {}", refusal.message);
    }
    let twice = read(Protocol::OpenaiChat, r#"{"model":"m","provider":{"only":["a"],"only":["b"]}}"#);
    assert!(twice.unwrap_err().message.contains("twice"));
}

#[test]
fn tiers_have_several_words() {
    for (name, word, tier) in [
        ("service_tier", "auto", None),
        ("service_tier", "default", Some(Tier::Standard)),
        ("service_tier", "standard_only", Some(Tier::Standard)),
        ("service_tier", "priority", Some(Tier::Fast)),
        ("service_tier", "flex", Some(Tier::Flex)),
        ("speed", "fast", Some(Tier::Fast)),
        ("speed", "standard", Some(Tier::Standard)),
        ("speed", "ultra", Some(Tier::Ultra)),
    ] {
        let body = json!({"model": "m", name: word});
        assert_eq!(chat(&body).tier, tier, "{body}");
    }
    assert_eq!(chat(&json!({"model": "m", "speed": "fast", "service_tier": "auto"})).tier, Some(Tier::Fast));
    assert!(
        refused(&json!({"model": "m", "speed": "fast", "service_tier": "flex"}))
            .message
            .contains("contradict")
    );
    assert!(refused(&json!({"model": "m", "speed": "warp"})).message.contains("\"ultra\""));
}

#[test]
fn headers_say_what_the_body_does_not() {
    let head = headers(&[
        ("x-paceline-deadline-ms", "300"),
        ("x-paceline-finish-by-ms", "9000"),
        ("x-paceline-explain", "1"),
        ("x-title", "App"),
    ]);
    let ask =
        Ask::read(Protocol::OpenaiChat, &head, br#"{"model":"m","provider":{"finish_by_ms":1000}}"#).unwrap();
    assert_eq!(ask.preferences.deadline_ns, Some(300_000_000));
    assert_eq!(ask.preferences.finish_by_ns, Some(1_000_000_000));
    assert!(ask.explain);
    assert_eq!(ask.app_title.as_deref(), Some("App"));
    let head = headers(&[("x-paceline-deadline-ms", "soon")]);
    let refusal = Ask::read(Protocol::OpenaiChat, &head, br#"{"model":"m"}"#).unwrap_err();
    assert_eq!(refusal.metadata.unwrap()["field"], "x-paceline-deadline-ms");
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for body in [
        r#"{"model":"cheap","model":"dear"}"#,
        r#"{"model":"cheap","mod\u0065l":"dear"}"#,
        r#"{"model":"m","stream":false,"stream":true}"#,
        r#"{"model":"m","max_tokens":1,"max_tokens":100000}"#,
        r#"{"model":"m","messages":[],"messages":[]}"#,
    ] {
        let refusal = read(Protocol::OpenaiChat, body).unwrap_err();
        assert!(refusal.message.contains("is given twice"), "{body}: {}", refusal.message);
    }
    assert_eq!(chat(&json!({"model": "m"})).model, "m");
    assert!(
        read(Protocol::OpenaiChat, r#"{"model":"m","x":1,"x":2}"#).is_ok(),
        "no concern of the gateway's"
    );
}

#[test]
fn broken_json_says_where() {
    for (body, line, column) in [
        ("", 1, 1),
        ("{", 1, 1),
        ("{\"model\":\n  nope}", 2, 4),
        ("{\"model\": \"m\",}", 1, 15),
        ("{\"model\": \"m\"} x", 1, 16),
    ] {
        let refusal = read(Protocol::OpenaiChat, body).unwrap_err();
        assert_eq!(refusal.code, "invalid_json", "{body}");
        assert_eq!(
            refusal.metadata,
            Some(json!({"line": line, "column": column})),
            "{body}: {}",
            refusal.message
        );
    }
    let refusal = Ask::read(Protocol::OpenaiChat, &Head::default(), b"{\"model\":\n\"\xff\"}").unwrap_err();
    assert_eq!(refusal.metadata, Some(json!({"line": 2, "column": 2})));
    assert!(refusal.message.contains("UTF-8"));
    for body in ["[]", "1", "null", "\"x\""] {
        let refusal = read(Protocol::OpenaiChat, body).unwrap_err();
        assert_eq!(refusal.metadata.unwrap()["field"], "body");
    }
}

#[test]
fn wrong_types_name_the_field() {
    for (body, field) in [
        (json!({"model": 3}), "model"),
        (json!({"model": "m", "models": "x"}), "models"),
        (json!({"model": "m", "stream": "yes"}), "stream"),
        (json!({"model": "m", "stream_options": true}), "stream_options"),
        (json!({"model": "m", "stream_options": {"include_usage": 1}}), "stream_options.include_usage"),
        (json!({"model": "m", "max_tokens": -1}), "max_tokens"),
        (json!({"model": "m", "max_tokens": 1.5}), "max_tokens"),
        (json!({"model": "m", "max_tokens": "9"}), "max_tokens"),
        (json!({"model": "m", "n": 0}), "n"),
        (json!({"model": "m", "n": 129}), "n"),
        (json!({"model": "m", "explain": "yes"}), "explain"),
        (json!({"model": "m", "usage": {"include": 1}}), "usage.include"),
        (json!({"model": "m", "plugins": [{"id": "web"}]}), "plugins"),
        (json!({"model": "m", "service_tier": 1}), "service_tier"),
    ] {
        let refusal = refused(&body);
        assert_eq!(refusal.metadata.unwrap()["field"], field, "{body}");
    }
    assert!(chat(&json!({"model": "m", "plugins": [], "transforms": ["middle-out"]})).parameters.is_empty());
    let refusal = read(Protocol::OpenaiEmbeddings, r#"{"model":"m","input":"x","stream":true}"#).unwrap_err();
    assert_eq!(refusal.metadata.unwrap()["field"], "stream");
}

#[test]
fn depth_is_bounded() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let body = |levels: usize| format!(r#"{{"model":"m","messages":{}}}"#, deep(levels));
    assert!(read(Protocol::OpenaiChat, &body(100)).is_ok());
    for levels in [200, 1_000_000] {
        let refusal = read(Protocol::OpenaiChat, &body(levels)).unwrap_err();
        assert_eq!(refusal.metadata.as_ref().unwrap()["field"], "messages");
        assert!(refusal.message.contains("recursion"), "{}", refusal.message);
    }
    let body = format!(
        r#"{{"model":"m","messages":{}1{}}}"#,
        r#"{"source":{"type":"content","content":"#.repeat(30_000),
        "}}".repeat(30_000)
    );
    assert!(read(Protocol::AnthropicMessages, &body).is_ok(), "sources in sources do not grow the stack");
}

#[test]
fn text_counts_and_images_do_not() {
    let chat = chat(&json!({"model": "m", "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "0123456789"},
            {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", "A".repeat(9000))}},
            {"type": "input_audio", "input_audio": {"data": "B".repeat(9000), "format": "wav"}},
        ]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{\"a\":1}"}},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": "found"},
    ]}));
    let expected = "user0123456789assistantfind{\"a\":1}toolfound".len() as u64;
    assert_eq!((chat.prompt_bytes, chat.images), (expected, 1));

    let body = json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "be brief"}], "messages": [
        {"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(9000)}},
            {"type": "document", "source": {"data": "a page", "media_type": "text/plain", "type": "text"}},
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "more"}]}},
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "found"}]},
        ]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find", "input": {"a": 1}}]},
    ]});
    let ask = read(Protocol::AnthropicMessages, &body.to_string()).unwrap();
    let expected = "be briefusera pagemorefoundassistantfind{\"a\":1}".len() as u64;
    assert_eq!((ask.prompt_bytes, ask.images), (expected, 1));

    let body = json!({"model": "m", "instructions": "be brief", "input": [
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "https://x.example/y.png"},
        ]},
        {"type": "function_call_output", "call_id": "c", "output": "found"},
        {"type": "reasoning", "id": "r", "encrypted_content": "C".repeat(9000), "summary": []},
    ]});
    let ask = read(Protocol::OpenaiResponses, &body.to_string()).unwrap();
    assert_eq!((ask.prompt_bytes, ask.images), ("be briefuserhifound".len() as u64, 1));
}

#[test]
fn prompts_may_be_lists_and_tokens() {
    let body = json!({"model": "m", "prompt": ["abc", "de"]});
    assert_eq!(read(Protocol::OpenaiCompletions, &body.to_string()).unwrap().prompt_bytes, 5);
    let body = json!({"model": "m", "input": [[1, 2, 3], [4]]});
    assert_eq!(read(Protocol::OpenaiEmbeddings, &body.to_string()).unwrap().prompt_bytes, 16);
}

#[test]
fn a_conversation_that_grows_keeps_its_beginning() {
    let talk = |turns: usize, order: bool| {
        let messages: Vec<Value> = (0..turns)
            .map(|turn| json!({"role": if turn % 2 == 0 { "user" } else { "assistant" }, "content": format!("{turn}-{}", "x".repeat(700))}))
            .collect();
        let (messages, tools) = (json!(messages).to_string(), json!([{"name": "t"}]).to_string());
        let body = if order {
            format!(r#"{{"model":"m","tools":{tools},"messages":{messages}}}"#)
        } else {
            format!(r#"{{"messages":{messages},"tools":{tools},"model":"m"}}"#)
        };
        read(Protocol::OpenaiChat, &body).unwrap().prefix
    };
    let (short, long) = (talk(5, true), talk(9, true));
    assert_eq!((short.len(), long.len()), (3, 6));
    assert_eq!(short, long[..3]);
    assert_eq!(talk(9, false), long, "the order of members makes no difference");
}

#[test]
fn places_are_where_members_lie() {
    let body = r#" {"model": "m" , "provider":{"only":["a"]},"x":1} "#;
    let ask = read(Protocol::OpenaiChat, body).unwrap();
    let seen: Vec<_> = ask.places.iter().map(|place| &body[place.start..place.value.end]).collect();
    assert_eq!(seen, [r#""model": "m""#, r#""provider":{"only":["a"]}"#, r#""x":1"#]);
}

#[test]
fn what_is_read_is_in_the_reference() {
    let reference = include_str!("../../../../docs/reference/gateway-api.md");
    let (_, rest) = reference.split_once("### `provider`").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    let mut documented: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
        .flat_map(|cell| cell.split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    documented.sort_unstable();
    let mut known = super::preferences::KEYS.to_vec();
    known.sort_unstable();
    assert_eq!(documented, known);
    for header in
        ["x-paceline-deadline-ms", "x-paceline-finish-by-ms", "x-paceline-explain", "x-title", "http-referer"]
    {
        assert!(reference.contains(&format!("`{header}`")), "{header}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        for protocol in Protocol::ALL {
            let _ = Ask::read(protocol, &Head::default(), &body);
        }
    }

    #[test]
    fn no_text_like_json_makes_it_panic(
        body in r#"\{("(model|provider|messages|input|n|stream|usage|max_tokens|source)":(1|-1e9|null|true|"a"|\{"(only|sort|source|type|p50)":.{0,9}\}|\[.{0,9}\]),?){0,5}\}?"#
    ) {
        for protocol in Protocol::ALL {
            let _ = Ask::read(protocol, &Head::default(), body.as_bytes());
        }
    }
}
