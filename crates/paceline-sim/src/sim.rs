//! The engine's handle.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use paceline_io::listen;
use paceline_io::poller::Waker;
use paceline_io::stream::Stamping;
use paceline_io::tls::server_config;
use rustls::ServerConfig;

use crate::config::SimConfig;
use crate::error::SimError;
use crate::server::{Command, Server};
use crate::stats::SimStats;
use crate::truth::TruthLog;

#[derive(Debug)]
enum Life {
    Running(JoinHandle<SimStats>),
    Stopped(SimStats),
}

/// A running reference engine. Dropping it stops it.
#[derive(Debug)]
pub struct Sim {
    address: SocketAddr,
    commands: Sender<Command>,
    waker: Waker,
    life: Mutex<Life>,
    /// None: the kernel has no stamps, and receipts are stamped at the read.
    _stamping: Option<Stamping>,
}

impl Sim {
    /// Starts the engine on a thread of its own; when it returns, the engine takes connections.
    ///
    /// Also raises this process's limit of open files to the hard limit, since each connection needs one.
    ///
    /// # Errors
    /// When the address, the truth log or the certificate is of no use.
    pub fn start(config: SimConfig) -> Result<Self, SimError> {
        listen::raise_open_files();
        let stamping = Stamping::begin().ok();
        let tls = tls(&config)?;
        let listener = open_listener(&config.listen)?;
        let address = listener
            .local_addr()
            .map_err(|source| SimError::Listen { address: config.listen.clone(), source })?;
        let truth = TruthLog::create(config.truth_log.as_deref())?;
        let (commands, orders) = channel();
        let (started, outcome) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("sim".to_owned())
            .spawn(move || match Server::new(config, listener, tls, truth, orders) {
                Ok(server) => {
                    let _ = started.send(Ok(server.waker()));
                    server.run()
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    SimStats::default()
                }
            })
            .map_err(SimError::Thread)?;
        let gone = || std::io::Error::other("the thread ended at once");
        let waker = outcome.recv().unwrap_or_else(|_| Err(gone())).map_err(SimError::Thread)?;
        Ok(Self { address, commands, waker, life: Mutex::new(Life::Running(thread)), _stamping: stamping })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its counters: the present ones, or the last ones once it is stopped.
    #[must_use]
    pub fn stats(&self) -> SimStats {
        let (reply, answer) = sync_channel(1);
        if self.commands.send(Command::Stats(reply)).is_ok() {
            self.waker.wake();
            if let Ok(stats) = answer.recv() {
                return stats;
            }
        }
        self.stop()
    }

    /// Stops it: answers end where they are, and the truth log is complete when this returns. Returns the last
    /// counters. Stopping again does nothing.
    pub fn stop(&self) -> SimStats {
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *life, Life::Stopped(SimStats::default()));
        let last = match before {
            Life::Stopped(last) => last,
            Life::Running(thread) => {
                // The thread may have ended by itself, and then takes no orders.
                let _ = self.commands.send(Command::Stop);
                self.waker.wake();
                thread.join().unwrap_or_default()
            }
        };
        *life = Life::Stopped(last.clone());
        last
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.stop();
    }
}

fn tls(config: &SimConfig) -> Result<Option<Arc<ServerConfig>>, SimError> {
    match (&config.tls_cert_pem, &config.tls_key_pem) {
        (Some(certificate), Some(key)) => Ok(Some(server_config(certificate, key.reveal())?)),
        _ => Ok(None),
    }
}

fn open_listener(address: &str) -> Result<TcpListener, SimError> {
    listen::resolve(address)
        .and_then(|target| listen::listen(target, false))
        .map_err(|source| SimError::Listen { address: address.to_owned(), source })
}
