//! A run: started once, polled until it is done.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use paceline_io::clock::{now_ns, unix_ns};
use paceline_io::link::Tls;
use paceline_io::listen::reserve_descriptors;
use paceline_io::poller::{Poller, Waker};
use paceline_io::stream::Stamping;
use paceline_io::tls::client_config;
use paceline_wire::{BatchBuilder, RequestRecord};

use crate::bodies::Bodies;
use crate::error::LoadError;
use crate::lag::Lags;
use crate::progress::{Progress, RunState};
use crate::spec::LoadSpec;
use crate::stats::WorkerStats;
use crate::worker::Worker;
use paceline_wire::Secrets;

/// Between the last thread's readiness and the first request, so that no thread starts late.
const LEAD_NS: i64 = 2_000_000;
/// Events that a thread takes from the kernel in one go.
const POLLER_EVENTS: usize = 512;

/// What the user wants of a running run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Go,
    Stop,
    Cancel,
}

/// What the threads and the poll have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spec: Arc<LoadSpec>,
    pub(crate) secrets: Secrets,
    pub(crate) bodies: Bodies,
    /// Jobs begun by closed loops and replays, against `max_requests`.
    pub(crate) claimed: Arc<AtomicU64>,
    /// Jobs begun, for the warm-up count.
    pub(crate) begun_jobs: AtomicU64,
    pub(crate) stats: Vec<Mutex<WorkerStats>>,
    records: Mutex<Vec<RequestRecord>>,
    waiting_rows: AtomicUsize,
    command: AtomicU8,
}

impl Shared {
    pub(crate) fn command(&self) -> Command {
        match self.command.load(Ordering::Acquire) {
            0 => Command::Go,
            1 => Command::Stop,
            _ => Command::Cancel,
        }
    }

    pub(crate) fn waiting_rows(&self) -> usize {
        self.waiting_rows.load(Ordering::Relaxed)
    }

    pub(crate) fn try_append(&self, rows: &mut Vec<RequestRecord>) {
        if let Ok(mut all) = self.records.try_lock() {
            all.append(rows);
            self.waiting_rows.store(all.len(), Ordering::Relaxed);
        }
    }

    pub(crate) fn append(&self, rows: &mut Vec<RequestRecord>) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).append(rows);
    }

    pub(crate) fn show(&self, thread: usize, stats: &WorkerStats) {
        self.stats[thread].lock().unwrap_or_else(PoisonError::into_inner).clone_from(stats);
    }

    fn take_rows(&self) -> Vec<RequestRecord> {
        let mut all = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting_rows.store(0, Ordering::Relaxed);
        std::mem::take(&mut *all)
    }
}

/// A load run. Make it, push bodies, start it, then poll until its state is `done` or `failed`.
#[derive(Debug)]
pub struct LoadRun {
    shared: Arc<Shared>,
    tls: Option<Tls>,
    threads: Vec<JoinHandle<Result<(), LoadError>>>,
    wakers: Vec<Waker>,
    origin: Option<(i64, i64)>,
    ended_ns: Option<i64>,
    failure: Option<String>,
    /// None: stamps are not wanted, or the kernel has none.
    _stamping: Option<Stamping>,
}

impl LoadRun {
    /// Checks the specification and sets up TLS; sends nothing.
    ///
    /// # Errors
    /// [`LoadError::Spec`] or [`LoadError::Tls`].
    pub fn new(spec_json: &str) -> Result<Self, LoadError> {
        let mut spec = LoadSpec::from_json(spec_json)?;
        // A thread without a slot would have nothing to do, and would not learn of the end.
        spec.threads = spec.slots().map_or(spec.threads, |slots| spec.threads.min(slots));
        let tls = if spec.target.scheme == "https" {
            let config = client_config(spec.target.ca_pem.as_deref())?;
            Some(Tls { config, host: spec.target.host.clone() })
        } else {
            None
        };
        let stamping = spec.kernel_stamps.then(Stamping::begin).and_then(Result::ok);
        let shared = Shared {
            secrets: Secrets::of(&spec.target.headers),
            bodies: Bodies::new(spec.first_index),
            claimed: Arc::default(),
            begun_jobs: AtomicU64::new(0),
            stats: (0..spec.threads).map(|_| Mutex::default()).collect(),
            records: Mutex::default(),
            waiting_rows: AtomicUsize::new(0),
            command: AtomicU8::new(0),
            spec: Arc::new(spec),
        };
        Ok(Self {
            shared: Arc::new(shared),
            tls,
            threads: Vec::new(),
            wakers: Vec::new(),
            origin: None,
            ended_ns: None,
            failure: None,
            _stamping: stamping,
        })
    }

    /// Appends bodies, before or during the run.
    ///
    /// # Errors
    /// [`LoadError::Bodies`]: not the agreed columns, or the input is closed.
    pub fn push(&self, batch: &RecordBatch) -> Result<(), LoadError> {
        self.shared.bodies.push(batch)?;
        self.wake();
        Ok(())
    }

    /// No more bodies will come: the run ends when those that are there have been sent.
    pub fn close_input(&self) {
        self.shared.bodies.close();
        self.wake();
    }

    /// Starts the load threads; returns when all of them stand ready.
    ///
    /// # Errors
    /// [`LoadError::State`] when started before, [`LoadError::System`] when threads or descriptors are refused.
    pub fn start(&mut self) -> Result<(), LoadError> {
        if self.origin.is_some() {
            return Err(LoadError::State("started before"));
        }
        reserve_descriptors();
        let (ready, all_ready) = channel();
        let mut go: Vec<Sender<i64>> = Vec::new();
        for thread in 0..self.shared.spec.threads {
            let (go_sender, go_receiver) = channel();
            let (shared, tls, ready) = (self.shared.clone(), self.tls.clone(), ready.clone());
            let handle =
                std::thread::Builder::new().name(format!("paceline-load-{thread}")).spawn(move || {
                    // Made on its own thread, since it sets that thread's timer slack.
                    let made = Poller::new(POLLER_EVENTS);
                    let poller = match made {
                        Ok(poller) => poller,
                        Err(source) => {
                            let _ = ready.send(None);
                            return Err(LoadError::System { what: "a poller", source });
                        }
                    };
                    let _ = ready.send(Some(poller.waker()));
                    let Ok(origin_ns) = go_receiver.recv() else { return Ok(()) };
                    Worker::new(shared, thread, poller, tls, origin_ns)?
                        .run()
                        .map_err(|source| LoadError::System { what: "waiting for sockets", source })
                });
            let handle = handle.map_err(|source| LoadError::System { what: "a thread", source })?;
            self.threads.push(handle);
            go.push(go_sender);
        }
        drop(ready);
        for _ in 0..self.threads.len() {
            // None: that thread has failed, and the poll will say why.
            if let Ok(Some(waker)) = all_ready.recv() {
                self.wakers.push(waker);
            }
        }
        let origin_ns = now_ns() + LEAD_NS;
        self.origin = Some((origin_ns, unix_ns() + LEAD_NS));
        for sender in go {
            let _ = sender.send(origin_ns);
        }
        Ok(())
    }

    /// How the run stands, and the rows that have ended since the last poll.
    ///
    /// # Errors
    /// [`LoadError::Rows`] when the rows cannot be put into Arrow form.
    pub fn poll(&mut self) -> Result<(Progress, Option<RecordBatch>), LoadError> {
        let alive = self.threads.iter().any(|thread| !thread.is_finished());
        // Rows are taken after the look at the threads: when none lives, none can be missing.
        let rows = self.shared.take_rows();
        if !alive && self.origin.is_some() {
            self.join();
        }
        let mut progress = self.sum();
        let (origin_ns, origin_unix_ns) = self.origin.unwrap_or_default();
        progress.origin_ns = origin_ns;
        progress.origin_unix_ns = origin_unix_ns;
        if self.origin.is_some() {
            progress.elapsed_ns = (self.ended_ns.unwrap_or_else(now_ns) - origin_ns).max(0);
        }
        progress.state = match (self.origin, alive, &self.failure) {
            (None, ..) => RunState::Ready,
            (_, true, _) if progress.state == RunState::Draining => RunState::Draining,
            (_, true, _) => RunState::Running,
            (_, false, Some(_)) => RunState::Failed,
            (_, false, None) => RunState::Done,
        };
        progress.error.clone_from(&self.failure);
        if rows.is_empty() {
            return Ok((progress, None));
        }
        let mut builder = BatchBuilder::new(origin_ns);
        for row in rows {
            builder.push(row);
        }
        let batch = builder.finish().map_err(|error| LoadError::Rows(error.to_string()))?;
        Ok((progress, Some(batch)))
    }

    /// Sends nothing new; what is in flight goes on to its end.
    pub fn stop(&self) {
        self.shared.command.fetch_max(1, Ordering::AcqRel);
        self.wake();
    }

    /// Ends at once: what is in flight becomes outcome `cancelled`.
    pub fn cancel(&self) {
        self.shared.command.fetch_max(2, Ordering::AcqRel);
        self.wake();
    }

    fn wake(&self) {
        for waker in &self.wakers {
            waker.wake();
        }
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            let ended = thread.join().unwrap_or(Err(LoadError::Thread));
            if let Err(error) = ended {
                self.failure.get_or_insert_with(|| error.to_string());
            }
        }
        self.ended_ns.get_or_insert_with(now_ns);
    }

    fn sum(&self) -> Progress {
        let mut sum = Progress { threads: self.shared.spec.threads, ..Progress::default() };
        let (mut schedule, mut reads) = (Lags::default(), Lags::default());
        let mut unstamped = 0;
        let mut sending = false;
        for stats in &self.shared.stats {
            let stats = stats.lock().unwrap_or_else(PoisonError::into_inner).clone();
            sum.in_flight += stats.in_flight;
            sum.planned += stats.planned;
            sum.started += stats.started;
            sum.finished += stats.finished;
            sum.starved += stats.starved;
            sum.taken += stats.taken;
            sum.jobs_started += stats.jobs_started;
            sum.jobs_finished += stats.jobs_finished;
            sum.jobs_failed += stats.jobs_failed;
            sum.skipped += stats.skipped;
            sum.dropped += stats.dropped;
            sum.token_events += stats.reads.token_events;
            sum.reads += stats.reads.reads;
            sum.bytes_received += stats.reads.bytes;
            sum.cpu_ns += stats.cpu_ns;
            sum.runqueue_wait_ns += stats.runqueue_wait_ns;
            sum.resent += stats.resent;
            sum.stalled_ns = sum.stalled_ns.max(stats.stalled_ns);
            unstamped += stats.reads.unstamped;
            sending |= stats.sending || stats.started == 0 && !stats.done;
            schedule.add(&stats.schedule_lag);
            reads.add(&stats.read_lag);
            for (outcome, count) in stats.outcomes {
                *sum.outcomes.entry(outcome).or_default() += count;
            }
        }
        sum.queued_bodies = self.shared.bodies.len() as u64;
        sum.schedule_lag_ns = schedule.summary();
        sum.read_lag_ns = reads.summary();
        sum.kernel_stamps = sum.reads > 0 && unstamped == 0;
        if !sending {
            sum.state = RunState::Draining;
        }
        sum
    }
}

impl Drop for LoadRun {
    fn drop(&mut self) {
        self.cancel();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
