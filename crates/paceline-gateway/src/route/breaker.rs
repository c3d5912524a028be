//! An offer that fails is not asked for a while, and then by one request, to see.

/// The share of recent attempts that must fail to open the breaker, where they do not fail in a row.
const FAILURE_SHARE: f64 = 0.5;
/// Recent: of so many attempts, and no older than so long.
const RECENT: usize = 20;
const RECENT_NS: i64 = 30_000_000_000;
/// It stays open at most so many times as long as the first time.
const MOST_DOUBLINGS: u32 = 5;

/// What it lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerState {
    Closed,
    /// Nothing until then.
    Open {
        until_ns: i64,
    },
    /// One request at a time.
    HalfOpen {
        probing: bool,
    },
}

/// One offer's breaker.
#[derive(Debug, Clone)]
pub(crate) struct Breaker {
    state: BreakerState,
    in_a_row: u32,
    /// When, and whether it failed; the newest last.
    recent: std::collections::VecDeque<(i64, bool)>,
    openings: u32,
    /// When it was last opened: attempts that were sent before tell nothing new.
    opened_ns: i64,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            state: BreakerState::Closed,
            in_a_row: 0,
            recent: std::collections::VecDeque::with_capacity(RECENT),
            openings: 0,
            opened_ns: i64::MIN,
        }
    }
}

impl Breaker {
    /// The state at an instant.
    pub(crate) fn state(&self, now_ns: i64) -> BreakerState {
        match self.state {
            BreakerState::Open { until_ns } if now_ns >= until_ns => {
                BreakerState::HalfOpen { probing: false }
            }
            other => other,
        }
    }

    /// May a request be sent? `Ok(true)`: it is the probe, and its end must be told (`succeeded`, `failed` or
    /// `abandoned`).
    ///
    /// # Errors
    /// When it may not; the instant from which it is worth asking again (none: when the probe has ended).
    pub(crate) fn admit(&mut self, now_ns: i64) -> Result<bool, Option<i64>> {
        match self.state(now_ns) {
            BreakerState::Closed => Ok(false),
            BreakerState::Open { until_ns } => Err(Some(until_ns)),
            BreakerState::HalfOpen { probing: true } => Err(None),
            BreakerState::HalfOpen { probing: false } => {
                self.state = BreakerState::HalfOpen { probing: true };
                Ok(true)
            }
        }
    }

    /// The probe ended and told nothing.
    pub(crate) fn abandoned(&mut self) {
        if let BreakerState::HalfOpen { probing } = &mut self.state {
            *probing = false;
        }
    }

    /// An attempt that was sent at `sent_ns` succeeded. True: the breaker closes with it.
    pub(crate) fn succeeded(&mut self, sent_ns: i64, now_ns: i64) -> bool {
        if self.state != BreakerState::Closed {
            if sent_ns < self.opened_ns {
                return false;
            }
            *self = Self { opened_ns: self.opened_ns, ..Self::default() };
            self.note(now_ns, false);
            return true;
        }
        self.in_a_row = 0;
        self.note(now_ns, false);
        false
    }

    /// An attempt that was sent at `sent_ns` failed; `failures` in a row open it for `open_ns` the first time.
    pub(crate) fn failed(&mut self, sent_ns: i64, now_ns: i64, failures: u32, open_ns: i64) {
        if self.state != BreakerState::Closed {
            // Open: what was sent before it opened. Half-open: the probe failed.
            if sent_ns >= self.opened_ns && matches!(self.state(now_ns), BreakerState::HalfOpen { .. }) {
                self.open(now_ns, open_ns);
            }
            return;
        }
        self.in_a_row += 1;
        self.note(now_ns, true);
        let failures = failures.max(1);
        let failed = self.recent.iter().filter(|(_, failed)| *failed).count();
        let enough = self.recent.len() >= RECENT.min(2 * failures as usize);
        let often = enough && failed as f64 >= FAILURE_SHARE * self.recent.len() as f64;
        if self.in_a_row >= failures || (often && failed >= failures as usize) {
            self.open(now_ns, open_ns);
        }
    }

    fn note(&mut self, now_ns: i64, failed: bool) {
        self.recent.push_back((now_ns, failed));
        while self.recent.len() > RECENT
            || self.recent.front().is_some_and(|(at_ns, _)| now_ns - at_ns > RECENT_NS)
        {
            self.recent.pop_front();
        }
    }

    fn open(&mut self, now_ns: i64, open_ns: i64) {
        let factor = 1_i64 << self.openings.min(MOST_DOUBLINGS);
        self.state = BreakerState::Open { until_ns: now_ns.saturating_add(open_ns.saturating_mul(factor)) };
        self.openings = self.openings.saturating_add(1);
        self.opened_ns = now_ns;
        self.in_a_row = 0;
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    enum Step {
        Succeeds(i64),
        Fails(i64),
        /// At, and what is expected.
        Asks(i64, Result<bool, Option<i64>>),
        Abandons,
    }
    use Step::{Abandons, Asks, Fails, Succeeds};

    fn run(failures: u32, steps: &[Step]) {
        let mut breaker = Breaker::default();
        for (place, step) in steps.iter().enumerate() {
            match step {
                Succeeds(at_ns) => {
                    breaker.succeeded(*at_ns, *at_ns);
                }
                Fails(at_ns) => breaker.failed(*at_ns, *at_ns, failures, 10 * S),
                Asks(at_ns, expected) => assert_eq!(breaker.admit(*at_ns), *expected, "step {place}"),
                Abandons => breaker.abandoned(),
            }
        }
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_probe_closes_it() {
        run(
            3,
            &[
                Fails(S),
                Fails(S),
                Succeeds(S),
                Fails(2 * S),
                Fails(2 * S),
                Asks(2 * S, Ok(false)),
                Fails(3 * S),
                Asks(3 * S, Err(Some(13 * S))),
                Asks(13 * S, Ok(true)),
                Asks(13 * S, Err(None)),
                Asks(14 * S, Err(None)),
                Succeeds(14 * S),
                Asks(14 * S, Ok(false)),
                Asks(14 * S, Ok(false)),
            ],
        );
    }

    #[test]
    fn a_failed_probe_opens_it_for_twice_as_long_up_to_32_times() {
        let mut breaker = Breaker::default();
        breaker.failed(0, 0, 1, S);
        let mut now_ns = 0;
        for factor in [1, 2, 4, 8, 16, 32, 32] {
            assert_eq!(breaker.state(now_ns), BreakerState::Open { until_ns: now_ns + factor * S });
            now_ns += factor * S;
            assert_eq!(breaker.admit(now_ns), Ok(true));
            breaker.failed(now_ns, now_ns, 1, S);
        }
        now_ns += 32 * S;
        assert_eq!(breaker.admit(now_ns), Ok(true));
        assert!(breaker.succeeded(now_ns, now_ns));
        breaker.failed(now_ns, now_ns, 1, S);
        assert_eq!(breaker.state(now_ns), BreakerState::Open { until_ns: now_ns + S });
    }

    #[test]
    fn an_abandoned_probe_leaves_the_place_to_another() {
        run(
            1,
            &[Fails(0), Asks(10 * S, Ok(true)), Abandons, Asks(10 * S, Ok(true)), Asks(10 * S, Err(None))],
        );
    }

    #[test]
    fn what_was_sent_before_it_opened_counts_no_more() {
        let mut breaker = Breaker::default();
        breaker.failed(5 * S, 5 * S, 1, 10 * S);
        assert!(!breaker.succeeded(4 * S, 6 * S));
        breaker.failed(4 * S, 7 * S, 1, 10 * S);
        assert_eq!(breaker.state(7 * S), BreakerState::Open { until_ns: 15 * S });
        assert_eq!(breaker.admit(15 * S), Ok(true));
        breaker.failed(4 * S, 16 * S, 1, 10 * S);
        assert_eq!(breaker.state(16 * S), BreakerState::HalfOpen { probing: true });
    }

    #[test]
    fn half_of_the_recent_attempts_failing_opens_it() {
        let mut breaker = Breaker::default();
        for turn in 0..9 {
            breaker.succeeded(turn, turn);
            assert_eq!(breaker.state(turn), BreakerState::Closed);
            breaker.failed(turn, turn, 5, S);
            if breaker.state(turn) != BreakerState::Closed {
                assert_eq!(turn, 4, "five of ten");
                return;
            }
        }
        panic!("it must open");
    }

    #[test]
    fn failures_far_apart_do_not_open_it_by_share() {
        let mut breaker = Breaker::default();
        for turn in 0..50 {
            breaker.succeeded(turn * 20 * S, turn * 20 * S);
            breaker.failed(turn * 20 * S, turn * 20 * S, 5, S);
        }
        assert_eq!(breaker.state(1000 * S), BreakerState::Closed);
    }
}
