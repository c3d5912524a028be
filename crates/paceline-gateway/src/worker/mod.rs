//! An event loop: clients on one side, offers' servers on the other. Each runs on a thread of its own, with its own
//! listener on the same port; they share the [`Shared`].

mod answer;
mod attempts;
mod begin;
mod client;
mod downgrade;
mod exchange;
mod failure;
mod finish;
mod flight;
mod head;
mod inbox;
mod pages;
mod pool;
mod probe;
mod receive;
mod timers;
mod upstream;
mod usage;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_io::clock::{StampClock, now_ns, unix_ns};
use paceline_io::listen::is_out_of_descriptors;
use paceline_io::poller::{Poller, Ready, WAKE};
use paceline_io::pool::Pool;
use paceline_io::stream::{Scratch, Stream};
use paceline_io::timers::Timers;

use crate::shared::Shared;
use client::Client;
pub(crate) use pages::stats;
use upstream::Upstream;

const LISTENER: u64 = WAKE - 1;
const ADMIN_LISTENER: u64 = WAKE - 2;
/// Tokens of upstreams have this bit; those of clients do not, and are below it.
const UPSTREAM: u64 = 1 << 63;
/// Connections that are accepted before others are looked at again.
const ACCEPTS_A_ROUND: usize = 32;
/// Sockets that one wait tells of.
const READY_A_WAIT: usize = 256;
/// About so many bytes are read of one connection in one go.
const READ_A_ROUND: usize = 262_144;
/// How often what has no event of its own is looked after.
const HOUSEKEEPING_NS: i64 = 1_000_000_000;

/// An event loop.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    /// The first one does what is done once a gateway.
    number: usize,
    poller: Poller,
    clock: StampClock,
    scratch: Scratch,
    listener: Option<TcpListener>,
    admin: Option<TcpListener>,
    clients: Pool<Client>,
    upstreams: Pool<Upstream>,
    /// Idle connections by server, the last used at the end.
    idle: HashMap<String, Vec<u64>>,
    /// Servers whose connections are used once, and until when.
    distrusted: HashMap<String, i64>,
    timers: Timers,
    /// Clients whose requests wait for a place, in order.
    waiting: VecDeque<u64>,
    /// Connections that have more to be read, and will not tell.
    unread: Vec<u64>,
    /// Clients that may have a whole request, and will not tell.
    again: Vec<u64>,
    /// Bytes for a client, while they are made.
    out: Vec<u8>,
    frame: Vec<u8>,
    /// Given up for a moment when descriptors run out, so that a client can be turned away.
    reserve: Option<File>,
    /// Which of its addresses a server answers at.
    address: HashMap<String, usize>,
    next_housekeeping_ns: i64,
    drain_until_ns: Option<i64>,
}

impl Worker {
    /// Must be called on the thread that will run it.
    pub(crate) fn new(
        shared: Arc<Shared>,
        number: usize,
        listener: TcpListener,
        admin: Option<TcpListener>,
    ) -> io::Result<Self> {
        let poller = Poller::new(READY_A_WAIT)?;
        poller.add_listener(&listener, LISTENER)?;
        if let Some(admin) = &admin {
            poller.add_listener(admin, ADMIN_LISTENER)?;
        }
        shared.add_waker(poller.waker());
        Ok(Self {
            shared,
            number,
            poller,
            clock: StampClock::new(),
            scratch: Scratch::bounded(READ_A_ROUND),
            listener: Some(listener),
            admin,
            clients: Pool::default(),
            upstreams: Pool::default(),
            idle: HashMap::new(),
            distrusted: HashMap::new(),
            timers: Timers::default(),
            waiting: VecDeque::new(),
            unread: Vec::new(),
            again: Vec::new(),
            out: Vec::new(),
            frame: Vec::new(),
            reserve: File::open("/dev/null").ok(),
            address: HashMap::new(),
            next_housekeeping_ns: now_ns(),
            drain_until_ns: None,
        })
    }

    /// Runs until the gateway is told to stop.
    pub(crate) fn run(mut self) {
        let mut ready = Vec::with_capacity(READY_A_WAIT);
        while !self.shared.is_stopping() {
            self.run_due();
            ready.clear();
            let timeout_ns = self.wait_ns();
            if self.poller.wait(Some(timeout_ns), &mut ready).is_err() {
                break;
            }
            self.clock.refresh();
            for event in &ready {
                self.on_ready(*event);
            }
            self.go_on();
            self.drain();
        }
        self.close_all();
    }

    fn wait_ns(&self) -> i64 {
        if !self.unread.is_empty() || !self.again.is_empty() {
            return 0;
        }
        let next_ns = self.timers.next_ns().unwrap_or(i64::MAX).min(self.next_housekeeping_ns);
        (next_ns - now_ns()).max(0)
    }

    fn on_ready(&mut self, event: Ready) {
        match event.token {
            WAKE => self.retry_waiting(),
            LISTENER => self.accept(false),
            ADMIN_LISTENER => self.accept(true),
            token if token & UPSTREAM != 0 => {
                let token = token & !UPSTREAM;
                if event.writable {
                    self.upstream_writable(token);
                }
                if event.readable {
                    self.upstream_readable(token, event.hangup);
                }
            }
            token => {
                if event.writable {
                    self.client_writable(token);
                }
                if event.readable {
                    self.client_readable(token, event.hangup);
                }
            }
        }
    }

    /// Goes on with what no event will tell of.
    fn go_on(&mut self) {
        for token in std::mem::take(&mut self.again) {
            self.on_request(token);
        }
        for token in std::mem::take(&mut self.unread) {
            if token & UPSTREAM != 0 {
                let token = token & !UPSTREAM;
                if self.upstreams.get_mut(token).is_some_and(|upstream| upstream.unread) {
                    self.upstream_readable(token, true);
                }
            } else if self.clients.get_mut(token).is_some_and(|client| client.unread) {
                self.client_readable(token, true);
            }
        }
    }

    fn accept(&mut self, admin: bool) {
        for _ in 0..ACCEPTS_A_ROUND {
            let listener = if admin { self.admin.as_ref() } else { self.listener.as_ref() };
            let Some(listener) = listener else { return };
            match listener.accept() {
                Ok((socket, _)) => self.welcome(socket, admin),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_out_of_descriptors(&error) => {
                    // Without this the listener would stay ready for ever, and the loop would spin.
                    self.reserve = None;
                    if listener.accept().is_ok() {
                        self.shared.counters.connection_refused();
                    }
                    self.reserve = File::open("/dev/null").ok();
                    return;
                }
                // The client has gone before it was accepted.
                Err(_) => {}
            }
        }
    }

    fn welcome(&mut self, socket: std::net::TcpStream, admin: bool) {
        let Ok(mut stream) = Stream::accepted(socket, false) else { return };
        let open = self.shared.connections.load(Ordering::Relaxed);
        if open >= self.shared.settings.clients.connections && !admin {
            self.shared.counters.connection_refused();
            if self.shared.tls.is_none() {
                // The client may have gone already.
                let _ = stream.send(&head::crowded());
            }
            stream.shutdown();
            return;
        }
        if let Some(config) = self.shared.tls.as_ref().filter(|_| !admin)
            && stream.start_tls_server(config.clone()).is_err()
        {
            return;
        }
        let token = self.clients.insert(Client::new(stream, admin, now_ns()));
        let added =
            self.clients.get_mut(token).is_some_and(|client| self.poller.add(&client.stream, token).is_ok());
        if added {
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
            self.arm_client(token);
        } else {
            self.clients.remove(token);
        }
    }

    /// Once the gateway drains: takes nothing new, and ends what has taken too long.
    fn drain(&mut self) {
        if !self.shared.is_draining() {
            return;
        }
        let now = now_ns();
        if self.drain_until_ns.is_none() {
            self.listener = None;
            self.drain_until_ns = Some(now.saturating_add(self.shared.settings.drain_ns));
            self.close_idle_clients();
        }
        if self.drain_until_ns.is_some_and(|until_ns| now >= until_ns) {
            self.end_all_requests();
        }
    }

    fn housekeeping(&mut self, now: i64) {
        self.next_housekeeping_ns = now + HOUSEKEEPING_NS;
        self.expire_idle(now);
        if self.number == 0 {
            self.probe(now, unix_ns().div_euclid(1_000_000_000));
        }
        if !self.waiting.is_empty() {
            self.retry_waiting();
        }
    }
}
