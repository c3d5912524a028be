//! From a request to the last byte of its answer.

use std::sync::Arc;

use paceline_io::clock::{now_ns, unix_ns};
use paceline_io::timers::Timer;
use rand::RngExt;

use crate::config::{ExactConfig, Mode, Override};
use crate::connection::{State, Tail};
use crate::engine::Job;
use crate::error::ApiError;
use crate::fault::{Fault, FaultKind};
use crate::http::{BodyFraming, push_error, push_head};
use crate::inbox::Received;
use crate::metrics;
use crate::prefix_cache::{BLOCK_TOKENS, Hit};
use crate::rate_limit::{RateLimiter, Standing};
use crate::request::{Call, Protocol};
use crate::response::{Response, Setup, Verdict};
use crate::routes::{self, Route};
use crate::server::Server;
use crate::shape::Shape;
use crate::text::Text;
use crate::truth::{End, TruthRecord};

/// How long a client has to close its side after we have closed ours.
const LINGER_NS: i64 = 1_000_000_000;
const NS_A_MS: i64 = 1_000_000;
const NS_A_SECOND: i64 = 1_000_000_000;

impl Server {
    /// What an answer says: words, and where the prompt is a known one its answer at their end.
    fn text_for(&self, call: &Call, exact: &ExactConfig, wide: bool) -> Arc<Text> {
        let text = if wide { &self.wide_text } else { &self.plain_text };
        let Some(ending) = self.answers.ending(&call.prompt) else { return text.clone() };
        let words = ending.split_whitespace().count() as u64;
        let from = Shape::last_words(self.config.mode, call, exact, &self.config.engine, words);
        Arc::new(text.with_ending(ending, from))
    }

    /// Bytes have come while no answer was on its way.
    pub(crate) fn on_request(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        if let Some(error) = connection.inbox.error.take() {
            self.stats.requests += 1;
            self.refuse(token, &routes::unreadable(&error), false, None, &[]);
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
            Err(error) => self.refuse(token, &error, keep_alive, None, &[]),
            Ok(Route::Json(body)) => {
                self.reply_with(token, "application/json", body.as_bytes(), keep_alive);
            }
            Ok(Route::Metrics) => {
                let page = metrics::render(self.config.metrics, &self.observe());
                self.reply_with(
                    token,
                    "text/plain; version=0.0.4; charset=utf-8",
                    page.as_bytes(),
                    keep_alive,
                );
            }
            Ok(Route::Call(call)) => {
                if let Err(error) = self.begin(token, request, &call) {
                    let error = error.shaped(call.protocol.error_shape());
                    self.refuse(token, &error, keep_alive, None, &[]);
                }
            }
        }
    }

    /// Starts the answer to a call. An error is a refusal that was not logged.
    fn begin(&mut self, token: u64, request: &Received, call: &Call) -> Result<(), ApiError> {
        let stage = self.enter_stage();
        let laid = match request.head.header("x-paceline-sim") {
            Some(header) => Some(
                Override::parse(header, self.config.exact_in(stage), self.config.mode)
                    .map_err(|error| ApiError::invalid(None, format!("Header x-paceline-sim: {error}")))?,
            ),
            None => None,
        };
        let configured = || self.config.fault_in(stage).cloned();
        let fault = laid.as_ref().and_then(|laid| laid.fault.clone()).unwrap_or_else(configured);
        let fault = self.befalls(fault);
        self.last_number += 1;
        let wide = fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::SplitUtf8);
        let refusal = fault.as_ref().and_then(routes::refusal);
        let exact = laid.map_or_else(|| self.config.exact_in(stage).clone(), |laid| laid.exact);
        let tokens = call.prompt.tokens() + self.longest_answer(call, &exact);
        let standing = self.stand(call, tokens);
        let refusal = refusal.or_else(|| standing.retry_after_s.map(routes::rate_limited));
        let hit = if refusal.is_none() { self.look_up(call, &exact) } else { Hit::default() };
        let response = Response::new(Setup {
            number: self.last_number,
            call,
            mode: self.config.mode,
            exact: &exact,
            engine: &self.config.engine,
            fault,
            stage,
            text: self.text_for(call, &exact, wide),
            received_ns: request.first_ns,
            created_s: unix_ns() / NS_A_SECOND,
            keep_alive: request.head.keep_alive,
            log_events: self.truth.is_kept(),
            hit,
            headers: standing.headers,
        });
        if let Some(error) = refusal {
            self.refuse_call(token, response, error);
        } else if self.submit(token, &response, call, request.first_ns) {
            self.stats.in_flight += 1;
            self.totals.begun += 1;
            if let Some(connection) = self.pool.get_mut(token) {
                connection.gone_ns = None;
                connection.deadline_ns = None;
                connection.state = State::Answering(Box::new(response));
            }
            self.pump(token);
        } else {
            let error = routes::queue_full(self.config.engine.queue_limit);
            self.refuse_call(token, response, error);
        }
        Ok(())
    }

    /// The stage of the timeline that holds now. A stage with another rate limit begins with a full bucket.
    fn enter_stage(&mut self) -> Option<usize> {
        let elapsed_ms = now_ns().saturating_sub(self.started_ns) / NS_A_MS;
        let stage = self.config.stage_at(u64::try_from(elapsed_ms).unwrap_or(0), self.last_number);
        let before = self.config.rate_limit_in(std::mem::replace(&mut self.stage, stage));
        let limit = self.config.rate_limit_in(stage);
        if limit != before {
            self.rate_limiter = RateLimiter::new(&limit);
        }
        stage
    }

    /// Tokens that the answer may come to have, as far as the request and the configuration tell.
    fn longest_answer(&self, call: &Call, exact: &ExactConfig) -> u64 {
        let configured = match self.config.mode {
            _ if call.protocol == Protocol::Embeddings => 0,
            Mode::Exact => exact.output_tokens,
            Mode::Engine => self.config.engine.output_tokens,
        };
        call.max_tokens.unwrap_or(configured)
    }

    fn stand(&mut self, call: &Call, tokens: u64) -> Standing {
        let unix_s = unix_ns() / NS_A_SECOND;
        self.rate_limiter.take(tokens, now_ns(), unix_s, call.protocol.error_shape())
    }

    /// Exact mode: what the cache has of a prompt, or is said to have.
    fn look_up(&mut self, call: &Call, exact: &ExactConfig) -> Hit {
        if self.config.mode == Mode::Engine {
            return Hit::default();
        }
        let prompt_tokens = call.prompt.tokens();
        let hit = if exact.prefix_cache {
            self.prefix_cache.take(&call.prompt.prefix_hashes(BLOCK_TOKENS), prompt_tokens)
        } else {
            Hit { cached_tokens: exact.cached_tokens.min(prompt_tokens), written_tokens: 0 }
        };
        let work = &mut self.exact_work;
        work.prompt_tokens += prompt_tokens;
        work.computed_tokens += prompt_tokens - hit.cached_tokens;
        if exact.prefix_cache || exact.cached_tokens > 0 {
            work.cache_queries += prompt_tokens;
            work.cache_hits += hit.cached_tokens;
        }
        hit
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

    fn refuse_call(&mut self, token: u64, response: Response, error: ApiError) {
        let keep_alive = response.keep_alive();
        let error = error.shaped(response.protocol().error_shape());
        let headers = response.headers().clone();
        let sent_ns = now_ns();
        let record = TruthRecord {
            status: error.status,
            headers_sent_ns: Some(sent_ns),
            ..response.into_truth(sent_ns, Some(End::Error), None)
        };
        self.refuse(token, &error, keep_alive, Some(&record.id), &headers);
        self.truth.push(record);
    }

    fn refuse(
        &mut self,
        token: u64,
        error: &ApiError,
        keep_alive: bool,
        id: Option<&str>,
        more: &[(&'static str, String)],
    ) {
        let own = format!("req-sim-{}", self.stats.requests);
        let mut bytes = Vec::new();
        push_error(&mut bytes, error, keep_alive, id.unwrap_or(&own), more);
        self.reply(token, &bytes, !keep_alive);
    }

    fn reply_with(&mut self, token: u64, content_type: &str, body: &[u8], keep_alive: bool) {
        let id = format!("req-sim-{}", self.stats.requests);
        let mut bytes = Vec::new();
        let framing = BodyFraming::Length(body.len());
        push_head(&mut bytes, 200, content_type, framing, keep_alive, &[("x-request-id", &id)]);
        bytes.extend_from_slice(body);
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
        if connection.deadline_ns.is_some_and(|deadline_ns| deadline_ns <= now_ns()) {
            self.drop_connection(token, End::ClientGone);
            return;
        }
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
            self.rearm(token);
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
            let (events, tokens) = response.mark_sent(sent_ns);
            self.stats.events += events;
            if self.model.is_none() {
                self.totals.generated_tokens += tokens;
            }
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
                let gone_ns = connection.gone_ns;
                if let State::Answering(response) = state {
                    connection.state = State::Flushing { close: !response.keep_alive() || gone_ns.is_some() };
                    self.log(*response, at_ns, None, gone_ns);
                }
                self.settle(token);
            }
            Verdict::Cut | Verdict::Reset => {
                let Some(connection) = self.pool.remove(token) else { return };
                if let State::Answering(response) = connection.state {
                    self.log(*response, at_ns, None, connection.gone_ns);
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
        if let Some(due_ns) = connection.next_ns() {
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
                if connection.gone_ns.is_some() {
                    // Its client has closed its side already.
                    self.pool.remove(token);
                    return;
                }
                connection.state = State::Closing;
                self.arm(token, now_ns() + LINGER_NS);
            }
            State::Flushing { close: false } if connection.inbox.has_extra => {
                self.stats.requests += 1;
                self.refuse(token, &routes::pipelined(), false, None, &[]);
            }
            State::Flushing { close: false } => {
                connection.state = State::Idle;
                connection.inbox.next();
            }
            State::Idle | State::Answering(_) | State::Closing => {}
        }
    }

    fn log(&mut self, response: Response, at_ns: i64, end: Option<End>, gone_ns: Option<i64>) {
        self.stats.in_flight -= 1;
        self.count_end(&response, end);
        if self.by_number.remove(&response.number()).is_some()
            && let Some(model) = &mut self.model
        {
            model.cancel(response.number(), at_ns);
        }
        self.truth.push(response.into_truth(at_ns, end, gone_ns));
    }

    fn count_end(&mut self, response: &Response, end: Option<End>) {
        match end.unwrap_or(response.ended()) {
            End::Complete => {
                let ended = match response.reason() {
                    "length" => &mut self.totals.ended_length,
                    _ => &mut self.totals.ended_stop,
                };
                *ended += 1;
                self.totals.finished_tokens += response.tokens_out();
                self.totals.finished_prompt_tokens += response.prompt_tokens();
            }
            End::ClientGone => self.totals.aborted += 1,
            _ => {}
        }
    }

    /// A client has closed its side while its answer was on the way: it has gone, or so it seems.
    pub(crate) fn on_gone(&mut self, token: u64) {
        let Some(connection) = self.pool.get_mut(token) else { return };
        if connection.gone_ns.is_some() {
            return;
        }
        let now = now_ns();
        connection.gone_ns = Some(now);
        if let State::Flushing { close } = &mut connection.state {
            // The answer is made, and what still waits for room in the socket is sent.
            *close = true;
            return;
        }
        if self.config.ignore_half_close {
            return;
        }
        let delay_us = i64::try_from(self.config.cancel_delay_us).unwrap_or(i64::MAX);
        connection.deadline_ns = Some(now.saturating_add(delay_us.saturating_mul(1_000)));
        // Ends it at once where nothing is to be waited for.
        self.pump(token);
        self.rearm(token);
    }

    /// The connection is of no more use.
    pub(crate) fn drop_connection(&mut self, token: u64, end: End) {
        let Some(connection) = self.pool.remove(token) else { return };
        if let State::Answering(response) = connection.state {
            let now = now_ns();
            let mut gone_ns = connection.gone_ns;
            if end == End::ClientGone {
                self.stats.client_gone += 1;
                gone_ns = gone_ns.or(Some(now));
            }
            self.log(*response, now, Some(end), gone_ns);
        }
    }
}
