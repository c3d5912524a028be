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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 60")]
fn place(second: i64) -> usize {
    second.rem_euclid(SECONDS as i64) as usize
}
