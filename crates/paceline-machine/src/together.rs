//! Threads that all work at the same time, and what they got done in each stretch of it.
//!
//! They never wait for one another: each notes when it ended a piece of work, and stretches of time are looked at
//! afterwards, from the last thread's beginning to the first one's end. A thread that was kept from its core
//! lowers its stretch and no other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;

/// How long a stretch is: longer than the scheduler's turns, short enough for many of them.
const STRETCH: Duration = Duration::from_millis(20);
/// A thread that waits for others waits no longer than this.
const MOST_SPANS: u32 = 4;
const LOOK: Duration = Duration::from_millis(10);
/// Threads that nobody would have cores for.
const MOST_THREADS: usize = 4_096;

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum MachineError {
    /// No thread, or more than any machine has cores.
    #[error("{0} threads: between 1 and {MOST_THREADS} can be had")]
    Threads(usize),
    /// Arrays too short to be memory's.
    #[error("{0} bytes a thread: at least {1} are needed")]
    TooShort(usize, usize),
    /// The arrays do not fit into memory.
    #[error("{0} bytes of memory cannot be had")]
    Memory(usize),
    /// The system gives no more threads.
    #[error("a thread cannot be had: {0}")]
    Thread(std::io::Error),
    /// The caller wanted no more.
    #[error("interrupted")]
    Interrupted,
    /// Not one stretch passed in which all threads worked.
    #[error("in {0:?} there was no stretch of {STRETCH:?} in which all threads worked")]
    TooFew(Duration),
}

/// What all threads together did in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Units of work a second.
    pub rate: f64,
    /// Of the time of as many cores as there are threads, the share that the threads had: less than 1 where others
    /// were at work on them.
    pub share: f64,
}

/// A thread when it had ended a piece: the instant, and the processor time that it had used.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at_s: f64,
    cpu_s: f64,
}

/// What all threads together did, stretch by stretch.
///
/// `prepare` makes a thread's work, in that thread, so that its memory lies near its core; the work does one piece
/// of `units` and is called again and again for `span`, which begins when every thread is ready. `keep_on` is asked
/// every few milliseconds, from the caller's thread.
pub(crate) fn stretches<W: FnMut()>(
    threads: usize,
    span: Duration,
    units: f64,
    prepare: impl Fn() -> Result<W, MachineError> + Sync,
    mut keep_on: impl FnMut() -> bool,
) -> Result<Vec<Stretch>, MachineError> {
    if !(1..=MOST_THREADS).contains(&threads) {
        return Err(MachineError::Threads(threads));
    }
    let team = Team::new(threads, span);
    let worker = || work_on(&team, &prepare);
    let mut kept_on = true;
    let marks: Result<Vec<Vec<Mark>>, MachineError> = thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..threads {
            match thread::Builder::new().spawn_scoped(scope, worker) {
                Ok(handle) => workers.push(handle),
                Err(error) => {
                    team.stop();
                    return Err(MachineError::Thread(error));
                }
            }
        }
        while kept_on && !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(LOOK);
            kept_on = keep_on();
        }
        team.stop();
        workers.into_iter().map(|one| one.join().unwrap_or(Err(MachineError::Interrupted))).collect()
    });
    let found = by_stretch(&marks?, units, STRETCH.as_secs_f64());
    match (kept_on, found.is_empty()) {
        (false, _) => Err(MachineError::Interrupted),
        (_, true) => Err(MachineError::TooFew(span)),
        _ => Ok(found),
    }
}

/// What the threads of one measurement know of each other. Each ends by itself: where all cores belong to them, as
/// under a real-time scheduler, nobody else would come to end them.
struct Team {
    threads: usize,
    span: Duration,
    epoch: Instant,
    prepared: AtomicUsize,
    begun: AtomicUsize,
    last_begun_ns: AtomicU64,
    stopped: AtomicBool,
}

impl Team {
    fn new(threads: usize, span: Duration) -> Self {
        Self {
            threads,
            span,
            epoch: Instant::now(),
            prepared: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            last_begun_ns: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Waits until all are prepared; returns the instant at which this one begins.
    fn begin(&self) -> Instant {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        while self.prepared.load(Ordering::Relaxed) < self.threads && !self.is_stopped() {
            thread::yield_now();
        }
        let since = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_begun_ns.fetch_max(since, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        Instant::now()
    }

    /// Whether one that began at `began` has worked for long enough: a whole span since the last one began, or, for
    /// one that never gets to a core, so many spans.
    fn is_done(&self, began: Instant) -> bool {
        let all = self.begun.load(Ordering::Acquire) == self.threads;
        let last = Duration::from_nanos(self.last_begun_ns.load(Ordering::Acquire));
        self.is_stopped()
            || (all && self.epoch.elapsed() >= last + self.span)
            || began.elapsed() >= self.span * MOST_SPANS
    }
}

/// One thread, from its preparation to the end.
fn work_on<W: FnMut()>(
    team: &Team,
    prepare: &impl Fn() -> Result<W, MachineError>,
) -> Result<Vec<Mark>, MachineError> {
    let mut work = prepare().inspect_err(|_| team.stop())?;
    let began = team.begin();
    let mut marks = vec![mark(team.epoch)];
    while !team.is_done(began) {
        work();
        marks.push(mark(team.epoch));
    }
    Ok(marks)
}

#[allow(clippy::cast_precision_loss)]
fn mark(epoch: Instant) -> Mark {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    Mark { at_s: epoch.elapsed().as_secs_f64(), cpu_s: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9 }
}

/// Each whole stretch in which all threads worked.
#[allow(clippy::cast_precision_loss)]
fn by_stretch(threads: &[Vec<Mark>], units: f64, stretch_s: f64) -> Vec<Stretch> {
    let first_s = threads.iter().filter_map(|one| one.first()).fold(f64::NEG_INFINITY, |a, b| a.max(b.at_s));
    let last_s = threads.iter().filter_map(|one| one.last()).fold(f64::INFINITY, |a, b| a.min(b.at_s));
    let sums = |at_s: f64| {
        let each = threads.iter().map(|one| done(one, at_s));
        each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    (0_u32..)
        .map(|number| (first_s + f64::from(number) * stretch_s, first_s + f64::from(number + 1) * stretch_s))
        .take_while(|(_, end_s)| *end_s <= last_s)
        .map(|(begin_s, end_s)| {
            let (from, to) = (sums(begin_s), sums(end_s));
            Stretch {
                rate: (to.0 - from.0) * units / stretch_s,
                share: (to.1 - from.1) / (stretch_s * threads.len() as f64),
            }
        })
        .collect()
}

/// Pieces done and processor time used at an instant; within a piece both count evenly over its time.
#[allow(clippy::cast_precision_loss)]
fn done(marks: &[Mark], at_s: f64) -> (f64, f64) {
    let after = marks.partition_point(|mark| mark.at_s <= at_s);
    let Some(from) = after.checked_sub(1).and_then(|before| marks.get(before)) else { return (0.0, 0.0) };
    let Some(to) = marks.get(after) else { return ((after - 1) as f64, from.cpu_s) };
    let part = (at_s - from.at_s) / (to.at_s - from.at_s);
    ((after - 1) as f64 + part, from.cpu_s + part * (to.cpu_s - from.cpu_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks at these instants of a thread that had its core for half of the time.
    fn marks(ended_s: impl IntoIterator<Item = f64>) -> Vec<Mark> {
        ended_s.into_iter().map(|at_s| Mark { at_s, cpu_s: 9.0 + at_s / 2.0 }).collect()
    }

    #[test]
    fn a_piece_counts_evenly_over_its_time() {
        let marks = marks([1.0, 2.0, 4.0]);
        for (at_s, pieces) in [(1.5, 0.5), (3.0, 1.5), (4.0, 2.0)] {
            let found = done(&marks, at_s);
            assert!((found.0 - pieces).abs() < 1e-12 && (found.1 - 9.0 - at_s / 2.0).abs() < 1e-12);
        }
    }

    #[test]
    fn only_stretches_in_which_all_worked_count() {
        // One thread a piece every tenth of a second from 0 to 10, one a piece every fifth from 2.05 to 6.45.
        let quick = marks((0..=100).map(|n| f64::from(n) / 10.0));
        let slow = marks((0..=22).map(|n| 2.05 + f64::from(n) / 5.0));
        let found = by_stretch(&[quick, slow], 6.0, 1.0);
        assert_eq!(found.len(), 4);
        for one in found {
            assert!((one.rate - 6.0 * (10.0 + 5.0)).abs() < 1e-6, "{one:?}");
            assert!((one.share - 0.5).abs() < 1e-9, "{one:?}");
        }
    }

    #[test]
    fn a_thread_that_was_kept_away_lowers_its_stretch_alone() {
        let steady: Vec<f64> = (0..=40).map(|n| f64::from(n) / 10.0).collect();
        let away: Vec<f64> = steady.iter().copied().filter(|end| !(1.05..1.95).contains(end)).collect();
        let found: Vec<f64> =
            by_stretch(&[marks(steady), marks(away)], 1.0, 1.0).iter().map(|one| one.rate).collect();
        assert_eq!(found.len(), 4);
        assert!((found[0] - 20.0).abs() < 1e-6);
        assert!((found[1] - 11.0).abs() < 1e-6);
        assert!((found[3] - 20.0).abs() < 1e-6);
    }

    #[test]
    fn none_and_too_many_threads_are_refused() {
        for threads in [0, MOST_THREADS + 1] {
            let found = stretches(threads, STRETCH, 1.0, || Ok(|| ()), || true);
            assert!(matches!(found, Err(MachineError::Threads(_))));
        }
    }

    #[test]
    fn a_thread_that_gets_no_memory_ends_all() {
        let first = AtomicBool::new(true);
        let prepare = || {
            if first.swap(false, Ordering::Relaxed) { Err(MachineError::Memory(7)) } else { Ok(|| ()) }
        };
        let found = stretches(3, Duration::from_secs(600), 1.0, prepare, || true);
        assert!(matches!(found, Err(MachineError::Memory(7))));
    }

    #[test]
    fn the_last_to_begin_has_a_whole_span_too() {
        let team = Team::new(2, Duration::from_secs(3_600));
        team.prepared.store(1, Ordering::Relaxed);
        let began = team.begin();
        assert!(!team.is_done(began));
        assert!(team.is_done(began.checked_sub(team.span * MOST_SPANS).unwrap()));
        let short = Team::new(2, Duration::ZERO);
        short.prepared.store(1, Ordering::Relaxed);
        let began = short.begin();
        short.begun.store(2, Ordering::Relaxed);
        assert!(short.is_done(began));
    }

    #[test]
    fn it_ends_when_nobody_wants_more() {
        let found = stretches(2, Duration::from_secs(600), 1.0, || Ok(thread::yield_now), || false);
        assert!(matches!(found, Err(MachineError::Interrupted)));
    }

    #[test]
    fn a_thread_that_sleeps_has_no_core() {
        let sleep = || Ok(|| thread::sleep(Duration::from_millis(5)));
        let found = stretches(1, STRETCH * 3, 1.0, sleep, || true).unwrap();
        assert!(found.iter().all(|one| one.share < 0.5 && one.rate > 0.0), "{found:?}");
    }
}
