//! The order of those that can answer, in OpenRouter's terms and by the expected bill.

use paceline_wire::Outcome;
use serde_json::{Value, json};

use super::{Bench, MS, S, ask, document, offer, with};
use crate::ask::{Ask, Bound, Sort};

/// Nothing is explored, so that the order is the policy's own.
fn settled(offers: &[Value]) -> Bench {
    let mut document = document(offers);
    document["policy"]["explore_share"] = json!(0.0);
    Bench::new(&document)
}

/// `cheap` is slow, `quick` answers soon, `rapid` decodes fast.
fn three() -> Bench {
    let mut bench = settled(&[offer("cheap", 1.0), offer("quick", 3.0), offer("rapid", 5.0)]);
    for _ in 0..10 {
        bench.warm("cheap", 2, 2000.0, 20.0);
        bench.warm("quick", 2, 200.0, 40.0);
        bench.warm("rapid", 2, 700.0, 200.0);
    }
    bench
}

fn sorted(sort: Sort) -> Ask {
    let mut ask = ask();
    ask.preferences.sort = Some(sort);
    ask
}

#[test]
fn sort() {
    let bench = three();
    assert_eq!(bench.ids(&sorted(Sort::Price)), ["cheap", "quick", "rapid"]);
    assert_eq!(bench.ids(&sorted(Sort::Latency)), ["quick", "rapid", "cheap"]);
    assert_eq!(bench.ids(&sorted(Sort::Throughput)), ["rapid", "quick", "cheap"]);
}

#[test]
fn the_bill_weighs_price_and_time() {
    // 600 tokens at 1, 3 and 5 USD a million: 0.0006, 0.0018, 0.003 USD; and 7, 2.7 and 1.2 s.
    let mut bench = three();
    let by_worth = |bench: &mut Bench, usd_per_hour: f64| {
        let mut document = document(&[offer("cheap", 1.0), offer("quick", 3.0), offer("rapid", 5.0)]);
        document["policy"]["explore_share"] = json!(0.0);
        document["policy"]["time_worth_usd_per_hour"] = json!(usd_per_hour);
        bench.table = super::table(&document).into();
        bench.router.apply(&bench.table);
        bench.ids(&ask())[0].to_owned()
    };
    assert_eq!(by_worth(&mut bench, 0.1), "cheap");
    // The worth at which 0.0012 USD buys 4.3 s is 1 USD an hour; 0.0012 USD for 1.5 s, 2.9.
    assert_eq!(by_worth(&mut bench, 2.0), "quick");
    assert_eq!(by_worth(&mut bench, 10.0), "rapid");
}

#[test]
fn the_reason_has_the_figures() {
    let bench = three();
    let reason = bench.plan(&ask()).unwrap().reason;
    assert!(reason.starts_with("least expected bill: 0.00"), "{reason}");
    assert!(reason.contains("0.003000 USD") && reason.contains("100 tokens"), "{reason}");
}

#[test]
fn order_comes_first_and_the_rest_after_it() {
    let bench = three();
    let mut ask = ask();
    ask.preferences.order = vec!["provider-cheap".to_owned(), "rapid".to_owned()];
    assert_eq!(bench.ids(&ask), ["cheap", "rapid", "quick"]);
    ask.preferences.allow_fallbacks = false;
    assert_eq!(bench.ids(&ask), ["cheap", "rapid"]);
    ask.preferences.order = vec!["nobody".to_owned(), "quick".to_owned()];
    assert_eq!(bench.ids(&ask), ["quick"]);
}

#[test]
fn without_fallbacks_only_the_first_is_asked() {
    let bench = three();
    let mut ask = sorted(Sort::Latency);
    ask.preferences.allow_fallbacks = false;
    ask.explain = true;
    let plan = bench.plan(&ask).unwrap();
    assert_eq!(plan.candidates.len(), 1);
    let verdicts: Vec<&str> = plan.considered.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, ["chosen", "left out", "left out"]);
    assert!(plan.considered[1].why.contains("allow_fallbacks"));
}

#[test]
fn what_is_preferred_comes_before_what_is_not() {
    let bench = three();
    let mut ask = sorted(Sort::Price);
    ask.preferences.max_latency_s = vec![Bound { quantile: 0.9, value: 1.0 }];
    assert_eq!(bench.ids(&ask), ["quick", "rapid", "cheap"]);
    ask.preferences.min_throughput_tok_s = vec![Bound { quantile: 0.5, value: 100.0 }];
    assert_eq!(bench.ids(&ask), ["rapid", "cheap", "quick"], "only one meets both; the others by price");
    ask.preferences.order = vec!["cheap".to_owned()];
    assert_eq!(bench.ids(&ask), ["rapid", "cheap", "quick"], "a wish in order does not undo it");
}

#[test]
fn percentiles_of_preferences() {
    let mut bench = settled(&[offer("even", 2.0), offer("uneven", 1.0)]);
    for turn in 0..40 {
        let stall = turn % 5 == 0;
        bench.answers("even", 400.0, 50.0);
        bench.answers("uneven", if stall { 3000.0 } else { 100.0 }, if stall { 5.0 } else { 100.0 });
    }
    let mut ask = sorted(Sort::Price);
    let bound = |quantile, value| vec![Bound { quantile, value }];
    ask.preferences.max_latency_s = bound(0.5, 0.5);
    assert_eq!(bench.ids(&ask), ["uneven", "even"]);
    ask.preferences.max_latency_s = bound(0.9, 0.5);
    assert_eq!(bench.ids(&ask), ["even", "uneven"]);
    ask.preferences.max_latency_s.clear();
    // p90 of a throughput: what 90 % of the requests reach.
    ask.preferences.min_throughput_tok_s = bound(0.9, 30.0);
    assert_eq!(bench.ids(&ask), ["even", "uneven"]);
    ask.preferences.min_throughput_tok_s = bound(0.5, 80.0);
    assert_eq!(bench.ids(&ask), ["uneven", "even"]);
}

#[test]
fn equals_share_the_load() {
    let mut bench = settled(&[offer("a", 1.0), offer("b", 1.0)]);
    for _ in 0..50 {
        bench.answers("a", 300.0, 50.0);
        bench.answers("b", 301.0, 50.0);
    }
    let firsts = bench.firsts(&ask(), 200);
    assert!(firsts.iter().all(|count| *count > 60), "{firsts:?}");
    let _permit = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
    assert_eq!(bench.firsts(&ask(), 50), [0, 50], "the one with less in flight");
}

#[test]
fn failures_cost() {
    let mut bench = settled(&[offer("sure", 1.2), offer("unsure", 1.0)]);
    for turn in 0..40 {
        bench.answers("sure", 300.0, 50.0);
        if turn % 3 == 0 {
            bench.ends("unsure", Outcome::HttpError, Some(500));
        } else {
            bench.answers("unsure", 300.0, 50.0);
        }
    }
    assert_eq!(bench.ids(&ask()), ["sure", "unsure"]);
    let figures = bench.router.figures(&bench.table, bench.now_ns);
    assert!((figures[1].success.value - 0.65).abs() < 0.03, "{:?}", figures[1].success);
}

#[test]
fn the_clients_own_mistakes_and_those_who_leave_are_no_failures() {
    let mut bench = settled(&[offer("a", 1.0)]);
    for _ in 0..20 {
        bench.ends("a", Outcome::HttpError, Some(400));
        bench.ends("a", Outcome::HttpError, Some(422));
        bench.ends("a", Outcome::Cancelled, Some(200));
    }
    let figures = bench.router.figures(&bench.table, bench.now_ns);
    assert_eq!((figures[0].success.n, figures[0].breaker), (0.0, "closed"));
    for _ in 0..5 {
        bench.ends("a", Outcome::HttpError, Some(401));
    }
    assert_eq!(bench.router.figures(&bench.table, bench.now_ns)[0].breaker, "open");
}

#[test]
fn an_unknown_price_is_no_merit() {
    let mut bench = settled(&[offer("unknown", 0.0), offer("known", 1.0)]);
    bench.warm("unknown", 20, 300.0, 50.0);
    bench.warm("known", 20, 300.0, 50.0);
    assert_eq!(bench.ids(&sorted(Sort::Price)), ["known", "unknown"]);
}

#[test]
fn hedging_waits_for_the_offers_own_p95() {
    let mut bench = settled(&[offer("a", 1.0), offer("b", 1.0)]);
    for turn in 0..60 {
        bench.answers("a", if turn % 10 == 0 { 2000.0 } else { 200.0 }, 50.0);
    }
    let plan = bench.plan(&ask()).unwrap();
    let after_ns = plan.candidates[0].hedge_after_ns.unwrap();
    assert!((1900 * MS..2100 * MS).contains(&after_ns), "{after_ns}");
    assert_eq!(plan.candidates[1].hedge_after_ns, None, "a cold offer has no percentile");
    let mut no = ask();
    no.preferences.hedge = Some(false);
    assert_eq!(bench.plan(&no).unwrap().candidates[0].hedge_after_ns, None);
    bench.now_ns += S;
    for _ in 0..60 {
        bench.answers("a", 10.0, 50.0);
    }
    assert_eq!(bench.plan(&ask()).unwrap().candidates[0].hedge_after_ns, Some(50 * MS), "never sooner");
}

#[test]
fn explain_has_all_offers_with_figures_and_counts() {
    let flex = with(offer("c", 1.0), "tier", json!("flex"));
    let priced = |offer, source: &str| with(offer, "price_source", json!(source));
    let mut bench = settled(&[
        priced(offer("a", 1.0), "the config"),
        offer("b", 2.0),
        priced(flex, "a list of 2026-11-30"),
    ]);
    bench.warm("a", 30, 300.0, 50.0);
    let mut ask = ask();
    ask.explain = true;
    ask.tier = Some(crate::table::Tier::Standard);
    let plan = bench.plan(&ask).unwrap();
    let document = serde_json::to_value(&plan.considered).unwrap();
    assert_eq!(document[0]["offer"], "a");
    assert_eq!(document[0]["verdict"], "chosen");
    assert_eq!(document[0]["why"], json!(plan.reason));
    let ttft = &document[0]["figures"]["ttft_ms_p50"];
    let bounds = [&ttft["lo"], &ttft["value"], &ttft["hi"]].map(|value| value.as_f64().unwrap());
    assert!(bounds.is_sorted() && (270.0..330.0).contains(&bounds[1]), "{ttft}");
    assert_eq!(document[0]["figures"]["samples"], 30);
    assert_eq!(document[1]["verdict"], "candidate");
    assert_eq!(document[1]["figures"]["cold"], true);
    assert_eq!(document[2]["verdict"], "left out");
    assert!(document[2]["figures"].is_null());
    let sources = [0, 1, 2].map(|place| document[place].get("price_source").and_then(Value::as_str));
    assert_eq!(sources, [Some("the config"), None, Some("a list of 2026-11-30")]);
    assert!(plan.considered.len() == 3);
}
