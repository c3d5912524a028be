//! A non-blocking TCP or TLS stream whose reads carry the instant at which their bytes arrived.

use std::io::{self, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use rustls_pki_types::ServerName;
use socket2::{Domain, Socket, Type};

use crate::clock::{StampClock, now_ns};

/// What was sent of the bytes that wait is let go of beyond this.
const COMPACT_BYTES: usize = 65_536;

/// When bytes arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// CLOCK_MONOTONIC, in ns.
    pub ns: i64,
    /// It is the kernel's receive stamp; otherwise it was taken right after the read.
    pub kernel: bool,
    /// From the kernel's stamp to our read, in ns: how late the reader was. 0 without a kernel stamp.
    pub lag_ns: i64,
    /// Counts the stream's socket reads, so that bytes that came together can be known.
    pub read: u64,
}

/// How a round of reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadEnd {
    /// All that has arrived was read.
    Drained,
    /// As much as the scratch allows in one go; no edge will tell of the rest.
    More,
    /// The peer has closed its side.
    Eof,
}

/// A buffer for reads, shared by all streams of a thread.
#[derive(Debug)]
pub struct Scratch {
    raw: Vec<u8>,
    plain: Vec<u8>,
    control: Vec<u8>,
    most_bytes: usize,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// 64 KiB of bytes and room for the stamps.
    #[must_use]
    pub fn new() -> Self {
        Self::bounded(usize::MAX)
    }

    /// The same, and about so many bytes are read of one stream in one go: a peer that sends faster than it is read
    /// keeps nobody else waiting.
    #[must_use]
    pub fn bounded(most_bytes: usize) -> Self {
        Self { raw: vec![0; 65_536], plain: vec![0; 32_768], control: nix::cmsg_space!([i64; 6]), most_bytes }
    }
}

/// Keeps the kernel stamping what arrives, for as long as it lives.
///
/// Linux turns its stamps on when the first socket asks for them, a little later, from a work queue; what has arrived
/// by then has none. So ask before the first connection, and not by it.
#[derive(Debug)]
pub struct Stamping {
    _socket: Socket,
}

impl Stamping {
    /// Asks for stamps by a socket of its own.
    ///
    /// # Errors
    /// When no socket can be had, or the kernel has no stamps.
    pub fn begin() -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM.cloexec(), None)?;
        setsockopt(&socket, sockopt::Timestamping, &receive_stamps())?;
        Ok(Self { _socket: socket })
    }
}

fn receive_stamps() -> TimestampingFlag {
    TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
}

/// A connected, or connecting, stream.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    tls: Option<Box<Connection>>,
    stamped: bool,
    reads: u64,
    pending: Vec<u8>,
    sent_of_pending: usize,
}

impl Stream {
    /// Begins to connect; the poller's first writable edge says how it ended (see [`Stream::take_error`]).
    ///
    /// # Errors
    /// When no socket can be had, or the connect fails at once.
    pub fn connect(address: SocketAddr, kernel_stamps: bool) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), None)?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&address.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32) => {}
            Err(error) => return Err(error),
        }
        Ok(Self::wrap(socket.into(), kernel_stamps))
    }

    /// Takes an accepted socket.
    ///
    /// # Errors
    /// When its options cannot be set (the peer has gone already).
    pub fn accepted(socket: TcpStream, kernel_stamps: bool) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self::wrap(socket, kernel_stamps))
    }

    fn wrap(socket: TcpStream, kernel_stamps: bool) -> Self {
        // Where the kernel refuses, reads are stamped in user space and say so.
        let stamped = kernel_stamps && setsockopt(&socket, sockopt::Timestamping, &receive_stamps()).is_ok();
        Self { socket, tls: None, stamped, reads: 0, pending: Vec::new(), sent_of_pending: 0 }
    }

    /// Speaks TLS as a client from here on.
    ///
    /// # Errors
    /// When `host` is not a name that a certificate could be checked against.
    pub fn start_tls_client(&mut self, config: Arc<ClientConfig>, host: &str) -> io::Result<()> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        // What does not fit into the socket waits, as without TLS; rustls would refuse it beyond 64 KiB.
        connection.set_buffer_limit(None);
        self.tls = Some(Box::new(connection.into()));
        Ok(())
    }

    /// Speaks TLS as a server from here on.
    ///
    /// # Errors
    /// When rustls refuses the configuration.
    pub fn start_tls_server(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
        connection.set_buffer_limit(None);
        self.tls = Some(Box::new(connection.into()));
        Ok(())
    }

    /// The TLS handshake has not ended yet.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// The error that a connect ended with, if it did.
    ///
    /// # Errors
    /// That very error.
    pub fn take_error(&self) -> io::Result<()> {
        self.socket.take_error()?.map_or(Ok(()), Err)
    }

    /// Both addresses of the connection are there: the connect has ended well.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.socket.peer_addr().is_ok()
    }

    /// Reads all that has arrived and hands it to `sink`, each piece with its arrival. Pass `to_end` after a
    /// hang-up edge, when no further edge will tell of the end.
    ///
    /// # Errors
    /// A reset by the peer, or broken TLS.
    pub fn read(
        &mut self,
        scratch: &mut Scratch,
        clock: &StampClock,
        to_end: bool,
        sink: &mut impl FnMut(&[u8], Arrival),
    ) -> io::Result<ReadEnd> {
        let Scratch { raw, plain, control, most_bytes } = scratch;
        let mut left = *most_bytes;
        loop {
            let (n, arrival) = match self.receive(raw, control, clock) {
                Ok(got) => got,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(ReadEnd::Drained),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if n == 0 {
                return Ok(ReadEnd::Eof);
            }
            if self.decrypt(&raw[..n], plain, arrival, sink)? == ReadEnd::Eof {
                return Ok(ReadEnd::Eof);
            }
            if n < raw.len() && !to_end {
                return Ok(ReadEnd::Drained);
            }
            left = left.saturating_sub(n);
            if left == 0 {
                return Ok(ReadEnd::More);
            }
        }
    }

    fn receive(
        &mut self,
        raw: &mut [u8],
        control: &mut [u8],
        clock: &StampClock,
    ) -> io::Result<(usize, Arrival)> {
        self.reads += 1;
        if !self.stamped {
            let n = self.socket.read(raw)?;
            return Ok((n, Arrival { ns: now_ns(), kernel: false, lag_ns: 0, read: self.reads }));
        }
        let mut parts = [IoSliceMut::new(raw)];
        let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(control), MsgFlags::empty())?;
        let now = now_ns();
        let mut stamp = None;
        if let Ok(messages) = message.cmsgs() {
            for message in messages {
                if let ControlMessageOwned::ScmTimestampsns(stamps) = message {
                    stamp = Some(stamps.system.tv_sec() * 1_000_000_000 + stamps.system.tv_nsec());
                }
            }
        }
        let arrival = stamp.filter(|ns| *ns > 0).map_or(
            Arrival { ns: now, kernel: false, lag_ns: 0, read: self.reads },
            |unix| {
                let ns = clock.monotonic_ns(unix).min(now);
                Arrival { ns, kernel: true, lag_ns: now - ns, read: self.reads }
            },
        );
        Ok((message.bytes, arrival))
    }

    fn decrypt(
        &mut self,
        mut raw: &[u8],
        plain: &mut [u8],
        arrival: Arrival,
        sink: &mut impl FnMut(&[u8], Arrival),
    ) -> io::Result<ReadEnd> {
        let Some(tls) = self.tls.as_mut() else {
            sink(raw, arrival);
            return Ok(ReadEnd::Drained);
        };
        while !raw.is_empty() {
            tls.read_tls(&mut raw)?;
            if let Err(error) = tls.process_new_packets() {
                // The alert tells the peer why; whether it still gets there changes nothing here.
                let _ = self.flush();
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            loop {
                match tls.reader().read(plain) {
                    Ok(0) => return Ok(ReadEnd::Eof),
                    Ok(n) => sink(&plain[..n], arrival),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(ReadEnd::Drained)
    }

    /// Sends `bytes`, keeping what does not fit now for [`Stream::flush`]. `true`: all has left.
    ///
    /// # Errors
    /// The peer has closed or reset the connection.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if let Some(tls) = self.tls.as_mut() {
            tls.writer().write_all(bytes)?;
            return self.flush();
        }
        if self.has_pending() {
            // A peer that reads slowly, and never catches up, must not keep what it has read.
            if self.sent_of_pending >= COMPACT_BYTES {
                self.pending.drain(..self.sent_of_pending);
                self.sent_of_pending = 0;
            }
            self.pending.extend_from_slice(bytes);
            return self.flush();
        }
        let written = write_some(&mut self.socket, bytes)?;
        if written < bytes.len() {
            self.pending.extend_from_slice(&bytes[written..]);
        }
        Ok(written == bytes.len())
    }

    /// Sends what is still waiting. `true`: nothing waits any more.
    ///
    /// # Errors
    /// The peer has closed or reset the connection.
    pub fn flush(&mut self) -> io::Result<bool> {
        if let Some(tls) = self.tls.as_mut() {
            while tls.wants_write() {
                match tls.write_tls(&mut self.socket) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            return Ok(true);
        }
        if self.has_pending() {
            self.sent_of_pending += write_some(&mut self.socket, &self.pending[self.sent_of_pending..])?;
            if !self.has_pending() {
                // An idle connection keeps no room for the largest request that it has carried.
                self.pending = Vec::new();
                self.sent_of_pending = 0;
            }
        }
        Ok(!self.has_pending())
    }

    /// Bytes wait for room in the socket.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.sent_of_pending < self.pending.len() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// More than `bytes` wait for room in the socket. With TLS the amount is not known: then, whether any do.
    #[must_use]
    pub fn backlog_exceeds(&self, bytes: usize) -> bool {
        self.pending.len() - self.sent_of_pending > bytes
            || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Ends the connection with a reset instead of an orderly close.
    ///
    /// # Errors
    /// When the option cannot be set.
    pub fn reset(self) -> io::Result<()> {
        Socket::from(self.socket).set_linger(Some(std::time::Duration::ZERO))
    }

    /// Begins an orderly close of both ways: what was sent is still delivered.
    pub fn shutdown(&mut self) {
        if let Some(tls) = self.tls.as_mut() {
            tls.send_close_notify();
            let _ = self.flush();
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Writes until all is gone or the socket would block; returns how much has gone.
fn write_some(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match socket.write(&bytes[written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}
