//! Connections to offers' servers: idle ones are used again.

use std::io;

use paceline_io::clock::now_ns;

use super::upstream::{Step, Upstream};
use super::{UPSTREAM, Worker};
use crate::table::Offer;

/// An idle connection is closed after so long: servers close theirs after 5 s (uvicorn) to 75 s (nginx), and a request
/// that crosses such a close costs a connect.
const IDLE_NS: i64 = 30_000_000_000;
/// Idle connections that are kept to one server.
const MAX_IDLE: usize = 1_024;
/// A server that has sent an answer that nobody asked for gets so long each request on a connection of its own: the
/// next such answer could cross a request, and be taken for its answer.
const DISTRUST_NS: i64 = 600_000_000_000;

/// What two offers of one server have in common.
pub(super) fn server_of(offer: &Offer) -> String {
    let target = &offer.target;
    let ca = target.ca_pem.as_deref().unwrap_or("");
    format!("{}://{}:{} {:?} {ca}", target.scheme, target.host, target.port, target.addresses)
}

impl Worker {
    /// A connection for an attempt: an idle one, else a new one.
    pub(super) fn connection_to(&mut self, offer: &Offer, fresh: bool) -> io::Result<u64> {
        let server = server_of(offer);
        while !fresh && let Some(token) = self.idle.get_mut(&server).and_then(Vec::pop) {
            if self.is_quiet(token) {
                return Ok(token);
            }
            self.drop_idle(token);
        }
        let addresses = &offer.target.addresses;
        let address = addresses[self.address.get(&server).copied().unwrap_or(0) % addresses.len()];
        let tls = self.shared.tls_to(offer)?;
        let token = self.upstreams.insert(Upstream::open(address, server, tls)?);
        let added =
            self.upstreams.get_mut(token).map(|it| self.poller.add(&it.link.stream, token | UPSTREAM));
        if let Some(Err(error)) = added {
            self.upstreams.remove(token);
            return Err(error);
        }
        Ok(token)
    }

    /// A connect has failed: an offer's server may have another address. `false`: all have been tried.
    pub(super) fn try_next_address(&mut self, token: u64) -> bool {
        let Some(upstream) = self.upstreams.get_mut(token) else { return false };
        let Some(exchange) = upstream.exchange.as_mut() else { return false };
        exchange.addresses_tried += 1;
        if exchange.sent_ns.is_some()
            || exchange.addresses_tried >= exchange.purpose.offer.target.addresses.len()
        {
            return false;
        }
        let next = self.address.entry(upstream.server.clone()).or_default();
        *next = next.wrapping_add(1);
        self.resend(token);
        true
    }

    /// An idle connection is open, and nothing has come on it that nobody asked for.
    fn is_quiet(&mut self, token: u64) -> bool {
        let Some(upstream) = self.upstreams.get_mut(token) else { return false };
        let mut nothing = Vec::new();
        let step = upstream.readable(&mut self.scratch, &self.clock, true, &mut nothing);
        matches!(step, Step::Wait) && upstream.is_reusable()
    }

    /// Keeps a connection for the next attempt, or closes it.
    pub(super) fn release(&mut self, token: u64, reusable: bool) {
        let Some(upstream) = self.upstreams.get_mut(token) else { return };
        let now = now_ns();
        let distrusted = self.distrusted.get(&upstream.server).is_some_and(|until_ns| now < *until_ns);
        if !reusable || distrusted || !upstream.is_reusable() {
            self.upstreams.remove(token);
            return;
        }
        upstream.idle_ns = now;
        upstream.paused = false;
        let idle = self.idle.entry(upstream.server.clone()).or_default();
        idle.push(token);
        if idle.len() > MAX_IDLE {
            let oldest = idle.remove(0);
            self.upstreams.remove(oldest);
        }
    }

    /// A connection that no attempt uses has closed, or says what nobody asked for.
    pub(super) fn drop_idle(&mut self, token: u64) {
        let Some(upstream) = self.upstreams.remove(token) else { return };
        if let Some(idle) = self.idle.get_mut(&upstream.server) {
            idle.retain(|other| *other != token);
        }
        if upstream.unasked {
            self.distrust(upstream.server);
        }
    }

    /// The server answers what nobody asked: none of its connections carries a second request for a while.
    pub(super) fn distrust(&mut self, server: String) {
        for token in self.idle.remove(&server).unwrap_or_default() {
            self.upstreams.remove(token);
        }
        self.distrusted.insert(server, now_ns() + DISTRUST_NS);
    }

    /// Closes connections that nobody has used for long.
    pub(super) fn expire_idle(&mut self, now: i64) {
        for idle in self.idle.values_mut() {
            let old = idle
                .iter()
                .take_while(|token| {
                    self.upstreams.get_mut(**token).is_none_or(|upstream| now - upstream.idle_ns > IDLE_NS)
                })
                .count();
            for token in idle.drain(..old) {
                self.upstreams.remove(token);
            }
        }
        self.idle.retain(|_, idle| !idle.is_empty());
        self.distrusted.retain(|_, until_ns| now < *until_ns);
    }
}
