//! What pages say, in each client's shape.

use std::sync::Arc;

use paceline_wire::{BodyEnd, Head, Limits, Outcome, Protocol, RequestRecord, Stamp, StreamObserver};
use serde_json::{Value, json};

use super::testing::{figures, ledger, table};
use super::*;
use crate::accounts::{Accounts, KeyFigures};
use crate::ledger::entry::{AttemptEntry, Entry, Role, Usage, UsageSource};
use crate::table::{RouteTable, Tier};

/// Who asks: nobody that is known, or a key of the table by its place.
struct Who {
    key: Option<usize>,
    refused: bool,
}

impl Keys for Who {
    fn authenticate(&self, table: &RouteTable) -> Result<Option<Arc<Key>>, Refusal> {
        if self.refused {
            return Err(Refusal::invalid_api_key("The key is not known."));
        }
        Ok(self.key.map(|place| table.keys[place].clone()))
    }

    fn figures(&self, key: Option<&Arc<Key>>) -> KeyFigures {
        Accounts::new().figures(key, 0, 0)
    }

    fn generation(&self, id: &str, key: Option<&Key>) -> Option<String> {
        (id == "gen-1").then(|| json!({"id": id, "key": key.map(|key| &key.id)}).to_string())
    }
}

const NOBODY: Who = Who { key: None, refused: false };

fn context<'a>(table: &'a RouteTable, counters: &'a Counters) -> Context<'a> {
    Context {
        table,
        figures: table.offers.iter().map(|offer| figures(offer)).collect(),
        waiting: vec![0, 2, 0],
        counters,
        ledger: ledger(),
        needs_ledger: true,
        in_flight: 3,
        connections: 4,
        draining: false,
        unix_s: 5,
    }
}

fn get(target: &str, who: &Who, admin: bool, anthropic: bool) -> Page {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (table, counters) = (table(), Counters::new());
    let asked = Asked { method: "GET", path, query, admin, anthropic };
    page(&asked, &context(&table, &counters), who)
}

fn body(page: &Page) -> Value {
    serde_json::from_slice(&page.body).unwrap()
}

#[test]
fn models_are_listed_for_openai_and_openrouter() {
    let page = get("/v1/models", &NOBODY, false, false);
    let list = body(&page);
    assert_eq!((page.status, &list["object"]), (200, &json!("list")));
    let [demo, small] = list["data"].as_array().unwrap().as_slice() else { panic!("two models") };
    assert_eq!(
        (&demo["id"], &demo["object"], &demo["owned_by"]),
        (&json!("author/demo"), &json!("model"), &json!("author"))
    );
    assert_eq!(demo["pricing"]["prompt"], "0.000003", "of the offer whose price is known");
    assert_eq!(demo["pricing"]["input_cache_read"], "0.0000003");
    assert_eq!(
        (&demo["context_length"], &demo["top_provider"]["max_completion_tokens"]),
        (&json!(8192), &json!(1024))
    );
    let parameters = demo["supported_parameters"].as_array().unwrap();
    assert!(parameters.contains(&json!("tools")) && parameters.contains(&json!("temperature")));
    assert_eq!(small["supported_parameters"], json!([]), "it is known that there are none");
    assert_eq!(small["pricing"]["prompt"], "-1");
    assert_eq!(small["architecture"]["modality"], "text->embeddings");
}

#[test]
fn models_are_listed_for_anthropic() {
    let list = body(&get("/v1/models", &NOBODY, false, true));
    assert_eq!((&list["first_id"], &list["last_id"]), (&json!("author/demo"), &json!("small")));
    assert_eq!((&list["has_more"], &list["data"][1]["type"]), (&json!(false), &json!("model")));
    assert_eq!(list["data"][1]["display_name"], "small");
}

#[test]
fn a_key_sees_its_models_alone() {
    let second = Who { key: Some(1), refused: false };
    let list = body(&get("/v1/models", &second, false, false));
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    for target in ["/v1/models/author/demo", "/v1/models/author/demo/endpoints"] {
        let page = get(target, &second, false, false);
        assert_eq!((page.status, &body(&page)["error"]["code"]), (404, &json!("unknown_model")), "{target}");
        assert!(!String::from_utf8(page.body).unwrap().contains("closest\":[\"author"), "nor its name");
    }
    let refused = Who { key: None, refused: true };
    for target in ["/v1/models", "/v1/key", "/v1/generation?id=gen-1", "/v1/models/small"] {
        assert_eq!(get(target, &refused, false, false).status, 401, "{target}");
    }
    for target in ["/healthz", "/readyz"] {
        assert_eq!(get(target, &refused, false, false).status, 200, "{target}");
    }
}

#[test]
fn one_model_is_found_by_any_name() {
    for target in ["/v1/models/author/demo", "/v1/models/author%2Fdemo", "/v1/models/demo"] {
        assert_eq!(body(&get(target, &NOBODY, false, false))["id"], "author/demo", "{target}");
    }
    assert_eq!(body(&get("/v1/models/small", &NOBODY, false, true))["type"], "model");
    let page = get("/v1/models/smal", &NOBODY, false, true);
    assert_eq!((page.status, &body(&page)["error"]["type"]), (404, &json!("not_found_error")));
    assert_eq!(body(&page)["error"]["details"]["closest"], json!(["small"]));
}

#[test]
fn endpoints_are_openrouters() {
    let first = Who { key: Some(0), refused: false };
    let data = &body(&get("/v1/models/author/demo/endpoints", &first, false, false))["data"];
    assert_eq!((&data["id"], &data["window_s"]), (&json!("author/demo"), &json!(600.0)));
    let endpoint = &data["endpoints"][0];
    assert_eq!(
        (&endpoint["tag"], &endpoint["tier"], &endpoint["provider_name"]),
        (&json!("a"), &json!("fast"), &json!("Prov \"x\""))
    );
    assert_eq!((&endpoint["context_length"], &endpoint["status"]), (&json!(8192), &json!(0)));
    for unknown in ["uptime_last_30m", "latency_last_30m", "throughput_last_30m"] {
        assert_eq!(endpoint[unknown], Value::Null, "{unknown}: nothing was seen");
    }
    assert_eq!(endpoint["supports_implicit_caching"], true);
    assert_eq!(endpoint["figures"]["cold"], true);
    let tags = |who: &Who| -> Vec<Value> {
        let page = body(&get("/v1/models/demo/endpoints", who, false, false));
        page["data"]["endpoints"].as_array().unwrap().iter().map(|endpoint| endpoint["tag"].clone()).collect()
    };
    assert_eq!(tags(&first), ["a", "b"]);
    assert_eq!(tags(&NOBODY), ["b"], "an offer for some keys is not shown to others");
}

#[test]
fn ones_own_key_and_requests() {
    let first = Who { key: Some(0), refused: false };
    assert_eq!(body(&get("/v1/key", &first, false, false))["data"]["label"], "one");
    assert_eq!(
        body(&get("/v1/generation?id=gen-1", &first, false, false)),
        json!({"data": {"id": "gen-1", "key": "k1"}})
    );
    let page = get("/v1/generation?id=gen-2", &first, false, false);
    assert_eq!((page.status, &body(&page)["error"]["code"]), (404, &json!("unknown_generation")));
}

#[test]
fn figures_are_for_operators() {
    let page = get("/endpoints", &NOBODY, true, false);
    let figures = body(&page);
    assert_eq!((&figures["schema"], &figures["table_version"]), (&json!("paceline.endpoints/1"), &json!(7)));
    let second = &figures["offers"][1];
    assert_eq!(
        (&second["offer"], &second["waiting"], &second["endpoint"]),
        (&json!("b"), &json!(2), &json!("http://127.0.0.1:9/v1"))
    );
    assert_eq!((&second["price"], &second["protocols"]), (&Value::Null, &json!(["openai-chat"])));
    assert!(!String::from_utf8(page.body).unwrap().contains("secret-of-the-upstream"));
    assert!(page.headers.contains(&("cache-control", "no-store".to_owned())));
    assert_eq!(get("/endpoints", &NOBODY, false, false).status, 404);
}

#[test]
fn refusals_of_pages_are_whole() {
    let (table, counters) = (table(), Counters::new());
    let asked = Asked { method: "DELETE", path: "/v1/models", query: "", admin: false, anthropic: false };
    let page = page(&asked, &context(&table, &counters), &NOBODY);
    assert_eq!(page.status, 405);
    assert!(page.headers.contains(&("allow", "GET".to_owned())));
}

/// A row of an answer of three tokens (first after 250 ms, all after 350 ms), or of a connection that was refused.
fn row(whole: bool) -> RequestRecord {
    let chunk = |text: &str| {
        let event = json!({"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]});
        format!("data: {event}\n\n")
    };
    let last = json!({
        "id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3},
    });
    let limits = Limits { max_event_bytes: 1 << 20, keep_text: false, max_body_bytes: 1 << 20 };
    let mut observer = StreamObserver::new(Protocol::OpenaiChat, true, limits);
    let stamp = |ns: i64| Stamp { ns, kernel: false, read: 0 };
    if whole {
        let content_type = Some("text/event-stream");
        let head = Head { status: 200, content_type, retry_after: None, request_id: None };
        observer.on_head(&head, stamp(1_000_000_000));
        observer.on_body(chunk("one").as_bytes(), stamp(1_250_000_000));
        observer.on_body(chunk("two").as_bytes(), stamp(1_300_000_000));
        observer.on_body(chunk("three").as_bytes(), stamp(1_350_000_000));
        observer.on_body(format!("data: {last}\n\ndata: [DONE]\n\n").as_bytes(), stamp(1_350_000_000));
    }
    let end = if whole { BodyEnd::Complete } else { BodyEnd::ConnectError("refused".to_owned()) };
    RequestRecord {
        segment: 0,
        request_index: 0,
        session: None,
        step: None,
        warmup: false,
        intended_ns: 1_000_000_000,
        sent_ns: whole.then_some(1_000_000_000),
        written_ns: None,
        connect_ns: None,
        tls_ns: None,
        connection_reused: false,
        hangup_ns: None,
        stopped_ns: None,
        tail_bytes: None,
        observation: observer.finish(end, 1_400_000_000),
    }
}

fn attempt(offer: &str, role: Role, served: bool) -> AttemptEntry {
    AttemptEntry {
        offer: offer.to_owned(),
        provider: "p\"q".to_owned(),
        model: "author/demo".to_owned(),
        upstream_model: "up".to_owned(),
        tier: Tier::Fast,
        endpoint: "http://x".to_owned(),
        protocol: "openai-chat",
        role,
        served,
        downgrade: None,
        usage: Usage {
            prompt_tokens: if served { 5 } else { 0 },
            completion_tokens: if served { 3 } else { 0 },
            source: UsageSource::Server,
            ..Usage::NOTHING
        },
        cost_usd: Some(if served { 0.25 } else { 0.0 }),
        row: row(served),
    }
}

/// A request that one offer answered after another had failed.
fn entry() -> Entry {
    Entry {
        id: "gen-1".to_owned(),
        received_unix_ns: 0,
        received_ns: 0,
        ended_ns: 1,
        key: None,
        app_title: None,
        app_referer: None,
        protocol: "openai-chat",
        streaming: true,
        asked_model: "demo".to_owned(),
        outcome: "ok",
        status: Some(200),
        code: None,
        ttft_ns: Some(260_000_000),
        queued_ns: 500_000_000,
        deadline_ns: Some(1),
        finish_by_ns: None,
        deadline_met: Some(true),
        cost_usd: 0.25,
        cost_is_partial: false,
        attempts: vec![attempt("a", Role::First, false), attempt("b", Role::Retry, true)],
    }
}

#[test]
fn metrics_count_what_the_ledger_has() {
    let (table, counters) = (table(), Counters::new());
    counters.finished(&entry());
    counters.finished(&entry());
    counters.finished(&Entry {
        outcome: "refused",
        code: Some("unknown_model".to_owned()),
        attempts: Vec::new(),
        asked_model: "zzz\"\n".repeat(900),
        ..entry()
    });
    counters.connection_refused();
    let asked = Asked { method: "GET", path: "/metrics", query: "", admin: true, anthropic: false };
    let page = page(&asked, &context(&table, &counters), &NOBODY);
    assert_eq!(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
    let text = String::from_utf8(page.body).unwrap();
    let of_b = r#"offer="b",provider="p\"q",model="author/demo",tier="fast""#;
    for line in [
        r#"paceline_gateway_requests_total{model="author/demo",outcome="ok",code=""} 2"#.to_owned(),
        r#"paceline_gateway_requests_total{model="",outcome="refused",code="unknown_model"} 1"#.to_owned(),
        format!(r#"paceline_gateway_attempts_total{{{of_b},outcome="ok"}} 2"#),
        format!("paceline_gateway_retries_total{{{of_b}}} 2"),
        format!("paceline_gateway_served_total{{{of_b}}} 2"),
        format!(r#"paceline_gateway_tokens_total{{{of_b},kind="completion"}} 6"#),
        format!("paceline_gateway_cost_usd_total{{{of_b}}} 0.5"),
        // 250 ms to the first token; then 100 ms for two more.
        format!(r#"paceline_gateway_server_time_to_first_token_seconds_bucket{{{of_b},le="0.1"}} 0"#),
        format!(r#"paceline_gateway_server_time_to_first_token_seconds_bucket{{{of_b},le="0.25"}} 2"#),
        format!("paceline_gateway_server_time_per_output_token_seconds_sum{{{of_b}}} 0.1"),
        format!("paceline_gateway_server_request_duration_seconds_sum{{{of_b}}} 0.8"),
        "paceline_gateway_client_time_to_first_token_seconds_count 3".to_owned(),
        r#"paceline_gateway_deadlines_total{met="true"} 3"#.to_owned(),
        "paceline_gateway_queued_seconds_total 1.5".to_owned(),
        "paceline_gateway_connections 4".to_owned(),
        "paceline_gateway_connections_refused_total 1".to_owned(),
        "paceline_gateway_requests_in_flight 3".to_owned(),
        "paceline_gateway_ledger_lost_total 1".to_owned(),
        r#"paceline_gateway_offer_waiting{offer="b",provider="Prov \"x\"",model="author/demo",tier="standard"} 2"#.to_owned(),
    ] {
        assert!(text.lines().any(|had| had == line), "{line}\n{text}");
    }
    assert!(!text.contains("zzz"), "what a client asks for is no label");
    assert_eq!(stats(&context(&table, &counters))["requests"], json!({"ok": 2, "refused": 1}));
}

#[test]
fn an_answer_that_came_whole_has_a_duration_and_no_ttft() {
    let (table, counters) = (table(), Counters::new());
    let mut whole = entry();
    whole.attempts[1].row.observation.streaming = false;
    counters.finished(&whole);
    let asked = Asked { method: "GET", path: "/metrics", query: "", admin: true, anthropic: false };
    let text = String::from_utf8(page(&asked, &context(&table, &counters), &NOBODY).body).unwrap();
    let of_b = r#"offer="b",provider="p\"q",model="author/demo",tier="fast""#;
    for line in [
        format!("paceline_gateway_server_time_to_first_token_seconds_count{{{of_b}}} 0"),
        format!("paceline_gateway_server_request_duration_seconds_count{{{of_b}}} 1"),
    ] {
        assert!(text.lines().any(|had| had == line), "{line}\n{text}");
    }
}

#[test]
fn metrics_are_well_formed() {
    let (table, counters) = (table(), Counters::new());
    counters.finished(&entry());
    let text = String::from_utf8(metrics::metrics(&context(&table, &counters)).body).unwrap();
    let mut families: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let name = rest.split(' ').next().unwrap();
            assert!(!families.contains(&name), "{name} comes twice");
            families.push(name);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(Some(&name), families.last());
            assert!(["counter", "gauge", "histogram"].contains(&kind));
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        } else {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(name.starts_with(families.last().unwrap()), "{line}");
            assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(Outcome::ALL.len() == 11 && families.len() > 30);
    // Each is in the reference.
    let reference = include_str!("../../../../docs/reference/gateway-api.md");
    for family in families {
        assert!(reference.contains(&format!("`{family}`")), "{family} is not in the reference");
    }
}

#[test]
fn paths_are_those_of_the_reference() {
    let reference = include_str!("../../../../docs/reference/gateway-api.md");
    let mut documented: Vec<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `GET ").or_else(|| line.strip_prefix("| `POST ")))
        .filter_map(|rest| rest.split('`').next())
        .collect();
    let mut known: Vec<&str> = [&paths::ASK_PATHS[..], &paths::CLIENT_PATHS, &paths::ADMIN_PATHS].concat();
    documented.sort_unstable();
    known.sort_unstable();
    assert_eq!(documented, known);
}
