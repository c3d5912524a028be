//! When the events of an answer are due in exact mode: instants counted from the request, so that no lateness
//! ever adds up.

use crate::config::{ExactConfig, Stall};

/// The schedule of one answer, in ns from its start.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    ttft_ns: i64,
    itl_ns: i64,
    tokens_per_event: u64,
    stalls: Vec<Stall>,
}

fn ns(us: u64) -> i64 {
    i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1_000)
}

impl Schedule {
    /// For a prompt with so many tokens that the cache did not have.
    pub(crate) fn new(config: &ExactConfig, uncached_tokens: u64) -> Self {
        let prefill_us = config.ttft_us_per_uncached_token.saturating_mul(uncached_tokens);
        Self {
            ttft_ns: ns(config.ttft_us.saturating_add(prefill_us)),
            itl_ns: ns(config.itl_us),
            tokens_per_event: config.tokens_per_event,
            stalls: config.stalls.clone(),
        }
    }

    pub(crate) fn tokens_per_event(&self) -> u64 {
        self.tokens_per_event
    }

    /// When event `index` leaves: with its first token, which is due at `ttft + token * itl + stalls`.
    pub(crate) fn event_ns(&self, index: u64) -> i64 {
        let token = index.saturating_mul(self.tokens_per_event);
        let stalled = self
            .stalls
            .iter()
            .filter(|stall| token >= stall.after_tokens)
            .fold(0i64, |sum, stall| sum.saturating_add(ns(stall.stall_us)));
        let decode = i64::try_from(token).unwrap_or(i64::MAX).saturating_mul(self.itl_ns);
        self.ttft_ns.saturating_add(decode).saturating_add(stalled)
    }

    /// When empty event `index` of `count` leaves: all are evenly spread between start and first token.
    pub(crate) fn empty_ns(&self, index: u64, count: u64) -> i64 {
        let step = self.ttft_ns / i64::try_from(count.saturating_add(1)).unwrap_or(i64::MAX);
        step.saturating_mul(i64::try_from(index.saturating_add(1)).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_leave_with_their_first_token() {
        let schedule = Schedule::new(
            &ExactConfig {
                ttft_us: 50_000,
                itl_us: 10_000,
                tokens_per_event: 4,
                stalls: vec![
                    Stall { after_tokens: 8, stall_us: 500 },
                    Stall { after_tokens: 9, stall_us: 20 },
                ],
                ..ExactConfig::default()
            },
            1_000,
        );
        let at: Vec<i64> = (0..5).map(|index| schedule.event_ns(index)).collect();
        // Event 2 begins with token 8, event 3 with token 12.
        assert_eq!(at, [50_000_000, 90_000_000, 130_500_000, 170_520_000, 210_520_000]);
    }

    #[test]
    fn empty_events_come_before_the_first_token() {
        let schedule = Schedule::new(&ExactConfig { ttft_us: 40, ..ExactConfig::default() }, 0);
        assert_eq!([0, 1, 2].map(|index| schedule.empty_ns(index, 3)), [10_000, 20_000, 30_000]);
    }

    #[test]
    fn the_longest_schedule_does_not_overflow() {
        let schedule = Schedule::new(
            &ExactConfig {
                ttft_us: crate::config::MAX_US,
                itl_us: crate::config::MAX_US,
                tokens_per_event: 100_000,
                ttft_us_per_uncached_token: crate::config::MAX_US,
                ..ExactConfig::default()
            },
            u64::MAX,
        );
        assert!(schedule.event_ns(u64::MAX) > 0);
    }

    #[test]
    fn what_is_not_cached_makes_the_first_token_later() {
        let config =
            ExactConfig { ttft_us: 100, itl_us: 7, ttft_us_per_uncached_token: 20, ..ExactConfig::default() };
        assert_eq!(Schedule::new(&config, 30).event_ns(0), 700_000);
        assert_eq!(Schedule::new(&config, 30).event_ns(1), 707_000);
        assert_eq!(Schedule::new(&config, 0).event_ns(0), 100_000);
    }
}
