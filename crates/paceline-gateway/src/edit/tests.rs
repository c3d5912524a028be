//! Bodies before and after.

use paceline_io::http1::Head;
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn offer(more: &Value) -> Offer {
    let mut offer = json!({
        "id": "o", "model": "m", "provider": "p", "upstream_model": "up/\"stream\"", "tier": "standard",
        "protocols": ["openai-chat"],
        "target": {"scheme": "http", "host": "h", "port": 1, "path": "", "addresses": ["127.0.0.1:1"]},
        "timeouts": {"connect_ns": 1, "first_token_ns": 1, "gap_ns": 1, "total_ns": 1},
    });
    for (name, value) in more.as_object().unwrap() {
        offer[name] = value.clone();
    }
    serde_json::from_value(offer).unwrap()
}

fn plain() -> Offer {
    offer(&json!({}))
}

fn edited_in(protocol: Protocol, body: &str, offer: &Offer) -> String {
    let ask = Ask::read(protocol, &Head::default(), body.as_bytes()).unwrap();
    String::from_utf8(upstream_body(&ask, body.as_bytes(), protocol, offer).unwrap()).unwrap()
}

fn edited(body: &str, offer: &Offer) -> String {
    edited_in(Protocol::OpenaiChat, body, offer)
}

#[test]
fn the_model_is_renamed_and_all_else_stays() {
    for (body, expected) in [
        (r#"{"model":"m","x":1}"#, r#"{"model":"up/\"stream\"","x":1}"#),
        (
            " { \"x\" : [ 1.50 , 1e5 ] ,\n\t\"model\" : \"m:nitro\" } \n",
            " { \"x\" : [ 1.50 , 1e5 ] ,\n\t\"model\" : \"up/\\\"stream\\\"\" } \n",
        ),
        (
            r#"{"mod\u0065l":"m","é":"\u00e9","z":1,"z":2}"#,
            r#"{"mod\u0065l":"up/\"stream\"","é":"\u00e9","z":1,"z":2}"#,
        ),
        (
            r#"{"model":"m","nested":{"model":"m","provider":1}}"#,
            r#"{"model":"up/\"stream\"","nested":{"model":"m","provider":1}}"#,
        ),
    ] {
        assert_eq!(edited(body, &plain()), expected);
    }
}

#[test]
fn the_gateways_own_members_go_with_their_comma() {
    for (body, expected) in [
        (r#"{"provider":{},"model":"m"}"#, r#"{"model":"U"}"#),
        (r#"{"model":"m","provider":{}}"#, r#"{"model":"U"}"#),
        (r#"{"model":"m" , "provider":{} , "x":1}"#, r#"{"model":"U" , "x":1}"#),
        (
            r#"{"explain":true,"route":"fallback","model":"m","models":["b"],"usage":{"include":true}}"#,
            r#"{"model":"U"}"#,
        ),
        (r#"{ "x":1, "models":["a"], "transforms":[], "plugins":[] }"#, r#"{ "x":1,"model":"U" }"#),
        (r#"{"models":["a"]}"#, r#"{"model":"U"}"#),
    ] {
        assert_eq!(edited(body, &offer(&json!({"upstream_model": "U"}))), expected, "{body}");
    }
}

#[test]
fn streams_say_what_was_used() {
    let with = r#""stream_options":{"include_usage":true}"#;
    for (body, expected) in [
        (r#"{"stream":true}"#.to_owned(), format!(r#"{{"stream":true,"model":"U",{with}}}"#)),
        (format!(r#"{{"stream":true,{with}}}"#), format!(r#"{{"stream":true,{with},"model":"U"}}"#)),
        (
            r#"{"stream":true,"stream_options":null}"#.into(),
            format!(r#"{{"stream":true,{with},"model":"U"}}"#),
        ),
        (
            r#"{"stream":true,"stream_options":{ }}"#.into(),
            r#"{"stream":true,"stream_options":{"include_usage":true },"model":"U"}"#.into(),
        ),
        (
            r#"{"stream":true,"stream_options":{"a":1, "include_usage" : false}}"#.into(),
            r#"{"stream":true,"stream_options":{"a":1, "include_usage" : true},"model":"U"}"#.into(),
        ),
        (
            r#"{"stream":true,"stream_options":{"a":1}}"#.into(),
            r#"{"stream":true,"stream_options":{"include_usage":true,"a":1},"model":"U"}"#.into(),
        ),
        (r#"{"stream":false}"#.into(), r#"{"stream":false,"model":"U"}"#.into()),
    ] {
        let body = body.replacen('{', r#"{"models":["m"],"#, 1);
        let got = edited(&body, &offer(&json!({"upstream_model": "U"})));
        assert_eq!(got, expected, "{body}");
    }
    let body = r#"{"model":"m","stream":true,"usage":{"include":true}}"#;
    assert!(
        edited(body, &plain()).contains(with),
        "asked for in OpenRouter's words, it is asked for in OpenAI's"
    );
    for protocol in [Protocol::OpenaiResponses, Protocol::AnthropicMessages] {
        assert!(!edited_in(protocol, r#"{"model":"m","stream":true}"#, &plain()).contains("include_usage"));
    }
}

#[test]
fn tiers_are_the_offers_word() {
    let fast = offer(
        &json!({"upstream_model": "U", "tier": "fast", "extra_body": {"service_tier": "priority", "top": {"a": 1}}}),
    );
    for (body, expected) in [
        (
            r#"{"model":"m","service_tier":"fast"}"#,
            r#"{"model":"U","service_tier":"priority","top":{"a":1}}"#,
        ),
        (
            r#"{"model":"m","service_tier":"auto"}"#,
            r#"{"model":"U","service_tier":"priority","top":{"a":1}}"#,
        ),
        (r#"{"model":"m","speed":"fast","top":2}"#, r#"{"model":"U","top":2,"service_tier":"priority"}"#),
        (r#"{"model":"m","top":null}"#, r#"{"model":"U","top":{"a":1},"service_tier":"priority"}"#),
    ] {
        assert_eq!(edited(body, &fast), expected, "{body}");
    }
    let standard = offer(&json!({"upstream_model": "U"}));
    for (body, expected) in [
        (r#"{"model":"m","service_tier":"priority"}"#, r#"{"model":"U"}"#),
        (r#"{"model":"m","service_tier":"standard","speed":"standard"}"#, r#"{"model":"U"}"#),
        (r#"{"model":"m","service_tier":"default"}"#, r#"{"model":"U","service_tier":"default"}"#),
        (r#"{"model":"m","service_tier":"auto"}"#, r#"{"model":"U","service_tier":"auto"}"#),
    ] {
        assert_eq!(
            edited(body, &standard),
            expected,
            "what costs more is not bought by the client's word alone"
        );
    }
}

#[test]
fn a_translation_has_what_the_offer_adds() {
    let chat = r#"{"model":"m","provider":{"only":["a"]},"stream":true,"service_tier":"fast","max_tokens":7,"messages":[{"role":"user","content":"hi"}]}"#;
    let ask = Ask::read(Protocol::OpenaiChat, &Head::default(), chat.as_bytes()).unwrap();
    let fast = offer(&json!({"upstream_model": "U", "extra_body": {"speed": "fast"}}));
    let body = upstream_body(&ask, chat.as_bytes(), Protocol::AnthropicMessages, &fast).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&body["model"], &body["speed"], &body["max_tokens"]),
        (&json!("U"), &json!("fast"), &json!(7))
    );
    assert_eq!((body.get("provider"), body.get("stream_options")), (None, None));

    let messages = r#"{"model":"m","explain":true,"stream":true,"max_tokens":7,"messages":[{"role":"user","content":"hi"}]}"#;
    let ask = Ask::read(Protocol::AnthropicMessages, &Head::default(), messages.as_bytes()).unwrap();
    let body = upstream_body(&ask, messages.as_bytes(), Protocol::OpenaiChat, &plain()).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        body["stream_options"],
        json!({"include_usage": true}),
        "Anthropic's clients always have usage"
    );
    assert_eq!(body.get("explain"), None);

    let body = upstream_body(&ask, messages.as_bytes(), Protocol::OpenaiResponses, &plain());
    assert_eq!(body.unwrap_err().code, "untranslatable");
}

const UNSIGNED: [&str; 4] = [
    r#"{"type":"thinking","thinking":"hm","signature":""}"#,
    r#"{ "signature" : "" , "thinking" : "\"signature\":\"x\"" , "type" : "thinking" }"#,
    r#"{"type":"thinking","thinking":"","signature":null}"#,
    "{\n\"type\":\"thinking\",\"thinking\":\"]},{\",\"signature\"\t:\n\"\",\"more\":[{}]}",
];
const OTHERS: [&str; 6] = [
    r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#,
    r#"{"type":"redacted_thinking","data":"x","signature":""}"#,
    r#"{"type" : "text", "text":"{\"type\":\"thinking\",\"signature\":\"\"}\u00e9"}"#,
    r#"{"type":"tool_use","id":"t","name":"f","input":{"type":"thinking","signature":"", "n":1.50}}"#,
    r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"","signature":""}]}"#,
    r#"{"type":"text","text":"]"}"#,
];

fn messages(of: &str) -> String {
    format!(r#"{{"model":"m","max_tokens":1,"messages":{of}, "x" : 1e5}}"#)
}

fn to_anthropic(of: &str) -> String {
    let body = edited_in(Protocol::AnthropicMessages, &messages(of), &offer(&json!({"upstream_model": "m"})));
    let rest = body.strip_prefix(r#"{"model":"m","max_tokens":1,"messages":"#).unwrap();
    rest.strip_suffix(r#", "x" : 1e5}"#).unwrap().to_owned()
}

#[test]
fn thoughts_that_nobody_signed_go() {
    let [a, b, c, d] = UNSIGNED;
    for (list, expected) in [
        (format!("[{a}, {{\"t\":1}}]"), "[{\"t\":1}]"),
        (format!("[ {{\"t\":1}} , {b} ]"), "[ {\"t\":1} ]"),
        (format!("[ {{\"t\":1}} ,\n{b} , {{\"t\":2}}]"), "[ {\"t\":1} , {\"t\":2}]"),
        (format!("[{c}, {d},{{\"t\":1}},{a}]"), "[{\"t\":1}]"),
    ] {
        let with = |content: &str| {
            format!(r#"[{{"role":"user","content":"hi"}},  {{ "content" : {content},"role":"assistant"}}]"#)
        };
        assert_eq!(to_anthropic(&with(&list)), with(expected), "{list}");
    }
    let user = r#"{"role":"user","content":"hi"}"#;
    let silent = format!(r#"{{"role":"assistant","content":[{a},{c}]}}"#);
    assert_eq!(
        to_anthropic(&format!("[{user}, {silent} , {user}]")),
        format!("[{user} , {user}]"),
        "a message must have some content"
    );
    assert_eq!(to_anthropic(&format!("[{silent}]")), format!("[{silent}]"), "and a request some message");
}

#[test]
fn nothing_else_of_the_history_changes() {
    for block in OTHERS {
        let list = format!(r#"[{{"role":"assistant","content":[ {block} ]}}]"#);
        assert_eq!(to_anthropic(&list), list);
    }
    for odd in
        [r#"{"signature":""}"#, r#"["signature", null, {"content":{"signature":""}}, {"signature":""}]"#]
    {
        let body = messages(odd);
        if let Ok(ask) = Ask::read(Protocol::AnthropicMessages, &Head::default(), body.as_bytes()) {
            let got = upstream_body(&ask, body.as_bytes(), Protocol::AnthropicMessages, &plain()).unwrap();
            assert!(String::from_utf8(got).unwrap().contains(odd));
        }
    }
    let chat = format!(r#"{{"model":"m","messages":[{{"role":"assistant","content":[{}]}}]}}"#, UNSIGNED[0]);
    assert!(edited(&chat, &plain()).contains(UNSIGNED[0]), "in other protocols these words mean nothing");
}

proptest! {
    #[test]
    fn whatever_is_between_them(blocks in prop::collection::vec((any::<bool>(), 0usize..24, 0usize..3), 1..9)) {
        let gaps = ["", " ", "\n\t"];
        let of = |signed: bool| {
            let mut list = String::new();
            for (unsigned, which, gap) in blocks.iter().filter(|(unsigned, ..)| !(signed && *unsigned)) {
                let block = if *unsigned { UNSIGNED[which % 4] } else { OTHERS[which % 6] };
                let comma = if list.is_empty() { "" } else { "," };
                list.push_str(&format!("{comma}{}{block}", gaps[*gap]));
            }
            list
        };
        let (all, left) = (of(false), of(true));
        let with = |content: &str| format!(r#"[{{"role":"user","content":"a"}},{{"role":"assistant","content":[{content}]}}]"#);
        let got: Value = serde_json::from_str(&to_anthropic(&with(&all))).unwrap();
        let expected = if left.is_empty() { r#"[{"role":"user","content":"a"}]"#.to_owned() } else { with(&left) };
        prop_assert_eq!(got, serde_json::from_str::<Value>(&expected).unwrap());
    }
}

/// JSON that a client may send, with members that the gateway knows among others.
fn value(depth: u32) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é\n\u{1F600}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"\\\\é]{0,3}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

fn body() -> impl Strategy<Value = (String, Map<String, Value>)> {
    let other = prop::collection::btree_map("[a-f\"\\\\é]{1,4}", value(3), 0..6);
    let known = (any::<[bool; 6]>(), prop::collection::vec(0usize..4, 0..8));
    (other, known).prop_map(|(other, ([provider, stream, options, usage, tier, explain], gaps))| {
        let mut members: Map<String, Value> = other.into_iter().collect();
        members.insert("model".into(), json!("m:floor"));
        let mut put = |wanted: bool, name: &str, value: Value| {
            if wanted {
                members.insert(name.to_owned(), value);
            }
        };
        put(provider, "provider", json!({"only": ["a", "}"], "deadline_ms": 5}));
        put(stream, "stream", json!(true));
        put(options, "stream_options", json!({"include_usage": false, "other": [1]}));
        put(usage, "usage", json!({"include": true}));
        put(tier, "service_tier", json!("flex"));
        put(explain, "explain", json!(false));
        let gap = |place: usize| ["", " ", "\n", " \t"][*gaps.get(place % 8).unwrap_or(&0)];
        let mut text = format!("{}{{{}", gap(0), gap(1));
        for (place, (name, value)) in members.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            text.push_str(&format!("{comma}{}{}{}:{}{value}{}", gap(2), json!(name), gap(3), gap(4), gap(5)));
        }
        text.push('}');
        (text, members)
    })
}

proptest! {
    #[test]
    fn only_what_is_meant_to_change_changes((text, mut expected) in body()) {
        let fast = offer(&json!({"upstream_model": "U", "extra_body": {"service_tier": "priority", "zz": [1]}}));
        let got = edited(&text, &fast);
        let parsed: Map<String, Value> = serde_json::from_str(&got).unwrap();
        for own in OWN {
            expected.remove(own);
        }
        expected.insert("model".into(), json!("U"));
        expected.insert("service_tier".into(), json!("priority"));
        expected.insert("zz".into(), json!([1]));
        if expected.get("stream") == Some(&json!(true)) {
            let options = expected.entry("stream_options").or_insert_with(|| json!({}));
            options["include_usage"] = json!(true);
        }
        prop_assert_eq!(parsed, expected);

        // Members that stay are there byte for byte.
        let ask = Ask::read(Protocol::OpenaiChat, &Head::default(), text.as_bytes()).unwrap();
        for place in &ask.places {
            let changed = ["model", "service_tier", "stream_options"].contains(&place.name.as_str());
            if !changed && !OWN.contains(&place.name.as_str()) {
                prop_assert!(got.contains(&text[place.start..place.value.end]));
            }
        }
    }

    #[test]
    fn without_anything_to_do_nothing_is_done((text, members) in body()) {
        let idle = Change { own: false, model: None, usage: false, tiers: false, thoughts: false, offer: None };
        let ask = Ask::read(Protocol::OpenaiChat, &Head::default(), text.as_bytes()).unwrap();
        prop_assert_eq!(idle.apply(text.as_bytes(), &ask.places), text.as_bytes());
        prop_assert_eq!(ask.places.len(), members.len());
    }
}
