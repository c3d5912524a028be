//! Edge-triggered epoll with timeouts in nanoseconds, and a waker for other threads.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

/// The token of the waker; sockets must use smaller ones.
pub const WAKE: u64 = u64::MAX;

/// What happened to one socket.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// The token that the socket was added with, or [`WAKE`].
    pub token: u64,
    /// Bytes, an end of stream or an error are there to be read.
    pub readable: bool,
    /// Room to write, or a connect that ended one way or the other.
    pub writable: bool,
    /// The peer has closed its side: read until the end, for no further edge will come.
    pub hangup: bool,
}

/// Waits for sockets. Registration is edge-triggered and made once a socket: after an edge, read or write until
/// the kernel says that it would block.
pub struct Poller {
    epoll: OwnedFd,
    waker: Arc<OwnedFd>,
    events: Vec<epoll::Event>,
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").field("epoll", &self.epoll).finish_non_exhaustive()
    }
}

/// Wakes a [`Poller`] from any thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes the current or next wait return with [`WAKE`].
    pub fn wake(&self) {
        // A full counter means that a wake is pending already, which is all that is asked.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Poller {
    /// A poller that returns at most `capacity` events a wait.
    ///
    /// Also sets the calling thread's timer slack to 1 ns, so make it on the thread that waits: the default slack
    /// of 50 us would be in every send instant.
    ///
    /// # Errors
    /// When the kernel refuses an epoll or event descriptor (too many open files).
    pub fn new(capacity: usize) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        epoll::add(&epoll, &*waker, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        Ok(Self { epoll, waker, events: Vec::with_capacity(capacity) })
    }

    /// A handle for other threads.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.waker.clone())
    }

    /// Watches a socket for reading, writing and hang-up under `token`. Dropping the socket ends it.
    ///
    /// # Errors
    /// As `epoll_ctl`.
    pub fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags)?)
    }

    /// Watches a listening socket, level-triggered, for connections only.
    ///
    /// # Errors
    /// As `epoll_ctl`.
    pub fn add_listener(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?)
    }

    /// Waits for at most `timeout_ns` (none: for ever; 0 or less: not at all) and appends what is ready to `out`.
    ///
    /// # Errors
    /// As `epoll_pwait2`, except that an interruption by a signal is an empty return.
    pub fn wait(&mut self, timeout_ns: Option<i64>, out: &mut Vec<Ready>) -> io::Result<()> {
        let timeout = timeout_ns.map(|ns| {
            let ns = ns.max(0);
            Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
        });
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        for event in &self.events {
            let (flags, token) = (event.flags, event.data.u64());
            if token == WAKE {
                let mut counter = [0u8; 8];
                let _ = rustix::io::read(&*self.waker, &mut counter);
            }
            let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            out.push(Ready {
                token,
                readable: broken || flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP),
                writable: broken || flags.contains(epoll::EventFlags::OUT),
                hangup: broken || flags.contains(epoll::EventFlags::RDHUP),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now_ns;

    #[test]
    fn a_timeout_is_kept_to_the_nanosecond_side_never_early() {
        let mut poller = Poller::new(8).unwrap();
        let mut out = Vec::new();
        for timeout in [1_000, 50_000, 1_500_000] {
            let start = now_ns();
            poller.wait(Some(timeout), &mut out).unwrap();
            assert!(now_ns() - start >= timeout);
        }
        assert!(out.is_empty());
    }

    #[test]
    fn a_waker_ends_a_wait_without_limit() {
        let mut poller = Poller::new(8).unwrap();
        let waker = poller.waker();
        let thread = std::thread::spawn(move || waker.wake());
        let mut out = Vec::new();
        poller.wait(None, &mut out).unwrap();
        thread.join().unwrap();
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].token, WAKE);
        out.clear();
        poller.wait(Some(0), &mut out).unwrap();
        assert!(out.is_empty(), "a wake is seen once");
    }
}
