//! When which connection wants to be woken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer: the connection's token, and a number by which the connection knows whether it still wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When, on the monotonic clock.
    pub due_ns: i64,
    /// Whose.
    pub token: u64,
    /// Which of its timers.
    pub id: u64,
}

/// Timers in the order in which they are due. They are never taken back: who does not want one any more ignores it.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<Timer>>);

impl Timers {
    /// Adds a timer.
    pub fn arm(&mut self, timer: Timer) {
        self.0.push(Reverse(timer));
    }

    /// When the next one is due.
    #[must_use]
    pub fn next_ns(&self) -> Option<i64> {
        self.0.peek().map(|timer| timer.0.due_ns)
    }

    /// Takes the next one out, if it is due.
    pub fn pop_due(&mut self, now_ns: i64) -> Option<Timer> {
        if self.next_ns()? > now_ns { None } else { self.0.pop().map(|timer| timer.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_order_and_never_early() {
        let mut timers = Timers::default();
        for (due_ns, token) in [(30, 1), (10, 2), (20, 3)] {
            timers.arm(Timer { due_ns, token, id: 0 });
        }
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop_due(9), None);
        let tokens: Vec<u64> = std::iter::from_fn(|| timers.pop_due(25)).map(|timer| timer.token).collect();
        assert_eq!(tokens, [2, 3]);
        assert_eq!(timers.next_ns(), Some(30));
    }
}
