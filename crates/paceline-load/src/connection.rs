//! A connection: from its first packet to the exchange that it carries.

use std::io;
use std::net::SocketAddr;

use paceline_io::clock::{StampClock, now_ns};
use paceline_io::link::{Link, Rise, Tls};
use paceline_io::stream::{Arrival, ReadEnd, Scratch};

use crate::exchange::Exchange;
use crate::tail::Tail;

/// What an event has led to.
#[derive(Debug)]
pub(crate) enum Step {
    /// Go on waiting.
    Wait,
    /// All tokens are there, and the body still has no end: wait for it, but not for long.
    Linger,
    /// The connection has become ready, or is again: send the request now.
    Ready,
    /// The response is complete.
    Done,
    /// After a hang-up: the server has stopped.
    Stopped,
    /// Not to be read on: broken framing, or the observer has had enough.
    Broken,
    /// The peer has closed, or the connection has failed.
    Closed(Option<io::Error>),
    /// It never came up.
    Failed(io::Error),
}

/// Counters of a thread's reads.
#[derive(Debug, Default, Clone)]
pub(crate) struct ReadStats {
    pub(crate) reads: u64,
    pub(crate) bytes: u64,
    pub(crate) unstamped: u64,
    pub(crate) token_events: u64,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    pub(crate) exchange: Option<Exchange>,
    /// What came before we hung up.
    pub(crate) tail: Option<Tail>,
    /// The peer has closed its side. No further edge will tell, so it has to be remembered.
    closed: bool,
    /// The last read has left something behind. Nor will an edge tell of that.
    pub(crate) unread: bool,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr, kernel_stamps: bool, tls: Option<Tls>) -> io::Result<Self> {
        Ok(Self {
            link: Link::open(address, kernel_stamps, tls)?,
            exchange: None,
            tail: None,
            closed: false,
            unread: false,
        })
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.link.is_ready()
    }

    /// It may carry another request after the one that has just ended.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.closed && !self.link.stream.has_pending()
    }

    /// Sends the request of its exchange. `request` is head and body in one.
    pub(crate) fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let Some(exchange) = self.exchange.as_mut() else { return Ok(()) };
        // A second try on a fresh connection still counts from the first byte of the first.
        let now = now_ns();
        exchange.sent_ns = exchange.sent_ns.or(Some(now));
        exchange.found = self.link.carry(now);
        if self.link.stream.send(request)? {
            exchange.written_ns = Some(now_ns());
        }
        Ok(())
    }

    /// The socket can take bytes, or a connect has ended.
    pub(crate) fn writable(&mut self) -> Step {
        // After a hang-up nothing is sent any more, not even the rest of the request.
        if self.tail.is_some() {
            return Step::Wait;
        }
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

    /// Bytes are there, or the end is.
    pub(crate) fn readable(
        &mut self,
        scratch: &mut Scratch,
        clock: &StampClock,
        to_end: bool,
        stats: &mut ReadStats,
        on_read: &mut impl FnMut(Arrival),
    ) -> Step {
        self.unread = false;
        if self.link.is_connecting() {
            return Step::Wait;
        }
        if self.tail.is_some() {
            return self.read_tail(scratch, clock, to_end);
        }
        let exchange = &mut self.exchange;
        let events_before = exchange.as_ref().map_or(0, Exchange::token_events);
        let mut clean = true;
        let mut last_read = 0;
        let end = self.link.stream.read(scratch, clock, to_end, &mut |bytes, arrival| {
            if arrival.read != last_read {
                last_read = arrival.read;
                stats.reads += 1;
                stats.unstamped += u64::from(!arrival.kernel);
                on_read(arrival);
            }
            stats.bytes += bytes.len() as u64;
            clean &= exchange.as_mut().is_some_and(|exchange| exchange.receive(bytes, arrival));
        });
        if let Some(exchange) = exchange {
            stats.token_events += u64::from(exchange.token_events() - events_before);
        }
        self.after_read(end, clean)
    }

    /// What still comes after a hang-up is counted and read no further.
    fn read_tail(&mut self, scratch: &mut Scratch, clock: &StampClock, to_end: bool) -> Step {
        let Some(tail) = self.tail.as_mut() else { return Step::Wait };
        let end = self.link.stream.read(scratch, clock, to_end, &mut |bytes, arrival| {
            tail.receive(bytes.len(), arrival.ns);
        });
        self.unread = matches!(end, Ok(ReadEnd::More));
        if matches!(end, Ok(ReadEnd::Drained | ReadEnd::More)) {
            return Step::Wait;
        }
        tail.stop(now_ns());
        Step::Stopped
    }

    fn after_read(&mut self, end: io::Result<ReadEnd>, clean: bool) -> Step {
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
            Some(exchange) if exchange.is_done() => Step::Done,
            Some(exchange) if exchange.is_broken() => Step::Broken,
            _ if end == ReadEnd::Eof => Step::Closed(None),
            Some(exchange) if exchange.is_lingering() => Step::Linger,
            Some(_) => Step::Wait,
            // TLS tickets are no bytes of the application; anything else on an idle connection is not ours.
            None if clean => Step::Wait,
            None => Step::Closed(None),
        }
    }

    fn failed(&self, error: io::Error) -> Step {
        if self.is_ready() { Step::Closed(Some(error)) } else { Step::Failed(error) }
    }
}
