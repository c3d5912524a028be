//! How an answer is made from a request.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Response, Source, Stage};
use crate::config::{EngineConfig, ExactConfig, Mode, UsageMode};
use crate::fault::{Fault, FaultKind};
use crate::frames::{Frames, Manner, Served, Usage};
use crate::prefix_cache::Hit;
use crate::rate_limit::Headers;
use crate::request::Call;
use crate::schedule::Schedule;
use crate::shape::Shape;
use crate::text::Text;
use crate::truth::{End, TruthRecord};

/// Room for so many logged events is made at once, so that most answers never have to grow it.
const EVENTS_RESERVED: u64 = 1_024;

/// What an answer is made from.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) number: u64,
    pub(crate) call: &'a Call,
    pub(crate) mode: Mode,
    pub(crate) exact: &'a ExactConfig,
    pub(crate) engine: &'a EngineConfig,
    pub(crate) fault: Option<Fault>,
    /// The stage of the timeline that it belongs to.
    pub(crate) stage: Option<usize>,
    pub(crate) text: Arc<Text>,
    pub(crate) received_ns: i64,
    pub(crate) created_s: i64,
    pub(crate) keep_alive: bool,
    /// The truth log wants each event.
    pub(crate) log_events: bool,
    /// What the cache had of the prompt, as far as it is known.
    pub(crate) hit: Hit,
    /// Further headers.
    pub(crate) headers: Headers,
}

impl Setup<'_> {
    fn in_exact(&self) -> bool {
        self.mode == Mode::Exact
    }

    fn kind(&self) -> Option<FaultKind> {
        self.fault.as_ref().map(|fault| fault.kind)
    }

    fn usage_mode(&self) -> UsageMode {
        match self.kind() {
            Some(FaultKind::WrongUsage) => UsageMode::Wrong,
            _ if self.in_exact() => self.exact.usage,
            _ => UsageMode::Final,
        }
    }

    /// When the head is due.
    fn base_ns(&self) -> i64 {
        let late = self.fault.as_ref().filter(|fault| fault.kind == FaultKind::SlowHeaders);
        let late_us = late.map_or(0, |fault| i64::try_from(fault.delay_us).unwrap_or(0));
        self.received_ns.saturating_add(late_us.saturating_mul(1_000))
    }

    fn source(&self, prompt_tokens: u64) -> Source {
        if self.in_exact() {
            let uncached = prompt_tokens.saturating_sub(self.hit.cached_tokens);
            Source::Exact(Schedule::new(self.exact, uncached))
        } else {
            Source::Engine { ready: VecDeque::new(), complete_ns: None }
        }
    }

    fn frames(&self, id: &str, shape: Shape, prompt_tokens: u64) -> Frames {
        let usage = Usage {
            prompt: prompt_tokens,
            cached: self.hit.cached_tokens,
            written: self.hit.written_tokens,
            ..Usage::default()
        };
        let served =
            if self.in_exact() { Served::of(self.call, self.exact) } else { Served::as_asked(self.call) };
        let manner = Manner {
            call: self.call,
            served: &served,
            id,
            created_s: self.created_s,
            shape,
            token_ids: self.call.token_ids || (self.in_exact() && self.exact.token_ids),
            role_first: !self.in_exact() || self.exact.role_first,
            empty_events: self.empty_events() > 0,
            usage: (self.usage_mode() != UsageMode::None).then_some(usage),
            fault: self.kind(),
        };
        Frames::new(&manner, self.text.clone())
    }

    fn empty_events(&self) -> u64 {
        if self.in_exact() { self.exact.empty_first_events } else { 0 }
    }

    fn truth(&self, id: String, shape: Shape, prompt_tokens: u64) -> TruthRecord {
        let expected = if self.log_events { shape.total.min(EVENTS_RESERVED) } else { 0 };
        TruthRecord {
            id,
            path: self.call.protocol.path(),
            protocol: self.call.protocol,
            status: 200,
            fault: self.kind(),
            stage: self.stage,
            prompt_tokens,
            cached_tokens: self.hit.cached_tokens,
            received_ns: self.received_ns,
            headers_sent_ns: None,
            events: Vec::with_capacity(expected as usize),
            gone_ns: None,
            end_ns: 0,
            end: End::Complete,
        }
    }
}

impl Response {
    pub(crate) fn new(setup: Setup<'_>) -> Self {
        let call = setup.call;
        let (shape, reason) = Shape::of(setup.mode, call, setup.exact, setup.engine, setup.kind());
        let id = call.protocol.id(setup.number);
        let prompt_tokens = call.prompt.tokens();
        Self {
            number: setup.number,
            streaming: call.streaming,
            keep_alive: setup.keep_alive,
            frames: setup.frames(&id, shape, prompt_tokens),
            shape,
            empty_events: setup.empty_events(),
            usage_mode: setup.usage_mode(),
            usage_asked: call.include_usage,
            usage_each: call.usage_each,
            reason,
            base_ns: setup.base_ns(),
            source: setup.source(prompt_tokens),
            stage: if call.streaming { Stage::Head } else { Stage::Tokens },
            tokens_out: 0,
            events_out: 0,
            held: Vec::new(),
            held_events: 0,
            head_unsent: false,
            unsent: Vec::new(),
            log_events: setup.log_events,
            written_tokens: setup.hit.written_tokens,
            truth: setup.truth(id, shape, prompt_tokens),
            headers: setup.headers,
            fault: setup.fault,
        }
    }
}
