//! Jobs on a load thread: begun when they are due, and gone through call by call.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;

use paceline_io::clock::now_ns;
use paceline_wire::{Limits, Outcome, RequestRecord, StreamObserver};

use super::{MAX_BODY_BYTES, PUBLISH_NS, Worker};
use crate::bodies::Taken;
use crate::dispatch::Due;
use crate::exchange::{Call, Exchange};
use crate::jobs::Job;
use crate::session::{JobEnd, ReadyStep, Session};
use crate::spec::Arrival;

/// How soon a job that was due and had no body is tried again.
const STARVED_RETRY_NS: i64 = 1_000_000;
/// Rows that may wait for the poll before no more requests are sent: memory stays bounded when nobody polls.
const MAX_WAITING_ROWS: usize = 200_000;
/// How long a slot rests after a failed connect: an endpoint that is down is asked ten times a second and slot,
/// not as fast as the machine can fail.
const CONNECT_REST_NS: i64 = 100_000_000;

/// A call whose instant is to come: when, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scheduled {
    pub(super) at_ns: i64,
    place: usize,
    generation: u32,
    step: usize,
}

/// A place for a job. The generation tells a late call from one of the place's present holder.
#[derive(Debug, Default)]
pub(super) struct SessionPlace {
    generation: u32,
    session: Option<Session>,
}

impl Worker {
    /// Begins all that is due; returns the instant of the next.
    pub(super) fn start_due(&mut self, now: i64) -> Option<i64> {
        let job = self.begin_due_jobs(now);
        let call = self.begin_due_calls(now);
        [job, call].into_iter().flatten().min()
    }

    fn begin_due_jobs(&mut self, now: i64) -> Option<i64> {
        loop {
            match self.dispatch.due(now) {
                Due::Now { intended_ns, possible_ns } => {
                    if self.shared.waiting_rows() > MAX_WAITING_ROWS {
                        return Some(now + PUBLISH_NS);
                    }
                    // A job's own instant is nothing to a load that has its own.
                    let due_ns = if self.replays() { now - self.origin_ns } else { i64::MAX };
                    match self.shared.bodies.take(due_ns) {
                        Taken::Job(job) => {
                            self.starving = false;
                            self.dispatch.sent();
                            self.begin_job(job, intended_ns, possible_ns);
                        }
                        Taken::Later(start_ns) => return Some(self.origin_ns.saturating_add(start_ns)),
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
                    if self.stats.sending {
                        self.stats.sending = false;
                        self.count_missed(now);
                    }
                    return None;
                }
            }
        }
    }

    fn replays(&self) -> bool {
        self.spec.arrival == (Arrival::Replay {})
    }

    /// Of a replay, the jobs that were due and are not begun any more.
    fn count_missed(&mut self, now: i64) {
        if self.thread == 0 && self.replays() {
            let until_ns = now.min(self.dispatch.end_ns()) - self.origin_ns;
            self.dispatch.drop_due(self.shared.bodies.due_before(until_ns));
        }
    }

    fn begin_job(&mut self, job: Job, intended_ns: i64, possible_ns: i64) {
        let (intended_ns, possible_ns) = if self.replays() {
            let at_ns = self.origin_ns.saturating_add(job.start_ns());
            (at_ns, at_ns.max(possible_ns))
        } else {
            (intended_ns, possible_ns)
        };
        let nth = self.shared.begun_jobs.fetch_add(1, Ordering::Relaxed);
        let warmup = nth < self.spec.warmup_requests
            || intended_ns < self.origin_ns.saturating_add(self.spec.warmup_ns);
        self.stats.jobs_started += 1;
        self.stats.taken += job.steps() as u64;
        let (session, ready) = Session::new(job, warmup, intended_ns);
        let place = self.free_sessions.pop().unwrap_or_else(|| {
            self.sessions.push(SessionPlace::default());
            self.sessions.len() - 1
        });
        self.sessions[place].session = Some(session);
        let (now, later): (Vec<_>, Vec<_>) = ready.into_iter().partition(|step| step.at_ns == intended_ns);
        // A call may fail as it is begun, and end its job: its place is another's then.
        for step in later {
            self.schedule(place, step);
        }
        for ReadyStep { step, at_ns } in now {
            self.begin_call(place, step, at_ns, possible_ns);
        }
    }

    fn schedule(&mut self, place: usize, ReadyStep { step, at_ns }: ReadyStep) {
        let generation = self.sessions[place].generation;
        self.scheduled.push(Reverse(Scheduled { at_ns, place, generation, step }));
    }

    fn begin_due_calls(&mut self, now: i64) -> Option<i64> {
        while let Some(Reverse(call)) = self.scheduled.peek().copied() {
            if call.at_ns > now {
                return Some(call.at_ns);
            }
            if self.shared.waiting_rows() > MAX_WAITING_ROWS {
                return Some(now + PUBLISH_NS);
            }
            self.scheduled.pop();
            if self.sessions[call.place].generation == call.generation {
                self.begin_call(call.place, call.step, call.at_ns, call.at_ns);
            }
        }
        None
    }

    fn begin_call(&mut self, place: usize, step: usize, intended_ns: i64, possible_ns: i64) {
        let Some(session) = self.sessions[place].session.as_mut() else { return };
        if !session.begin() {
            return;
        }
        let now = now_ns();
        self.stats.schedule_lag.record(now - possible_ns);
        self.stats.started += 1;
        self.stats.in_flight += 1;
        let limits = Limits {
            max_event_bytes: self.spec.max_event_bytes,
            max_body_bytes: MAX_BODY_BYTES,
            keep_text: self.spec.keep_text || session.carries(step),
        };
        let call = Call { place, step, session: session.session(), hangup_ns: session.hangup_ns(step) };
        let (body, warmup) = (session.body(step), session.warmup);
        let observer = StreamObserver::new(self.protocol, self.spec.target.streaming, limits);
        let deadline_ns = now.saturating_add(self.spec.timeout_ns);
        self.assign(Exchange::new(call, body, warmup, intended_ns, deadline_ns, observer));
    }

    /// A call has ended: what waited for it may begin, or the job has ended too.
    pub(super) fn call_ended(&mut self, call: &Call, record: &mut RequestRecord) {
        let observation = &mut record.observation;
        let Some(session) = self.sessions[call.place].session.as_mut() else { return };
        let rest_ns = if observation.outcome == Outcome::ConnectError { CONNECT_REST_NS } else { 0 };
        let mut ready = Vec::new();
        if matches!(observation.outcome, Outcome::Ok | Outcome::HungUp) {
            let answer = session.carries(call.step).then(|| observation.answer());
            ready = session.ended(call.step, observation.end_ns, answer.as_deref());
        } else {
            session.call_failed();
        }
        if !self.spec.keep_text {
            observation.text.clear();
        }
        let end_ns = observation.end_ns;
        for step in ready {
            self.schedule(call.place, step);
        }
        self.close_job(call.place, end_ns + rest_ns);
    }

    /// Gives a job's place and slot free, if the job has ended.
    fn close_job(&mut self, place: usize, free_ns: i64) {
        let holder = &mut self.sessions[place];
        let Some(end) = holder.session.as_ref().and_then(Session::end) else { return };
        let Some(session) = holder.session.take() else { return };
        holder.generation = holder.generation.wrapping_add(1);
        self.free_sessions.push(place);
        self.stats.skipped += session.skipped();
        match end {
            JobEnd::Finished => self.stats.jobs_finished += 1,
            JobEnd::Failed => self.stats.jobs_failed += 1,
            JobEnd::Stopped => {}
        }
        self.dispatch.slot_freed(free_ns);
    }

    /// No job goes further than the calls that are in flight.
    pub(super) fn stop_jobs(&mut self) {
        let now = now_ns();
        for place in 0..self.sessions.len() {
            if let Some(session) = self.sessions[place].session.as_mut() {
                session.stop();
                self.close_job(place, now);
            }
        }
    }

    /// Some job has not ended.
    pub(super) fn has_jobs(&self) -> bool {
        self.free_sessions.len() < self.sessions.len()
    }

    /// The answers that a call's body carries on.
    pub(super) fn answers(&self, call: &Call) -> &[Option<Vec<u8>>] {
        self.sessions[call.place].session.as_ref().map_or(&[], Session::answers)
    }
}
