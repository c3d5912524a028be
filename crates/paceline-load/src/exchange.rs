//! One request in flight: what is known of it, and the row that it ends as.

use paceline_io::http1::{Head, Part, Reader};
use paceline_io::link::Found;
use paceline_io::stream::Arrival;
use paceline_wire::{BodyEnd, RequestRecord, Stamp, StreamObserver};

use crate::jobs::Body;
use paceline_wire::Secrets;

/// Which call of which job it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// The job's place on its load thread.
    pub(crate) place: usize,
    pub(crate) step: usize,
    /// The job's number; none: the workload has no jobs of several calls.
    pub(crate) session: Option<u64>,
    /// Hang up so long after the first token.
    pub(crate) hangup_ns: Option<i64>,
}

/// A request from its start to its row.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) call: Call,
    pub(crate) body: Body,
    pub(crate) warmup: bool,
    pub(crate) intended_ns: i64,
    pub(crate) deadline_ns: i64,
    pub(crate) sent_ns: Option<i64>,
    pub(crate) written_ns: Option<i64>,
    pub(crate) found: Found,
    observer: StreamObserver,
    reader: Reader,
    last_arrival_ns: i64,
    /// Anything has come back.
    pub(crate) answered: bool,
    framing_error: Option<String>,
}

impl Exchange {
    pub(crate) fn new(
        call: Call,
        body: Body,
        warmup: bool,
        intended_ns: i64,
        deadline_ns: i64,
        observer: StreamObserver,
    ) -> Self {
        Self {
            call,
            body,
            warmup,
            intended_ns,
            deadline_ns,
            sent_ns: None,
            written_ns: None,
            found: Found::default(),
            observer,
            reader: Reader::responses(),
            last_arrival_ns: intended_ns,
            answered: false,
            framing_error: None,
        }
    }

    /// Takes bytes from one socket read. `false`: bytes are left over after the response's end.
    pub(crate) fn receive(&mut self, bytes: &[u8], arrival: Arrival) -> bool {
        self.answered = true;
        self.last_arrival_ns = arrival.ns;
        if self.sent_ns.is_some_and(|sent_ns| arrival.ns < sent_ns) {
            self.framing_error =
                Some("bytes came before the request was sent: they answer nothing".to_owned());
            return false;
        }
        let stamp = Stamp { ns: arrival.ns, kernel: arrival.kernel, read: arrival.read };
        let observer = &mut self.observer;
        let fed = self.reader.feed(bytes, &mut |part| match part {
            Part::Head(head) => observer.on_head(&wire_head(head), stamp),
            Part::Body(bytes) => observer.on_body(bytes, stamp),
            Part::End => {}
        });
        match fed {
            Ok(used) => used == bytes.len(),
            Err(error) => {
                self.framing_error = Some(error.to_string());
                false
            }
        }
    }

    pub(crate) fn token_events(&self) -> u32 {
        self.observer.token_events()
    }

    /// The instant at which to hang up, once: when the first token has come.
    pub(crate) fn take_hangup_at_ns(&mut self) -> Option<i64> {
        let after_ns = self.call.hangup_ns?;
        let first_ns = self.observer.first_token_ns()?;
        self.call.hangup_ns = None;
        Some(first_ns.saturating_add(after_ns))
    }

    /// The end marker has come, but not the body's end.
    pub(crate) fn is_lingering(&self) -> bool {
        self.observer.end_marker() && !self.reader.is_done()
    }

    /// The response is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    /// There is no sense in reading on.
    pub(crate) fn is_broken(&self) -> bool {
        self.framing_error.is_some() || self.observer.failed()
    }

    /// The connection may carry another request.
    pub(crate) fn keeps_connection(&self) -> bool {
        self.reader.is_done() && self.reader.keep_alive() && !self.is_broken()
    }

    /// A close now, without an answer, is that of an idle connection, which crossed the request.
    pub(crate) fn is_crossed(&self, now_ns: i64) -> bool {
        self.found.reused && !self.answered && now_ns <= self.found.crossed_until_ns
    }

    /// The peer has closed: how the body ended thereby.
    pub(crate) fn closed_by_peer(&mut self, error: Option<&std::io::Error>) -> BodyEnd {
        self.reader.cut_by_peer(self.answered, error).map_or(BodyEnd::Complete, BodyEnd::Cut)
    }

    /// The row. `end_ns` is the arrival of the last bytes, unless the end came without any.
    pub(crate) fn finish(self, end: BodyEnd, now_ns: i64, segment: u32, secrets: &Secrets) -> RequestRecord {
        let end = self.framing_error.map_or(end, BodyEnd::Malformed);
        let end_ns = if matches!(end, BodyEnd::Complete) { self.last_arrival_ns } else { now_ns };
        let mut observation = self.observer.finish(end, end_ns);
        secrets.mask(&mut observation);
        RequestRecord {
            segment,
            request_index: self.body.index,
            session: self.call.session,
            step: self.call.session.and_then(|_| u32::try_from(self.call.step).ok()),
            warmup: self.warmup,
            intended_ns: self.intended_ns,
            sent_ns: self.sent_ns,
            written_ns: self.written_ns,
            connect_ns: self.found.connect_ns,
            tls_ns: self.found.tls_ns,
            connection_reused: self.found.reused,
            hangup_ns: None,
            stopped_ns: None,
            tail_bytes: None,
            observation,
        }
    }
}

fn wire_head(head: &Head) -> paceline_wire::Head<'_> {
    paceline_wire::Head {
        status: head.status,
        content_type: head.header("content-type"),
        retry_after: head.header("retry-after"),
        request_id: head.header("x-request-id"),
    }
}
