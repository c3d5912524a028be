//! What a request holds of its key's budgets and rates, from before it is sent until it is settled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use super::budgets::{BudgetFigures, Budgets, Charge};
use super::money::Pico;
use super::rate::Window;
use crate::refusal::Refusal;
use crate::table::{Budget, Key, Period};

const MS_NS: i64 = 1_000_000;

/// The most that a request can cost and use.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Most {
    pub(crate) usd: f64,
    /// Prompt and generated.
    pub(crate) tokens: u64,
}

/// What it did cost and use, all its attempts together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Used {
    pub(crate) usd: f64,
    pub(crate) tokens: u64,
}

/// What is counted of a key.
#[derive(Debug)]
pub(super) struct Account {
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) budgets: Budgets,
    pub(super) requests: Rate,
    pub(super) tokens: Rate,
}

/// A limit on a minute, and what there was in the last one; it is counted only where there is a limit.
#[derive(Debug, Default)]
pub(super) struct Rate {
    limited: Option<(u64, Box<Window>)>,
}

impl Rate {
    fn apply(&mut self, limit: Option<u64>) {
        self.limited = limit.map(|limit| match self.limited.take() {
            Some((_, window)) => (limit, window),
            None => (limit, Box::new(Window::new())),
        });
    }

    /// What of it can be counted: a request that alone is more than the limit is let in when there is no other.
    fn most(&self, amount: u64) -> u64 {
        self.limited.as_ref().map_or(amount, |(limit, _)| amount.min(*limit))
    }

    fn wait_ns(&mut self, amount: u64, now_ns: i64) -> Option<(u64, i64)> {
        let (limit, window) = self.limited.as_mut()?;
        let wait_ns = window.wait_ns(amount, *limit, now_ns);
        (wait_ns > 0 || *limit == 0).then_some((*limit, wait_ns))
    }

    fn add(&mut self, amount: u64, now_ns: i64) -> Option<i64> {
        self.limited.as_mut().map(|(_, window)| window.add(amount, now_ns))
    }

    fn correct(&mut self, second: i64, counted: u64, actual: u64) {
        if let Some((_, window)) = &mut self.limited {
            window.correct(second, counted, actual);
        }
    }

    /// Limit, and what is left of it.
    pub(super) fn left(&mut self, now_ns: i64) -> Option<(u64, u64)> {
        self.limited.as_mut().map(|(limit, window)| (*limit, limit.saturating_sub(window.sum(now_ns))))
    }
}

impl Account {
    pub(super) fn of(key: &Key, unix_s: i64) -> Self {
        let account = Self::new(Budgets::new(&key.budgets, unix_s));
        account.apply(key, unix_s);
        account
    }

    pub(super) fn unbounded() -> Self {
        Self::new(Budgets::new(&[], 0))
    }

    fn new(budgets: Budgets) -> Self {
        let state = State { budgets, requests: Rate::default(), tokens: Rate::default() };
        Self { state: Mutex::new(state) }
    }

    pub(super) fn apply(&self, key: &Key, unix_s: i64) {
        let mut state = self.state();
        state.budgets.apply(&key.budgets, unix_s);
        state.requests.apply(key.requests_per_min.map(u64::from));
        state.tokens.apply(key.tokens_per_min);
    }

    pub(super) fn apply_budgets(&self, budgets: &[Budget], unix_s: i64) {
        self.state().budgets.apply(budgets, unix_s);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one request holds. Dropped without being settled, what it holds is charged whole: nothing is lost.
#[derive(Debug)]
#[must_use]
pub(crate) struct Hold {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    account: Arc<Account>,
    charge: Charge,
    tokens: u64,
    tokens_second: Option<i64>,
}

impl Hold {
    /// Of a request without a key.
    pub(super) const fn nothing() -> Self {
        Self { held: None }
    }

    pub(super) fn take(
        account: Arc<Account>,
        name: &str,
        most: Most,
        unix_s: i64,
        now_ns: i64,
    ) -> Result<Self, Refusal> {
        let mut state = account.state();
        if let Some((limit, wait_ns)) = state.requests.wait_ns(1, now_ns) {
            return Err(too_often(name, "requests", limit, wait_ns));
        }
        let tokens = state.tokens.most(most.tokens);
        if let Some((limit, wait_ns)) = state.tokens.wait_ns(tokens, now_ns) {
            return Err(too_often(name, "tokens", limit, wait_ns));
        }
        let charge =
            state.budgets.reserve(most.usd, unix_s).map_err(|budget| exhausted(name, most, &budget))?;
        state.requests.add(1, now_ns);
        let tokens_second = state.tokens.add(tokens, now_ns);
        drop(state);
        Ok(Self { held: Some(Held { account, charge, tokens, tokens_second }) })
    }

    /// Holds more: before another attempt, and before what was held is used up. False: a budget does not cover it, and
    /// no more is held than was. Tokens are counted when it is settled: no request in flight is cut for its rate.
    #[must_use]
    pub(crate) fn grow(&mut self, extra_usd: f64) -> bool {
        match &mut self.held {
            Some(held) => held.account.state().budgets.grow(&mut held.charge, extra_usd),
            None => true,
        }
    }

    /// The request is over: what it cost is charged, in the periods and the minute that it was let in.
    pub(crate) fn settle(mut self, used: Used) {
        if let Some(held) = self.held.take() {
            let mut state = held.account.state();
            state.budgets.settle(&held.charge, Pico::of_usd(used.usd));
            if let Some(second) = held.tokens_second {
                state.tokens.correct(second, held.tokens, used.tokens);
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            held.account.state().budgets.settle(&held.charge, held.charge.amount());
        }
    }
}

fn too_often(name: &str, what: &str, limit: u64, wait_ns: i64) -> Refusal {
    let message = format!("The key {name:?} may have {limit} {what} in a minute, and has had them.");
    let mut refusal = Refusal::rate_limit_exceeded(message, Some((wait_ns + MS_NS - 1) / MS_NS));
    refusal.metadata = Some(json!({"limit": limit, "of": what, "interval": "1m"}));
    refusal
}

fn exhausted(name: &str, most: Most, budget: &BudgetFigures) -> Refusal {
    let limit = budget.limit_usd.unwrap_or(0.0);
    let kind = match budget.period {
        Period::Day => "day",
        Period::Week => "week",
        Period::Month => "month",
        Period::Total => "total",
    };
    let renews = budget.renews_unix_s.map(paceline_io::calendar::rfc3339);
    let until = renews.as_ref().map_or(String::new(), |at| format!(" It renews at {at}."));
    let message = format!(
        "The {kind} budget of the key {name:?} does not cover this request, which can cost up to {:.6} USD: of \
         {limit:.6} USD, {:.6} are spent and {:.6} reserved for requests in flight.{until} A smaller `max_tokens` \
         lowers what a request can cost.",
        most.usd, budget.spent_usd, budget.reserved_usd
    );
    let metadata = json!({
        "period": kind,
        "limit_usd": limit,
        "spent_usd": budget.spent_usd,
        "reserved_usd": budget.reserved_usd,
        "remaining_usd": budget.remaining_usd,
        "request_usd": most.usd,
        "renews_at": renews,
    });
    Refusal::budget_exhausted(message, metadata)
}
