//! After a rate limit an offer is left alone: as long as it says, or else for longer each time.

const NS_A_SECOND: i64 = 1_000_000_000;
/// Without `retry-after`: 1 s, 2 s, 4 s and so on to 64 s.
const MOST_DOUBLINGS: u32 = 6;
/// An offer that says more is asked again after so long all the same.
const LONGEST_NS: i64 = 3600 * NS_A_SECOND;

/// One offer's cooldown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cooldown {
    until_ns: Option<i64>,
    /// When the last one began: attempts that were sent before it tell nothing new.
    began_ns: Option<i64>,
    doublings: u32,
}

impl Cooldown {
    /// Until when the offer is left alone; none: it may be asked.
    pub(crate) fn until(&self, now_ns: i64) -> Option<i64> {
        self.until_ns.filter(|until_ns| *until_ns > now_ns)
    }

    /// A rate limit (or an overload with `retry-after`), of an attempt that was sent at `sent_ns`.
    pub(crate) fn limited(&mut self, retry_after_ns: Option<i64>, sent_ns: i64, now_ns: i64) {
        let stale = self.began_ns.is_some_and(|began_ns| sent_ns < began_ns);
        let wait_ns = match retry_after_ns {
            Some(told_ns) => told_ns.clamp(0, LONGEST_NS),
            None if stale => return,
            None => {
                let wait_ns = NS_A_SECOND << self.doublings;
                self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
                wait_ns
            }
        };
        if !stale {
            self.began_ns = Some(now_ns);
        }
        let until_ns = now_ns + wait_ns;
        self.until_ns = Some(self.until_ns.map_or(until_ns, |earlier_ns| earlier_ns.max(until_ns)));
    }

    /// An attempt that was sent at `sent_ns` was answered.
    pub(crate) fn answered(&mut self, sent_ns: i64) {
        if self.began_ns.is_none_or(|began_ns| sent_ns >= began_ns) {
            self.doublings = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = NS_A_SECOND;

    #[test]
    fn what_the_offer_says_is_honoured() {
        let mut cooldown = Cooldown::default();
        assert_eq!(cooldown.until(0), None);
        cooldown.limited(Some(7 * S), 0, S);
        assert_eq!(cooldown.until(S), Some(8 * S));
        assert_eq!(cooldown.until(8 * S), None);
        // A shorter word does not shorten a longer one.
        cooldown.limited(Some(S), S, 2 * S);
        assert_eq!(cooldown.until(3 * S), Some(8 * S));
        cooldown.limited(Some(i64::MAX), 9 * S, 9 * S);
        assert_eq!(cooldown.until(9 * S), Some(9 * S + LONGEST_NS));
    }

    #[test]
    fn without_a_word_it_doubles_from_a_second_to_64_and_an_answer_resets_it() {
        let mut cooldown = Cooldown::default();
        let mut now_ns = 0;
        for expected_s in [1, 2, 4, 8, 16, 32, 64, 64] {
            cooldown.limited(None, now_ns, now_ns);
            assert_eq!(cooldown.until(now_ns), Some(now_ns + expected_s * S));
            now_ns += expected_s * S;
        }
        cooldown.answered(now_ns);
        cooldown.limited(None, now_ns, now_ns);
        assert_eq!(cooldown.until(now_ns), Some(now_ns + S));
    }

    #[test]
    fn a_burst_of_limits_counts_once() {
        let mut cooldown = Cooldown::default();
        for _ in 0..50 {
            cooldown.limited(None, 0, S);
        }
        assert_eq!(cooldown.until(S), Some(2 * S));
        // Nor does an answer to what was sent before it began reset it.
        cooldown.answered(0);
        cooldown.limited(None, 2 * S, 2 * S);
        assert_eq!(cooldown.until(2 * S), Some(4 * S));
    }
}
