//! What happens when nothing does: bounds on time, hedges, deadlines, comments.

use paceline_io::clock::now_ns;
use paceline_io::timers::Timer;
use paceline_wire::BodyEnd;

use super::client::State;
use super::inbox::Progress;
use super::{UPSTREAM, Worker};
use crate::refusal::Refusal;

/// Due timers that are served before the sockets are looked at again.
const TIMERS_A_ROUND: usize = 256;

impl Worker {
    /// Sets a client's timer, unless an earlier one is set already: that one will set the next.
    pub(super) fn arm_client(&mut self, token: u64) {
        let Some(client) = self.clients.get_mut(token) else { return };
        let due_ns = client.due_ns(&self.shared.settings.clients);
        if due_ns < client.armed_ns {
            client.armed_ns = due_ns;
            self.timers.arm(Timer { due_ns, token, id: 0 });
        }
    }

    /// The same for an upstream.
    pub(super) fn arm_upstream(&mut self, token: u64) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        let due_ns = upstream.due_ns();
        if due_ns < upstream.armed_ns {
            upstream.armed_ns = due_ns;
            self.timers.arm(Timer { due_ns, token: token | UPSTREAM, id: 0 });
        }
    }

    /// Serves timers that are due.
    pub(super) fn run_due(&mut self) {
        let now = now_ns();
        for _ in 0..TIMERS_A_ROUND {
            let Some(timer) = self.timers.pop_due(now) else { break };
            if timer.token & UPSTREAM != 0 {
                self.upstream_timer(timer.token & !UPSTREAM, timer.due_ns, now);
            } else {
                self.client_timer(timer.token, timer.due_ns, now);
            }
        }
        if now >= self.next_housekeeping_ns {
            self.housekeeping(now);
        }
    }

    fn upstream_timer(&mut self, token: u64, timer_ns: i64, now: i64) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        if upstream.armed_ns == timer_ns {
            upstream.armed_ns = i64::MAX;
        }
        if upstream.due_ns() > now {
            self.arm_upstream(token);
        } else if upstream.exchange.is_some() {
            self.attempt_failed(token, BodyEnd::Timeout);
        } else if upstream.rest.is_some() {
            // The answer was whole long ago, and its body has no end.
            self.upstreams.remove(token);
        }
    }

    fn client_timer(&mut self, token: u64, timer_ns: i64, now: i64) {
        let limits = self.shared.settings.clients;
        let Some(client) = self.clients.get_mut(token) else { return };
        if client.armed_ns == timer_ns {
            client.armed_ns = i64::MAX;
        }
        if client.due_ns(&limits) > now {
            return self.arm_client(token);
        }
        if client.expires_ns(&limits) <= now {
            return self.client_expired(token);
        }
        if matches!(client.state, State::Busy(_)) {
            self.flight_timer(token, now);
        }
        self.arm_client(token);
    }

    fn client_expired(&mut self, token: u64) {
        let limits = self.shared.settings.clients;
        let Some(client) = self.clients.get_mut(token) else { return };
        let blocked = client.blocked_ns.is_some();
        match client.inbox.progress() {
            Progress::Head { .. } if !blocked => {
                self.turn_away(token, &Refusal::request_timeout("head", limits.head_ns / 1_000_000));
            }
            Progress::Body { .. } if !blocked => {
                self.turn_away(token, &Refusal::request_timeout("body", limits.body_ns / 1_000_000));
            }
            _ => self.client_gone(token),
        }
    }

    fn flight_timer(&mut self, token: u64, now: i64) {
        let Some(flight) = self.clients.get_mut(token).and_then(|client| client.flight()) else { return };
        if flight.finish_at_ns <= now {
            let after_ms = (flight.finish_at_ns - flight.received_ns) / 1_000_000;
            return self.give_up(token, Refusal::deadline_missed(after_ms));
        }
        if flight.committed.is_some() {
            return;
        }
        if flight.deadline_at_ns <= now {
            let after_ms = (flight.deadline_at_ns - flight.received_ns) / 1_000_000;
            return self.give_up(token, Refusal::deadline_missed(after_ms));
        }
        if flight.queued.as_ref().is_some_and(|queued| queued.until_ns <= now) {
            return self.waited_too_long(token);
        }
        if flight.hedge_at_ns() <= now {
            self.hedge(token, now);
        }
        self.keep_alive(token, now);
    }
}
