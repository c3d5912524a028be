//! Places, breakers and cooldowns as the worker meets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use paceline_wire::Outcome;
use serde_json::json;

use super::super::NotNow;
use super::{Bench, MS, S, answer, ask, document, offer, with};

fn limited(places: u32) -> Bench {
    Bench::new(&document(&[with(offer("a", 1.0), "limits", json!({"concurrency": places})), offer("b", 1.0)]))
}

#[test]
fn places_are_taken_and_freed() {
    let bench = limited(2);
    let admit = || bench.router.admit(&bench.table, 0, bench.now_ns);
    let first = admit().unwrap();
    let second = admit().unwrap();
    assert_eq!(admit().unwrap_err(), NotNow::Full);
    assert_eq!(bench.ids(&ask()), ["b", "a"], "the full one comes last");
    drop(first);
    let third = admit().unwrap();
    drop((second, third));
    assert_eq!(bench.router.figures(&bench.table, bench.now_ns)[0].in_flight, 0);
}

#[test]
fn who_waits_is_told_and_may_ask_from_within() {
    let bench = limited(1);
    let told = Arc::new(AtomicUsize::new(0));
    let (counter, router, table) = (Arc::clone(&told), bench.router.clone(), Arc::clone(&bench.table));
    bench.router.set_on_free(Arc::new(move |id| {
        assert_eq!(id, "a");
        // The lock is free here, and the place too.
        drop(router.admit(&table, 0, S));
        counter.fetch_add(1, Ordering::SeqCst);
    }));
    let permit = bench.router.admit(&bench.table, 0, S).unwrap();
    drop(permit);
    assert_eq!(told.load(Ordering::SeqCst), 0, "nobody waits");
    let permit = bench.router.admit(&bench.table, 0, S).unwrap();
    assert!(bench.router.admit(&bench.table, 0, S).is_err());
    drop(permit);
    assert_eq!(told.load(Ordering::SeqCst), 1);
}

#[test]
fn eight_threads_leave_the_count_exact() {
    let bench = limited(16);
    let most = AtomicI64::new(0);
    let now = AtomicI64::new(0);
    let admitted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (bench, most, now, admitted) = (&bench, &most, &now, &admitted);
            scope.spawn(move || {
                let asked = ask();
                let mut held = Vec::new();
                for turn in 0..2000 {
                    let now_ns = S + turn * MS;
                    if turn % 7 == 0 {
                        assert!(!bench.plan(&asked).unwrap().candidates.is_empty());
                    }
                    if let Ok(mut permit) = bench.router.admit(&bench.table, 0, now_ns) {
                        admitted.fetch_add(1, Ordering::SeqCst);
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        permit.asked(500.0, now_ns);
                        if turn % 3 == 0 {
                            permit.first_token(300 * MS, now_ns);
                        }
                        held.push(permit);
                    }
                    let ends = held.len() > 2 || turn % 5 == thread % 5;
                    if ends && let Some(permit) = held.pop() {
                        let seen = super::Seen { ticket: permit.ticket(), ..answer(&asked, 300.0, 50.0) };
                        bench.router.observe(&bench.table, 0, &seen, now_ns);
                        now.fetch_sub(1, Ordering::SeqCst);
                        drop(permit);
                    }
                }
                now.fetch_sub(held.len() as i64, Ordering::SeqCst);
            });
        }
    });
    assert!(most.load(Ordering::SeqCst) <= 16, "{most:?}");
    assert!(admitted.load(Ordering::SeqCst) > 1000, "{admitted:?}");
    assert_eq!(bench.router.figures(&bench.table, 3 * S)[0].in_flight, 0);
}

#[test]
fn a_breaker_opens_and_one_request_tries() {
    let mut bench = limited(9);
    for _ in 0..5 {
        bench.ends("a", Outcome::HttpError, Some(500));
    }
    let until_ns = bench.now_ns + 10 * S;
    assert_eq!(
        bench.router.admit(&bench.table, 0, bench.now_ns).unwrap_err(),
        NotNow::BreakerOpen { until_ns }
    );
    assert_eq!(bench.ids(&ask())[1], "a");
    bench.now_ns = until_ns;
    let probe = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
    assert!(matches!(bench.router.admit(&bench.table, 0, bench.now_ns), Err(NotNow::BreakerOpen { .. })));
    drop(probe);
    let probe = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
    bench.now_ns += S;
    let asked = ask();
    let seen = super::Seen { elapsed_ns: S, ..answer(&asked, 300.0, 50.0) };
    bench.router.observe(&bench.table, 0, &seen, bench.now_ns);
    drop(probe);
    let all: Vec<_> = (0..9).map(|_| bench.router.admit(&bench.table, 0, bench.now_ns).unwrap()).collect();
    assert_eq!(all.len(), 9);
    let success = bench.router.figures(&bench.table, bench.now_ns)[0].success;
    assert!(success.value > 0.49, "{success:?}: once well again, its failures weigh little");
}

#[test]
fn a_rate_limit_cools_the_offer_down_and_cuts_its_places() {
    let mut bench = Bench::new(&document(&[offer("a", 1.0), offer("b", 2.0)]));
    let permits: Vec<_> =
        (0..10).map(|_| bench.router.admit(&bench.table, 0, bench.now_ns).unwrap()).collect();
    let asked = ask();
    let seen = super::Seen {
        outcome: Outcome::RateLimited,
        status: Some(429),
        ttft_ns: None,
        retry_after_ns: Some(3 * S),
        elapsed_ns: MS,
        ..answer(&asked, 1.0, 1.0)
    };
    bench.router.observe(&bench.table, 0, &seen, bench.now_ns);
    let until_ns = bench.now_ns + 3 * S;
    assert_eq!(
        bench.router.admit(&bench.table, 0, bench.now_ns).unwrap_err(),
        NotNow::CoolingDown { until_ns }
    );
    assert_eq!(bench.ids(&ask()), ["b", "a"]);
    let figures = &bench.router.figures(&bench.table, bench.now_ns)[0];
    assert_eq!((figures.places, figures.resting_ms), (Some(7), Some(3000.0)));
    assert_eq!((figures.rate_limited.value, figures.success.n), (1.0, 0.0), "each apart");
    bench.now_ns = until_ns;
    assert_eq!(bench.router.admit(&bench.table, 0, bench.now_ns).unwrap_err(), NotNow::Full, "ten of seven");
    drop(permits);
    assert!(bench.router.admit(&bench.table, 0, bench.now_ns).is_ok());
}

#[test]
fn a_first_token_counts_when_it_comes_and_once() {
    let mut bench = limited(9);
    let asked = ask();
    for _ in 0..10 {
        bench.now_ns += S;
        let mut permit = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
        permit.asked(500.0, bench.now_ns);
        permit.first_token(300 * MS, bench.now_ns + 300 * MS);
        let seen = super::Seen { ticket: permit.ticket(), ..answer(&asked, 300.0, 50.0) };
        bench.router.observe(&bench.table, 0, &seen, bench.now_ns + 2 * S);
    }
    let ttft = bench.router.figures(&bench.table, bench.now_ns)[0].ttft_ms.clone().unwrap();
    assert_eq!(ttft.n, 10);
    assert!((ttft.p50.value - 300.0).abs() < 1e-6);
}

#[test]
fn of_an_answer_that_is_no_stream_the_decoding_is_taken_off() {
    let mut bench = limited(9);
    let mut asked = ask();
    bench.warm("a", 10, 300.0, 50.0);
    asked.streaming = false;
    for _ in 0..40 {
        bench.now_ns += 3 * S;
        let mut permit = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
        permit.first_token(2300 * MS, bench.now_ns);
        assert_eq!(permit.ticket(), None, "its one token event is its end");
        let whole = super::Seen { ttft_ns: None, decode_tok_s: None, ..answer(&asked, 300.0, 50.0) };
        bench.router.observe(&bench.table, 0, &whole, bench.now_ns);
    }
    let figures = &bench.router.figures(&bench.table, bench.now_ns)[0];
    let ttft = figures.ttft_ms.as_ref().unwrap();
    assert!((200.0..420.0).contains(&ttft.p50.value), "{:?}", ttft.p50);
    assert_eq!(figures.output_tok_s.as_ref().unwrap().n, 10, "it tells no decode rate of its own");
}

#[test]
fn a_stalled_offer_is_left_before_any_request_has_timed_out() {
    let mut bench = Bench::new(&document(&[offer("a", 1.0), offer("b", 2.0)]));
    bench.warm("a", 40, 300.0, 50.0);
    bench.warm("b", 40, 400.0, 50.0);
    assert_eq!(bench.ids(&ask())[0], "a");
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let mut permit = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
            permit.asked(500.0, bench.now_ns);
            permit
        })
        .collect();
    bench.now_ns += 3 * S;
    assert_eq!(bench.ids(&ask())[0], "b");
    drop(waiting);
}

#[test]
fn budgets_of_retries_and_hedges() {
    let bench = limited(1);
    assert_eq!((0..30).filter(|_| bench.router.may_retry(S)).count(), 10);
    assert!(!bench.router.may_hedge(S));
    for _ in 0..100 {
        assert!(bench.plan(&ask()).is_ok());
    }
    assert_eq!((0..30).filter(|_| bench.router.may_hedge(S)).count(), 5);
    assert_eq!((0..30).filter(|_| bench.router.may_retry(S)).count(), 20);
}

#[test]
fn what_is_known_outlives_a_change_of_the_table() {
    let mut bench = limited(2);
    bench.warm("b", 20, 300.0, 50.0);
    let _held = bench.router.admit(&bench.table, 0, bench.now_ns).unwrap();
    let other = super::table(&document(&[offer("c", 1.0), offer("b", 9.0)]));
    bench.router.apply(&other);
    let figures = bench.router.figures(&other, bench.now_ns);
    assert_eq!((figures[0].offer.as_str(), figures[0].cold), ("c", true));
    assert_eq!((figures[1].offer.as_str(), figures[1].cold), ("b", false));
    assert_eq!(
        bench.router.figures(&bench.table, bench.now_ns)[0].in_flight,
        1,
        "an old request keeps its place"
    );
}
