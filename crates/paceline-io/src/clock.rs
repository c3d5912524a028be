//! One clock for everything: CLOCK_MONOTONIC in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

/// How long an offset between the two clocks is trusted. Clock discipline slews by at most 500 ppm, so the
/// offset is wrong by at most 0.5 us after this time.
const OFFSET_LIFETIME_NS: i64 = 1_000_000;

/// A sampling that took longer than this was interrupted and is taken again.
const SAMPLING_LIMIT_NS: i64 = 2_000;

fn read(clock: ClockId) -> i64 {
    let t = clock_gettime(clock);
    t.tv_sec.saturating_mul(1_000_000_000).saturating_add(t.tv_nsec)
}

/// The monotonic instant, in ns.
#[must_use]
pub fn now_ns() -> i64 {
    read(ClockId::Monotonic)
}

/// The wall clock, in ns since the Unix epoch.
#[must_use]
pub fn unix_ns() -> i64 {
    read(ClockId::Realtime)
}

/// CPU time that the calling thread has used, in ns.
#[must_use]
pub fn thread_cpu_ns() -> i64 {
    read(ClockId::ThreadCPUTime)
}

/// Turns the kernel's receive stamps, which are wall clock, into monotonic instants.
#[derive(Debug, Clone)]
pub struct StampClock {
    offset_ns: i64,
    sampled_ns: i64,
}

impl Default for StampClock {
    fn default() -> Self {
        Self::new()
    }
}

impl StampClock {
    /// A clock with a fresh offset.
    #[must_use]
    pub fn new() -> Self {
        let mut clock = Self { offset_ns: 0, sampled_ns: i64::MIN };
        clock.sample();
        clock
    }

    /// Takes a new offset when the last one is older than its lifetime, and returns the monotonic instant.
    /// Call it once each time the poller wakes.
    pub fn refresh(&mut self) -> i64 {
        let now = now_ns();
        if now.saturating_sub(self.sampled_ns) > OFFSET_LIFETIME_NS {
            self.sample();
        }
        now
    }

    /// The monotonic instant of a wall-clock stamp, never later than now: when the wall clock was set back
    /// between stamp and sampling, "now" is the best bound there is.
    #[must_use]
    pub fn monotonic_ns(&self, unix_ns: i64) -> i64 {
        unix_ns.saturating_add(self.offset_ns).min(now_ns())
    }

    fn sample(&mut self) {
        let mut best_width = i64::MAX;
        for _ in 0..4 {
            let before = now_ns();
            let unix = unix_ns();
            let after = now_ns();
            let width = after - before;
            if width < best_width {
                best_width = width;
                self.offset_ns = before + width / 2 - unix;
                self.sampled_ns = after;
            }
            if width <= SAMPLING_LIMIT_NS {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_stamp_maps_to_the_monotonic_instant_it_was_taken_at() {
        let clock = StampClock::new();
        for _ in 0..100 {
            let before = now_ns();
            let stamp = clock.monotonic_ns(unix_ns());
            let after = now_ns();
            assert!(stamp >= before - 50_000 && stamp <= after, "{before} {stamp} {after}");
        }
    }

    #[test]
    fn a_stamp_from_the_future_is_now_at_most() {
        let clock = StampClock::new();
        assert!(clock.monotonic_ns(unix_ns() + 10_000_000_000) <= now_ns());
    }

    #[test]
    fn thread_cpu_time_grows_with_work_and_not_with_sleep() {
        let start = thread_cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(thread_cpu_ns() - start < 20_000_000);
    }
}
