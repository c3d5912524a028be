//! How often an offer answers, and how often it limits: shares of recent attempts, older ones counting for less.

use super::estimate::Share;
use super::seen::Class;

/// A count whose parts lose half their weight each half-life, and the sum of the squared weights.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    sum: f64,
    squares: f64,
}

impl Count {
    fn fade(&mut self, factor: f64) {
        self.sum *= factor;
        self.squares *= factor * factor;
    }

    fn add(&mut self) {
        self.sum += 1.0;
        self.squares += 1.0;
    }
}

/// One offer's shares.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    ok: Count,
    failed: Count,
    limited: Count,
    at_ns: i64,
    half_ns: f64,
}

impl Shares {
    pub(crate) fn new(half_ns: f64) -> Self {
        Self {
            ok: Count::default(),
            failed: Count::default(),
            limited: Count::default(),
            at_ns: i64::MIN,
            half_ns: half_ns.max(1.0),
        }
    }

    pub(crate) fn set_half_life(&mut self, half_ns: f64) {
        self.half_ns = half_ns.max(1.0);
    }

    pub(crate) fn add(&mut self, class: Class, now_ns: i64) {
        let since_ns = now_ns.saturating_sub(self.at_ns).max(0);
        let factor = (-(since_ns as f64) / self.half_ns).exp2();
        for count in [&mut self.ok, &mut self.failed, &mut self.limited] {
            count.fade(factor);
        }
        self.at_ns = self.at_ns.max(now_ns);
        match class {
            Class::Success => self.ok.add(),
            Class::Failure => self.failed.add(),
            Class::RateLimited => self.limited.add(),
            Class::Neutral => {}
        }
    }

    /// The offer is well again: its failures before count together for one.
    pub(crate) fn well_again(&mut self) {
        if self.failed.sum > 1.0 {
            self.failed.fade(1.0 / self.failed.sum);
        }
    }

    /// Attempts that were answered, of those that were answered or failed; rate limits are neither.
    pub(crate) fn success(&self, now_ns: i64) -> Share {
        self.share(self.ok, self.failed, now_ns)
    }

    /// Attempts that were refused for a rate limit, of all.
    pub(crate) fn limited(&self, now_ns: i64) -> Share {
        let others =
            Count { sum: self.ok.sum + self.failed.sum, squares: self.ok.squares + self.failed.squares };
        self.share(self.limited, others, now_ns)
    }

    /// Expected: as seen, with one more success. An offer is well until it has shown otherwise.
    pub(crate) fn expected_success(&self, now_ns: i64) -> f64 {
        let fade = (-(now_ns.saturating_sub(self.at_ns).max(0) as f64) / self.half_ns).exp2();
        (self.ok.sum * fade + 1.0) / ((self.ok.sum + self.failed.sum) * fade + 1.0)
    }

    fn share(&self, of: Count, others: Count, now_ns: i64) -> Share {
        let sum = of.sum + others.sum;
        let squares = of.squares + others.squares;
        if sum <= 0.0 || squares <= 0.0 {
            return Share::wilson(0.0, 0.0);
        }
        let fade = (-(now_ns.saturating_sub(self.at_ns).max(0) as f64) / self.half_ns).exp2();
        Share::wilson(of.sum / sum, sum * sum / squares * fade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_NS: f64 = 100.0;

    #[test]
    fn shares_by_hand() {
        let mut shares = Shares::new(HALF_NS);
        assert_eq!(shares.success(0).n, 0.0);
        assert_eq!(shares.expected_success(0), 1.0);
        shares.add(Class::Success, 0);
        shares.add(Class::Failure, 100);
        // One half-life: a success of weight 0.5 and a failure of weight 1.
        let success = shares.success(100);
        assert!((success.value - 1.0 / 3.0).abs() < 1e-12);
        assert!((success.n - 1.5 * 1.5 / 1.25).abs() < 1e-12);
        assert!((shares.expected_success(100) - 1.5 / 2.5).abs() < 1e-12);
        shares.add(Class::RateLimited, 100);
        shares.add(Class::Neutral, 100);
        assert!((shares.success(100).value - 1.0 / 3.0).abs() < 1e-12, "a limit is no failure");
        assert!((shares.limited(100).value - 1.0 / 2.5).abs() < 1e-12);
    }

    #[test]
    fn what_was_long_ago_says_little() {
        let mut shares = Shares::new(HALF_NS);
        for _ in 0..50 {
            shares.add(Class::Failure, 0);
        }
        assert!(shares.expected_success(0) < 0.02);
        assert!(shares.expected_success(2000) > 0.98);
        assert!((shares.success(100).n - 25.0).abs() < 1e-9);
    }

    #[test]
    fn once_well_again_old_failures_count_for_one() {
        let mut shares = Shares::new(HALF_NS);
        for _ in 0..50 {
            shares.add(Class::Failure, 0);
        }
        shares.add(Class::Success, 0);
        shares.well_again();
        assert!((shares.expected_success(0) - 2.0 / 3.0).abs() < 1e-12);
    }
}
