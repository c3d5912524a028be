//! Every constraint names itself and the offer.

use paceline_wire::Protocol;
use serde_json::json;

use super::{Bench, ask, document, offer, with};
use crate::ask::{Ask, MaxPrice};
use crate::table::Tier;

fn asking(change: impl FnOnce(&mut Ask)) -> Ask {
    let mut ask = ask();
    change(&mut ask);
    ask
}

/// With the one offer `a` it is refused with that code and status, and the message names offer and reason.
fn refused(offer: serde_json::Value, ask: &Ask, code: &str, status: u16, says: &str) {
    let bench = Bench::new(&document(&[offer]));
    let refusal = bench.plan(ask).unwrap_err();
    assert_eq!((refusal.code, refusal.status), (code, status), "{}", refusal.message);
    assert!(refusal.message.contains("a: "), "{}", refusal.message);
    assert!(refusal.message.contains(says), "{}", refusal.message);
    assert_eq!(refusal.considered.len(), 1);
    assert_eq!(refusal.considered[0].verdict, "left out");
}

fn accepted(offer: serde_json::Value, ask: &Ask) {
    let bench = Bench::new(&document(&[offer]));
    assert!(bench.plan(ask).is_ok(), "{:?}", bench.plan(ask));
}

#[test]
fn protocol() {
    let responses = asking(|ask| ask.protocol = Protocol::OpenaiResponses);
    refused(offer("a", 1.0), &responses, "protocol_unsupported", 404, "openai-responses");
    accepted(with(offer("a", 1.0), "protocols", json!(["anthropic-messages"])), &ask());
}

#[test]
fn key() {
    let bench = Bench::new(&document(&[with(offer("a", 1.0), "allow_keys", json!(["k1"]))]));
    assert!(bench.plan_as(&ask(), Some("k1")).is_ok());
    for other in [Some("k2"), None] {
        let refusal = bench.plan_as(&ask(), other).unwrap_err();
        assert_eq!((refusal.code, refusal.status), ("not_allowed", 403));
    }
}

#[test]
fn only_and_ignore_take_providers_and_offers() {
    let only = |name: &str| asking(|ask| ask.preferences.only = vec![name.to_owned()]);
    let ignore = |name: &str| asking(|ask| ask.preferences.ignore = vec![name.to_owned()]);
    refused(offer("a", 1.0), &only("b"), "no_allowed_provider", 404, "provider.only");
    refused(offer("a", 1.0), &ignore("a"), "no_allowed_provider", 404, "provider.ignore");
    refused(offer("a", 1.0), &ignore("Provider-A"), "no_allowed_provider", 404, "provider.ignore");
    accepted(offer("a", 1.0), &only("a"));
    accepted(offer("a", 1.0), &only("provider-a"));
    accepted(offer("a", 1.0), &ignore("b"));
}

#[test]
fn order_without_fallbacks() {
    let ask = asking(|ask| {
        ask.preferences.order = vec!["b".to_owned()];
        ask.preferences.allow_fallbacks = false;
    });
    refused(offer("a", 1.0), &ask, "no_allowed_provider", 404, "provider.order");
}

#[test]
fn tier() {
    let of = |tier: &str| with(offer("a", 1.0), "tier", json!(tier));
    let asked = |tier| asking(|ask| ask.tier = Some(tier));
    refused(of("standard"), &asked(Tier::Fast), "tier_unavailable", 404, "its tier is standard, and fast");
    refused(of("standard"), &asked(Tier::Flex), "tier_unavailable", 404, "flex");
    refused(of("fast"), &asked(Tier::Standard), "tier_unavailable", 404, "standard");
    refused(of("fast"), &asked(Tier::Ultra), "tier_unavailable", 404, "ultra");
    accepted(of("ultra"), &asked(Tier::Fast));
    accepted(of("fast"), &asked(Tier::Fast));
    for tier in ["standard", "fast", "ultra", "flex"] {
        accepted(of(tier), &ask());
    }
}

#[test]
fn parameters() {
    let limited = || with(offer("a", 1.0), "parameters", json!(["temperature", "tools"]));
    let with_parameter = |name: &str, require| {
        asking(|ask| {
            ask.parameters = vec!["temperature".to_owned(), name.to_owned()];
            ask.preferences.require_parameters = require;
        })
    };
    refused(
        limited(),
        &with_parameter("response_format", true),
        "unsupported_parameters",
        404,
        "response_format",
    );
    accepted(limited(), &with_parameter("response_format", false));
    accepted(limited(), &with_parameter("tool_choice", true));
    accepted(offer("a", 1.0), &with_parameter("response_format", true));
    let without_tools = with(offer("a", 1.0), "parameters", json!(["temperature"]));
    refused(without_tools, &with_parameter("tools", false), "unsupported_parameters", 404, "tools");
}

#[test]
fn images() {
    let with_image = asking(|ask| ask.images = 1);
    let of = |names| with(offer("a", 1.0), "parameters", names);
    refused(of(json!(["tools"])), &with_image, "images_unsupported", 404, "images");
    accepted(of(json!(["images"])), &with_image);
    accepted(offer("a", 1.0), &with_image);
}

#[test]
fn lengths() {
    // 2,000 bytes are about 500 tokens, and 100 more are asked for.
    let of = |context: u64| with(offer("a", 1.0), "context_tokens", json!(context));
    refused(of(599), &ask(), "context_length_exceeded", 400, "its context is 599 tokens");
    accepted(of(600), &ask());
    refused(
        with(offer("a", 1.0), "max_output_tokens", json!(99)),
        &ask(),
        "max_output_tokens_exceeded",
        400,
        "at most 99 tokens, and 100 were asked for",
    );
}

#[test]
fn a_context_is_judged_by_the_offers_own_tokenizer() {
    let mut bench = Bench::new(&document(&[with(offer("a", 1.0), "context_tokens", json!(800))]));
    assert!(bench.plan(&ask()).is_ok());
    // 2,000 bytes turn out to be 1,000 tokens.
    let asked = ask();
    for _ in 0..20 {
        let seen = super::Seen { prompt_tokens: Some(1000), ..super::answer(&asked, 100.0, 50.0) };
        bench.now_ns += super::S;
        bench.router.observe(&bench.table, 0, &seen, bench.now_ns);
    }
    assert_eq!(bench.plan(&asked).unwrap_err().code, "context_length_exceeded");
}

#[test]
fn max_price() {
    let most = |prompt, completion, request| {
        asking(|ask| {
            ask.preferences.max_price = MaxPrice {
                prompt_usd_per_mtok: prompt,
                completion_usd_per_mtok: completion,
                request_usd: request,
            }
        })
    };
    refused(offer("a", 2.0), &most(Some(1.0), None, None), "max_price_too_low", 404, "prompt price is 2");
    refused(offer("a", 2.0), &most(None, Some(1.0), None), "max_price_too_low", 404, "completion price is 2");
    refused(offer("a", 0.0), &most(Some(9.0), None, None), "max_price_too_low", 404, "unknown");
    accepted(offer("a", 2.0), &most(Some(2.0), Some(2.0), Some(0.0)));
    accepted(offer("a", 0.0), &ask());
}

#[test]
fn different_reasons_are_all_named() {
    let bench = Bench::new(&document(&[
        with(offer("a", 1.0), "tier", json!("flex")),
        with(with(offer("b", 1.0), "tier", json!("fast")), "context_tokens", json!(10)),
        offer("c", 1.0),
    ]));
    let asked = asking(|ask| {
        ask.tier = Some(Tier::Fast);
        ask.preferences.ignore = vec!["c".to_owned()];
    });
    let refusal = bench.plan(&asked).unwrap_err();
    assert_eq!((refusal.code, refusal.status), ("no_offer", 404));
    for part in ["a: its tier is flex", "b: its context is 10", "c: provider.ignore"] {
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }
    let none = bench.router.plan(&super::PlanRequest {
        table: &bench.table,
        ask: &ask(),
        model: "nothing",
        key_id: None,
        now_ns: 0,
        received_ns: 0,
    });
    assert!(none.unwrap_err().message.contains("no offer of the model \"nothing\""));
}
