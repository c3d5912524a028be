//! What all event loops of a gateway share. Locks are held for a few instructions, and never over I/O but the ledger's.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use paceline_io::link::Tls;
use paceline_io::poller::Waker;
use paceline_io::tls::client_config;
use rustls::{ClientConfig, ServerConfig};

use crate::accounts::{Accounts, Sessions};
use crate::ledger::Ledger;
use crate::pages::Counters;
use crate::route::Router;
use crate::settings::GatewaySettings;
use crate::table::{Offer, RouteTable};

/// Shared by the event loops.
pub(crate) struct Shared {
    pub(crate) settings: GatewaySettings,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    table: RwLock<Arc<RouteTable>>,
    pub(crate) router: Router,
    pub(crate) accounts: Accounts,
    pub(crate) sessions: Sessions,
    pub(crate) ledger: Ledger,
    pub(crate) counters: Counters,
    pub(crate) draining: AtomicBool,
    pub(crate) stopping: AtomicBool,
    /// Requests in flight, waiting ones included.
    pub(crate) requests: AtomicUsize,
    /// Clients' connections.
    pub(crate) connections: AtomicUsize,
    /// Requests that wait for a place, by the offer's id.
    waiting: Mutex<HashMap<String, u32>>,
    wakers: Mutex<Vec<Waker>>,
    upstream_tls: Mutex<HashMap<Option<String>, Arc<ClientConfig>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(
        settings: GatewaySettings,
        tls: Option<Arc<ServerConfig>>,
        table: RouteTable,
        ledger: Ledger,
        unix_s: i64,
    ) -> Self {
        let shared = Self {
            router: Router::new(settings.seed),
            settings,
            tls,
            table: RwLock::new(Arc::new(table)),
            accounts: Accounts::new(),
            sessions: Sessions::new(),
            ledger,
            counters: Counters::new(),
            draining: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            waiting: Mutex::default(),
            wakers: Mutex::default(),
            upstream_tls: Mutex::default(),
        };
        shared.take_on(&shared.table(), unix_s);
        shared
    }

    fn take_on(&self, table: &RouteTable, unix_s: i64) {
        self.router.apply(table);
        self.accounts.apply(table, unix_s);
        self.sessions.apply(table);
    }

    pub(crate) fn table(&self) -> Arc<RouteTable> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another table in the place of the present one.
    pub(crate) fn swap(&self, table: RouteTable, unix_s: i64) {
        self.take_on(&table, unix_s);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        self.wake();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn add_waker(&self, waker: Waker) {
        lock(&self.wakers).push(waker);
    }

    /// Wakes every event loop.
    pub(crate) fn wake(&self) {
        for waker in lock(&self.wakers).iter() {
            waker.wake();
        }
    }

    /// Takes a place in an offer's queue; `false`: it is full.
    pub(crate) fn queue(&self, offer: &Offer) -> bool {
        let mut waiting = lock(&self.waiting);
        let count = waiting.entry(offer.id.clone()).or_default();
        let room = *count < offer.limits.queue;
        *count += u32::from(room);
        room
    }

    /// Gives the place back.
    pub(crate) fn unqueue(&self, offer: &str) {
        if let Some(count) = lock(&self.waiting).get_mut(offer) {
            *count = count.saturating_sub(1);
        }
    }

    /// Requests that wait for a place at the offer.
    pub(crate) fn waiting(&self, offer: &str) -> u32 {
        lock(&self.waiting).get(offer).copied().unwrap_or(0)
    }

    /// TLS to an offer's server; none: it speaks plainly.
    pub(crate) fn tls_to(&self, offer: &Offer) -> io::Result<Option<Tls>> {
        if offer.target.scheme != "https" {
            return Ok(None);
        }
        let mut made = lock(&self.upstream_tls);
        let config = if let Some(config) = made.get(&offer.target.ca_pem) {
            config.clone()
        } else {
            let config = client_config(offer.target.ca_pem.as_deref()).map_err(io::Error::other)?;
            made.insert(offer.target.ca_pem.clone(), config.clone());
            config
        };
        Ok(Some(Tls { config, host: offer.target.host.clone() }))
    }
}
