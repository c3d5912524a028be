//! A load thread: one epoll loop over its connections, fed by its dispatcher.

mod connections;
mod jobs;
mod timers;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;

use paceline_io::clock::{StampClock, now_ns, thread_cpu_ns};
use paceline_io::poller::{Poller, Ready, WAKE};
use paceline_io::stream::Scratch;
use paceline_wire::{Protocol, RequestRecord};

use crate::connection::Connection;
use crate::dispatch::Dispatch;
use crate::head::request_head;
use crate::run::{Command, Shared};
use crate::runqueue::runqueue_wait_ns;
use crate::spec::LoadSpec;
use crate::stats::WorkerStats;
use jobs::{Scheduled, SessionPlace};
use paceline_io::link::Tls;
use timers::Deadline;

/// How often a thread shows its counters and hands its rows on, and the longest that it sleeps.
const PUBLISH_NS: i64 = 50_000_000;
/// A thread that returns from a wait, or to it, so much too late has stood still.
const STALL_NS: i64 = 100_000_000;
/// How much is read of one connection before the others, and the timers, have their turn.
const READ_BYTES: usize = 256 * 1024;
/// The largest body that is kept of a response that is not a stream.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A place for a connection. The generation tells a late event from one of the place's present holder.
#[derive(Debug, Default)]
struct Place {
    generation: u32,
    connection: Option<Connection>,
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
    /// Places, with their generations, of connections that have more than was read of them.
    unread: BTreeSet<(usize, u32)>,
    /// Deadlines of the requests in flight.
    deadlines: BinaryHeap<Reverse<Deadline>>,
    /// The same for bodies that go on after their end marker, which all have the same time.
    lingering: VecDeque<Deadline>,
    /// When to hang up.
    hangups: BinaryHeap<Reverse<Deadline>>,
    /// Until when servers are watched after a hang-up, all for the same time.
    tails: VecDeque<Deadline>,
    sessions: Vec<SessionPlace>,
    free_sessions: Vec<usize>,
    /// Calls of jobs that go on.
    scheduled: BinaryHeap<Reverse<Scheduled>>,
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
            scratch: Scratch::bounded(READ_BYTES),
            tls,
            request: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            idle: Vec::new(),
            unread: BTreeSet::new(),
            deadlines: BinaryHeap::new(),
            lingering: VecDeque::new(),
            hangups: BinaryHeap::new(),
            tails: VecDeque::new(),
            sessions: Vec::new(),
            free_sessions: Vec::new(),
            scheduled: BinaryHeap::new(),
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
            // First what ends by time, since what waits for it may be due at once.
            self.expire(now);
            let next = self.start_due(now);
            if now - self.published_ns >= PUBLISH_NS {
                self.publish(now);
            }
            if self.stats.in_flight == 0 && !self.stats.sending && !self.has_jobs() {
                self.stats.done = true;
                self.publish_all(now_ns());
                return Ok(());
            }
            ready.clear();
            let timeout_ns = if self.unread.is_empty() { self.timeout_ns(next) } else { 0 };
            let asleep = now_ns();
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
            self.read_on();
        }
    }

    fn obey(&mut self) {
        match self.shared.command() {
            Command::Go => {}
            Command::Stop => {
                self.dispatch.end();
                self.stop_jobs();
            }
            Command::Cancel => {
                self.dispatch.end();
                self.stop_jobs();
                self.cancel_all();
            }
        }
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
