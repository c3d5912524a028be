//! What a router is told of before its start.

use paceline_wire::Outcome;
use serde_json::json;

use super::{Bench, MS, S, answer, ask, document, offer};
use crate::ledger::Past;
use crate::recall::{Now, recall};
use crate::route::{Router, Seen};

/// The wall clock is this far from CLOCK_MONOTONIC, which began anew since: its instants then were beyond all of now.
const UNIX_NS: i64 = 1_796_040_000 * S;

fn past(offer: &str, seconds_ago: i64, ttft_ms: i64) -> Past {
    Past {
        offer: offer.to_owned(),
        upstream_model: "demo".to_owned(),
        endpoint: "http://127.0.0.1:1/v1".to_owned(),
        probe: false,
        streaming: true,
        embedding: false,
        ended_unix_ns: UNIX_NS - seconds_ago * S,
        outcome: Outcome::Ok,
        status: Some(200),
        prompt_tokens: Some(500),
        cached_tokens: Some(0),
        completion_tokens: Some(100),
        ttft_ns: Some(ttft_ms * MS),
        elapsed_ns: 3 * S,
        decode_tok_s: Some(50.0),
    }
}

fn bench(attempts: &[Past], monotonic_ns: i64) -> Bench {
    let mut bench = Bench::new(&document(&[offer("a", 1.0), offer("b", 1.0)]));
    bench.now_ns = monotonic_ns;
    recall(&bench.router, &bench.table, attempts, Now { unix_ns: UNIX_NS, monotonic_ns });
    bench
}

fn several(offer: &str, ttft_ms: i64) -> Vec<Past> {
    (0..20).rev().map(|k| past(offer, 10 * k + 1, ttft_ms + 7 * k)).collect()
}

#[test]
fn the_first_request_goes_to_the_offer_that_was_faster() {
    for (fast, slow) in [("a", "b"), ("b", "a")] {
        let attempts = [several(slow, 900), several(fast, 200)].concat();
        // Also where the machine is younger than what is recalled.
        for monotonic_ns in [5 * S, 1_000_000 * S] {
            let bench = bench(&attempts, monotonic_ns);
            let mut explained = ask();
            explained.explain = true;
            let plan = bench.plan(&explained).unwrap();
            let considered = serde_json::to_value(&plan.considered).unwrap();
            assert_eq!(
                (&considered[0]["offer"], &considered[0]["verdict"]),
                (&json!(fast), &json!("chosen"))
            );
            for one in [0, 1] {
                assert_eq!(considered[one]["figures"]["samples"], 20);
                assert_eq!(considered[one]["figures"]["cold"], false);
            }
        }
    }
}

#[test]
fn it_is_known_as_if_it_had_been_seen() {
    let attempts = several("a", 300);
    let recalled = bench(&attempts, 1_000 * S);
    let seen = Bench::new(&document(&[offer("a", 1.0), offer("b", 1.0)]));
    let asked = ask();
    for one in &attempts {
        let told = Seen {
            ttft_ns: one.ttft_ns,
            prompt_tokens: one.prompt_tokens,
            cached_tokens: one.cached_tokens,
            completion_tokens: one.completion_tokens,
            elapsed_ns: one.elapsed_ns,
            ..answer(&asked, 1.0, 50.0)
        };
        let at_ns = 1_000 * S - (UNIX_NS - one.ended_unix_ns);
        seen.router.observe(&seen.table, 0, &told, at_ns);
    }
    let figures = |router: &Router| serde_json::to_value(&router.figures(&seen.table, 1_000 * S)[0]).unwrap();
    let (recalled, seen) = (figures(&recalled.router), figures(&seen.router));
    for figure in ["ttft_ms", "output_tok_s", "success", "rate_limited", "speed_changes", "last_seen_ms_ago"]
    {
        assert!(!recalled[figure].is_null(), "{figure} is in {recalled}");
        assert_eq!(recalled[figure], seen[figure], "{figure}");
    }
    assert_eq!(recalled["attempts"], 0, "counters are of this process");
}

#[test]
fn what_tells_nothing_of_now_is_left_out() {
    let odd = [
        past("gone", 1, 200),
        past("a", 601, 200),
        past("a", -1, 200),
        Past { upstream_model: "other".to_owned(), ..past("a", 1, 200) },
        Past { endpoint: "http://127.0.0.1:2/v1".to_owned(), ..past("a", 1, 200) },
    ];
    let bench = bench(&odd, 1_000 * S);
    for offer in bench.router.figures(&bench.table, bench.now_ns) {
        let figures = serde_json::to_value(&offer).unwrap();
        assert_eq!((&figures["ttft_ms"], &figures["success"]), (&json!(null), &json!(null)), "{figures}");
    }
}

#[test]
fn failures_and_limits_of_before_close_nothing() {
    let ended = |outcome, status| Past {
        outcome,
        status,
        ttft_ns: None,
        completion_tokens: None,
        decode_tok_s: None,
        ..past("a", 1, 200)
    };
    let failed = vec![ended(Outcome::HttpError, Some(500)); 30];
    let limited = vec![ended(Outcome::RateLimited, Some(429)); 30];
    let late = vec![ended(Outcome::Timeout, None); 30];
    for attempts in [failed, limited, late] {
        let bench = bench(&attempts, 1_000 * S);
        assert!(bench.router.admit(&bench.table, 0, bench.now_ns).is_ok());
        let figures = serde_json::to_value(&bench.router.figures(&bench.table, bench.now_ns)[0]).unwrap();
        let known =
            [&figures["success"]["n"], &figures["rate_limited"]["n"]].map(|n| n.as_f64().unwrap_or(0.0));
        assert!(known[0].max(known[1]) > 29.0, "but they are known: {known:?}");
    }
}

#[test]
fn whole_answers_and_probes_count_for_what_they_are() {
    let whole = Past { streaming: false, ttft_ns: None, decode_tok_s: None, ..past("a", 1, 200) };
    let embedding = Past { embedding: true, completion_tokens: None, ..whole.clone() };
    let first = |one: &Past| {
        let bench = bench(&vec![one.clone(); 9], 1_000 * S);
        let figures = serde_json::to_value(bench.router.figures(&bench.table, bench.now_ns)).unwrap();
        figures[0]["ttft_ms"]["p50"]["value"].as_f64().unwrap_or_else(|| panic!("{figures}"))
    };
    // Of 3 s, four fifths are taken for the decoding of a whole answer; of an embedding all is its first token's.
    assert!((first(&whole) - 600.0).abs() < 1.0);
    assert!((first(&embedding) - 3000.0).abs() < 1.0);
    let expected = |probe: bool| {
        let attempts = vec![Past { probe, completion_tokens: Some(7), ..past("a", 1, 200) }; 9];
        let bench = bench(&attempts, 1_000 * S);
        let mut explained = ask();
        (explained.explain, explained.max_tokens) = (true, None);
        let plan = bench.plan(&explained).unwrap();
        serde_json::to_value(&plan.considered).unwrap()[0]["figures"]["output_tokens"].as_f64().unwrap()
    };
    assert_eq!(
        (expected(false), expected(true)),
        (7.0, 256.0),
        "no client had asked for what a probe was answered"
    );
}
