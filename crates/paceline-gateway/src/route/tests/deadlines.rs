//! Deadlines are met or refused up front, with the reason.

use rand::RngExt;
use serde_json::json;

use super::{Bench, MS, S, ask, document, offer};
use crate::ask::Ask;

fn within(deadline_ms: i64) -> Ask {
    let mut ask = ask();
    ask.preferences.deadline_ns = Some(deadline_ms * MS);
    ask
}

fn finished_within(finish_by_ms: i64) -> Ask {
    let mut ask = ask();
    ask.preferences.finish_by_ns = Some(finish_by_ms * MS);
    ask
}

fn bench() -> Bench {
    let mut bench = Bench::new(&document(&[offer("slow", 1.0), offer("fast", 5.0), offer("mid", 3.0)]));
    for _ in 0..10 {
        bench.warm("slow", 4, 2000.0, 20.0);
        bench.warm("mid", 4, 500.0, 50.0);
        bench.warm("fast", 4, 200.0, 200.0);
    }
    bench
}

#[test]
fn the_cheapest_that_is_in_time_is_first() {
    let bench = bench();
    assert_eq!(bench.ids(&within(5000)), ["slow", "mid", "fast"]);
    assert_eq!(bench.ids(&within(1000)), ["mid", "fast"]);
    assert_eq!(bench.ids(&within(300)), ["fast"]);
}

#[test]
fn to_the_end_counts_the_answer_too() {
    let bench = bench();
    // 100 tokens: 2 + 5 s, 0.5 + 2 s, 0.2 + 0.5 s.
    assert_eq!(bench.ids(&finished_within(9000)), ["slow", "mid", "fast"]);
    assert_eq!(bench.ids(&finished_within(3500)), ["mid", "fast"]);
    assert_eq!(bench.ids(&finished_within(1000)), ["fast"]);
    let mut both = finished_within(9000);
    both.preferences.deadline_ns = Some(300 * MS);
    assert_eq!(bench.ids(&both), ["fast"]);
}

#[test]
fn an_answer_that_is_no_stream_has_its_first_token_at_its_end() {
    let bench = bench();
    let mut whole = within(1000);
    whole.streaming = false;
    assert_eq!(bench.ids(&whole), ["fast"]);
}

#[test]
fn what_nobody_meets_is_refused_with_each_offers_figures() {
    let bench = bench();
    let refusal = bench.plan(&within(100)).unwrap_err();
    assert_eq!((refusal.code, refusal.status), ("deadline_cannot_be_met", 422));
    for part in ["slow: deadline_ms: met with probability 0.0", "fast: deadline_ms: ", "0.9 is wanted"] {
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }
    let late = super::PlanRequest {
        table: &bench.table,
        ask: &within(300),
        model: "demo",
        key_id: None,
        now_ns: bench.now_ns,
        received_ns: bench.now_ns - 250 * MS,
    };
    assert!(bench.router.plan(&late).is_err(), "50 ms are left of 300");
    let over = super::PlanRequest { received_ns: bench.now_ns - S, ..late };
    assert!(bench.router.plan(&over).unwrap_err().message.contains("the time is over already"));
}

#[test]
fn where_nobody_is_known_nobody_is_ruled_out() {
    let bench = Bench::new(&document(&[offer("a", 1.0), offer("b", 2.0)]));
    assert_eq!(bench.ids(&within(300)).len(), 2);
    // Nor is an unknown one beside one that is known to be too slow, until five requests are trying it.
    let mut bench = bench;
    bench.warm("a", 40, 2000.0, 20.0);
    assert_eq!(bench.ids(&within(300)), ["b"]);
    let trying: Vec<_> = (0..5).map(|_| bench.router.admit(&bench.table, 1, bench.now_ns).unwrap()).collect();
    let refusal = bench.plan(&within(300)).unwrap_err();
    assert!(refusal.message.contains("b: deadline_ms: too little is known of it"), "{}", refusal.message);
    drop(trying);
    // Beside one that is known to be in time it comes second.
    bench.warm("a", 40, 100.0, 20.0);
    assert_eq!(bench.ids(&within(300))[0], "a");
}

#[test]
fn what_was_refused_for_is_looked_at_again() {
    let mut bench = Bench::new(&document(&[offer("a", 1.0)]));
    bench.warm("a", 40, 2000.0, 20.0);
    assert!(bench.plan(&within(300)).is_err());
    bench.now_ns += 20 * S;
    assert!(bench.plan(&within(300)).is_ok(), "nothing new was seen for a while: one may try");
    let _trying = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
    assert!(bench.plan(&within(300)).is_err());
}

#[test]
fn a_cold_offer_never_comes_first_with_a_deadline() {
    let mut bench = Bench::new(&document(&[offer("cold", 0.1), offer("warm", 5.0)]));
    bench.warm("warm", 40, 200.0, 50.0);
    for _ in 0..300 {
        assert_eq!(bench.ids(&within(1000))[0], "warm");
    }
}

#[test]
fn an_offer_that_rests_meets_no_deadline() {
    let mut bench = bench();
    for _ in 0..5 {
        bench.ends("fast", paceline_wire::Outcome::ConnectError, None);
    }
    let refusal = bench.plan(&within(300)).unwrap_err();
    assert!(refusal.message.contains("fast: deadline_ms: it is not asked at present"), "{}", refusal.message);
    assert_eq!(bench.ids(&ask())[2], "fast", "without a deadline it is last");
}

#[test]
fn promises_are_kept_as_often_as_the_policy_says() {
    // One offer of a heavy tail; deadlines of all lengths; how often those that were taken on are met.
    let mut document = document(&[offer("a", 1.0)]);
    document["policy"]["deadline_confidence"] = json!(0.8);
    let mut bench = Bench::new(&document);
    let (mut taken, mut met, mut refused, mut would) = (0, 0, 0, 0);
    for turn in 0..4000 {
        let ttft_ms = 200.0 / (1.0 - bench.rng.random::<f64>()).powf(0.4);
        let deadline_ms = 200.0 + 800.0 * bench.rng.random::<f64>();
        if turn >= 50 {
            if bench.plan(&within(deadline_ms as i64)).is_ok() {
                (taken, met) = (taken + 1, met + i32::from(ttft_ms <= deadline_ms));
            } else {
                (refused, would) = (refused + 1, would + i32::from(ttft_ms <= deadline_ms));
            }
        }
        bench.answers("a", ttft_ms, 50.0);
    }
    assert!(f64::from(met) / f64::from(taken) > 0.85, "{met} of {taken}");
    // Of a Pareto with that index, 80 % are below 381 ms.
    assert!(refused > 700 && f64::from(would) / f64::from(refused) < 0.7, "{would} of {refused} refused");
}
