//! The gateway's handle.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use paceline_io::clock::{now_ns, unix_ns};
use paceline_io::listen::{self, raise_open_files};
use paceline_io::stream::Stamping;
use paceline_io::tls::server_config;
use serde::Serialize;

use crate::error::GatewayError;
use crate::ledger::{Ledger, Recovered};
use crate::recall::{Now, recall};
use crate::settings::GatewaySettings;
use crate::shared::Shared;
use crate::table::RouteTable;
use crate::worker::Worker;

/// Where a gateway listens.
#[derive(Debug, Clone, Serialize)]
pub struct Addresses {
    /// For clients.
    pub listen: String,
    /// For operators.
    pub admin: Option<String>,
}

/// A gateway. Dropping it stops it.
pub struct Gateway {
    settings: GatewaySettings,
    table: Mutex<Option<RouteTable>>,
    running: Mutex<Option<Running>>,
}

struct Running {
    shared: Arc<Shared>,
    recovered: Recovered,
    threads: Vec<JoinHandle<()>>,
    /// None: the kernel has no stamps, and receipts are stamped at the read.
    _stamping: Option<Stamping>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

fn unix_s() -> i64 {
    unix_ns().div_euclid(1_000_000_000)
}

/// Before the first request can come.
fn recall_past(shared: &Shared) {
    let table = shared.table();
    let now = Now { unix_ns: unix_ns(), monotonic_ns: now_ns() };
    let attempts = shared.ledger.last_attempts(now.unix_ns.saturating_sub(table.policy.window_ns));
    recall(&shared.router, &table, &attempts, now);
}

fn listener(address: SocketAddr, shared: bool) -> Result<TcpListener, GatewayError> {
    listen::listen(address, shared)
        .map_err(|source| GatewayError::Listen { address: address.to_string(), source })
}

fn resolved(address: &str) -> Result<SocketAddr, GatewayError> {
    listen::resolve(address).map_err(|source| GatewayError::Listen { address: address.to_owned(), source })
}

fn local(listener: &TcpListener) -> Result<SocketAddr, GatewayError> {
    listener.local_addr().map_err(|source| GatewayError::System { what: "the listener's address", source })
}

impl Gateway {
    /// A gateway that has not begun. `settings`: `paceline.gateway/1`; `table`: `paceline.routes/1`.
    ///
    /// # Errors
    /// When a document is not what it must be.
    pub fn new(settings: &str, table: &str) -> Result<Self, GatewayError> {
        Ok(Self {
            settings: GatewaySettings::from_json(settings)?,
            table: Mutex::new(Some(RouteTable::from_json(table)?)),
            running: Mutex::new(None),
        })
    }

    /// Begins; when it returns, the gateway takes connections. Also raises this process's limit of open files to the
    /// hard limit, since each stream needs two.
    ///
    /// # Errors
    /// When an address, the ledger or the certificate is of no use, or it has begun before.
    pub fn start(&self) -> Result<Addresses, GatewayError> {
        raise_open_files();
        let again = || GatewayError::System {
            what: "the gateway was started before",
            source: std::io::Error::other("once"),
        };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return Err(again());
        }
        let settings = self.settings.clone();
        let stamping = Stamping::begin().ok();
        let tls = match &settings.tls {
            Some(tls) => Some(server_config(&tls.cert_pem, &tls.key_pem)?),
            None => None,
        };
        let several = settings.threads > 1;
        // The first listener alone tells whether somebody else has the port: those that are shared would not.
        let first = listener(resolved(&settings.listen)?, false)?;
        let address = local(&first)?;
        let listeners = if several {
            drop(first);
            (0..settings.threads).map(|_| listener(address, true)).collect::<Result<Vec<_>, _>>()?
        } else {
            vec![first]
        };
        let mut admin = match &settings.admin_listen {
            Some(text) => Some(listener(resolved(text)?, false)?),
            None => None,
        };
        let admin_address = admin.as_ref().map(local).transpose()?;
        let (ledger, recovered) = Ledger::open(&settings.ledger)?;
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(again)?;
        let shared = Arc::new(Shared::new(settings, tls, table, ledger, unix_s()));
        recall_past(&shared);
        let waking = Arc::downgrade(&shared);
        shared.router.set_on_free(Arc::new(move |_| {
            if let Some(shared) = waking.upgrade() {
                shared.wake();
            }
        }));
        let mut threads = Vec::new();
        let mut starts = Vec::new();
        for (number, listener) in listeners.into_iter().enumerate() {
            let (thread, started) = spawn(shared.clone(), number, listener, admin.take())?;
            threads.push(thread);
            starts.push(started);
        }
        for started in starts {
            // A thread that ended without a word has panicked.
            let outcome = started.recv().unwrap_or_else(|_| Err(std::io::Error::other("its thread ended")));
            outcome.map_err(|source| GatewayError::System { what: "an event loop", source })?;
        }
        *running = Some(Running { shared, recovered, threads, _stamping: stamping });
        Ok(Addresses { listen: address.to_string(), admin: admin_address.map(|it| it.to_string()) })
    }

    fn with<T>(&self, act: impl FnOnce(&Running) -> T) -> Option<T> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(act)
    }

    /// Takes another route table in the place of the present one; requests in flight keep theirs.
    ///
    /// # Errors
    /// When it is no route table; the old one stays.
    pub fn swap(&self, table: &str) -> Result<(), GatewayError> {
        let table = RouteTable::from_json(table)?;
        if self.with(|running| running.shared.is_stopping()) != Some(false) {
            *self.table.lock().unwrap_or_else(PoisonError::into_inner) = Some(table);
            return Ok(());
        }
        self.with(|running| running.shared.swap(table, unix_s()));
        Ok(())
    }

    /// Counters, the ledger's state and what is known of each offer, as JSON.
    #[must_use]
    pub fn stats(&self) -> String {
        let stats = self.with(|running| {
            let mut stats = crate::worker::stats(&running.shared);
            if let (Some(members), Ok(recovered)) =
                (stats.as_object_mut(), serde_json::to_value(&running.recovered))
            {
                members.insert("recovered".to_owned(), recovered);
            }
            stats
        });
        stats.unwrap_or_default().to_string()
    }

    /// Takes nothing new from now on; requests in flight have `drain_ns`.
    pub fn drain(&self) {
        self.with(|running| {
            running.shared.draining.store(true, Ordering::Release);
            running.shared.wake();
        });
    }

    /// Nothing is in flight, and nothing more will be.
    #[must_use]
    pub fn finished(&self) -> bool {
        let drained = |running: &Running| {
            running.shared.is_draining() && running.shared.requests.load(Ordering::Acquire) == 0
        };
        self.with(drained).unwrap_or(true)
    }

    /// Ends what is left. Stopping again does nothing.
    pub fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(running) = running else { return };
        running.shared.draining.store(true, Ordering::Release);
        running.shared.stopping.store(true, Ordering::Release);
        running.shared.wake();
        for thread in running.threads {
            // What a thread that has panicked knew is lost with it.
            let _ = thread.join();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop();
    }
}

type Started = Receiver<std::io::Result<()>>;

fn spawn(
    shared: Arc<Shared>,
    number: usize,
    listener: TcpListener,
    admin: Option<TcpListener>,
) -> Result<(JoinHandle<()>, Started), GatewayError> {
    let (tell, started) = sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("gateway-{number}"))
        .spawn(move || match Worker::new(shared, number, listener, admin) {
            Ok(worker) => {
                // Who waits for it may have given up.
                let _ = tell.try_send(Ok(()));
                worker.run();
            }
            Err(error) => {
                let _ = tell.try_send(Err(error));
            }
        })
        .map_err(|source| GatewayError::System { what: "a thread", source })?;
    Ok((thread, started))
}
