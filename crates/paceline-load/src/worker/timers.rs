//! What ends a request by time: its deadline, a body without an end, a hang-up.

use std::cmp::Reverse;

use paceline_io::clock::now_ns;
use paceline_wire::BodyEnd;

use super::{PUBLISH_NS, Worker};

/// How long a body may go on after the stream's end marker. Only the last chunk's frame is missing then; a server
/// that never sends it must not hold the slot until the timeout.
const LINGER_NS: i64 = 1_000_000_000;

/// An instant for an exchange, and where it is: place, generation, and the exchange's own deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deadline {
    pub(super) at_ns: i64,
    pub(super) index: usize,
    pub(super) generation: u32,
    pub(super) exchange_ns: i64,
}

impl Worker {
    pub(super) fn linger(&mut self, index: usize) {
        let place = &self.places[index];
        if let Some(exchange) = place.connection.as_ref().and_then(|connection| connection.exchange.as_ref())
        {
            let (generation, exchange_ns) = (place.generation, exchange.deadline_ns);
            self.lingering.push_back(Deadline {
                at_ns: now_ns() + LINGER_NS,
                index,
                generation,
                exchange_ns,
            });
        }
    }

    pub(super) fn expire(&mut self, now: i64) {
        self.hang_up_due(now);
        while let Some(tail) = self.tails.front().copied().filter(|tail| tail.at_ns <= now) {
            self.tails.pop_front();
            if self.places[tail.index].generation == tail.generation {
                self.end_tail(tail.index);
            }
        }
        while let Some(deadline) = self.lingering.front().copied().filter(|deadline| deadline.at_ns <= now) {
            self.lingering.pop_front();
            if self.holds(&deadline)
                && let Some(exchange) = self.close(deadline.index)
            {
                self.conclude(
                    exchange,
                    BodyEnd::Cut("the body went on after the stream's end marker".into()),
                );
            }
        }
        while let Some(Reverse(deadline)) = self.deadlines.peek().copied() {
            let current = self.holds(&deadline);
            if current && deadline.at_ns > now {
                return;
            }
            self.deadlines.pop();
            if current && let Some(exchange) = self.close(deadline.index) {
                self.conclude(exchange, BodyEnd::Timeout);
            }
        }
    }

    fn hang_up_due(&mut self, now: i64) {
        while let Some(Reverse(hangup)) = self.hangups.peek().copied().filter(|Reverse(at)| at.at_ns <= now) {
            self.hangups.pop();
            // What has arrived by now was heard.
            if self.holds(&hangup) {
                self.read(hangup.index, true);
            }
            if self.holds(&hangup) {
                self.hang_up(hangup.index);
            }
        }
    }

    /// The place still carries the exchange that the deadline was set for.
    fn holds(&self, deadline: &Deadline) -> bool {
        let place = &self.places[deadline.index];
        place.generation == deadline.generation
            && place
                .connection
                .as_ref()
                .and_then(|connection| connection.exchange.as_ref())
                .is_some_and(|exchange| exchange.deadline_ns == deadline.exchange_ns)
    }

    pub(super) fn cancel_all(&mut self) {
        for index in 0..self.places.len() {
            self.end_tail(index);
            if let Some(exchange) = self.close(index) {
                self.conclude(exchange, BodyEnd::Cancelled);
            }
        }
    }

    pub(super) fn timeout_ns(&self, next: Option<i64>) -> i64 {
        let deadline = self.deadlines.peek().map_or(i64::MAX, |Reverse(deadline)| deadline.at_ns);
        let deadline = deadline.min(self.lingering.front().map_or(i64::MAX, |deadline| deadline.at_ns));
        let deadline = deadline.min(self.hangups.peek().map_or(i64::MAX, |Reverse(hangup)| hangup.at_ns));
        let deadline = deadline.min(self.tails.front().map_or(i64::MAX, |tail| tail.at_ns));
        let at = next.unwrap_or(i64::MAX).min(deadline).min(self.published_ns + PUBLISH_NS);
        at - now_ns()
    }
}
