//! A connection to an offer's server, and the attempt that it carries.

use std::io;
use std::net::SocketAddr;

use paceline_io::clock::{StampClock, now_ns};
use paceline_io::http1::Reader;
use paceline_io::link::{Link, Rise, Tls};
use paceline_io::stream::{ReadEnd, Scratch};

use super::exchange::Exchange;

/// The end of a body may come so long after the answer's own end.
const REST_NS: i64 = 1_000_000_000;

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
    pub(super) link: Link,
    /// Which server it goes to: offers of the same one share connections.
    pub(super) server: String,
    pub(super) exchange: Option<Box<Exchange>>,
    /// What is still to come of an answer whose client has had all that it says.
    pub(super) rest: Option<Reader>,
    /// The peer has closed its side. No further edge will tell.
    pub(super) closed: bool,
    /// It has said what nobody asked for.
    pub(super) unasked: bool,
    /// The last read has left something behind. Nor will an edge tell of that.
    pub(super) unread: bool,
    /// Its client is slow: it is not read until that has caught up.
    pub(super) paused: bool,
    pub(super) idle_ns: i64,
    /// When the earliest timer that was set for it is due.
    pub(super) armed_ns: i64,
}

impl Upstream {
    pub(super) fn open(address: SocketAddr, server: String, tls: Option<Tls>) -> io::Result<Self> {
        let link = Link::open(address, true, tls)?;
        Ok(Self {
            link,
            server,
            exchange: None,
            rest: None,
            closed: false,
            unasked: false,
            unread: false,
            paused: false,
            idle_ns: 0,
            armed_ns: i64::MAX,
        })
    }

    pub(super) fn is_ready(&self) -> bool {
        self.link.is_ready()
    }

    /// It may carry another request after the one that has just ended.
    pub(super) fn is_reusable(&self) -> bool {
        self.is_ready() && self.rest.is_none() && !self.closed && !self.link.stream.has_pending()
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
        let now = now_ns();
        exchange.sent_ns = exchange.sent_ns.or(Some(now));
        exchange.found = self.link.carry(now);
        if self.link.stream.send(request)? {
            exchange.written_ns = Some(now_ns());
        }
        Ok(())
    }

    /// The socket can take bytes, or a connect has ended.
    pub(super) fn writable(&mut self) -> Step {
        match self.link.writable() {
            Rise::Wait => {}
            Rise::Ready => return Step::Ready,
            Rise::Failed(error) => return self.failed(error),
            Rise::Flushed => {
                if let Some(exchange) = self.exchange.as_mut().filter(|exchange| exchange.sent_ns.is_some()) {
                    exchange.written_ns = exchange.written_ns.or_else(|| Some(now_ns()));
                }
            }
        }
        Step::Wait
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
        if self.link.is_connecting() {
            return Step::Wait;
        }
        let (exchange, rest, unasked) = (&mut self.exchange, &mut self.rest, &mut self.unasked);
        let mut clean = true;
        let end = self.link.stream.read(scratch, clock, to_end, &mut |bytes, arrival| {
            clean &= match (&mut *exchange, &mut *rest) {
                (Some(exchange), _) => {
                    let used = exchange.receive(bytes, arrival, out);
                    *unasked |= used.is_some_and(|used| is_an_answer(&bytes[used..]));
                    used == Some(bytes.len())
                }
                (None, Some(rest)) => {
                    let used = rest.feed(bytes, &mut |_| {}).ok();
                    *unasked |= used.is_some_and(|used| is_an_answer(&bytes[used..]));
                    used == Some(bytes.len())
                }
                (None, None) => {
                    *unasked |= is_an_answer(bytes);
                    false
                }
            };
        });
        let end = match end {
            Ok(end) => end,
            Err(error) => return self.failed(error),
        };
        self.unread = end == ReadEnd::More;
        // What comes after an answer's end would be taken for the next one.
        self.closed |= end == ReadEnd::Eof || !clean;
        match self.link.shake_hands(end) {
            Some(Rise::Ready) => return Step::Ready,
            Some(Rise::Failed(error)) => return Step::Failed(error),
            Some(Rise::Wait | Rise::Flushed) => return Step::Wait,
            None => {}
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

    fn failed(&self, error: io::Error) -> Step {
        if self.is_ready() { Step::Closed(Some(error)) } else { Step::Failed(error) }
    }
}

/// Bytes that nobody asked for could be taken for an answer. Empty lines could not, and some servers say 408 before they
/// close an idle connection.
fn is_an_answer(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    !bytes.is_empty() && !bytes.starts_with(b"HTTP/1.1 408") && !bytes.starts_with(b"HTTP/1.0 408")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_and_a_farewell_are_no_answers() {
        for bytes in [&b""[..], b"\r\n", b"HTTP/1.1 408 Request Timeout\r\n", b"\r\nHTTP/1.0 408 x"] {
            assert!(!is_an_answer(bytes));
        }
        for bytes in [&b"HTTP/1.1 200 OK\r\n"[..], b"\r\nHTTP/1.1 500", b"H", b"garbage"] {
            assert!(is_an_answer(bytes));
        }
    }
}
