//! How much there was in any minute: an exact count by whole seconds, so that what was reserved can be corrected in the
//! second that it belongs to. (A leaky bucket cannot be: what is given back may have leaked already.)

const SECOND_NS: i64 = 1_000_000_000;
/// This second and the sixty before: together they cover every minute that ends now.
const SECONDS: usize = 61;

/// The last minute.
#[derive(Debug)]
pub(super) struct Window {
    /// By second modulo their number.
    counts: [u64; SECONDS],
    newest_s: i64,
    sum: u64,
}

impl Window {
    pub(super) const fn new() -> Self {
        Self { counts: [0; SECONDS], newest_s: i64::MIN, sum: 0 }
    }

    /// How much there was in the last minute.
    pub(super) fn sum(&mut self, now_ns: i64) -> u64 {
        self.advance(now_ns.div_euclid(SECOND_NS));
        self.sum
    }

    /// How long until so much more is within the limit, ns; 0: it is. What is more than the limit itself waits until
    /// there is nothing else.
    pub(super) fn wait_ns(&mut self, amount: u64, limit: u64, now_ns: i64) -> i64 {
        self.advance(now_ns.div_euclid(SECOND_NS));
        let room = limit.saturating_sub(amount);
        if self.sum <= room {
            return 0;
        }
        let mut left = self.sum;
        let oldest_s = self.newest_s - (SECONDS as i64 - 1);
        for second in oldest_s..=self.newest_s {
            left = left.saturating_sub(self.counts[place(second)]);
            if left <= room {
                return (second + SECONDS as i64) * SECOND_NS - now_ns;
            }
        }
        SECONDS as i64 * SECOND_NS
    }

    /// Counts it, and says in which second.
    pub(super) fn add(&mut self, amount: u64, now_ns: i64) -> i64 {
        self.advance(now_ns.div_euclid(SECOND_NS));
        self.change(self.newest_s, 0, amount);
        self.newest_s
    }

    /// What was counted in that second was something else. Nothing happens when that is more than a minute ago.
    pub(super) fn correct(&mut self, second: i64, counted: u64, actual: u64) {
        if second > self.newest_s - SECONDS as i64 && second <= self.newest_s {
            self.change(second, counted, actual);
        }
    }

    fn change(&mut self, second: i64, from: u64, to: u64) {
        let count = &mut self.counts[place(second)];
        let changed = count.saturating_sub(from).saturating_add(to);
        self.sum = (self.sum - *count).saturating_add(changed);
        *count = changed;
    }

    fn advance(&mut self, second: i64) {
        if second <= self.newest_s {
            return;
        }
        if self.newest_s.saturating_add(SECONDS as i64) <= second {
            self.counts = [0; SECONDS];
            self.sum = 0;
        } else {
            for passed in self.newest_s + 1..=second {
                let count = &mut self.counts[place(passed)];
                self.sum -= *count;
                *count = 0;
            }
        }
        self.newest_s = second;
    }
}

fn place(second: i64) -> usize {
    second.rem_euclid(SECONDS as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At so many ms: what is asked for, and the wait in ms (0: it is let in, and counted).
    type Step = (i64, u64, i64);

    fn play(limit: u64, steps: &[Step]) {
        let mut window = Window::new();
        for (at_ms, amount, wait_ms) in steps {
            let now_ns = at_ms * 1_000_000;
            assert_eq!(window.wait_ns(*amount, limit, now_ns), wait_ms * 1_000_000, "at {at_ms} ms");
            if *wait_ms == 0 {
                window.add(*amount, now_ns);
            }
        }
    }

    #[test]
    fn what_is_let_in_and_when_the_rest_may_come_again() {
        // What came in second 0 is counted until second 61 begins.
        play(
            2,
            &[(500, 1, 0), (900, 1, 0), (900, 1, 60_100), (60_999, 1, 1), (61_000, 1, 0), (61_000, 1, 0)],
        );
        // The second that frees enough decides, not the first that frees something.
        play(10, &[(0, 4, 0), (5_000, 4, 0), (10_000, 2, 0), (10_000, 3, 51_000), (10_000, 5, 56_000)]);
        // More than the limit: when there is nothing else.
        play(10, &[(0, 1, 0), (1_000, 11, 60_000), (61_000, 11, 0), (61_000, 1, 61_000)]);
        // A long silence forgets all.
        play(3, &[(-5_000, 3, 0), (1_000_000, 3, 0), (1_000_000, 1, 61_000)]);
        // A clock that goes back counts into the newest second.
        play(3, &[(10_000, 2, 0), (9_000, 1, 0), (9_000, 1, 62_000)]);
    }

    #[test]
    fn no_minute_has_more_than_the_limit() {
        let mut window = Window::new();
        let mut let_in: Vec<i64> = Vec::new();
        let mut now_ns = 0;
        for place in 0..20_000_i64 {
            now_ns += (place * 7_919) % 400 * 1_000_000;
            if window.wait_ns(1, 50, now_ns) == 0 {
                window.add(1, now_ns);
                let_in.push(now_ns);
            }
        }
        let most = let_in
            .iter()
            .map(|from| let_in.iter().filter(|at| (*from..from + 60 * SECOND_NS).contains(at)).count());
        assert_eq!(most.max(), Some(50));
    }

    #[test]
    fn a_correction_counts_in_its_own_second_and_only_while_that_is_in_the_minute() {
        let mut window = Window::new();
        let second = window.add(1_000, 0);
        window.add(5, 30 * SECOND_NS);
        window.correct(second, 1_000, 100);
        assert_eq!(window.sum(30 * SECOND_NS), 105);
        window.correct(second, 100, 250);
        assert_eq!(window.sum(60 * SECOND_NS), 255);
        assert_eq!(window.sum(61 * SECOND_NS), 5);
        window.correct(second, 250, 0);
        window.correct(second + 1_000, 0, 7);
        assert_eq!(window.sum(61 * SECOND_NS), 5);
        assert_eq!(window.sum(92 * SECOND_NS), 0);
    }
}
