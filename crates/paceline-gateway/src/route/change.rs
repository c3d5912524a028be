//! Has an offer's speed changed? A cumulative sum (Page 1954) over where each new sample stands among the older ones.
//!
//! While nothing changes, that place is uniform on 0 to 1, whatever the distribution is, so one pair of bounds serves
//! every offer. A change shows after three samples or so when it is large, and after tens when it is small.

/// What a sample must stand out by, in standard deviations, to count.
const SLACK: f64 = 1.0;
/// The sum at which it is a change.
const BOUND: f64 = 4.0;
/// No sample counts for more than so many standard deviations.
const MOST: f64 = 3.0;
/// With fewer effective samples nothing stands out.
pub(crate) const LEAST_SAMPLES: f64 = 6.0;

/// The two sums: slower and faster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    slower: Sum,
    faster: Sum,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: f64,
    /// When it last left zero.
    since_ns: i64,
}

impl Sum {
    fn add(&mut self, score: f64, at_ns: i64) -> bool {
        if self.value <= 0.0 {
            self.since_ns = at_ns;
        }
        self.value = (self.value + score - SLACK).max(0.0);
        self.value > BOUND
    }
}

/// A place among older samples (0 to 1, neither quite) as standard deviations of a logistic distribution.
fn score(rank: f64) -> f64 {
    let logit = (rank / (1.0 - rank)).ln();
    (logit / (std::f64::consts::PI / 3.0_f64.sqrt())).clamp(-MOST, MOST)
}

impl Change {
    /// What to compare the next sample with: the samples before this instant. Those since then may be the change itself,
    /// and would hide it.
    pub(crate) fn compare_before_ns(&self) -> i64 {
        let since = |sum: &Sum| if sum.value > 0.0 { sum.since_ns } else { i64::MAX };
        since(&self.slower).min(since(&self.faster))
    }

    /// A sample that stands at `rank` among the older ones. Some: a change, that began with the sample of that instant.
    pub(crate) fn note(&mut self, rank: f64, at_ns: i64) -> Option<i64> {
        let score = score(rank);
        let slower = self.slower.add(score, at_ns);
        let faster = self.faster.add(-score, at_ns);
        let since_ns = match (slower, faster) {
            (true, _) => self.slower.since_ns,
            (_, true) => self.faster.since_ns,
            _ => return None,
        };
        *self = Self::default();
        Some(since_ns)
    }

    /// Would requests that wait, each already later than `ranks` of the older samples, make it slower?
    pub(crate) fn would_be_slower(&self, ranks: impl Iterator<Item = f64>) -> bool {
        let mut sum = self.slower.value;
        for rank in ranks {
            // They are in flight yet: none speaks for the offer by being early.
            sum += (score(rank) - SLACK).max(0.0);
            if sum > BOUND {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn three_samples_slower_than_all_others_are_a_change() {
        let mut change = Change::default();
        for at_ns in 0..50 {
            assert_eq!(change.note(0.5, at_ns), None);
        }
        assert_eq!(change.note(0.995, 100), None);
        assert_eq!(change.note(0.995, 101), None);
        assert_eq!(change.note(0.995, 102), Some(100), "it began with the first of them");
        assert_eq!(change.note(0.995, 103), None, "and is told once");
    }

    #[test]
    fn so_are_three_that_are_faster() {
        let mut change = Change::default();
        let found: Vec<_> = (0..3).map(|at_ns| change.note(0.005, at_ns)).collect();
        assert_eq!(found, [None, None, Some(0)]);
    }

    #[test]
    fn chance_alone_is_seldom_a_change() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut change = Change::default();
        let found = (0..100_000).filter(|at_ns| change.note(rng.random(), *at_ns).is_some()).count();
        assert!(found < 60, "{found} of 100,000");
    }

    #[test]
    fn requests_that_wait_too_long_together_are_a_change() {
        let change = Change::default();
        assert!(!change.would_be_slower([0.5; 100].into_iter()), "none that waits is early");
        assert!(!change.would_be_slower([0.995].into_iter()), "one may be chance");
        assert!(change.would_be_slower([0.995; 3].into_iter()));
    }
}
