//! The clients' side: bytes in, requests out; and what becomes of a connection afterwards.

use std::sync::atomic::Ordering;

use paceline_io::clock::{now_ns, unix_ns};
use paceline_io::http1::{Head, HttpError};
use paceline_io::stream::ReadEnd;
use paceline_wire::Protocol;

use super::Worker;
use super::begin::presented_key;
use super::client::{Client, State};
use super::finish::Refused;
use super::head;
use super::inbox::{InboxError, Received};
use super::pages;
use crate::pages::Page;
use crate::refusal::Refusal;

/// The protocol of a path, and whether it is one.
pub(super) fn protocol_of(path: &str) -> Option<Protocol> {
    let own = path.strip_prefix("/v1")?;
    Protocol::ALL.into_iter().find(|protocol| protocol.path() == own)
}

/// The path of a target, without its query; `/api/v1/...` is `/v1/...`. A target may be a whole URL, as proxies are sent.
pub(super) fn path_of(target: &str) -> (&str, &str) {
    let after_scheme = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://"));
    let target = after_scheme.map_or(target, |rest| rest.find('/').map_or("/", |at| &rest[at..]));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.strip_prefix("/api").filter(|rest| rest.starts_with("/v1/")).unwrap_or(path);
    (path, query)
}

impl Worker {
    pub(super) fn client_readable(&mut self, token: u64, hangup: bool) {
        let limits = self.shared.settings.clients;
        let Some(client) = self.clients.get_mut(token) else { return };
        let Client { stream, inbox, state, .. } = client;
        let busy = !matches!(state, State::Receiving);
        let closing = matches!(state, State::Closing);
        let end = stream.read(&mut self.scratch, &self.clock, hangup, &mut |bytes, arrival| {
            if !closing {
                inbox.take(bytes, arrival.ns, busy, &limits);
            }
        });
        client.unread = matches!(end, Ok(ReadEnd::More));
        if client.unread {
            self.unread.push(token);
        }
        // A TLS handshake has something to say.
        let had_pending = client.stream.has_pending();
        let flushed = !had_pending || client.flush(now_ns()).is_ok();
        if !flushed || !matches!(end, Ok(ReadEnd::Drained | ReadEnd::More)) {
            return self.client_gone(token);
        }
        if busy && !closing && client.inbox.error.is_some() {
            return self.client_gone(token);
        }
        if !busy {
            self.on_request(token);
        } else if had_pending {
            // No writable edge may tell of what has just left.
            self.has_flushed(token);
        }
    }

    /// Takes the next request of a client, if it is whole.
    pub(super) fn on_request(&mut self, token: u64) {
        let limits = self.shared.settings.clients;
        let Some(client) = self.clients.get_mut(token) else { return };
        if !matches!(client.state, State::Receiving) {
            return;
        }
        if let Some(error) = client.inbox.error.take() {
            let refusal = match error {
                InboxError::BodyTooLarge => Refusal::body_too_large(limits.body_bytes),
                InboxError::Http(HttpError::HeadTooLarge) => Refusal::head_too_large(limits.head_bytes),
                InboxError::Http(error) => Refusal::invalid_http(&error.to_string()),
                InboxError::TooEarly => Refusal::invalid_http("it sends on before its answer"),
            };
            return self.turn_away(token, &refusal);
        }
        // Who has no key must not be able to fill the memory with bodies.
        if let Some(head) = client.inbox.take_fresh_head()
            && !client.admin
            && let Some(protocol) = protocol_of(path_of(&head.target).0)
        {
            let unix_s = unix_ns().div_euclid(1_000_000_000);
            let let_in = self.shared.accounts.authenticate(&self.shared.table(), presented_key(head), unix_s);
            if let Err(refusal) = let_in {
                self.record_refused(&Refused {
                    id: "",
                    protocol,
                    received_ns: now_ns(),
                    app: (None, None),
                    ask: None,
                    key: None,
                    refusal: &refusal,
                });
                return self.turn_away(token, &refusal);
            }
        }
        if client.inbox.take_continue() && client.send(b"HTTP/1.1 100 Continue\r\n\r\n", now_ns()).is_err() {
            return self.client_gone(token);
        }
        match client.inbox.take_request() {
            Some(received) => self.route_request(token, received),
            None => self.arm_client(token),
        }
    }

    fn route_request(&mut self, token: u64, received: Received) {
        let admin = self.clients.get_mut(token).is_some_and(|client| client.admin);
        let target = received.head.target.clone();
        let (path, query) = path_of(&target);
        match protocol_of(path).filter(|_| !admin) {
            Some(protocol) if received.head.method == "POST" => self.begin(token, protocol, received),
            Some(protocol) => {
                let refusal = Refusal::method_not_allowed(&received.head.method, path, "POST");
                let mut headers = refusal.headers();
                headers.push(("allow", "POST".to_owned()));
                let (content_type, body) = ("application/json", refusal.body(protocol, ""));
                let page = Page { status: refusal.status, content_type, headers, body };
                self.respond(token, &page, &received.head);
            }
            None => {
                let page = pages::page(&self.shared, &received.head, path, query, admin);
                self.respond(token, &page, &received.head);
            }
        }
    }

    /// Sends a page, and goes on with the connection.
    fn respond(&mut self, token: u64, page: &Page, asked: &Head) {
        let keep_alive = asked.keep_alive && !self.shared.is_draining();
        let Page { status, content_type, headers, body } = page;
        let mut response = head::whole_response(*status, content_type, None, headers, keep_alive, body);
        // A body would be taken for the next response.
        if asked.method == "HEAD" {
            response = head::without_body(response);
        }
        self.send_last(token, &response, !keep_alive);
    }

    /// Refuses what never became a request in flight.
    pub(super) fn refuse(
        &mut self,
        token: u64,
        protocol: Protocol,
        id: &str,
        refusal: &Refusal,
        keep_alive: bool,
    ) {
        let keep_alive = keep_alive && !self.shared.is_draining();
        let body = refusal.body(protocol, id);
        let id = Some(id).filter(|id| !id.is_empty());
        let response = head::whole_response(
            refusal.status,
            "application/json",
            id,
            &refusal.headers(),
            keep_alive,
            &body,
        );
        self.send_last(token, &response, !keep_alive);
    }

    /// Refuses a request that could not be read to its end: the connection is of no more use.
    pub(super) fn turn_away(&mut self, token: u64, refusal: &Refusal) {
        let target = self
            .clients
            .get_mut(token)
            .and_then(|client| client.inbox.head().map(|head| head.target.clone()))
            .unwrap_or_default();
        let protocol = protocol_of(path_of(&target).0).unwrap_or(Protocol::OpenaiChat);
        self.refuse(token, protocol, "", refusal, false);
    }

    /// Sends the last bytes of an answer. `close`: and the connection ends.
    pub(super) fn send_last(&mut self, token: u64, bytes: &[u8], close: bool) {
        let now = now_ns();
        let Some(client) = self.clients.get_mut(token) else { return };
        client.enter(State::Flushing { close }, now);
        if client.send(bytes, now).is_err() {
            return self.remove_client(token);
        }
        self.flushed(token);
    }

    pub(super) fn client_writable(&mut self, token: u64) {
        let now = now_ns();
        let Some(client) = self.clients.get_mut(token) else { return };
        if !client.stream.has_pending() {
            return;
        }
        if client.flush(now).is_err() {
            return self.client_gone(token);
        }
        self.has_flushed(token);
    }

    /// Some of what waited has left.
    fn has_flushed(&mut self, token: u64) {
        let busy = self.clients.get_mut(token).is_some_and(|client| matches!(client.state, State::Busy(_)));
        if busy {
            self.resume_upstream(token);
            return self.arm_client(token);
        }
        self.flushed(token);
    }

    /// Once an answer has left whole: the next request, or the end.
    fn flushed(&mut self, token: u64) {
        let now = now_ns();
        let Some(client) = self.clients.get_mut(token) else { return };
        match client.state {
            State::Flushing { close } if !client.stream.has_pending() => {
                if close {
                    client.stream.shutdown();
                    client.enter(State::Closing, now);
                } else {
                    client.enter(State::Receiving, now);
                    client.inbox.next(now, &self.shared.settings.clients);
                    self.again.push(token);
                }
            }
            _ => {}
        }
        self.arm_client(token);
    }

    /// The client's slowness held its upstream up: that is read again.
    fn resume_upstream(&mut self, token: u64) {
        let limit = self.shared.settings.clients.pending_bytes;
        let Some(client) = self.clients.get_mut(token) else { return };
        if client.stream.backlog_exceeds(limit / 2) {
            return;
        }
        let Some(upstream_token) = client.flight().and_then(|flight| flight.committed) else { return };
        if let Some(upstream) = self.upstreams.get_mut(upstream_token)
            && std::mem::take(&mut upstream.paused)
        {
            if let Some(exchange) = upstream.exchange.as_mut() {
                exchange.last_arrival_ns = now_ns();
            }
            upstream.unread = true;
            self.unread.push(upstream_token | super::UPSTREAM);
            self.arm_upstream(upstream_token);
        }
    }

    /// The client has left, or must. What it asked for is cancelled and accounted.
    pub(super) fn client_gone(&mut self, token: u64) {
        let Some(client) = self.clients.get_mut(token) else { return };
        let state = std::mem::replace(&mut client.state, State::Closing);
        self.remove_client(token);
        if let State::Busy(flight) = state {
            self.abandon(flight);
        }
    }

    pub(super) fn remove_client(&mut self, token: u64) {
        if self.clients.remove(token).is_some() {
            self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Draining: connections without a request end.
    pub(super) fn close_idle_clients(&mut self) {
        let idle: Vec<u64> = self
            .clients
            .tokens()
            .filter(|token| {
                self.clients
                    .get(*token)
                    .is_some_and(|client| matches!(client.state, State::Receiving) && !client.admin)
            })
            .collect();
        for token in idle {
            self.client_gone(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_api_and_the_query_change_nothing() {
        for target in [
            "/v1/chat/completions",
            "/api/v1/chat/completions",
            "/v1/chat/completions?beta=true",
            "http://gateway:8080/v1/chat/completions",
            "https://gateway/api/v1/chat/completions?a=http://b",
        ] {
            assert_eq!(protocol_of(path_of(target).0), Some(Protocol::OpenaiChat), "{target}");
        }
        assert_eq!(path_of("/v1/generation?id=a"), ("/v1/generation", "id=a"));
        assert_eq!(path_of("/apiv1/x"), ("/apiv1/x", ""));
        assert_eq!(path_of("http://gateway"), ("/", ""));
        assert_eq!(protocol_of("/v1/chat/completions/"), None);
    }
}
