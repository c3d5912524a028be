//! One answer on its way: what leaves next, when, and with what bytes. It knows neither sockets nor clocks, so that
//! every byte and instant of it can be tested.

mod setup;
mod whole;

use std::collections::VecDeque;
use std::ops::Range;

use crate::config::UsageMode;
use crate::fault::{Fault, FaultKind};
use crate::frames::{Ending, Frames, HTML_BODY, Outbox, Usage};
use crate::http::{BodyFraming, id_headers, push_head};
use crate::prefix_cache::Hit;
use crate::rate_limit::Headers;
use crate::request::Protocol;
use crate::schedule::Schedule;
use crate::shape::Shape;
use crate::truth::{End, SentEvent, TruthRecord};

pub(crate) use setup::Setup;

/// What to do once the bytes of a step have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is more to come.
    Continue,
    /// The answer is over.
    Done,
    /// Close the connection.
    Cut,
    /// Reset the connection.
    Reset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Empty(u64),
    Tokens,
    Over,
}

/// Where the tokens come from.
#[derive(Debug)]
enum Source {
    Exact(Schedule),
    /// Due instants and numbers of tokens that the model has let come, and the instant of the last ones.
    Engine {
        ready: VecDeque<(i64, u64)>,
        complete_ns: Option<i64>,
    },
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    number: u64,
    streaming: bool,
    keep_alive: bool,
    frames: Frames,
    shape: Shape,
    headers: Headers,
    empty_events: u64,
    usage_mode: UsageMode,
    usage_asked: bool,
    usage_each: bool,
    reason: &'static str,
    fault: Option<Fault>,
    /// The head is due then, and the schedule counts from there.
    base_ns: i64,
    source: Source,
    stage: Stage,
    tokens_out: u64,
    events_out: u64,
    /// Coalesced events that wait for their write.
    held: Vec<u8>,
    held_events: u32,
    head_unsent: bool,
    unsent: Vec<(u32, u8)>,
    log_events: bool,
    written_tokens: u64,
    truth: TruthRecord,
}

impl Response {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// How many tokens the engine model has to make for it.
    pub(crate) fn output_tokens(&self) -> u64 {
        match self.protocol() {
            _ if self.kind() == Some(FaultKind::NotSse) => 0,
            // Its prefill ends with what would be a token.
            Protocol::Embeddings => 1,
            _ => self.shape.total,
        }
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.truth.protocol
    }

    /// Further headers that it has, or would have.
    pub(crate) fn headers(&self) -> &Headers {
        &self.headers
    }

    pub(crate) fn prompt_tokens(&self) -> u64 {
        self.truth.prompt_tokens
    }

    /// Tokens that were given out.
    pub(crate) fn tokens_out(&self) -> u64 {
        self.tokens_out
    }

    /// Why it ends: `stop`, `length` or `tool_calls`.
    pub(crate) fn reason(&self) -> &'static str {
        self.reason
    }

    /// How it has ended by itself.
    pub(crate) fn ended(&self) -> End {
        self.truth.end
    }

    pub(crate) fn kind(&self) -> Option<FaultKind> {
        self.fault.as_ref().map(|fault| fault.kind)
    }

    /// The engine model has made tokens.
    pub(crate) fn provide(&mut self, due_ns: i64, tokens: u64, hit: Hit, last: bool) {
        self.truth.cached_tokens = hit.cached_tokens;
        self.written_tokens = hit.written_tokens;
        if let Source::Engine { ready, complete_ns } = &mut self.source {
            ready.push_back((due_ns, tokens));
            if last {
                *complete_ns = Some(due_ns);
            }
        }
    }

    /// When the next step is due; none: never, or not before the model makes more.
    pub(crate) fn due_ns(&self) -> Option<i64> {
        match self.stage {
            Stage::Over => None,
            Stage::Head => Some(self.base_ns),
            Stage::Empty(index) => match &self.source {
                Source::Exact(schedule) => {
                    Some(self.base_ns.saturating_add(schedule.empty_ns(index, self.empty_events)))
                }
                Source::Engine { .. } => Some(self.base_ns),
            },
            Stage::Tokens if self.is_stalled() => None,
            Stage::Tokens if self.streaming => self.tokens_due_ns(),
            Stage::Tokens => self.whole_due_ns(),
        }
    }

    /// Writes the step that is due to `out`. Nothing in `out` with [`Verdict::Continue`]: it is held for a later
    /// write.
    pub(crate) fn fire(&mut self, out: &mut Outbox) -> Verdict {
        match self.stage {
            Stage::Head => self.fire_head(out),
            Stage::Empty(index) => {
                self.frames.empty(out);
                self.stage = self.after_empty(index + 1);
                Verdict::Continue
            }
            Stage::Tokens if self.streaming => self.fire_tokens(out),
            Stage::Tokens => self.fire_whole(out),
            Stage::Over => Verdict::Done,
        }
    }

    /// The bytes of the last step have left at `sent_ns`. Returns how many token events and tokens were among them.
    pub(crate) fn mark_sent(&mut self, sent_ns: i64) -> (u64, u64) {
        if self.head_unsent {
            self.head_unsent = false;
            self.truth.headers_sent_ns = Some(sent_ns);
        }
        let events = self.unsent.len() as u64;
        let tokens = self.unsent.iter().map(|(tokens, _)| u64::from(*tokens)).sum();
        if self.log_events {
            let sent = self.unsent.drain(..).map(|(tokens, kind)| SentEvent { sent_ns, tokens, kind });
            self.truth.events.extend(sent);
        } else {
            self.unsent.clear();
        }
        (events, tokens)
    }

    /// What is to be logged of it. `end`: what ended it, unless it ended by itself. `gone_ns`: when its client was
    /// seen to go.
    pub(crate) fn into_truth(self, end_ns: i64, end: Option<End>, gone_ns: Option<i64>) -> TruthRecord {
        let mut truth = self.truth;
        truth.gone_ns = gone_ns;
        truth.end_ns = end_ns;
        truth.end = end.unwrap_or(truth.end);
        truth
    }

    fn tokens_due_ns(&self) -> Option<i64> {
        let due_ns = match &self.source {
            Source::Exact(schedule) => {
                return Some(self.base_ns.saturating_add(schedule.event_ns(self.events_out)));
            }
            Source::Engine { ready, complete_ns } => match ready.front() {
                Some((due_ns, _)) => *due_ns,
                None if self.tokens_out >= self.shape.total => complete_ns.unwrap_or(self.base_ns),
                None => return None,
            },
        };
        Some(due_ns.max(self.base_ns))
    }

    fn whole_due_ns(&self) -> Option<i64> {
        let due_ns = match &self.source {
            Source::Exact(schedule) => {
                let events = self.shape.total.div_ceil(schedule.tokens_per_event());
                self.base_ns.saturating_add(schedule.event_ns(events.saturating_sub(1)))
            }
            Source::Engine { .. } if self.output_tokens() == 0 => self.base_ns,
            Source::Engine { complete_ns, .. } => (*complete_ns)?.max(self.base_ns),
        };
        Some(due_ns)
    }

    /// The place of a fault is reached: after so many events, or after the last one when there are fewer.
    fn at_fault(&self) -> bool {
        self.fault
            .as_ref()
            .is_some_and(|fault| self.events_out >= fault.after_events || self.tokens_out >= self.shape.total)
    }

    fn is_stalled(&self) -> bool {
        self.kind() == Some(FaultKind::Stall) && (!self.streaming || self.at_fault())
    }

    /// The headers that only this answer has.
    fn own_headers(&self) -> Vec<(&str, &str)> {
        let mut headers = id_headers(self.protocol().error_shape(), &self.truth.id);
        headers.extend(self.headers.iter().map(|(name, value)| (*name, value.as_str())));
        headers
    }

    fn fire_head(&mut self, out: &mut Outbox) -> Verdict {
        self.head_unsent = true;
        if self.kind() == Some(FaultKind::NotSse) {
            return self.fire_html(out);
        }
        let content_type = "text/event-stream; charset=utf-8";
        let headers = self.own_headers();
        push_head(&mut out.bytes, 200, content_type, BodyFraming::Chunked, self.keep_alive, &headers);
        self.frames.opening(out);
        self.stage = self.after_empty(0);
        Verdict::Continue
    }

    fn fire_html(&mut self, out: &mut Outbox) -> Verdict {
        let framing = BodyFraming::Length(HTML_BODY.len());
        let headers = self.own_headers();
        push_head(&mut out.bytes, 200, "text/html; charset=utf-8", framing, self.keep_alive, &headers);
        out.bytes.extend_from_slice(HTML_BODY.as_bytes());
        self.stage = Stage::Over;
        Verdict::Done
    }

    fn after_empty(&self, index: u64) -> Stage {
        if index < self.empty_events { Stage::Empty(index) } else { Stage::Tokens }
    }

    fn next_tokens(&mut self) -> Range<u64> {
        let tokens = match &mut self.source {
            Source::Exact(schedule) => schedule.tokens_per_event(),
            Source::Engine { ready, .. } => ready.pop_front().map_or(0, |(_, tokens)| tokens),
        };
        let first = self.tokens_out;
        self.tokens_out = first.saturating_add(tokens).min(self.shape.total);
        first..self.tokens_out
    }

    fn fire_tokens(&mut self, out: &mut Outbox) -> Verdict {
        if self.interrupts() && self.at_fault() {
            return self.interrupt(out);
        }
        out.bytes.append(&mut self.held);
        let tokens = self.next_tokens();
        let last = self.tokens_out >= self.shape.total;
        if !tokens.is_empty() {
            self.write_event(out, tokens, last);
        }
        if last && !self.interrupts() {
            self.write_end(out);
            self.stage = Stage::Over;
            return Verdict::Done;
        }
        if let Some(fault) = &self.fault
            && fault.kind == FaultKind::Coalesce
        {
            self.held_events += 1;
            if self.held_events < fault.events {
                std::mem::swap(&mut self.held, &mut out.bytes);
            } else {
                self.held_events = 0;
            }
        }
        Verdict::Continue
    }

    fn write_event(&mut self, out: &mut Outbox, tokens: Range<u64>, last: bool) {
        let piece = self.shape.piece(tokens.clone());
        let here = self.fault.as_ref().is_some_and(|fault| {
            self.events_out == fault.after_events || (last && self.events_out < fault.after_events)
        });
        self.events_out += 1;
        let kind = self.kind();
        if here && kind == Some(FaultKind::MalformedJson) {
            self.frames.broken(out, &piece);
            return;
        }
        let padding = self.padding(here);
        let each = self.usage_mode == UsageMode::Each || self.usage_each;
        let usage = (each && self.usage_mode != UsageMode::None).then(|| self.usage());
        self.frames.tokens(out, &piece, usage, padding);
        if self.frames.parts_kinds() {
            self.unsent.extend(piece.parts().map(|(part, tokens)| (count(&tokens), part.bit())));
        } else {
            self.unsent.push((count(&tokens), piece.kind()));
        }
    }

    fn write_end(&mut self, out: &mut Outbox) {
        let ending = Ending {
            reason: self.reason,
            usage: (self.usage_mode != UsageMode::None).then(|| self.usage()),
            usage_each: self.usage_mode == UsageMode::Each || self.usage_each,
            usage_asked: self.usage_asked,
            marker: self.kind() != Some(FaultKind::NoEndMarker),
        };
        self.frames.end(out, &ending);
        out.end_of_body();
    }

    /// The fault takes the place of what was to come.
    fn interrupts(&self) -> bool {
        matches!(
            self.kind(),
            Some(
                FaultKind::ErrorEvent
                    | FaultKind::Cut
                    | FaultKind::Reset
                    | FaultKind::Stall
                    | FaultKind::EndEarly
            )
        )
    }

    fn interrupt(&mut self, out: &mut Outbox) -> Verdict {
        self.stage = Stage::Over;
        match self.kind() {
            Some(FaultKind::Cut) => {
                self.truth.end = End::Cut;
                return Verdict::Cut;
            }
            Some(FaultKind::Reset) => {
                self.truth.end = End::Reset;
                return Verdict::Reset;
            }
            Some(FaultKind::ErrorEvent) => {
                self.truth.end = End::Error;
                self.frames.error(out);
            }
            _ => {}
        }
        out.end_of_body();
        Verdict::Done
    }

    fn padding(&self, here: bool) -> usize {
        match &self.fault {
            Some(fault) if here && fault.kind == FaultKind::HugeEvent => fault.bytes,
            _ => 0,
        }
    }

    /// The usage so far.
    fn usage(&self) -> Usage {
        let wrong = self.usage_mode == UsageMode::Wrong;
        Usage {
            prompt: self.truth.prompt_tokens,
            cached: self.truth.cached_tokens,
            written: self.written_tokens,
            completion: if wrong { self.tokens_out * 2 + 7 } else { self.tokens_out },
            reasoning: self.shape.reasoning.min(self.tokens_out),
        }
    }
}

fn count(tokens: &Range<u64>) -> u32 {
    u32::try_from(tokens.end - tokens.start).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
