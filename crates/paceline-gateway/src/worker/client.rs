//! A client's connection.

use paceline_io::stream::Stream;

use super::flight::Flight;
use super::inbox::{Inbox, Progress};
use crate::settings::ClientLimits;

/// Our side is closed: the client has so long to read what was sent, and to close its own.
const CLOSING_NS: i64 = 1_000_000_000;

/// What a connection is doing.
#[derive(Debug)]
pub(super) enum State {
    /// Waiting for a request, or in the middle of one.
    Receiving,
    /// Its request is being answered.
    Busy(Box<Flight>),
    /// The whole answer is written; some of it may still wait for room in the socket.
    Flushing {
        /// No other request follows.
        close: bool,
    },
    /// Our side is closed.
    Closing,
}

/// A client's connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) stream: Stream,
    pub(super) inbox: Inbox,
    pub(super) state: State,
    /// It came by the port for operators.
    pub(super) admin: bool,
    /// It is in its present state since then.
    pub(super) since_ns: i64,
    /// Bytes wait for room in its socket since then.
    pub(super) blocked_ns: Option<i64>,
    /// When the earliest timer that was set for it is due.
    pub(super) armed_ns: i64,
    pub(super) unread: bool,
}

impl Client {
    pub(super) fn new(stream: Stream, admin: bool, now_ns: i64) -> Self {
        Self {
            stream,
            inbox: Inbox::new(),
            state: State::Receiving,
            admin,
            since_ns: now_ns,
            blocked_ns: None,
            armed_ns: i64::MAX,
            unread: false,
        }
    }

    pub(super) fn enter(&mut self, state: State, now_ns: i64) {
        self.state = state;
        self.since_ns = now_ns;
    }

    pub(super) fn flight(&mut self) -> Option<&mut Flight> {
        match &mut self.state {
            State::Busy(flight) => Some(flight),
            _ => None,
        }
    }

    /// When its time is over if nothing happens, by the bounds on clients.
    pub(super) fn expires_ns(&self, limits: &ClientLimits) -> i64 {
        let of_state = match &self.state {
            State::Receiving => match self.inbox.progress() {
                Progress::Nothing => self.since_ns.saturating_add(limits.idle_ns),
                Progress::Head { first_ns } => first_ns.saturating_add(limits.head_ns),
                Progress::Body { head_ns } => head_ns.saturating_add(limits.body_ns),
                Progress::Whole => i64::MAX,
            },
            State::Busy(_) | State::Flushing { .. } => i64::MAX,
            State::Closing => self.since_ns.saturating_add(CLOSING_NS),
        };
        let blocked = self.blocked_ns.map_or(i64::MAX, |ns| ns.saturating_add(limits.write_ns));
        of_state.min(blocked)
    }

    /// When it wants to be looked at again.
    pub(super) fn due_ns(&self, limits: &ClientLimits) -> i64 {
        let flight = match &self.state {
            State::Busy(flight) => flight.due_ns(),
            _ => i64::MAX,
        };
        self.expires_ns(limits).min(flight)
    }

    /// Sends bytes, and notes since when some wait. Fails when the client has gone.
    pub(super) fn send(&mut self, bytes: &[u8], now_ns: i64) -> std::io::Result<()> {
        let sent = self.stream.send(bytes)?;
        self.note_backlog(sent, now_ns);
        Ok(())
    }

    /// The socket has room again.
    pub(super) fn flush(&mut self, now_ns: i64) -> std::io::Result<()> {
        let before = self.stream.has_pending();
        let sent = self.stream.flush()?;
        if before {
            // Something has left: the client reads, however slowly.
            self.blocked_ns = (!sent).then_some(now_ns);
        }
        Ok(())
    }

    fn note_backlog(&mut self, sent: bool, now_ns: i64) {
        self.blocked_ns = if sent { None } else { self.blocked_ns.or(Some(now_ns)) };
    }
}
