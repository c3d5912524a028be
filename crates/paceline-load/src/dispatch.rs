//! What is due: the one loop's question, whatever the arrival process.
//!
//! A planned arrival stays due until it is sent: when it is late it is recorded as late, never moved and never
//! dropped in silence.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::arrival::{Plan, plan};
use crate::spec::LoadSpec;

/// What the loop has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Send one now.
    Now {
        /// When the schedule meant it.
        intended_ns: i64,
        /// When it could first have been sent: also a slot was there.
        possible_ns: i64,
    },
    /// Nothing before this instant.
    At(i64),
    /// Nothing before a job ends.
    Slot,
    /// Nothing any more.
    Never,
}

/// The dispatcher of one load thread. Of an open loop's arrivals, thread `t` of `n` has each n-th; of a closed
/// loop's slots, its share.
#[derive(Debug)]
pub(crate) struct Dispatch {
    plan: Option<Box<dyn Plan>>,
    next_planned: Option<i64>,
    /// Arrivals that are due and not sent yet.
    waiting: VecDeque<i64>,
    /// Instants at which the free slots became free; none: no limit.
    free_slots: Option<VecDeque<i64>>,
    start_ns: i64,
    end_ns: i64,
    max_requests: u64,
    /// Jobs begun by all threads of a closed loop or a replay.
    claimed: Arc<AtomicU64>,
    thread: u64,
    threads: u64,
    arrivals: u64,
    planned: u64,
    dropped: u64,
    ended: bool,
}

impl Dispatch {
    pub(crate) fn new(spec: &LoadSpec, thread: usize, origin_ns: i64, claimed: Arc<AtomicU64>) -> Self {
        let slots = spec.slots().map(|all| share(all, thread, spec.threads));
        let mut dispatch = Self {
            plan: plan(spec),
            next_planned: None,
            waiting: VecDeque::new(),
            free_slots: slots.map(|n| std::iter::repeat_n(origin_ns, n).collect()),
            start_ns: origin_ns,
            end_ns: spec.duration_ns.map_or(i64::MAX, |ns| origin_ns.saturating_add(ns)),
            max_requests: spec.max_requests.unwrap_or(u64::MAX),
            claimed,
            thread: thread as u64,
            threads: spec.threads as u64,
            arrivals: 0,
            planned: 0,
            dropped: 0,
            ended: false,
        };
        dispatch.advance_plan();
        dispatch
    }

    /// What is due at `now_ns`. After `Now`, call [`Dispatch::sent`] or leave it due.
    pub(crate) fn due(&mut self, now_ns: i64) -> Due {
        if self.ended {
            return Due::Never;
        }
        if self.plan.is_some() { self.due_open(now_ns) } else { self.due_closed(now_ns) }
    }

    /// What was due has been begun.
    pub(crate) fn sent(&mut self) {
        if let Some(slots) = &mut self.free_slots {
            slots.pop_front();
        }
        if self.plan.is_some() {
            self.waiting.pop_front();
        } else {
            self.planned += 1;
            self.claimed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A job has ended, and its slot may be used from `at_ns` on.
    pub(crate) fn slot_freed(&mut self, at_ns: i64) {
        if let Some(slots) = &mut self.free_slots {
            let place = slots.partition_point(|other| *other <= at_ns);
            slots.insert(place, at_ns);
        }
    }

    /// Nothing more is to be sent; what was due and was not sent is dropped, and counted.
    pub(crate) fn end(&mut self) {
        self.dropped += self.waiting.len() as u64;
        self.waiting.clear();
        self.ended = true;
    }

    /// Jobs of a replay that were due and will not be sent.
    pub(crate) fn drop_due(&mut self, jobs: u64) {
        self.planned += jobs;
        self.dropped += jobs;
    }

    /// No more jobs are begun from this instant on.
    pub(crate) fn end_ns(&self) -> i64 {
        self.end_ns
    }

    /// Arrivals that were due so far.
    pub(crate) fn planned(&self) -> u64 {
        self.planned
    }

    /// Arrivals that were due and were never sent.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn due_closed(&mut self, now_ns: i64) -> Due {
        if now_ns >= self.end_ns || self.claimed.load(Ordering::Relaxed) >= self.max_requests {
            self.end();
            return Due::Never;
        }
        match self.free_slots.as_ref().map(|slots| slots.front().copied()) {
            Some(Some(freed_ns)) if freed_ns > now_ns => Due::At(freed_ns),
            Some(Some(freed_ns)) => Due::Now { intended_ns: freed_ns, possible_ns: freed_ns },
            Some(None) => Due::Slot,
            // A replay without a cap: only the job's own instant says when.
            None => Due::Now { intended_ns: self.start_ns, possible_ns: self.start_ns },
        }
    }

    fn due_open(&mut self, now_ns: i64) -> Due {
        while let Some(at_ns) = self.next_planned.filter(|at_ns| *at_ns <= now_ns) {
            self.waiting.push_back(at_ns);
            self.planned += 1;
            self.advance_plan();
        }
        let slot = self.free_slots.as_ref().map(|slots| slots.front().copied());
        if let Some(intended_ns) = self.waiting.front().copied() {
            return match slot {
                None => Due::Now { intended_ns, possible_ns: intended_ns },
                Some(Some(freed_ns)) if freed_ns > now_ns && now_ns < self.end_ns => Due::At(freed_ns),
                Some(Some(freed_ns)) => Due::Now { intended_ns, possible_ns: intended_ns.max(freed_ns) },
                Some(None) if now_ns >= self.end_ns => {
                    self.end();
                    Due::Never
                }
                Some(None) => Due::Slot,
            };
        }
        if let Some(at_ns) = self.next_planned {
            Due::At(at_ns)
        } else {
            self.end();
            Due::Never
        }
    }

    /// Steps to this thread's next arrival that lies before the end of the run.
    fn advance_plan(&mut self) {
        let Some(plan) = self.plan.as_mut() else { return };
        self.next_planned = loop {
            let Some(offset_ns) = plan.next_ns() else { break None };
            let number = self.arrivals;
            self.arrivals += 1;
            let at_ns = self.start_ns.saturating_add(offset_ns);
            if number >= self.max_requests || at_ns >= self.end_ns {
                break None;
            }
            if number % self.threads == self.thread {
                break Some(at_ns);
            }
        };
    }
}

/// The part of `all` that falls to `thread`.
fn share(all: usize, thread: usize, threads: usize) -> usize {
    all / threads + usize::from(thread < all % threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::minimal;

    fn dispatch(arrival: &str, more: &str) -> Dispatch {
        let spec = LoadSpec::from_json(&minimal(arrival, more)).unwrap();
        Dispatch::new(&spec, 0, 1_000, Arc::default())
    }

    #[test]
    fn a_closed_loop_fills_its_slots_and_waits_for_them() {
        let mut loop_ = dispatch(r#"{"kind":"closed","concurrency":2}"#, r#","max_requests":3"#);
        for _ in 0..2 {
            assert_eq!(loop_.due(1_000), Due::Now { intended_ns: 1_000, possible_ns: 1_000 });
            loop_.sent();
        }
        assert_eq!(loop_.due(2_000), Due::Slot);
        loop_.slot_freed(2_500);
        assert_eq!(loop_.due(2_600), Due::Now { intended_ns: 2_500, possible_ns: 2_500 });
        loop_.sent();
        assert_eq!(loop_.due(2_700), Due::Never);
        assert_eq!((loop_.planned(), loop_.dropped()), (3, 0));
    }

    #[test]
    fn a_late_arrival_keeps_its_intended_instant() {
        let mut loop_ = dispatch(r#"{"kind":"constant","rate_requests_s":1000}"#, r#","max_requests":3"#);
        assert_eq!(loop_.due(999), Due::At(1_000));
        // The loop comes back only when two are due.
        let late = 1_000 + 1_500_000;
        for intended_ns in [1_000, 1_001_000] {
            assert_eq!(loop_.due(late), Due::Now { intended_ns, possible_ns: intended_ns });
            loop_.sent();
        }
        assert_eq!(loop_.due(late), Due::At(2_001_000));
    }

    #[test]
    fn a_cap_holds_back_and_what_is_never_sent_is_dropped_and_counted() {
        let mut loop_ = dispatch(
            r#"{"kind":"constant","rate_requests_s":1000}"#,
            r#","duration_ns":5000000,"concurrency_cap":1"#,
        );
        assert_eq!(loop_.due(1_000), Due::Now { intended_ns: 1_000, possible_ns: 1_000 });
        loop_.sent();
        assert_eq!(loop_.due(3_000_000), Due::Slot);
        loop_.slot_freed(3_100_000);
        // It could not have been sent before the slot: that lateness is the endpoint's, not ours.
        assert_eq!(loop_.due(3_200_000), Due::Now { intended_ns: 1_001_000, possible_ns: 3_100_000 });
        loop_.sent();
        assert_eq!(loop_.due(6_000_000), Due::Never);
        assert_eq!((loop_.planned(), loop_.dropped()), (5, 3));
    }

    #[test]
    fn threads_share_slots_and_arrivals_without_loss() {
        assert_eq!((0..3).map(|thread| share(10, thread, 3)).collect::<Vec<_>>(), [4, 3, 3]);
        let arrival = r#"{"kind":"poisson","rate_requests_s":1000}"#;
        let json = minimal(arrival, r#","max_requests":100"#).replace(r#""threads":1"#, r#""threads":3"#);
        let spec = LoadSpec::from_json(&json).unwrap();
        let mut all = Vec::new();
        for thread in 0..3 {
            let mut loop_ = Dispatch::new(&spec, thread, 0, Arc::default());
            while let Due::Now { intended_ns, .. } = loop_.due(i64::MAX) {
                all.push(intended_ns);
                loop_.sent();
            }
        }
        all.sort_unstable();
        let one = minimal(arrival, r#","max_requests":100"#);
        let mut loop_ = Dispatch::new(&LoadSpec::from_json(&one).unwrap(), 0, 0, Arc::default());
        let mut alone = Vec::new();
        while let Due::Now { intended_ns, .. } = loop_.due(i64::MAX) {
            alone.push(intended_ns);
            loop_.sent();
        }
        assert_eq!(all, alone);
    }

    #[test]
    fn a_slot_that_rests_is_not_used_before_its_instant() {
        let mut loop_ = dispatch(r#"{"kind":"closed","concurrency":2}"#, r#","max_requests":9"#);
        loop_.sent();
        loop_.sent();
        loop_.slot_freed(5_000);
        loop_.slot_freed(2_000);
        assert_eq!(loop_.due(2_100), Due::Now { intended_ns: 2_000, possible_ns: 2_000 });
        loop_.sent();
        assert_eq!(loop_.due(2_200), Due::At(5_000));
    }

    #[test]
    fn an_ended_dispatch_sends_nothing() {
        let mut loop_ = dispatch(r#"{"kind":"constant","rate_requests_s":1000}"#, r#","max_requests":9"#);
        assert!(matches!(loop_.due(2_001_000), Due::Now { .. }));
        loop_.end();
        assert_eq!(loop_.due(9_000_000), Due::Never);
        assert_eq!(loop_.dropped(), 3);
    }
}
