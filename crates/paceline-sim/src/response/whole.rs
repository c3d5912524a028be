//! Answers that are one body.

use super::{Response, Stage, Verdict, count};
use crate::config::UsageMode;
use crate::error::ApiError;
use crate::fault::FaultKind;
use crate::frames::{ERROR_MESSAGE, Outbox};
use crate::http::push_json;
use crate::request::Protocol;
use crate::shape::EMBEDDING;
use crate::truth::End;

impl Response {
    pub(super) fn fire_whole(&mut self, out: &mut Outbox) -> Verdict {
        self.head_unsent = true;
        let kind = self.kind();
        if kind == Some(FaultKind::NotSse) {
            return self.fire_html(out);
        }
        self.stage = Stage::Over;
        self.tokens_out = self.shape.total;
        let usage = (self.usage_mode != UsageMode::None).then(|| self.usage());
        let mut body = self.frames.whole(self.reason, usage, self.padding(true));
        match kind {
            Some(FaultKind::ErrorEvent) => {
                self.truth.end = End::Error;
                body = fault_error().shaped(self.protocol().error_shape()).body(&self.truth.id).into();
            }
            Some(FaultKind::MalformedJson) => body.truncate(body.len() / 2),
            Some(FaultKind::Cut | FaultKind::Reset) => return self.fire_half(out, &body),
            Some(FaultKind::Empty) => {}
            _ if self.protocol() == Protocol::Embeddings => self.unsent.push((0, EMBEDDING)),
            _ if self.shape.total > 0 => {
                let tokens = 0..self.shape.total;
                self.unsent.push((count(&tokens), self.shape.piece(tokens).kind()));
            }
            _ => {}
        }
        push_json(&mut out.bytes, 200, &body, self.keep_alive, &self.own_headers());
        Verdict::Done
    }

    /// A head and half of the body that it announces; nothing at all when the fault comes before any event.
    fn fire_half(&mut self, out: &mut Outbox, body: &[u8]) -> Verdict {
        let nothing = self.fault.as_ref().is_some_and(|fault| fault.after_events == 0);
        if nothing {
            self.head_unsent = false;
        } else {
            push_json(&mut out.bytes, 200, body, self.keep_alive, &self.own_headers());
            out.bytes.truncate(out.bytes.len() - body.len().div_ceil(2));
        }
        let cut = self.kind() == Some(FaultKind::Cut);
        self.truth.end = if cut { End::Cut } else { End::Reset };
        if cut { Verdict::Cut } else { Verdict::Reset }
    }
}

/// What takes the place of an answer when an error is asked for.
fn fault_error() -> ApiError {
    ApiError::new(500, "server_error", "sim_fault", ERROR_MESSAGE)
}
