//! What a key may spend in a day, a week, a month and in all (UTC). What a request can cost is reserved before it, and
//! what it did cost is settled after it, in the period that it was reserved in.

use serde::Serialize;

use super::money::Pico;
use super::period;
use crate::table::{Budget, Period};

const PERIODS: [Period; 4] = [Period::Day, Period::Week, Period::Month, Period::Total];

/// What is charged in one period.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    /// Which day, week, month.
    number: i64,
    spent: Pico,
    reserved: Pico,
}

#[derive(Debug, Default)]
struct Account {
    limit: Option<Pico>,
    /// What was spent in it before this process began is in it.
    whole: bool,
    now: Spent,
    /// The period before, in which requests may still be in flight.
    before: Spent,
}

/// All periods of one key.
#[derive(Debug)]
pub(super) struct Budgets {
    accounts: [Account; 4],
}

/// What one request has reserved, and in which periods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge {
    numbers: [i64; 4],
    amount: Pico,
}

impl Charge {
    pub(super) fn amount(&self) -> Pico {
        self.amount
    }
}

/// How one budget stands; USD.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BudgetFigures {
    pub(crate) period: Period,
    pub(crate) limit_usd: Option<f64>,
    pub(crate) spent_usd: f64,
    /// Held for requests in flight.
    pub(crate) reserved_usd: f64,
    /// Not below 0.
    pub(crate) remaining_usd: Option<f64>,
    /// Seconds since 1970; none: never.
    pub(crate) renews_unix_s: Option<i64>,
}

impl Budgets {
    pub(super) fn new(budgets: &[Budget], unix_s: i64) -> Self {
        let mut new = Self { accounts: Default::default() };
        for (account, kind) in new.accounts.iter_mut().zip(PERIODS) {
            account.now.number = period::number(kind, unix_s);
            account.before.number = account.now.number - 1;
        }
        new.apply(budgets, unix_s);
        new
    }

    /// Takes on limits; what was spent only where this is not known from the period's beginning.
    pub(super) fn apply(&mut self, budgets: &[Budget], unix_s: i64) {
        self.roll(unix_s);
        for (account, kind) in self.accounts.iter_mut().zip(PERIODS) {
            account.limit = None;
            for budget in budgets.iter().filter(|budget| budget.period == kind) {
                let limits = [account.limit, budget.limit_usd.map(Pico::of_usd)];
                account.limit = limits.into_iter().flatten().min();
                if !account.whole && period::number(kind, budget.as_of_unix_s) == account.now.number {
                    // The table's figure has what this process spent, but for the last moments.
                    account.now.spent = account.now.spent.max(Pico::of_usd(budget.spent_usd));
                }
                account.whole = true;
            }
        }
    }

    /// Reserves in all periods or in none; the error is the budget that is exhausted for longest.
    pub(super) fn reserve(&mut self, usd: f64, unix_s: i64) -> Result<Charge, BudgetFigures> {
        self.roll(unix_s);
        let amount = Pico::of_usd(usd);
        for place in (0..PERIODS.len()).rev() {
            let account = &self.accounts[place];
            if !fits(account.limit, &account.now, amount) {
                return Err(figures(PERIODS[place], account));
            }
        }
        let mut numbers = [0; 4];
        for (account, number) in self.accounts.iter_mut().zip(&mut numbers) {
            account.now.reserved += amount;
            *number = account.now.number;
        }
        Ok(Charge { numbers, amount })
    }

    /// Reserves more for a request in flight, in all its periods or in none.
    pub(super) fn grow(&mut self, charge: &mut Charge, usd: f64) -> bool {
        let extra = Pico::of_usd(usd);
        for (account, number) in self.accounts.iter_mut().zip(charge.numbers) {
            let limit = account.limit;
            if account.period(number).is_some_and(|spent| !fits(limit, spent, extra)) {
                return false;
            }
        }
        for (account, number) in self.accounts.iter_mut().zip(charge.numbers) {
            if let Some(spent) = account.period(number) {
                spent.reserved += extra;
            }
        }
        charge.amount += extra;
        true
    }

    /// The request is over, and cost so much.
    pub(super) fn settle(&mut self, charge: &Charge, cost: Pico) {
        for (account, number) in self.accounts.iter_mut().zip(charge.numbers) {
            if let Some(spent) = account.period(number) {
                spent.reserved -= charge.amount;
                spent.spent += cost;
            }
        }
    }

    pub(super) fn figures(&mut self, unix_s: i64) -> [BudgetFigures; 4] {
        self.roll(unix_s);
        std::array::from_fn(|place| figures(PERIODS[place], &self.accounts[place]))
    }

    /// New periods begin. A clock that is set back begins none.
    fn roll(&mut self, unix_s: i64) {
        for (account, kind) in self.accounts.iter_mut().zip(PERIODS) {
            let number = period::number(kind, unix_s);
            if number > account.now.number {
                account.before = account.now;
                account.now = Spent { number, ..Spent::default() };
                account.whole = true;
            }
        }
    }
}

impl Account {
    fn period(&mut self, number: i64) -> Option<&mut Spent> {
        [&mut self.now, &mut self.before].into_iter().find(|spent| spent.number == number)
    }
}

fn fits(limit: Option<Pico>, spent: &Spent, amount: Pico) -> bool {
    limit.is_none_or(|limit| spent.spent + spent.reserved + amount <= limit)
}

fn figures(kind: Period, account: &Account) -> BudgetFigures {
    let now = &account.now;
    BudgetFigures {
        period: kind,
        limit_usd: account.limit.map(Pico::usd),
        spent_usd: now.spent.usd(),
        reserved_usd: now.reserved.usd(),
        remaining_usd: account.limit.map(|limit| limit.less(now.spent + now.reserved).usd()),
        renews_unix_s: period::end_unix_s(kind, now.number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30, a Monday, and the last day of its month, at 23:59:00.
    const MONDAY_LATE: i64 = 1_796_083_140;
    const MINUTE_S: i64 = 60;
    const DAY_S: i64 = 86_400;

    fn limits(limits: &[(Period, f64, f64, i64)]) -> Vec<Budget> {
        let budget = |(period, limit_usd, spent_usd, as_of_unix_s): &(Period, f64, f64, i64)| Budget {
            period: *period,
            limit_usd: Some(*limit_usd),
            spent_usd: *spent_usd,
            as_of_unix_s: *as_of_unix_s,
        };
        limits.iter().map(budget).collect()
    }

    fn spent(budgets: &mut Budgets, unix_s: i64) -> [f64; 4] {
        budgets.figures(unix_s).map(|figures| figures.spent_usd)
    }

    #[test]
    fn a_request_that_is_in_flight_at_midnight_is_settled_in_the_day_that_let_it_in() {
        let day_and_month = limits(&[(Period::Day, 10.0, 0.0, 0), (Period::Month, 12.0, 0.0, 0)]);
        let mut budgets = Budgets::new(&day_and_month, MONDAY_LATE);
        let mut late = budgets.reserve(8.0, MONDAY_LATE).unwrap();
        assert_eq!(budgets.reserve(3.0, MONDAY_LATE).unwrap_err().period, Period::Day);
        // A day and a month begin, and a week goes on.
        let tuesday = MONDAY_LATE + MINUTE_S;
        let early = budgets.reserve(9.0, tuesday).unwrap();
        // The late one grows in its own day, up to that day's limit.
        assert!(!budgets.grow(&mut late, 2.5));
        assert!(budgets.grow(&mut late, 2.0));
        budgets.settle(&late, Pico::of_usd(7.0));
        assert_eq!(spent(&mut budgets, tuesday), [0.0, 7.0, 0.0, 7.0]);
        budgets.settle(&early, Pico::of_usd(1.0));
        assert_eq!(spent(&mut budgets, tuesday), [1.0, 8.0, 1.0, 8.0]);
        assert!(budgets.figures(tuesday).iter().all(|figures| figures.reserved_usd == 0.0));
        // A clock that is set back begins no period anew.
        assert_eq!(spent(&mut budgets, MONDAY_LATE), [1.0, 8.0, 1.0, 8.0]);
        assert_eq!(spent(&mut budgets, tuesday + 6 * DAY_S), [0.0, 0.0, 1.0, 8.0]);
        assert_eq!(spent(&mut budgets, tuesday + 31 * DAY_S), [0.0, 0.0, 0.0, 8.0]);
    }

    #[test]
    fn the_budget_that_is_exhausted_for_longest_is_named() {
        let all = limits(&[
            (Period::Day, 1.0, 0.0, 0),
            (Period::Week, 1.0, 0.0, 0),
            (Period::Month, 1.0, 0.0, 0),
            (Period::Total, 2.0, 0.0, 0),
        ]);
        let mut budgets = Budgets::new(&all, MONDAY_LATE);
        let charge = budgets.reserve(0.75, MONDAY_LATE).unwrap();
        let refused = budgets.reserve(0.5, MONDAY_LATE).unwrap_err();
        assert_eq!(refused.period, Period::Month);
        assert_eq!(refused.renews_unix_s, Some(MONDAY_LATE + MINUTE_S));
        assert_eq!((refused.reserved_usd, refused.remaining_usd), (0.75, Some(0.25)));
        budgets.settle(&charge, Pico::of_usd(2.0));
        // In December, the week and the total still know of it.
        let refused = budgets.reserve(0.5, MONDAY_LATE + MINUTE_S).unwrap_err();
        assert_eq!((refused.period, refused.renews_unix_s), (Period::Total, None));
        assert_eq!(refused.remaining_usd, Some(0.0));
    }

    #[test]
    fn what_was_spent_before_is_taken_from_the_table_once() {
        let today = MONDAY_LATE;
        let mut budgets = Budgets::new(
            &limits(&[(Period::Day, 10.0, 4.0, today - 3_600), (Period::Week, 10.0, 4.0, today - DAY_S)]),
            today,
        );
        // Sunday's figure says nothing of a week that began on Monday.
        assert_eq!(spent(&mut budgets, today), [4.0, 0.0, 0.0, 0.0]);
        let charge = budgets.reserve(1.0, today).unwrap();
        budgets.settle(&charge, Pico::of_usd(1.0));
        // Later tables do not change what is known; a budget of a new period brings its own past, this process's part
        // being in it.
        budgets
            .apply(&limits(&[(Period::Day, 20.0, 99.0, today), (Period::Month, 50.0, 30.0, today)]), today);
        assert_eq!(spent(&mut budgets, today), [5.0, 1.0, 30.0, 1.0]);
        let figures = budgets.figures(today);
        assert_eq!(figures[0].limit_usd, Some(20.0));
        assert_eq!(figures[1].limit_usd, None);
        // The same, where the table lags behind.
        budgets.apply(&limits(&[(Period::Total, 50.0, 0.5, today)]), today);
        assert_eq!(spent(&mut budgets, today)[3], 1.0);
    }

    #[test]
    fn what_was_spent_is_known_without_a_limit_too_and_counts_once_there_is_one() {
        let unlimited =
            Budget { period: Period::Month, limit_usd: None, spent_usd: 4.0, as_of_unix_s: MONDAY_LATE };
        let mut budgets = Budgets::new(&[unlimited], MONDAY_LATE);
        let charge = budgets.reserve(100.0, MONDAY_LATE).unwrap();
        budgets.settle(&charge, Pico::of_usd(1.0));
        assert_eq!(spent(&mut budgets, MONDAY_LATE), [1.0, 1.0, 5.0, 1.0]);
        budgets.apply(&limits(&[(Period::Month, 6.0, 0.0, MONDAY_LATE)]), MONDAY_LATE);
        assert!(budgets.reserve(2.0, MONDAY_LATE).is_err() && budgets.reserve(1.0, MONDAY_LATE).is_ok());
    }

    #[test]
    fn the_smaller_of_two_budgets_of_a_period_holds() {
        let mut budgets = Budgets::new(&limits(&[(Period::Day, 1.0, 0.0, 0), (Period::Day, 3.0, 0.0, 0)]), 0);
        assert!(budgets.reserve(2.0, 0).is_err() && budgets.reserve(1.0, 0).is_ok());
    }
}
