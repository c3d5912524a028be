//! Reservations of many requests at once, in every order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::{budget, key, key_json, table};
use super::{Accounts, Hold, Most, Used};
use crate::table::Key;

/// 2026-11-30T12:00:00Z, a Monday.
const NOON: i64 = 1_796_040_000;
const SECOND_NS: i64 = 1_000_000_000;

fn most(usd: f64) -> Most {
    Most { usd, tokens: 0 }
}

fn used(usd: f64) -> Used {
    Used { usd, tokens: 0 }
}

/// Spent and reserved of the total, USD.
fn total(accounts: &Accounts, key: &Arc<Key>, unix_s: i64) -> (f64, f64) {
    let figures = accounts.figures(Some(key), unix_s, 0);
    (figures.budgets[3].spent_usd, figures.budgets[3].reserved_usd)
}

#[test]
fn a_thousand_requests_at_once_spend_no_more_than_the_limit() {
    let accounts = Accounts::new();
    let key =
        key("ann", json!({"budgets": [budget("day", 1.0, 0.25, NOON), budget("total", 9.0, 0.0, NOON)]}));
    let let_in = AtomicU64::new(0);
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let holds: Vec<Hold> =
                    (0..125).filter_map(|_| accounts.reserve(Some(&key), most(0.01), NOON, 0).ok()).collect();
                let_in.fetch_add(holds.len() as u64, Ordering::Relaxed);
                // All are in flight at once before the first is settled.
                barrier.wait();
                // Each costs half as much again as was held.
                holds.into_iter().for_each(|hold| accounts.settle(hold, used(0.015)));
            });
        }
    });
    // 0.75 USD were left: 75 of the thousand. Each went 0.005 beyond what it held, and the bound is their sum.
    assert_eq!(let_in.load(Ordering::Relaxed), 75);
    assert_eq!(total(&accounts, &key, NOON), (1.125, 0.0));
    assert!(accounts.reserve(Some(&key), most(0.01), NOON, 0).is_err());
}

#[test]
fn a_hold_that_is_dropped_is_charged_whole_and_one_that_grows_is_charged_what_it_cost() {
    let accounts = Accounts::new();
    let key = key("ann", json!({"budgets": [budget("total", 1.0, 0.0, NOON)]}));
    drop(accounts.reserve(Some(&key), most(0.25), NOON, 0).unwrap());
    assert_eq!(total(&accounts, &key, NOON), (0.25, 0.0));
    let mut hold = accounts.reserve(Some(&key), most(0.25), NOON, 0).unwrap();
    assert!(!hold.grow(0.75) && hold.grow(0.5) && !hold.grow(0.125));
    assert_eq!(total(&accounts, &key, NOON), (0.25, 0.75));
    accounts.settle(hold, used(0.125));
    assert_eq!(total(&accounts, &key, NOON), (0.375, 0.0));
}

#[test]
fn a_refusal_says_which_budget_and_when_it_renews() {
    let accounts = Accounts::new();
    let key =
        key("ann", json!({"budgets": [budget("day", 1.0, 0.75, NOON), budget("total", 9.0, 0.75, NOON)]}));
    let hold = accounts.reserve(Some(&key), most(0.125), NOON, 0).unwrap();
    let refusal = accounts.reserve(Some(&key), most(0.25), NOON, 0).unwrap_err();
    accounts.settle(hold, used(0.0));
    assert_eq!((refusal.status, refusal.code), (402, "budget_exhausted"));
    let expected = json!({
        "period": "day", "limit_usd": 1.0, "spent_usd": 0.75, "reserved_usd": 0.125, "remaining_usd": 0.125,
        "request_usd": 0.25, "renews_at": "2026-12-01T00:00:00Z",
    });
    assert_eq!(refusal.metadata, Some(expected));
    assert!(refusal.message.contains("day budget of the key \"ann's\""), "{}", refusal.message);
}

#[test]
fn rates_refuse_with_the_wait_and_tokens_are_corrected_to_what_was_used() {
    let accounts = Accounts::new();
    let key = key("ann", json!({"requests_per_min": 3, "tokens_per_min": 1_000}));
    let ask = |tokens, at_s: i64| {
        accounts
            .reserve(Some(&key), Most { usd: 0.0, tokens }, NOON, at_s * SECOND_NS)
            .map_err(|refusal| (refusal.status, refusal.code, refusal.retry_after_ms))
    };
    let first = ask(900, 0).unwrap();
    assert_eq!(ask(200, 1).unwrap_err(), (429, "rate_limit_exceeded", Some(60_000)));
    accounts.settle(first, Used { usd: 0.0, tokens: 100 });
    // A refused request is not counted; one beyond the limit is let in when it is alone, and then fills the minute.
    let second = ask(900, 1).unwrap();
    assert_eq!(ask(1, 2).unwrap_err().2, Some(59_000));
    drop(second);
    let third = ask(50_000, 62).unwrap();
    assert_eq!(ask(1, 63).unwrap_err().2, Some(60_000));
    accounts.settle(third, Used { usd: 0.0, tokens: 1 });
    drop(ask(1, 63).unwrap());
    drop(ask(1, 63).unwrap());
    assert_eq!(ask(1, 64).unwrap_err(), (429, "rate_limit_exceeded", Some(59_000)));
    let figures = accounts.figures(Some(&key), NOON, 64 * SECOND_NS).rate_limit;
    let expected = json!({
        "requests": 3, "interval": "1m", "requests_remaining": 0, "tokens": 1_000, "tokens_remaining": 997,
    });
    assert_eq!(figures, expected);
}

#[test]
fn a_new_table_keeps_what_keys_used_and_takes_on_new_limits() {
    let accounts = Accounts::new();
    let with = |limit: f64, requests: u32| {
        let members = json!({"requests_per_min": requests, "budgets": [budget("total", limit, 0.5, NOON)]});
        table(true, &[key_json("ann", members)])
    };
    let first = with(1.0, 1);
    accounts.apply(&first, NOON);
    let key = accounts.authenticate(&first, Some("sk-ann"), NOON).unwrap().unwrap();
    let hold = accounts.reserve(Some(&key), most(0.5), NOON, 0).unwrap();
    accounts.apply(&with(3.0, 2), NOON);
    assert_eq!(total(&accounts, &key, NOON), (0.5, 0.5));
    // Revoked, and back: nothing is forgotten.
    accounts.apply(&table(true, &[]), NOON);
    accounts.settle(hold, used(0.25));
    accounts.apply(&with(3.0, 2), NOON);
    assert_eq!(total(&accounts, &key, NOON), (0.75, 0.0));
    drop(accounts.reserve(Some(&key), most(2.25), NOON, 0).unwrap());
    assert_eq!(accounts.reserve(Some(&key), most(0.0), NOON, 0).unwrap_err().code, "rate_limit_exceeded");
}

#[test]
fn without_a_key_or_without_a_budget_nothing_is_bounded() {
    let accounts = Accounts::new();
    let mut hold = accounts.reserve(None, most(1e9), NOON, 0).unwrap();
    assert!(hold.grow(1e9));
    accounts.settle(hold, used(1e9));
    assert_eq!(accounts.figures(None, NOON, 0).limit, None);
    let key = key("ann", json!({}));
    let mut hold = accounts.reserve(Some(&key), most(1.0), NOON, 0).unwrap();
    assert!(hold.grow(1e9));
    accounts.settle(hold, used(2.0));
    let figures = serde_json::to_value(accounts.figures(Some(&key), NOON, 0)).unwrap();
    assert_eq!(
        (&figures["usage"], &figures["limit"], &figures["label"]),
        (&json!(2.0), &Value::Null, &json!("ann's"))
    );
}

#[test]
fn the_figures_of_a_key_are_those_of_the_budget_with_least_left() {
    let accounts = Accounts::new();
    let members = json!({
        "budgets": [budget("week", 5.0, 4.0, NOON), budget("month", 20.0, 6.0, NOON)],
        "expires_unix_s": NOON, "models": ["demo"],
    });
    let key = key("ann", members);
    let figures = serde_json::to_value(accounts.figures(Some(&key), NOON, 0)).unwrap();
    for (name, expected) in [
        ("limit", json!(5.0)),
        ("limit_remaining", json!(1.0)),
        ("limit_reset", json!("weekly")),
        ("usage", json!(0.0)),
        ("usage_daily", json!(0.0)),
        ("usage_weekly", json!(4.0)),
        ("usage_monthly", json!(6.0)),
        ("is_free_tier", json!(false)),
        ("expires_at", json!("2026-11-30T12:00:00Z")),
        (
            "rate_limit",
            json!({"requests": -1, "interval": "1m", "requests_remaining": null, "tokens": null,
            "tokens_remaining": null}),
        ),
        ("models", json!(["demo"])),
    ] {
        assert_eq!(figures[name], expected, "{name}");
    }
    assert_eq!(figures["budgets"][1]["period"], "week");
    assert_eq!(figures["budgets"][1]["renews_unix_s"], json!(1_796_601_600));
}

#[test]
fn probes_have_a_budget_of_their_own() {
    let accounts = Accounts::new();
    accounts.apply(&table(false, &[]), NOON);
    let hold = accounts.reserve_probe(most(0.75), NOON, 0).unwrap();
    assert!(accounts.reserve_probe(most(0.5), NOON, 0).is_none());
    accounts.settle(hold, used(0.5));
    drop(accounts.reserve_probe(most(0.5), NOON, 0).unwrap());
    assert!(accounts.reserve_probe(most(0.01), NOON, 0).is_none());
    assert!(accounts.reserve_probe(most(0.01), NOON + 43_200, 0).is_some());
}

/// One step of a story of one key.
#[derive(Debug, Clone)]
enum Step {
    Reserve(u32),
    Grow(usize, u32),
    /// Which hold, and what it cost in hundredths of what it holds.
    Settle(usize, u32),
    Drop(usize),
    /// Hours.
    Wait(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..60_000_u32).prop_map(Step::Reserve),
        1 => (any::<usize>(), 0..40_000_u32).prop_map(|(place, more)| Step::Grow(place, more)),
        3 => (any::<usize>(), 0..250_u32).prop_map(|(place, percent)| Step::Settle(place, percent)),
        1 => any::<usize>().prop_map(Step::Drop),
        1 => (0..30_u8).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..200)
}

/// A hold, in the model: what it holds in millionths, and in which day.
struct Modelled {
    hold: Hold,
    amount: u64,
    day: i64,
}

/// All that happened, added up anew each time.
#[derive(Default)]
struct Model {
    /// Day, held, cost.
    settled: Vec<(i64, u64, u64)>,
    live: Vec<Modelled>,
    unix_s: i64,
}

impl Model {
    /// Spent, reserved and beyond what was held, of a day or of all.
    fn sums(&self, day: Option<i64>) -> (u64, u64, u64) {
        let of = |other: i64| day.is_none_or(|day| day == other);
        let settled = || self.settled.iter().filter(|(day, ..)| of(*day));
        (
            settled().map(|(_, _, cost)| cost).sum(),
            self.live.iter().filter(|one| of(one.day)).map(|one| one.amount).sum(),
            settled().map(|(_, held, cost)| cost.saturating_sub(*held)).sum(),
        )
    }

    fn fits(&self, day: i64, amount: u64) -> bool {
        [(Some(day), DAY_LIMIT), (None, TOTAL_LIMIT)].into_iter().all(|(day, limit)| {
            let (spent, reserved, _) = self.sums(day);
            spent + reserved + amount <= limit
        })
    }
}

/// Millionths of a USD.
const DAY_LIMIT: u64 = 200_000;
const TOTAL_LIMIT: u64 = 900_000;

fn usd(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever comes in whatever order, spent and reserved are those of a plain list of what happened, a request is let in
    /// if and only if it fits, and what is spent is never beyond the limit by more than requests cost beyond their holds.
    #[test]
    fn no_story_spends_more_than_the_limit_and_what_went_beyond_its_hold(story in steps()) {
        let accounts = Accounts::new();
        let budgets = json!([budget("day", usd(DAY_LIMIT), 0.0, 0), budget("total", usd(TOTAL_LIMIT), 0.0, 0)]);
        let key = key("ann", json!({"budgets": budgets}));
        let mut model = Model { unix_s: NOON, ..Model::default() };
        for step in story {
            let today = model.unix_s.div_euclid(86_400);
            let count = model.live.len();
            match step {
                Step::Reserve(amount) => {
                    let amount = u64::from(amount);
                    let reserved = accounts.reserve(Some(&key), most(usd(amount)), model.unix_s, 0);
                    prop_assert_eq!(reserved.is_ok(), model.fits(today, amount));
                    if let Ok(hold) = reserved {
                        model.live.push(Modelled { hold, amount, day: today });
                    }
                }
                Step::Grow(place, more) if count > 0 => {
                    let (place, more) = (place % count, u64::from(more));
                    // Of days before yesterday only the total is known any more.
                    prop_assume!(model.live[place].day >= today - 1);
                    let fits = model.fits(model.live[place].day, more);
                    prop_assert_eq!(model.live[place].hold.grow(usd(more)), fits);
                    model.live[place].amount += if fits { more } else { 0 };
                }
                Step::Settle(place, percent) if count > 0 => {
                    let Modelled { hold, amount, day } = model.live.swap_remove(place % count);
                    let cost = amount * u64::from(percent) / 100;
                    accounts.settle(hold, used(usd(cost)));
                    model.settled.push((day, amount, cost));
                }
                Step::Drop(place) if count > 0 => {
                    let Modelled { amount, day, .. } = model.live.swap_remove(place % count);
                    model.settled.push((day, amount, amount));
                }
                Step::Wait(hours) => model.unix_s += i64::from(hours) * 3_600,
                _ => {}
            }
            let today = model.unix_s.div_euclid(86_400);
            let figures = accounts.figures(Some(&key), model.unix_s, 0).budgets;
            for (figures, day, limit) in [(&figures[0], Some(today), DAY_LIMIT), (&figures[3], None, TOTAL_LIMIT)] {
                let (spent, reserved, beyond) = model.sums(day);
                // Each sum that is rounded up may be a picodollar more.
                prop_assert!((figures.spent_usd - usd(spent)).abs() < 1e-9);
                prop_assert!((figures.reserved_usd - usd(reserved)).abs() < 1e-9);
                prop_assert!(spent + reserved <= limit + beyond);
            }
        }
    }
}
