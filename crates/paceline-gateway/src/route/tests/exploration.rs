//! Unknown offers get a bounded share of the traffic, and are never first for being unknown.

use serde_json::json;

use super::{Bench, MS, S, ask, document, offer};
use crate::ask::Sort;

#[test]
fn a_cold_offer_gets_its_share_and_no_more() {
    let mut bench = Bench::new(&document(&[offer("warm", 1.0), offer("cold", 1.0)]));
    bench.warm("warm", 40, 300.0, 50.0);
    let mut explored = 0;
    for turn in 1..=2000 {
        let plan = bench.plan(&ask()).unwrap();
        let first = &plan.candidates[0];
        assert_eq!(first.explored, first.offer == 1, "cold is first only to learn of it");
        if first.explored {
            explored += 1;
            assert!(plan.reason.starts_with("explored"), "{}", plan.reason);
        }
        assert!(f64::from(explored) <= 0.05 * f64::from(turn) + 1e-9, "{explored} of {turn}");
    }
    assert!(explored >= 80, "{explored} of 2,000");
}

#[test]
fn nothing_is_explored_with_a_deadline_an_order_a_price_or_without_fallbacks() {
    let mut bench = Bench::new(&document(&[offer("warm", 1.0), offer("cold", 1.5)]));
    bench.warm("warm", 40, 300.0, 50.0);
    let mut asks = vec![ask(), ask(), ask(), ask()];
    asks[0].preferences.deadline_ns = Some(10 * S);
    asks[1].preferences.order = vec!["warm".to_owned()];
    asks[2].preferences.sort = Some(Sort::Price);
    asks[3].preferences.allow_fallbacks = false;
    for ask in asks {
        assert_eq!(bench.firsts(&ask, 400), [400, 0]);
    }
}

#[test]
fn an_offer_that_could_not_win_is_not_explored() {
    // 100 USD a million tokens: dearer than the other one's whole bill.
    let mut bench = Bench::new(&document(&[offer("warm", 1.0), offer("dear", 100.0)]));
    bench.warm("warm", 40, 300.0, 50.0);
    assert_eq!(bench.firsts(&ask(), 400), [400, 0]);
}

#[test]
fn an_explored_offer_becomes_known_and_is_then_chosen_on_its_merits() {
    let mut bench = Bench::new(&document(&[offer("slow", 1.0), offer("fast", 1.0)]));
    bench.warm("slow", 40, 1500.0, 30.0);
    let mut fast = 0;
    for turn in 0..400 {
        let first = bench.plan(&ask()).unwrap().candidates[0].offer;
        let (id, ttft_ms, tok_s) = if first == 1 { ("fast", 200.0, 80.0) } else { ("slow", 1500.0, 30.0) };
        bench.answers(id, ttft_ms, tok_s);
        fast += i32::from(turn >= 300 && first == 1);
    }
    assert!(fast >= 94, "{fast} of the last 100");
}

#[test]
fn an_offer_that_has_been_silent_is_looked_at_again() {
    let mut bench = Bench::new(&document(&[offer("good", 1.0), offer("was-bad", 1.0)]));
    bench.warm("was-bad", 20, 3000.0, 20.0);
    bench.warm("good", 20, 300.0, 50.0);
    assert_eq!(bench.firsts(&ask(), 200), [200, 0], "it has just been seen");
    bench.now_ns += 200 * S;
    bench.warm("good", 20, 300.0, 50.0);
    let firsts = bench.firsts(&ask(), 200);
    assert!((5..=15).contains(&firsts[1]), "{firsts:?}");
}

#[test]
fn a_cheap_unknown_offer_is_not_flooded() {
    let mut document = document(&[offer("warm", 5.0), offer("cheap", 1.0)]);
    document["policy"]["explore_share"] = json!(0.0);
    let mut bench = Bench::new(&document);
    bench.warm("warm", 40, 300.0, 50.0);
    // It wins even if it is as slow as the other one; but until it is known five at a time are enough.
    let mut permits = Vec::new();
    for _ in 0..20 {
        let first = bench.plan(&ask()).unwrap().candidates[0].offer;
        permits.push((first, bench.router.admit(&bench.table, first, bench.now_ns).unwrap()));
    }
    assert_eq!(permits.iter().filter(|(first, _)| *first == 1).count(), 5);
}

#[test]
fn probes_go_to_who_has_been_silent_longest() {
    let mut bench = Bench::new(&document(&[offer("a", 1.0), offer("b", 1.0)]));
    assert_eq!(bench.router.probe_due(&bench.table, bench.now_ns), Some(0));
    assert_eq!(bench.router.probe_due(&bench.table, bench.now_ns), Some(1));
    assert_eq!(bench.router.probe_due(&bench.table, bench.now_ns), None, "both are being probed");
    bench.now_ns += 61 * S;
    bench.answers("a", 100.0, 50.0);
    assert_eq!(bench.router.probe_due(&bench.table, bench.now_ns), Some(1));
    bench.now_ns += 30 * S;
    assert_eq!(bench.router.probe_due(&bench.table, bench.now_ns), None);
    bench.now_ns += 31 * S - 50 * MS;
    assert_eq!(bench.router.probe_due(&bench.table, bench.now_ns), Some(0));
}
