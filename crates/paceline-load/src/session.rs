//! A job that is going on: which of its calls are to come, and the answers that are carried on.

use crate::jobs::{Body, Job};

/// A job from its first call to the end of its last.
#[derive(Debug)]
pub(crate) struct Session {
    job: Job,
    pub(crate) warmup: bool,
    /// For each step, how many of the steps that it waits for have not ended; none: it has begun, or is about to.
    waiting: Vec<Option<usize>>,
    /// For each step, the latest end of the steps that it waits for.
    ready_ns: Vec<i64>,
    /// JSON-escaped, where a later call carries them on.
    answers: Vec<Option<Vec<u8>>>,
    carried: Vec<bool>,
    in_flight: usize,
    begun: usize,
    failed: bool,
    stopped: bool,
}

/// How a job has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// Every call ended well.
    Finished,
    /// A call failed.
    Failed,
    /// The run was stopped before its last call.
    Stopped,
}

/// A call that may begin at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadyStep {
    pub(crate) step: usize,
    pub(crate) at_ns: i64,
}

impl Session {
    /// A job that starts at `start_ns`, and its calls that wait for no other.
    pub(crate) fn new(job: Job, warmup: bool, start_ns: i64) -> (Self, Vec<ReadyStep>) {
        let steps = job.steps();
        let mut session = Self {
            warmup,
            waiting: (0..steps).map(|step| Some(job.after(step).len())).collect(),
            ready_ns: vec![start_ns; steps],
            answers: vec![None; steps],
            carried: job.carried(),
            in_flight: 0,
            begun: 0,
            failed: false,
            stopped: false,
            job,
        };
        let ready = session.take_ready();
        (session, ready)
    }

    pub(crate) fn session(&self) -> Option<u64> {
        self.job.session()
    }

    pub(crate) fn body(&self, step: usize) -> Body {
        self.job.body(step)
    }

    pub(crate) fn hangup_ns(&self, step: usize) -> Option<i64> {
        self.job.hangup_ns(step)
    }

    /// A later call carries this one's answer on.
    pub(crate) fn carries(&self, step: usize) -> bool {
        self.carried[step]
    }

    pub(crate) fn answers(&self) -> &[Option<Vec<u8>>] {
        &self.answers
    }

    /// A scheduled call's instant has come; whether it may begin.
    pub(crate) fn begin(&mut self) -> bool {
        let may = !self.failed && !self.stopped;
        self.begun += usize::from(may);
        self.in_flight += usize::from(may);
        may
    }

    /// A call has ended well, and with it what others waited for: those that may begin now.
    pub(crate) fn ended(&mut self, step: usize, end_ns: i64, answer: Option<&str>) -> Vec<ReadyStep> {
        self.in_flight -= 1;
        self.answers[step] = answer.map(escaped);
        for later in step + 1..self.job.steps() {
            let Some(left) = self.waiting[later] else { continue };
            let named = self.job.after(later).iter().filter(|before| **before as usize == step).count();
            if named > 0 {
                self.waiting[later] = Some(left - named);
                self.ready_ns[later] = self.ready_ns[later].max(end_ns);
            }
        }
        if self.failed || self.stopped { Vec::new() } else { self.take_ready() }
    }

    /// A call has failed: no other begins.
    pub(crate) fn call_failed(&mut self) {
        self.in_flight -= 1;
        self.failed = true;
    }

    /// The run is to end: no other call begins.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// How the job has ended; none while it goes on.
    pub(crate) fn end(&self) -> Option<JobEnd> {
        if self.in_flight > 0 {
            return None;
        }
        // What the end of the run cut off has not failed.
        if self.stopped && (self.failed || self.begun < self.job.steps()) {
            return Some(JobEnd::Stopped);
        }
        if self.failed {
            return Some(JobEnd::Failed);
        }
        (self.begun == self.job.steps()).then_some(JobEnd::Finished)
    }

    /// Calls that never began.
    pub(crate) fn skipped(&self) -> u64 {
        (self.job.steps() - self.begun) as u64
    }

    fn take_ready(&mut self) -> Vec<ReadyStep> {
        let mut ready = Vec::new();
        for step in 0..self.job.steps() {
            if self.waiting[step] == Some(0) {
                self.waiting[step] = None;
                let at_ns = self.ready_ns[step].saturating_add(self.job.wait_ns(step));
                ready.push(ReadyStep { step, at_ns });
            }
        }
        ready
    }
}

/// A text as it stands between the quotes of a JSON string.
fn escaped(text: &str) -> Vec<u8> {
    // A string always has a JSON form.
    let mut quoted = serde_json::to_vec(text).unwrap_or_default();
    quoted.pop();
    quoted.drain(..usize::from(!quoted.is_empty()));
    quoted
}
