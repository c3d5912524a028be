//! A load thread: one epoll loop over its connections, fed by its dispatcher.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_io::clock::{StampClock, now_ns, thread_cpu_ns};
use paceline_io::poller::{Poller, Ready, WAKE};
use paceline_io::stream::Scratch;
use paceline_wire::{BodyEnd, Limits, Protocol, RequestRecord, StreamObserver};

use crate::bodies::{Body, Taken};
use crate::connection::{Connection, Step, Tls};
use crate::dispatch::{Dispatch, Due};
use crate::exchange::Exchange;
use crate::head::request_head;
use crate::run::{Command, Shared};
use crate::runqueue::runqueue_wait_ns;
use crate::spec::LoadSpec;
use crate::stats::WorkerStats;

/// How often a thread shows its counters and hands its rows on, and the longest that it sleeps.
const PUBLISH_NS: i64 = 50_000_000;
/// How soon a request that was due and had no body is tried again.
const STARVED_RETRY_NS: i64 = 1_000_000;
/// Rows that may wait for the poll before no more requests are sent: memory stays bounded when nobody polls.
const MAX_WAITING_ROWS: usize = 200_000;
/// How long a slot rests after a failed connect: an endpoint that is down is asked ten times a second and slot,
/// not as fast as the machine can fail.
const CONNECT_REST_NS: i64 = 100_000_000;
/// How long a body may go on after the stream's end marker. Only the last chunk's frame is missing then; a server
/// that never sends it must not hold the slot until the timeout.
const LINGER_NS: i64 = 1_000_000_000;
/// A thread that returns from a wait, or to it, so much too late has stood still.
const STALL_NS: i64 = 100_000_000;
/// The largest body that is kept of a response that is not a stream.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A place for a connection. The generation tells a late event from one of the place's present holder.
#[derive(Debug, Default)]
struct Place {
    generation: u32,
    connection: Option<Connection>,
}

/// An instant at which an exchange ends, and where it is: place, generation, and the exchange's own deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Deadline {
    at_ns: i64,
    index: usize,
    generation: u32,
    exchange_ns: i64,
}

pub(crate) struct Worker {
    spec: Arc<LoadSpec>,
    protocol: Protocol,
    thread: usize,
    shared: Arc<Shared>,
    poller: Poller,
    clock: StampClock,
    scratch: Scratch,
    dispatch: Dispatch,
    tls: Option<Tls>,
    head: Vec<u8>,
    request: Vec<u8>,
    places: Vec<Place>,
    free: Vec<usize>,
    idle: Vec<usize>,
    /// Deadlines of the requests in flight.
    deadlines: BinaryHeap<Reverse<Deadline>>,
    /// The same for bodies that go on after their end marker, which all have the same time.
    lingering: VecDeque<Deadline>,
    records: Vec<RequestRecord>,
    stats: WorkerStats,
    next_address: usize,
    origin_ns: i64,
    published_ns: i64,
    wait_before_ns: i64,
    starving: bool,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        thread: usize,
        poller: Poller,
        tls: Option<Tls>,
        origin_ns: i64,
    ) -> Result<Self, crate::LoadError> {
        let spec = shared.spec.clone();
        Ok(Self {
            protocol: spec.protocol()?,
            dispatch: Dispatch::new(&spec, thread, origin_ns, shared.claimed.clone()),
            head: request_head(&spec),
            wait_before_ns: runqueue_wait_ns(),
            spec,
            thread,
            shared,
            poller,
            clock: StampClock::new(),
            scratch: Scratch::new(),
            tls,
            request: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            idle: Vec::new(),
            deadlines: BinaryHeap::new(),
            lingering: VecDeque::new(),
            records: Vec::new(),
            stats: WorkerStats { sending: true, ..WorkerStats::default() },
            next_address: thread,
            origin_ns,
            published_ns: origin_ns,
            starving: false,
        })
    }

    /// Runs until all has ended.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut ready: Vec<Ready> = Vec::new();
        let mut woken = now_ns().max(self.origin_ns);
        loop {
            let now = self.clock.refresh();
            self.obey();
            let next = self.start_due(now);
            self.expire(now);
            if now - self.published_ns >= PUBLISH_NS {
                self.publish(now);
            }
            if self.stats.in_flight == 0 && !self.stats.sending {
                self.stats.done = true;
                self.publish_all(now_ns());
                return Ok(());
            }
            ready.clear();
            let (asleep, timeout_ns) = (now_ns(), self.timeout_ns(next));
            self.poller.wait(Some(timeout_ns), &mut ready)?;
            let awake = self.clock.refresh();
            for late_ns in [asleep - woken, awake - asleep - timeout_ns.max(0)] {
                self.stats.stalled_ns += if late_ns >= STALL_NS { late_ns } else { 0 };
            }
            woken = awake;
            for event in &ready {
                if event.token != WAKE {
                    self.handle(*event);
                }
            }
        }
    }

    fn obey(&mut self) {
        match self.shared.command() {
            Command::Go => {}
            Command::Stop => self.dispatch.end(),
            Command::Cancel => {
                self.dispatch.end();
                self.cancel_all();
            }
        }
    }

    /// Begins all that is due; returns the instant of the next.
    fn start_due(&mut self, now: i64) -> Option<i64> {
        loop {
            match self.dispatch.due(now) {
                Due::Now { intended_ns, possible_ns } => {
                    if self.shared.waiting_rows() > MAX_WAITING_ROWS {
                        return Some(now + PUBLISH_NS);
                    }
                    match self.shared.bodies.take() {
                        Taken::Body(body) => {
                            self.starving = false;
                            self.dispatch.sent();
                            self.start(body, intended_ns, possible_ns);
                        }
                        Taken::Empty => {
                            self.stats.starved += u64::from(!self.starving);
                            self.starving = true;
                            return Some(now + STARVED_RETRY_NS);
                        }
                        Taken::Closed => self.dispatch.end(),
                    }
                }
                Due::At(at_ns) => return Some(at_ns),
                Due::Slot => return None,
                Due::Never => {
                    self.stats.sending = false;
                    return None;
                }
            }
        }
    }

    fn start(&mut self, body: Body, intended_ns: i64, possible_ns: i64) {
        let now = now_ns();
        let nth = self.shared.started.fetch_add(1, Ordering::Relaxed);
        let warmup = nth < self.spec.warmup_requests
            || intended_ns < self.origin_ns.saturating_add(self.spec.warmup_ns);
        self.stats.schedule_lag.record(now - possible_ns);
        self.stats.started += 1;
        self.stats.in_flight += 1;
        let limits = Limits {
            max_event_bytes: self.spec.max_event_bytes,
            max_body_bytes: MAX_BODY_BYTES,
            keep_text: self.spec.keep_text,
        };
        let observer = StreamObserver::new(self.protocol, self.spec.target.streaming, limits);
        let deadline_ns = now.saturating_add(self.spec.timeout_ns);
        self.assign(Exchange::new(body, warmup, intended_ns, deadline_ns, observer));
    }

    /// Gives an exchange a connection: an idle one, else a new one.
    fn assign(&mut self, exchange: Exchange) {
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
        let connection = Connection::open(address, self.spec.kernel_stamps)?;
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() - 1
        });
        let token = (u64::from(self.places[index].generation) << 32) | index as u64;
        if let Err(error) = self.poller.add(&connection.stream, token) {
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
        let Some(connection) = self.places[index].connection.as_mut() else { return };
        let Some(exchange) = connection.exchange.as_ref() else { return };
        let body = exchange.body.bytes();
        self.request.clear();
        self.request.extend_from_slice(&self.head);
        self.request.extend_from_slice(body.len().to_string().as_bytes());
        self.request.extend_from_slice(b"\r\n\r\n");
        self.request.extend_from_slice(body);
        if let Err(error) = connection.send(&self.request) {
            self.closed(index, Some(&error));
        }
    }

    fn handle(&mut self, event: Ready) {
        let index = usize::try_from(event.token & 0xffff_ffff).unwrap_or(usize::MAX);
        let generation = event.token >> 32;
        let Some(place) = self.places.get_mut(index) else { return };
        if u64::from(place.generation) != generation {
            return;
        }
        if event.writable
            && let Some(connection) = place.connection.as_mut()
        {
            let step = connection.writable(self.tls.as_ref());
            self.step(index, step);
        }
        let place = &mut self.places[index];
        if event.readable
            && u64::from(place.generation) == generation
            && let Some(connection) = place.connection.as_mut()
        {
            let lag = &mut self.stats.read_lag;
            let step = connection.readable(
                &mut self.scratch,
                &self.clock,
                event.hangup,
                &mut self.stats.reads,
                &mut |arrival| lag.record(arrival.lag_ns),
            );
            self.step(index, step);
        }
    }

    fn step(&mut self, index: usize, step: Step) {
        match step {
            Step::Wait => {}
            Step::Linger => self.linger(index),
            Step::Ready => self.send(index),
            Step::Done => self.done(index),
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
        let Some(mut exchange) = self.close(index) else { return };
        // A server may close an idle connection at the moment at which it is used again: that is the pool's
        // affair and not the endpoint's answer, so the request goes out once more, on a fresh connection. Later
        // than such a close can cross the request, the server has dropped what it had taken.
        let crossed =
            exchange.connection_reused && !exchange.answered && now_ns() <= exchange.crossed_until_ns;
        if crossed {
            exchange.connection_reused = false;
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
    fn close(&mut self, index: usize) -> Option<Exchange> {
        let place = &mut self.places[index];
        let connection = place.connection.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.idle.retain(|idle| *idle != index);
        self.free.push(index);
        connection.exchange
    }

    /// Turns an exchange into its row.
    fn conclude(&mut self, exchange: Exchange, end: BodyEnd) {
        let rest_ns = if matches!(end, BodyEnd::ConnectError(_)) { CONNECT_REST_NS } else { 0 };
        let record = exchange.finish(end, now_ns(), self.spec.segment, &self.shared.secrets);
        self.stats.in_flight -= 1;
        self.stats.finished += 1;
        *self.stats.outcomes.entry(record.observation.outcome.as_str()).or_default() += 1;
        self.dispatch.slot_freed(record.observation.end_ns + rest_ns);
        self.records.push(record);
    }

    fn linger(&mut self, index: usize) {
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

    fn expire(&mut self, now: i64) {
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

    fn cancel_all(&mut self) {
        for index in 0..self.places.len() {
            if let Some(exchange) = self.close(index) {
                self.conclude(exchange, BodyEnd::Cancelled);
            }
        }
    }

    fn timeout_ns(&self, next: Option<i64>) -> i64 {
        let deadline = self.deadlines.peek().map_or(i64::MAX, |Reverse(deadline)| deadline.at_ns);
        let deadline = deadline.min(self.lingering.front().map_or(i64::MAX, |deadline| deadline.at_ns));
        let at = next.unwrap_or(i64::MAX).min(deadline).min(self.published_ns + PUBLISH_NS);
        at - now_ns()
    }

    /// Shows the counters, and hands rows on, unless the poll holds the lock just now: a load thread waits for
    /// nobody.
    fn publish(&mut self, now: i64) {
        self.published_ns = now;
        self.sample_cpu();
        if let Ok(mut shown) = self.shared.stats[self.thread].try_lock() {
            shown.clone_from(&self.stats);
        }
        if !self.records.is_empty() {
            self.shared.try_append(&mut self.records);
        }
    }

    /// The same at the end, when waiting harms nobody.
    fn publish_all(&mut self, now: i64) {
        self.published_ns = now;
        self.sample_cpu();
        self.shared.append(&mut self.records);
        self.shared.show(self.thread, &self.stats);
    }

    fn sample_cpu(&mut self) {
        self.stats.planned = self.dispatch.planned();
        self.stats.dropped = self.dispatch.dropped();
        self.stats.cpu_ns = thread_cpu_ns();
        self.stats.runqueue_wait_ns = runqueue_wait_ns() - self.wait_before_ns;
    }
}
