//! The connections of a load thread: opened, given an exchange, read, closed.

use std::cmp::Reverse;
use std::io;
use std::net::SocketAddr;

use paceline_io::clock::now_ns;
use paceline_io::poller::Ready;
use paceline_wire::{BodyEnd, RequestRecord};

use super::timers::Deadline;
use super::{Place, Worker};
use crate::connection::{Connection, Step};
use crate::exchange::Exchange;
use crate::tail::Tail;

impl Worker {
    /// Gives an exchange a connection: an idle one, else a new one.
    pub(super) fn assign(&mut self, exchange: Exchange) {
        while let Some(index) = self.idle.pop() {
            if self.is_quiet(index) {
                self.carry(index, exchange);
                return;
            }
            self.close(index);
        }
        match self.open() {
            Ok(index) => self.carry(index, exchange),
            Err(error) => self.conclude(exchange, BodyEnd::ConnectError(error.to_string())),
        }
    }

    /// An idle connection is open, and nothing has come on it that nobody asked for.
    fn is_quiet(&mut self, index: usize) -> bool {
        let Some(connection) = self.places[index].connection.as_mut() else { return false };
        let stats = &mut self.stats.reads;
        let step = connection.readable(&mut self.scratch, &self.clock, true, stats, &mut |_| {});
        matches!(step, Step::Wait)
    }

    fn carry(&mut self, index: usize, exchange: Exchange) {
        let (exchange_ns, generation) = (exchange.deadline_ns, self.places[index].generation);
        self.deadlines.push(Reverse(Deadline { at_ns: exchange_ns, index, generation, exchange_ns }));
        if let Some(connection) = self.places[index].connection.as_mut() {
            connection.exchange = Some(exchange);
            if connection.is_ready() {
                self.send(index);
            }
        }
    }

    fn open(&mut self) -> io::Result<usize> {
        let address = self.address();
        let connection = Connection::open(address, self.spec.kernel_stamps, self.tls.clone())?;
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        let token = (u64::from(self.places[index].generation) << 32) | index as u64;
        if let Err(error) = self.poller.add(&connection.link.stream, token) {
            self.free.push(index);
            return Err(error);
        }
        self.places[index].connection = Some(connection);
        Ok(index)
    }

    fn address(&mut self) -> SocketAddr {
        let addresses = &self.spec.target.addresses;
        let address = addresses[self.next_address % addresses.len()];
        self.next_address = self.next_address.wrapping_add(1);
        address
    }

    fn send(&mut self, index: usize) {
        let mut request = std::mem::take(&mut self.request);
        let Some(connection) = self.places[index].connection.as_ref() else { return };
        let Some(exchange) = connection.exchange.as_ref() else { return };
        let answers = self.answers(&exchange.call);
        let length = exchange.body.len(answers);
        request.clear();
        request.extend_from_slice(&self.head);
        request.extend_from_slice(length.to_string().as_bytes());
        request.extend_from_slice(b"\r\n\r\n");
        exchange.body.write(answers, &mut request);
        self.request = request;
        let Some(connection) = self.places[index].connection.as_mut() else { return };
        if let Err(error) = connection.send(&self.request) {
            self.closed(index, Some(&error));
        }
    }

    pub(super) fn handle(&mut self, event: Ready) {
        let index = usize::try_from(event.token & 0xffff_ffff).unwrap_or(usize::MAX);
        let generation = event.token >> 32;
        let Some(place) = self.places.get_mut(index) else { return };
        if u64::from(place.generation) != generation {
            return;
        }
        if event.writable
            && let Some(connection) = place.connection.as_mut()
        {
            let step = connection.writable();
            self.step(index, step);
        }
        if event.readable && u64::from(self.places[index].generation) == generation {
            self.read(index, event.hangup);
        }
    }

    /// Reads what has arrived; `to_end`: the peer has closed.
    pub(super) fn read(&mut self, index: usize, to_end: bool) {
        let Some(connection) = self.places[index].connection.as_mut() else { return };
        let lag = &mut self.stats.read_lag;
        let step = connection.readable(
            &mut self.scratch,
            &self.clock,
            to_end,
            &mut self.stats.reads,
            &mut |arrival| lag.record(arrival.lag_ns),
        );
        if connection.unread {
            let generation = self.places[index].generation;
            self.unread.insert((index, generation));
        }
        self.plan_hang_up(index);
        self.step(index, step);
    }

    /// Goes on with the connections that have sent more than is read in one go.
    pub(super) fn read_on(&mut self) {
        for (index, generation) in std::mem::take(&mut self.unread) {
            let place = &self.places[index];
            let unread = place.connection.as_ref().is_some_and(|connection| connection.unread);
            if unread && place.generation == generation {
                self.read(index, true);
            }
        }
    }

    /// Notes when to hang up, once the first token has come.
    fn plan_hang_up(&mut self, index: usize) {
        let place = &mut self.places[index];
        let Some(exchange) = place.connection.as_mut().and_then(|connection| connection.exchange.as_mut())
        else {
            return;
        };
        if let Some(at_ns) = exchange.take_hangup_at_ns() {
            let (generation, exchange_ns) = (place.generation, exchange.deadline_ns);
            self.hangups.push(Reverse(Deadline { at_ns, index, generation, exchange_ns }));
        }
    }

    /// Closes our side; what still comes is watched, and the job goes on without it.
    pub(super) fn hang_up(&mut self, index: usize) {
        let Some(connection) = self.places[index].connection.as_mut() else { return };
        let Some(exchange) = connection.exchange.take() else { return };
        if exchange.is_lingering() {
            // The answer is whole: the caller leaves with it, and cuts nothing off.
            self.close(index);
            return self.conclude(exchange, BodyEnd::HungUp);
        }
        let call = exchange.call;
        connection.link.stream.shutdown();
        let hangup_ns = now_ns();
        let mut record = exchange.finish(BodyEnd::HungUp, hangup_ns, self.spec.segment, &self.shared.secrets);
        self.call_ended(&call, &mut record);
        if let Some(connection) = self.places[index].connection.as_mut() {
            connection.tail = Some(Tail::new(record, hangup_ns));
        }
        let generation = self.places[index].generation;
        let at_ns = hangup_ns.saturating_add(self.spec.hangup_wait_ns);
        self.tails.push_back(Deadline { at_ns, index, generation, exchange_ns: 0 });
    }

    /// Ends the watch over a server after a hang-up, if there is one.
    pub(super) fn end_tail(&mut self, index: usize) {
        let Some(connection) = self.places[index].connection.as_mut() else { return };
        let Some(tail) = connection.tail.take() else { return };
        self.close(index);
        self.keep(tail.finish());
    }

    fn step(&mut self, index: usize, step: Step) {
        match step {
            Step::Wait => {}
            Step::Linger => self.linger(index),
            Step::Ready => self.send(index),
            Step::Done => self.done(index),
            Step::Stopped => self.end_tail(index),
            Step::Broken => {
                if let Some(exchange) = self.close(index) {
                    self.conclude(exchange, BodyEnd::Complete);
                }
            }
            Step::Closed(error) => self.closed(index, error.as_ref()),
            Step::Failed(error) => {
                if let Some(exchange) = self.close(index) {
                    self.conclude(exchange, BodyEnd::ConnectError(error.to_string()));
                }
            }
        }
    }

    fn done(&mut self, index: usize) {
        let Some(connection) = self.places[index].connection.as_mut() else { return };
        let Some(exchange) = connection.exchange.take() else { return };
        if exchange.keeps_connection() && !self.spec.new_connections && connection.is_reusable() {
            // The deadline that is still queued for this place must not hit its next exchange.
            self.idle.push(index);
        } else {
            self.close(index);
        }
        self.conclude(exchange, BodyEnd::Complete);
    }

    fn closed(&mut self, index: usize, error: Option<&io::Error>) {
        if let Some(tail) = self.places[index].connection.as_mut().and_then(|held| held.tail.as_mut()) {
            tail.stop(now_ns());
            return self.end_tail(index);
        }
        let Some(mut exchange) = self.close(index) else { return };
        // A server may close an idle connection at the moment at which it is used again: that is the pool's
        // affair and not the endpoint's answer, so the request goes out once more, on a fresh connection. Later
        // than such a close can cross the request, the server has dropped what it had taken.
        if exchange.is_crossed(now_ns()) {
            exchange.found.reused = false;
            self.stats.resent += 1;
            match self.open() {
                Ok(index) => return self.carry(index, exchange),
                Err(error) => return self.conclude(exchange, BodyEnd::ConnectError(error.to_string())),
            }
        }
        let end = exchange.closed_by_peer(error);
        self.conclude(exchange, end);
    }

    /// Ends a connection and frees its place; returns the exchange that it carried.
    pub(super) fn close(&mut self, index: usize) -> Option<Exchange> {
        let place = &mut self.places[index];
        let connection = place.connection.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.idle.retain(|idle| *idle != index);
        self.free.push(index);
        connection.exchange
    }

    /// Turns an exchange into its row.
    pub(super) fn conclude(&mut self, exchange: Exchange, end: BodyEnd) {
        let call = exchange.call;
        let mut record = exchange.finish(end, now_ns(), self.spec.segment, &self.shared.secrets);
        self.call_ended(&call, &mut record);
        self.keep(record);
    }

    fn keep(&mut self, record: RequestRecord) {
        self.stats.in_flight -= 1;
        self.stats.finished += 1;
        *self.stats.outcomes.entry(record.observation.outcome.as_str()).or_default() += 1;
        self.records.push(record);
    }
}
