//! A client's connection on its way up: TCP, then TLS where it is wanted, each with how long it took.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;

use crate::clock::now_ns;
use crate::stream::{ReadEnd, Stream};

/// How long after a send the close of an idle connection may still arrive on the same machine; on a network, so long as
/// two round trips more.
const CROSSING_NS: i64 = 10_000_000;

/// TLS for a connection: settings, and the name that the certificate must have.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Settings.
    pub config: Arc<ClientConfig>,
    /// The name.
    pub host: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting { begun_ns: i64 },
    Handshaking { connected_ns: i64 },
    Ready,
}

/// What an event has led to.
#[derive(Debug)]
pub enum Rise {
    /// Go on waiting.
    Wait,
    /// It has just come up.
    Ready,
    /// All that waited has left.
    Flushed,
    /// It will never come up, or has broken.
    Failed(io::Error),
}

/// What a request finds of the connection that it is sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// It has carried a request before.
    pub reused: bool,
    /// How long the TCP connect took; none: it was reused.
    pub connect_ns: Option<i64>,
    /// How long the TLS handshake took; none: it was reused, or there was none.
    pub tls_ns: Option<i64>,
    /// A close without an answer by then is taken for the end of an idle connection that crossed the request.
    pub crossed_until_ns: i64,
}

/// Of a request that was not sent.
impl Default for Found {
    fn default() -> Self {
        Self { reused: false, connect_ns: None, tls_ns: None, crossed_until_ns: i64::MIN }
    }
}

/// A connection that is coming up, or has.
#[derive(Debug)]
pub struct Link {
    /// What it carries.
    pub stream: Stream,
    phase: Phase,
    tls: Option<Tls>,
    connect_ns: Option<i64>,
    tls_ns: Option<i64>,
    used: bool,
}

impl Link {
    /// Begins to connect.
    ///
    /// # Errors
    /// When no socket can be had, or the connect fails at once.
    pub fn open(address: SocketAddr, kernel_stamps: bool, tls: Option<Tls>) -> io::Result<Self> {
        let begun_ns = now_ns();
        let stream = Stream::connect(address, kernel_stamps)?;
        Ok(Self {
            stream,
            phase: Phase::Connecting { begun_ns },
            tls,
            connect_ns: None,
            tls_ns: None,
            used: false,
        })
    }

    /// Requests may be sent.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// A request is sent now.
    pub fn carry(&mut self, now_ns: i64) -> Found {
        let reused = std::mem::replace(&mut self.used, true);
        Found {
            reused,
            connect_ns: self.connect_ns.filter(|_| !reused),
            tls_ns: self.tls_ns.filter(|_| !reused),
            crossed_until_ns: now_ns + CROSSING_NS + 2 * self.connect_ns.unwrap_or(0),
        }
    }

    /// The TCP connect has not ended: there is nothing to be read.
    #[must_use]
    pub fn is_connecting(&self) -> bool {
        matches!(self.phase, Phase::Connecting { .. })
    }

    /// The socket can take bytes, or the connect has ended one way or the other.
    pub fn writable(&mut self) -> Rise {
        if let Phase::Connecting { begun_ns } = self.phase {
            match self.stream.take_error() {
                Err(error) => return Rise::Failed(error),
                Ok(()) if !self.stream.is_connected() => return Rise::Wait,
                Ok(()) => {}
            }
            let connected_ns = now_ns();
            self.connect_ns = Some(connected_ns - begun_ns);
            let Some(tls) = self.tls.take() else {
                self.phase = Phase::Ready;
                return Rise::Ready;
            };
            if let Err(error) = self.stream.start_tls_client(tls.config, &tls.host) {
                return Rise::Failed(error);
            }
            self.phase = Phase::Handshaking { connected_ns };
        }
        if !self.stream.has_pending() {
            return Rise::Wait;
        }
        match self.stream.flush() {
            Ok(true) => Rise::Flushed,
            Ok(false) => Rise::Wait,
            Err(error) => Rise::Failed(error),
        }
    }

    /// After a read that ended so: goes on with the handshake. None: there is none to go on with.
    pub fn shake_hands(&mut self, end: ReadEnd) -> Option<Rise> {
        let Phase::Handshaking { connected_ns } = self.phase else { return None };
        if end == ReadEnd::Eof {
            return Some(Rise::Failed(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection during the TLS handshake",
            )));
        }
        // The handshake's own answers have to leave.
        if let Err(error) = self.stream.flush() {
            return Some(Rise::Failed(error));
        }
        if self.stream.is_handshaking() {
            return Some(Rise::Wait);
        }
        self.tls_ns = Some(now_ns() - connected_ns);
        self.phase = Phase::Ready;
        Some(Rise::Ready)
    }
}
