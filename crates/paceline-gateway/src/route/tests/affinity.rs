//! A warm cache is weighed against speed and price.

use serde_json::{Value, json};

use super::{Bench, MS, S, answer, ask, document, offer, with};
use crate::ask::Ask;

/// A prompt of 40 KiB: 10,240 tokens.
fn long(seed: u64) -> Ask {
    let mut ask = ask();
    ask.prefix = (0..40).map(|block| seed * 1000 + block + 1).collect();
    ask.prompt_bytes = 40 * 1024;
    ask.max_tokens = Some(10);
    ask
}

fn cached_offer(id: &str, usd: f64) -> Value {
    let price =
        json!({"input_usd_per_mtok": usd, "output_usd_per_mtok": usd, "cache_read_usd_per_mtok": 0.1 * usd});
    with(offer(id, usd), "price", price)
}

/// TTFT is 200 ms and 0.1 ms an uncached token.
fn ttft_ms(uncached: u64) -> f64 {
    200.0 + 0.1 * uncached as f64
}

fn serve(bench: &mut Bench, place: usize, ask: &Ask, cached: u64, reported: Option<u64>) {
    bench.now_ns += 100 * MS;
    let seen = super::Seen {
        prompt_tokens: Some(10_240),
        cached_tokens: reported,
        completion_tokens: Some(10),
        ..answer(ask, ttft_ms(10_240 - cached), 50.0)
    };
    bench.router.observe(&bench.table, place, &seen, bench.now_ns);
}

/// Both offers have answered prompts of their own, some of them twice, when their beginning was cached.
fn bench(reports: bool) -> Bench {
    let mut document = document(&[cached_offer("a", 1.0), cached_offer("b", 1.0)]);
    document["policy"]["explore_share"] = json!(0.0);
    let mut bench = Bench::new(&document);
    for turn in 0..20 {
        for place in 0..2_u64 {
            let prompt = long(10 + 2 * turn + place);
            serve(&mut bench, place as usize, &prompt, 0, reports.then_some(0));
            serve(&mut bench, place as usize, &prompt, 10_000, reports.then_some(10_000));
        }
    }
    bench
}

#[test]
fn the_warm_offer_is_first() {
    let mut bench = bench(true);
    let prompt = long(5);
    serve(&mut bench, 1, &prompt, 0, Some(0));
    for _ in 0..50 {
        let plan = bench.plan(&prompt).unwrap();
        assert_eq!(plan.candidates[0].offer, 1);
        let (warm, cold) = (&plan.candidates[0], &plan.candidates[1]);
        assert!(warm.uncached_tokens < 0.15 * cold.uncached_tokens, "{plan:?}");
        assert!(warm.price_usd.unwrap() < 0.3 * cold.price_usd.unwrap());
    }
    let unlike = long(6);
    let firsts = bench.firsts(&unlike, 100);
    assert!(firsts.iter().all(|count| *count > 20), "another prompt is at home nowhere: {firsts:?}");
}

#[test]
fn a_full_or_slow_warm_offer_is_escaped() {
    let mut bench = bench(true);
    let prompt = long(5);
    serve(&mut bench, 1, &prompt, 0, Some(0));
    let mut document = document(&[
        cached_offer("a", 1.0),
        with(cached_offer("b", 1.0), "limits", json!({"concurrency": 1})),
    ]);
    document["policy"]["explore_share"] = json!(0.0);
    bench.table = super::table(&document).into();
    bench.router.apply(&bench.table);
    let permit = bench.router.admit(&bench.table, 1, bench.now_ns).unwrap();
    assert_eq!(bench.ids(&prompt), ["a", "b"], "it is full");
    drop(permit);
    assert_eq!(bench.ids(&prompt), ["b", "a"]);
    for _ in 0..6 {
        bench.now_ns += S;
        let seen = super::Seen {
            prompt_tokens: Some(10_240),
            cached_tokens: Some(10_000),
            ..answer(&prompt, 6000.0, 50.0)
        };
        bench.router.observe(&bench.table, 1, &seen, bench.now_ns);
    }
    assert_eq!(bench.ids(&prompt), ["a", "b"], "it has become slow");
}

#[test]
fn who_never_reports_cached_tokens_gets_little_credit() {
    let mut bench = bench(false);
    let prompt = long(5);
    serve(&mut bench, 1, &prompt, 0, None);
    let plan = bench.plan(&prompt).unwrap();
    for one in &plan.candidates {
        assert!(one.uncached_tokens > 0.8 * one.prompt_tokens, "{plan:?}");
    }
}

#[test]
fn without_affinity_all_are_taken_to_be_cold() {
    let mut bench = bench(true);
    let prompt = long(5);
    serve(&mut bench, 1, &prompt, 0, Some(0));
    let mut document = document(&[cached_offer("a", 1.0), cached_offer("b", 1.0)]);
    document["policy"]["cache_affinity"] = json!(false);
    bench.table = super::table(&document).into();
    bench.router.apply(&bench.table);
    assert!(
        bench.plan(&prompt).unwrap().candidates.iter().all(|one| one.uncached_tokens == one.prompt_tokens)
    );
}
