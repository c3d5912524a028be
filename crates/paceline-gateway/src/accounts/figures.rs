//! What `/v1/key` says of a key, in the shape that clients of OpenRouter read, and more.

use paceline_io::calendar::rfc3339;
use serde::Serialize;
use serde_json::{Value, json};

use super::budgets::BudgetFigures;
use super::hold::Account;
use crate::table::{Key, Period};

/// The `data` of `/v1/key`. Money in USD.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KeyFigures {
    pub(crate) label: String,
    /// Of the budget of which least is left; none: no budget.
    pub(crate) limit: Option<f64>,
    pub(crate) limit_remaining: Option<f64>,
    /// `daily`, `weekly`, `monthly`; none: that budget does not renew.
    pub(crate) limit_reset: Option<&'static str>,
    /// In all.
    pub(crate) usage: f64,
    pub(crate) usage_daily: f64,
    pub(crate) usage_weekly: f64,
    pub(crate) usage_monthly: f64,
    pub(crate) is_free_tier: bool,
    pub(crate) expires_at: Option<String>,
    pub(crate) rate_limit: Value,
    /// Models that it may ask for; none: all.
    pub(crate) models: Option<Vec<String>>,
    /// Day, week, month, total.
    pub(crate) budgets: Vec<BudgetFigures>,
}

impl KeyFigures {
    pub(super) fn of(key: &Key, account: &Account, unix_s: i64, now_ns: i64) -> Self {
        let mut state = account.state();
        let budgets = state.budgets.figures(unix_s);
        let requests = state.requests.left(now_ns);
        let tokens = state.tokens.left(now_ns);
        drop(state);
        let tightest = budgets
            .iter()
            .filter(|budget| budget.limit_usd.is_some())
            .min_by(|a, b| a.remaining_usd.unwrap_or(0.0).total_cmp(&b.remaining_usd.unwrap_or(0.0)));
        Self {
            label: key.name.clone(),
            limit: tightest.and_then(|budget| budget.limit_usd),
            limit_remaining: tightest.and_then(|budget| budget.remaining_usd),
            limit_reset: tightest.and_then(|budget| reset(budget.period)),
            usage_daily: budgets[0].spent_usd,
            usage_weekly: budgets[1].spent_usd,
            usage_monthly: budgets[2].spent_usd,
            usage: budgets[3].spent_usd,
            is_free_tier: false,
            expires_at: key.expires_unix_s.map(rfc3339),
            rate_limit: json!({
                // OpenRouter's clients take -1 for no limit.
                "requests": requests.map_or(json!(-1), |(limit, _)| json!(limit)),
                "interval": "1m",
                "requests_remaining": requests.map(|(_, left)| left),
                "tokens": tokens.map(|(limit, _)| limit),
                "tokens_remaining": tokens.map(|(_, left)| left),
            }),
            models: key.models.clone(),
            budgets: budgets.into(),
        }
    }

    /// Of a gateway that lets requests without a key in.
    pub(super) fn without_key() -> Self {
        Self {
            label: "no key".to_owned(),
            limit: None,
            limit_remaining: None,
            limit_reset: None,
            usage: 0.0,
            usage_daily: 0.0,
            usage_weekly: 0.0,
            usage_monthly: 0.0,
            is_free_tier: false,
            expires_at: None,
            rate_limit: json!({"requests": -1, "interval": "1m"}),
            models: None,
            budgets: Vec::new(),
        }
    }
}

const fn reset(period: Period) -> Option<&'static str> {
    match period {
        Period::Day => Some("daily"),
        Period::Week => Some("weekly"),
        Period::Month => Some("monthly"),
        Period::Total => None,
    }
}
