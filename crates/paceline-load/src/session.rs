//! A job that is going on: which of its calls are to come, and the answers that are carried on.

use crate::jobs::{Body, Job};

/// A job from its first call to the end of its last.
#[derive(Debug)]
pub(crate) struct Session {
    job: Job,
    pub(crate) warmup: bool,
    /// For each step, how many of the steps that it waits for have not ended.
    waiting: Vec<usize>,
    /// For each step, those that wait for it.
    awaited_by: Vec<Vec<usize>>,
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
        let (mut waiting, mut awaited_by) = (Vec::with_capacity(steps), vec![Vec::new(); steps]);
        for step in 0..steps {
            let after = job.after(step);
            waiting.push(after.len());
            for before in after {
                awaited_by[before as usize].push(step);
            }
        }
        let session = Self {
            warmup,
            waiting,
            awaited_by,
            ready_ns: vec![start_ns; steps],
            answers: vec![None; steps],
            carried: job.carried(),
            in_flight: 0,
            begun: 0,
            failed: false,
            stopped: false,
            job,
        };
        let ready = (0..steps).filter_map(|step| session.ready(step)).collect();
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
        let mut waited = std::mem::take(&mut self.awaited_by[step]);
        for later in &waited {
            self.waiting[*later] -= 1;
            self.ready_ns[*later] = self.ready_ns[*later].max(end_ns);
        }
        if self.failed || self.stopped {
            return Vec::new();
        }
        // A step that names another twice is there twice.
        waited.dedup();
        waited.into_iter().filter_map(|later| self.ready(later)).collect()
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

    /// A step, if it waits for no other any more.
    fn ready(&self, step: usize) -> Option<ReadyStep> {
        let at_ns = self.ready_ns[step].saturating_add(self.job.wait_ns(step));
        (self.waiting[step] == 0).then_some(ReadyStep { step, at_ns })
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
