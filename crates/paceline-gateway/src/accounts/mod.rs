//! Who may ask, how often, and for how much money.

mod budgets;
mod figures;
mod hold;
pub(crate) mod keys;
mod money;
mod period;
pub(crate) mod price;
mod rate;
mod sessions;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::refusal::Refusal;
use crate::table::{Budget, Key, Period, RouteTable};

pub(crate) use figures::KeyFigures;
pub(crate) use hold::{Hold, Most, Used};
pub(crate) use sessions::{Pass, Sessions};

use hold::Account;

/// What is known of every key. Locks are held for some dozens of instructions, and never over I/O.
#[derive(Debug)]
pub(crate) struct Accounts {
    /// By the key's id. Keys that are revoked stay: one that comes back has spent what it had.
    keys: RwLock<HashMap<String, Arc<Account>>>,
    probes: Arc<Account>,
}

impl Accounts {
    pub(crate) fn new() -> Self {
        Self { keys: RwLock::default(), probes: Arc::new(Account::unbounded()) }
    }

    /// Takes on the keys of a table. Those that were there keep what they used; of new ones the table says what they
    /// have spent.
    pub(crate) fn apply(&self, table: &RouteTable, unix_s: i64) {
        for key in &table.keys {
            self.account(key, unix_s).apply(key, unix_s);
        }
        let probes = Budget {
            period: Period::Day,
            limit_usd: Some(table.policy.probing.usd_per_day),
            spent_usd: 0.0,
            as_of_unix_s: 0,
        };
        self.probes.apply_budgets(&[probes], unix_s);
    }

    /// As [`keys::authenticate`].
    pub(crate) fn authenticate(
        &self,
        table: &RouteTable,
        presented: Option<&str>,
        unix_s: i64,
    ) -> Result<Option<Arc<Key>>, Refusal> {
        keys::authenticate(table, presented, unix_s)
    }

    /// Counts a request, and holds the most that it can cost and use. Without a key everything is allowed, and nothing
    /// is counted.
    ///
    /// # Errors
    /// `rate_limit_exceeded`, `budget_exhausted`; nothing is held then.
    pub(crate) fn reserve(
        &self,
        key: Option<&Arc<Key>>,
        most: Most,
        unix_s: i64,
        now_ns: i64,
    ) -> Result<Hold, Refusal> {
        match key {
            Some(key) => Hold::take(self.account(key, unix_s), &key.name, most, unix_s, now_ns),
            None => Ok(Hold::nothing()),
        }
    }

    /// Holds what a probe can cost; none: the day's money for probes is spent.
    pub(crate) fn reserve_probe(&self, most: Most, unix_s: i64, now_ns: i64) -> Option<Hold> {
        Hold::take(Arc::clone(&self.probes), "probes", most, unix_s, now_ns).ok()
    }

    /// The request is over, and used so much.
    pub(crate) fn settle(&self, hold: Hold, used: Used) {
        hold.settle(used);
    }

    /// For `/v1/key`.
    pub(crate) fn figures(&self, key: Option<&Arc<Key>>, unix_s: i64, now_ns: i64) -> KeyFigures {
        match key {
            Some(key) => KeyFigures::of(key, &self.account(key, unix_s), unix_s, now_ns),
            None => KeyFigures::without_key(),
        }
    }

    fn account(&self, key: &Key, unix_s: i64) -> Arc<Account> {
        let known = self.keys.read().unwrap_or_else(PoisonError::into_inner).get(&key.id).cloned();
        known.unwrap_or_else(|| {
            let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(keys.entry(key.id.clone()).or_insert_with(|| Arc::new(Account::of(key, unix_s))))
        })
    }
}
