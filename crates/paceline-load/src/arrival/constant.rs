//! Evenly spaced arrivals.

use super::{Plan, to_ns};

#[derive(Debug)]
pub(super) struct Constant {
    rate_requests_s: f64,
    sent: u64,
}

impl Constant {
    pub(super) fn new(rate_requests_s: f64) -> Self {
        Self { rate_requests_s, sent: 0 }
    }
}

impl Plan for Constant {
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 arrivals
    fn next_ns(&mut self) -> Option<i64> {
        // From the count and not from the last instant, so that rounding never adds up.
        let at = self.sent as f64 / self.rate_requests_s;
        self.sent += 1;
        Some(to_ns(at))
    }
}
