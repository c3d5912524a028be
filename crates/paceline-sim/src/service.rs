//! From a request to the last byte of its answer.

use paceline_io::clock::{now_ns, unix_ns};
use rand::RngExt;

use crate::config::Override;
use crate::connection::{State, Tail};
use crate::engine::{BLOCK_TOKENS, Job};
use crate::error::ApiError;
use crate::fault::{Fault, FaultKind};
use crate::http::{push_error, push_json};
use crate::inbox::Received;
use crate::request::Call;
use crate::response::{Response, Setup, Verdict};
use crate::routes::{self, Route};
use crate::server::Server;
use crate::timers::Timer;
use crate::truth::{End, TruthRecord};

/// How long a client has to close its side after we have closed ours.
const LINGER_NS: i64 = 1_000_000_000;

impl Server {
    /// Bytes have come while no answer was on its way.
    pub(crate) fn on_request(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        if let Some(error) = connection.inbox.error.take() {
            self.stats.requests += 1;
            self.refuse(token, &routes::unreadable(&error), false, None);
            return;
        }
        if let Some(request) = connection.inbox.take_request() {
            self.stats.requests += 1;
            self.answer(token, &request);
        } else if connection.inbox.take_continue()
            && connection.stream.send(b"HTTP/1.1 100 Continue\r\n\r\n").is_err()
        {
            self.drop_connection(token, End::ClientGone);
        }
    }

    fn answer(&mut self, token: u64, request: &Received) {
        let keep_alive = request.head.keep_alive;
        match routes::route(&self.config, request) {
            Err(error) => self.refuse(token, &error, keep_alive, None),
            Ok(Route::Json(body)) => {
                let mut bytes = Vec::new();
                push_json(&mut bytes, 200, body.as_bytes(), keep_alive, &[]);
                self.reply(token, &bytes, !keep_alive);
            }
            Ok(Route::Call(call)) => {
                if let Err(error) = self.begin(token, request, &call) {
                    self.refuse(token, &error, keep_alive, None);
                }
            }
        }
    }

    /// Starts the answer to a call. An error is a refusal that was not logged.
    fn begin(&mut self, token: u64, request: &Received, call: &Call) -> Result<(), ApiError> {
        let laid = match request.head.header("x-paceline-sim") {
            Some(header) => Some(
                Override::parse(header, &self.config.exact, self.config.mode)
                    .map_err(|error| ApiError::invalid(None, format!("Header x-paceline-sim: {error}")))?,
            ),
            None => None,
        };
        let configured = || self.config.fault.clone();
        let fault = laid.as_ref().and_then(|laid| laid.fault.clone()).unwrap_or_else(configured);
        let fault = self.befalls(fault);
        self.last_number += 1;
        let wide = fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::SplitUtf8);
        let refusal = fault.as_ref().and_then(routes::refusal);
        let response = Response::new(Setup {
            number: self.last_number,
            call,
            mode: self.config.mode,
            exact: laid.as_ref().map_or(&self.config.exact, |laid| &laid.exact),
            engine: &self.config.engine,
            fault,
            text: if wide { self.wide_text.clone() } else { self.plain_text.clone() },
            received_ns: request.first_ns,
            created_s: unix_ns() / 1_000_000_000,
            keep_alive: request.head.keep_alive,
            log_events: self.truth.is_kept(),
        });
        if let Some(error) = refusal {
            self.refuse_call(token, response, &error);
        } else if self.submit(token, &response, call, request.first_ns) {
            self.stats.in_flight += 1;
            if let Some(connection) = self.pool.get_mut(token) {
                connection.state = State::Answering(Box::new(response));
            }
            self.pump(token);
        } else {
            let error = routes::queue_full(self.config.engine.queue_limit);
            self.refuse_call(token, response, &error);
        }
        Ok(())
    }

    fn befalls(&mut self, fault: Option<Fault>) -> Option<Fault> {
        fault.filter(|fault| fault.share >= 1.0 || self.rng.random::<f64>() < fault.share)
    }

    /// Engine mode: hands the request to the model. False: its queue is full.
    fn submit(&mut self, token: u64, response: &Response, call: &Call, received_ns: i64) -> bool {
        let output_tokens = response.output_tokens();
        let Some(model) = self.model.as_mut().filter(|_| output_tokens > 0) else { return true };
        let cache = self.config.engine.prefix_cache;
        let job = Job {
            number: response.number(),
            prompt_tokens: call.prompt.tokens(),
            prefix_hashes: if cache { call.prompt.prefix_hashes(BLOCK_TOKENS) } else { Vec::new() },
            output_tokens,
        };
        let taken = model.submit(job, received_ns).is_ok();
        if taken {
            self.by_number.insert(response.number(), token);
        }
        taken
    }

    fn refuse_call(&mut self, token: u64, response: Response, error: &ApiError) {
        let keep_alive = response.keep_alive();
        let sent_ns = now_ns();
        let record = TruthRecord {
            status: error.status,
            headers_sent_ns: Some(sent_ns),
            ..response.into_truth(sent_ns, Some(End::Error))
        };
        self.refuse(token, error, keep_alive, Some(&record.id));
        self.truth.push(record);
    }

    fn refuse(&mut self, token: u64, error: &ApiError, keep_alive: bool, id: Option<&str>) {
        let mut bytes = Vec::new();
        push_error(&mut bytes, error, keep_alive, id);
        self.reply(token, &bytes, !keep_alive);
    }

    /// Sends a whole response.
    fn reply(&mut self, token: u64, bytes: &[u8], close: bool) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        connection.state = State::Flushing { close };
        if connection.stream.send(bytes).is_err() {
            self.drop_connection(token, End::ClientGone);
        } else {
            self.settle(token);
        }
    }

    /// Goes on with a connection whose socket has room again.
    pub(crate) fn on_writable(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        if !connection.stream.has_pending() {
            return;
        }
        match connection.stream.flush() {
            Err(_) => self.drop_connection(token, End::ClientGone),
            Ok(false) => {}
            Ok(true) if matches!(connection.state, State::Answering(_)) => self.pump(token),
            Ok(true) => self.settle(token),
        }
    }

    /// Sends the next step of an answer when it is due, else sees to it that it will be.
    pub(crate) fn pump(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        if connection.stream.has_pending() {
            // The client reads too slowly. The socket's next writable edge comes back to here, so that no more
            // than one step ever waits in memory.
            return;
        }
        let State::Answering(response) = &mut connection.state else { return };
        let now = now_ns();
        if let Some(tail) = connection.tail.take_if(|tail| tail.due_ns <= now) {
            self.send_tail(token, &tail);
            return;
        }
        let due_ns = match &connection.tail {
            Some(tail) => tail.due_ns,
            None => match response.due_ns() {
                Some(due_ns) => due_ns,
                None => return,
            },
        };
        if due_ns > now {
            self.arm(token, due_ns);
            return;
        }
        self.outbox.bytes.clear();
        let verdict = response.fire(&mut self.outbox);
        let fault = response.kind();
        if self.outbox.bytes.is_empty() {
            self.conclude(token, verdict, now);
            return;
        }
        match connection.deliver(&self.outbox.bytes, fault, verdict, due_ns) {
            Ok(Some(sent_ns)) => self.sent(token, verdict, due_ns, sent_ns),
            Ok(None) => self.rearm(token),
            Err(_) => self.drop_connection(token, End::ClientGone),
        }
    }

    fn send_tail(&mut self, token: u64, tail: &Tail) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        let sent_ns = now_ns();
        match connection.stream.send(&tail.bytes) {
            Ok(_) => self.sent(token, tail.verdict, tail.event_due_ns, sent_ns),
            Err(_) => self.drop_connection(token, End::ClientGone),
        }
    }

    /// A step has left.
    fn sent(&mut self, token: u64, verdict: Verdict, due_ns: i64, sent_ns: i64) {
        if let Some(connection) = self.pool.get_mut(token)
            && let State::Answering(response) = &mut connection.state
        {
            let events = response.mark_sent(sent_ns);
            self.stats.events += events;
            if events > 0 {
                self.late.record(u64::try_from(sent_ns - due_ns).unwrap_or(0));
            }
        }
        self.conclude(token, verdict, sent_ns);
    }

    fn conclude(&mut self, token: u64, verdict: Verdict, at_ns: i64) {
        match verdict {
            Verdict::Continue => self.rearm(token),
            Verdict::Done => {
                let Some(connection) = self.pool.get_mut(token) else { return };
                let state = std::mem::replace(&mut connection.state, State::Idle);
                if let State::Answering(response) = state {
                    connection.state = State::Flushing { close: !response.keep_alive() };
                    self.log(*response, at_ns, None);
                }
                self.settle(token);
            }
            Verdict::Cut | Verdict::Reset => {
                let Some(connection) = self.pool.remove(token) else { return };
                if let State::Answering(response) = connection.state {
                    self.log(*response, at_ns, None);
                }
                if verdict == Verdict::Reset {
                    // The socket is closed either way.
                    let _ = connection.stream.reset();
                }
            }
        }
    }

    /// Sees to the next timer of a connection.
    fn rearm(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        let State::Answering(response) = &connection.state else { return };
        let due_ns = connection.tail.as_ref().map(|tail| tail.due_ns).or_else(|| response.due_ns());
        if let Some(due_ns) = due_ns {
            self.arm(token, due_ns);
        }
    }

    fn arm(&mut self, token: u64, due_ns: i64) {
        if let Some(connection) = self.pool.get_mut(token) {
            connection.timer_id += 1;
            self.timers.arm(Timer { due_ns, token, id: connection.timer_id });
        }
    }

    /// A whole response is written: once all of it has left, the connection is free for the next request, or closed.
    fn settle(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        if connection.stream.has_pending() {
            return;
        }
        match connection.state {
            State::Flushing { close: true } => {
                connection.stream.shutdown();
                connection.state = State::Closing;
                self.arm(token, now_ns() + LINGER_NS);
            }
            State::Flushing { close: false } if connection.inbox.has_extra => {
                self.stats.requests += 1;
                self.refuse(token, &routes::pipelined(), false, None);
            }
            State::Flushing { close: false } => {
                connection.state = State::Idle;
                connection.inbox.next();
            }
            State::Idle | State::Answering(_) | State::Closing => {}
        }
    }

    fn log(&mut self, response: Response, at_ns: i64, end: Option<End>) {
        self.stats.in_flight -= 1;
        if self.by_number.remove(&response.number()).is_some()
            && let Some(model) = &mut self.model
        {
            model.cancel(response.number(), at_ns);
        }
        self.truth.push(response.into_truth(at_ns, end));
    }

    /// The connection is of no more use.
    pub(crate) fn drop_connection(&mut self, token: u64, end: End) {
        let Some(connection) = self.pool.remove(token) else { return };
        if let State::Answering(response) = connection.state {
            if end == End::ClientGone {
                self.stats.client_gone += 1;
            }
            self.log(*response, now_ns(), Some(end));
        }
    }
}
