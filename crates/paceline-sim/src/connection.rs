//! One connection: its stream, what it has received, and the answer on its way.

use std::io;

use paceline_io::clock::now_ns;
use paceline_io::stream::Stream;

use crate::fault::FaultKind;
use crate::inbox::Inbox;
use crate::response::{Response, Verdict};

/// How long the second half of a split event is held back.
const SPLIT_NS: i64 = 300_000;

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum State {
    /// Waiting for a request, or in the middle of reading one.
    Idle,
    /// Answering.
    Answering(Box<Response>),
    /// The whole answer is written; some of it still waits for room in the socket.
    Flushing { close: bool },
    /// Our side is closed; the client has a while to read and to close its own.
    Closing,
}

/// The second half of a split event.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) bytes: Vec<u8>,
    pub(crate) due_ns: i64,
    /// When the event itself was due.
    pub(crate) event_due_ns: i64,
    pub(crate) verdict: Verdict,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) inbox: Inbox,
    pub(crate) state: State,
    pub(crate) tail: Option<Tail>,
    /// When the client was seen to have closed its side, while its answer was on the way.
    pub(crate) gone_ns: Option<i64>,
    /// The answer ends then, since its client has gone.
    pub(crate) deadline_ns: Option<i64>,
    /// The number of the timer that is still wanted; older ones are ignored.
    pub(crate) timer_id: u64,
}

impl Connection {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            inbox: Inbox::new(),
            state: State::Idle,
            tail: None,
            gone_ns: None,
            deadline_ns: None,
            timer_id: 0,
        }
    }

    /// When it wants to be looked at again.
    pub(crate) fn next_ns(&self) -> Option<i64> {
        let State::Answering(response) = &self.state else { return None };
        let due_ns = self.tail.as_ref().map(|tail| tail.due_ns).or_else(|| response.due_ns());
        due_ns.into_iter().chain(self.deadline_ns).min()
    }

    /// Sends what a step has written, in the way that the fault asks for. Returns the instant just before the
    /// (last) write call; none: the rest of it is in `tail`.
    pub(crate) fn deliver(
        &mut self,
        bytes: &[u8],
        fault: Option<FaultKind>,
        verdict: Verdict,
        due_ns: i64,
    ) -> io::Result<Option<i64>> {
        let mut sent_ns = now_ns();
        if fault == Some(FaultKind::ByteAtATime) {
            for byte in bytes {
                sent_ns = now_ns();
                self.stream.send(std::slice::from_ref(byte))?;
            }
            return Ok(Some(sent_ns));
        }
        if fault == Some(FaultKind::SplitUtf8)
            && let Some(lead) = bytes.iter().position(|byte| !byte.is_ascii())
        {
            self.stream.send(&bytes[..=lead])?;
            self.tail = Some(Tail {
                bytes: bytes[lead + 1..].to_vec(),
                due_ns: sent_ns + SPLIT_NS,
                event_due_ns: due_ns,
                verdict,
            });
            return Ok(None);
        }
        self.stream.send(bytes)?;
        Ok(Some(sent_ns))
    }
}
