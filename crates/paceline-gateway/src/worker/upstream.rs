//! A connection to an offer's server, and the attempt that it carries.

use std::io;
use std::net::SocketAddr;

use paceline_io::clock::{StampClock, now_ns};
use paceline_io::http1::Reader;
use paceline_io::stream::{ReadEnd, Scratch, Stream};

use super::exchange::Exchange;
use crate::shared::UpstreamTls;

/// How long after a send the close of an idle connection may still arrive on the same machine; on a network, so long as
/// two round trips more.
const CROSSING_NS: i64 = 10_000_000;

/// The end of a body may come so long after the answer's own end.
const REST_NS: i64 = 1_000_000_000;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting { begun_ns: i64 },
    Handshaking { connected_ns: i64 },
    Ready,
}

/// What an event has led to.
#[derive(Debug)]
pub(super) enum Step {
    /// Go on waiting.
    Wait,
    /// The connection has become ready: send the request now.
    Ready,
    /// Bytes have come.
    Read,
    /// The rest of an answer has come: another request may follow.
    Free,
    /// The peer has closed, or the connection has failed.
    Closed(Option<io::Error>),
    /// It never came up.
    Failed(io::Error),
}

/// A connection to an offer's server.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) stream: Stream,
    phase: Phase,
    /// Which server it goes to: offers of the same one share connections.
    pub(super) server: String,
    tls: Option<UpstreamTls>,
    pub(super) exchange: Option<Box<Exchange>>,
    /// What is still to come of an answer whose client has had all that it says.
    pub(super) rest: Option<Reader>,
    connect_ns: Option<i64>,
    tls_ns: Option<i64>,
    used: bool,
    /// The peer has closed its side. No further edge will tell.
    pub(super) closed: bool,
    /// The last read has left something behind. Nor will an edge tell of that.
    pub(super) unread: bool,
    /// Its client is slow: it is not read until that has caught up.
    pub(super) paused: bool,
    pub(super) idle_ns: i64,
    /// When the earliest timer that was set for it is due.
    pub(super) armed_ns: i64,
}

impl Upstream {
    pub(super) fn open(address: SocketAddr, server: String, tls: Option<UpstreamTls>) -> io::Result<Self> {
        let begun_ns = now_ns();
        let stream = Stream::connect(address, true)?;
        Ok(Self {
            stream,
            phase: Phase::Connecting { begun_ns },
            server,
            tls,
            exchange: None,
            rest: None,
            connect_ns: None,
            tls_ns: None,
            used: false,
            closed: false,
            unread: false,
            paused: false,
            idle_ns: 0,
            armed_ns: i64::MAX,
        })
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// It may carry another request after the one that has just ended.
    pub(super) fn is_reusable(&self) -> bool {
        self.is_ready() && self.rest.is_none() && !self.closed && !self.stream.has_pending()
    }

    /// When its time is over if nothing comes.
    pub(super) fn due_ns(&self) -> i64 {
        match &self.exchange {
            // While its client is slow, it is not read, and so cannot be late.
            Some(exchange) if self.paused => exchange.total_ns(),
            Some(exchange) => exchange.expires_ns(),
            None if self.rest.is_some() => self.idle_ns.saturating_add(REST_NS),
            None => i64::MAX,
        }
    }

    /// Sends the request of its exchange, head and body in one.
    pub(super) fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let Some(exchange) = self.exchange.as_mut() else { return Ok(()) };
        exchange.connection_reused = self.used;
        exchange.connect_ns = self.connect_ns.filter(|_| !self.used);
        exchange.tls_ns = self.tls_ns.filter(|_| !self.used);
        self.used = true;
        let now = now_ns();
        exchange.sent_ns = exchange.sent_ns.or(Some(now));
        exchange.crossed_until_ns = now + CROSSING_NS + 2 * self.connect_ns.unwrap_or(0);
        if self.stream.send(request)? {
            exchange.written_ns = Some(now_ns());
        }
        Ok(())
    }

    /// The socket can take bytes, or a connect has ended.
    pub(super) fn writable(&mut self) -> Step {
        if let Phase::Connecting { begun_ns } = self.phase {
            match self.stream.take_error() {
                Err(error) => return Step::Failed(error),
                Ok(()) if !self.stream.is_connected() => return Step::Wait,
                Ok(()) => {}
            }
            let connected_ns = now_ns();
            self.connect_ns = Some(connected_ns - begun_ns);
            let Some(tls) = self.tls.take() else {
                self.phase = Phase::Ready;
                return Step::Ready;
            };
            if let Err(error) = self.stream.start_tls_client(tls.config, &tls.host) {
                return Step::Failed(error);
            }
            self.phase = Phase::Handshaking { connected_ns };
        }
        if !self.stream.has_pending() {
            return Step::Wait;
        }
        match self.stream.flush() {
            Ok(true) => {
                if self.is_ready()
                    && let Some(exchange) = self.exchange.as_mut()
                    && exchange.sent_ns.is_some()
                {
                    exchange.written_ns = exchange.written_ns.or_else(|| Some(now_ns()));
                }
                Step::Wait
            }
            Ok(false) => Step::Wait,
            Err(error) => self.failed(error),
        }
    }

    /// Bytes are there, or the end is. `out` takes what the client is to have of them.
    pub(super) fn readable(
        &mut self,
        scratch: &mut Scratch,
        clock: &StampClock,
        to_end: bool,
        out: &mut Vec<u8>,
    ) -> Step {
        self.unread = false;
        if matches!(self.phase, Phase::Connecting { .. }) {
            return Step::Wait;
        }
        let (exchange, rest) = (&mut self.exchange, &mut self.rest);
        let mut clean = true;
        let end = self.stream.read(scratch, clock, to_end, &mut |bytes, arrival| {
            clean &= match (&mut *exchange, &mut *rest) {
                (Some(exchange), _) => exchange.receive(bytes, arrival, out),
                (None, Some(rest)) => rest.feed(bytes, &mut |_| {}) == Ok(bytes.len()),
                (None, None) => false,
            };
        });
        let end = match end {
            Ok(end) => end,
            Err(error) => return self.failed(error),
        };
        self.unread = end == ReadEnd::More;
        // What comes after an answer's end would be taken for the next one.
        self.closed |= end == ReadEnd::Eof || !clean;
        if let Phase::Handshaking { connected_ns } = self.phase {
            return self.shake_hands(connected_ns, end);
        }
        match &self.exchange {
            Some(exchange) if exchange.is_done() || exchange.is_broken() => Step::Read,
            _ if end == ReadEnd::Eof => Step::Closed(None),
            Some(_) => Step::Read,
            None if clean && self.rest.as_ref().is_some_and(Reader::is_done) => {
                self.rest = None;
                Step::Free
            }
            // TLS tickets are no bytes of the application; anything else on an idle connection is not ours.
            None if clean => Step::Wait,
            None => Step::Closed(None),
        }
    }

    fn shake_hands(&mut self, connected_ns: i64, end: ReadEnd) -> Step {
        if end == ReadEnd::Eof {
            return Step::Failed(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection during the TLS handshake",
            ));
        }
        // The handshake's own answers have to leave.
        if let Err(error) = self.stream.flush() {
            return Step::Failed(error);
        }
        if self.stream.is_handshaking() {
            return Step::Wait;
        }
        self.tls_ns = Some(now_ns() - connected_ns);
        self.phase = Phase::Ready;
        Step::Ready
    }

    fn failed(&self, error: io::Error) -> Step {
        if self.is_ready() { Step::Closed(Some(error)) } else { Step::Failed(error) }
    }
}
