//! Budgets that are shares of the requests: each request puts its share in, each use takes one out.

const NS_A_SECOND: f64 = 1e9;

/// A token bucket.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    share: f64,
    tokens: f64,
    /// Refilled by time up to so many, one a second, so that little traffic can retry too.
    floor: f64,
    refilled_ns: Option<i64>,
}

/// Unused shares are kept for so many requests: a quiet hour is no licence for a storm.
const KEPT_REQUESTS: f64 = 200.0;

impl Budget {
    /// A budget of `share` of the requests, and `floor` uses at any time.
    pub(crate) fn new(share: f64, floor: f64) -> Self {
        Self { share: share.max(0.0), tokens: floor, floor, refilled_ns: None }
    }

    /// Another share; what is there stays, as far as it still fits.
    pub(crate) fn set_share(&mut self, share: f64) {
        self.share = share.max(0.0);
        self.tokens = self.tokens.min(self.most());
    }

    fn most(&self) -> f64 {
        // Under a share of one half a bucket of less than one could never be used.
        let kept = self.share * KEPT_REQUESTS;
        self.floor.max(if kept > 0.0 { kept.max(1.0) } else { 0.0 })
    }

    /// A request has come.
    pub(crate) fn request(&mut self) {
        self.tokens = (self.tokens + self.share).min(self.most());
    }

    fn refill(&mut self, now_ns: i64) {
        let since_ns = now_ns - self.refilled_ns.unwrap_or(now_ns);
        self.refilled_ns = Some(now_ns.max(self.refilled_ns.unwrap_or(now_ns)));
        if since_ns > 0 && self.tokens < self.floor {
            self.tokens = (self.tokens + since_ns as f64 / NS_A_SECOND).min(self.floor);
        }
    }

    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, now_ns: i64) -> bool {
        self.refill(now_ns);
        if self.tokens < 1.0 - 1e-9 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn a_share_is_never_exceeded() {
        let mut budget = Budget::new(0.05, 0.0);
        let mut taken = 0;
        for request in 1..=1000 {
            budget.request();
            if budget.take(0) {
                taken += 1;
            }
            assert!(f64::from(taken) <= 0.05 * f64::from(request) + 1e-6);
        }
        assert_eq!(taken, 50);
    }

    #[test]
    fn ten_retries_are_there_at_any_time_and_come_back_one_a_second() {
        let mut budget = Budget::new(0.0, 10.0);
        assert_eq!((0..20).filter(|_| budget.take(0)).count(), 10);
        assert!(!budget.take(SECOND_NS / 2));
        assert!(budget.take(SECOND_NS));
        assert!(!budget.take(SECOND_NS));
        assert_eq!((0..20).filter(|_| budget.take(100 * SECOND_NS)).count(), 10);
    }

    #[test]
    fn what_is_saved_is_bounded() {
        let mut budget = Budget::new(0.1, 0.0);
        for _ in 0..100_000 {
            budget.request();
        }
        assert_eq!((0..1000).filter(|_| budget.take(0)).count(), 20);
        budget.set_share(0.0);
        assert!(!budget.take(0));
    }
}
