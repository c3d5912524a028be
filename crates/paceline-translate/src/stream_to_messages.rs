//! A chat stream as one of the messages protocol.
//!
//! Chat's pieces may come in any order; the messages protocol has one block after the other. A piece of the block that
//! is open leaves at once. One of another block closes the open block, unless that is a call whose arguments are not
//! whole: then it waits for them.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::Untranslatable;
use crate::calls::Completeness;
use crate::fields::{Fields, join};
use crate::finish;
use crate::json::{Json, object, typed};
use crate::response_to_messages::{Spoken, Stop, call_id, speak};
use crate::sse;
use crate::usage::{self, Usage};

/// More calls than any answer has.
const MAX_CALLS: usize = 4096;
/// More text than calls that come in turn have.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// The state between two events.
#[derive(Debug, Default)]
pub(crate) struct ToMessages {
    id: String,
    model: String,
    used: Usage,
    begun: bool,
    /// Why the answer ended, once that is known.
    stop: Option<(&'static str, Option<String>)>,
    ended: bool,
    /// Blocks begun so far, the open one included.
    blocks: i64,
    open: Option<Kind>,
    /// Blocks that wait for the open one, with what has come of them.
    waiting: VecDeque<(Kind, String)>,
    waiting_bytes: usize,
    calls: Vec<Call>,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Thinking,
    Text,
    /// By its place in `calls`.
    Call(usize),
}

#[derive(Debug)]
struct Call {
    /// Chat's number of it.
    index: i64,
    id: String,
    name: String,
    arguments: Completeness,
    closed: bool,
}

impl ToMessages {
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.is_some() || self.ended
    }

    pub(crate) fn event(&mut self, event: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        if event.reports_error() {
            return Ok(());
        }
        if !self.begun {
            self.id = event.text("id", "")?.unwrap_or_default().into_owned();
            self.model = event.text("model", "")?.unwrap_or_default().into_owned();
        }
        let usage = usage::of(event);
        if let Some(usage) = &usage {
            self.used.chat(usage);
        }
        let choices = event.list("choices", "")?;
        for raw in &choices {
            let choice = Fields::of(raw, "choices")?;
            // Only one answer was asked for.
            if choice.tokens("index").unwrap_or(0) == 0 {
                self.choice(&choice, out)?;
            }
        }
        // The usage comes after the finish reason, in a chunk of its own.
        if usage.is_some() && choices.is_empty() && self.stop.is_some() {
            self.end(out);
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Fields<'_>, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        let at = "choices[0]";
        if choice.reports_error() {
            return Ok(());
        }
        if self.waiting_bytes > MAX_WAITING_BYTES {
            return Err(Untranslatable::at(at, "too much of the answer waits for the end of a call"));
        }
        self.begin(out);
        let delta = choice.object("delta", at)?.unwrap_or_default();
        let at_delta = join(at, "delta");
        let Spoken { thought, said } = speak(&delta, &at_delta)?;
        self.piece(Kind::Thinking, &thought, out);
        for text in said {
            self.piece(Kind::Text, &text, out);
        }
        for (i, raw) in delta.list("tool_calls", &at_delta)?.into_iter().enumerate() {
            let at = format!("{at_delta}.tool_calls[{i}]");
            self.call(&Fields::of(raw, &at)?, &at, out)?;
        }
        if let Some(reason) = choice.text("finish_reason", at)?.filter(|reason| !reason.is_empty())
            && !finish::is_error(&reason)
        {
            let Stop { reason, sequence } = Stop::of(choice, &reason, !self.calls.is_empty());
            self.stop = Some((reason, sequence.map(Cow::into_owned)));
            self.close_all(out);
        }
        Ok(())
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.begun {
            return;
        }
        self.begun = true;
        let message = typed(
            "message",
            [
                ("id", (&*self.id).into()),
                ("role", "assistant".into()),
                ("model", (&*self.model).into()),
                ("content", Vec::new().into()),
                ("stop_reason", Json::Null),
                ("stop_sequence", Json::Null),
                ("usage", self.used.to_messages()),
            ],
        );
        sse::named("message_start", vec![("message", message)], out);
    }

    fn call(&mut self, call: &Fields<'_>, at: &str, out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        let at_function = join(at, "function");
        let function = call.object("function", at)?.unwrap_or_default();
        let index = call.tokens("index").unwrap_or(0);
        let id = call.text("id", at)?.filter(|id| !id.is_empty());
        let name = function.text("name", &at_function)?.filter(|name| !name.is_empty());
        let arguments = function.text("arguments", &at_function)?.unwrap_or_default();

        let known = self.calls.iter().rposition(|call| call.index == index);
        // Some servers give every call the same number.
        let other = |at: &usize| match (&id, &name) {
            (Some(id), Some(_)) => self.calls.get(*at).is_some_and(|known| known.id != **id),
            _ => false,
        };
        let number = match known.filter(|at| !other(at)) {
            Some(number) => number,
            None => {
                let name = name.ok_or_else(|| {
                    Untranslatable::at(&join(&at_function, "name"), "a call has to begin with its name")
                })?;
                let number = self.calls.len();
                if number == MAX_CALLS {
                    return Err(Untranslatable::at(
                        at,
                        &format!("the answer has more than {MAX_CALLS} calls"),
                    ));
                }
                self.calls.push(Call {
                    index,
                    id: id.map_or_else(String::new, Cow::into_owned),
                    name: name.into_owned(),
                    arguments: Completeness::default(),
                    closed: false,
                });
                self.reach(Kind::Call(number), out);
                number
            }
        };
        if self.calls.get(number).is_some_and(|call| call.closed) {
            if arguments.trim().is_empty() {
                return Ok(());
            }
            let why = "the arguments of a call go on after their end";
            return Err(Untranslatable::at(&join(&at_function, "arguments"), why));
        }
        if let Some(call) = self.calls.get_mut(number) {
            call.arguments.feed(&arguments);
        }
        self.piece(Kind::Call(number), &arguments, out);
        self.advance(out);
        Ok(())
    }

    /// Sends a piece of a block, or keeps it until its turn has come.
    fn piece(&mut self, kind: Kind, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        if self.open != Some(kind) {
            self.reach(kind, out);
        }
        if self.open == Some(kind) {
            self.delta(kind, text, out);
            return;
        }
        let found = match kind {
            Kind::Call(_) => self.waiting.iter_mut().find(|(waiting, _)| *waiting == kind),
            // Text after a call is another block than text before it.
            _ => self.waiting.back_mut().filter(|(waiting, _)| *waiting == kind),
        };
        self.waiting_bytes += text.len();
        match found {
            Some((_, kept)) => kept.push_str(text),
            None => self.waiting.push_back((kind, text.to_owned())),
        }
    }

    /// Opens the block if it can be, and else puts it among those that wait.
    fn reach(&mut self, kind: Kind, out: &mut Vec<u8>) {
        self.advance(out);
        if self.open == Some(kind) || self.waiting.iter().any(|(waiting, _)| *waiting == kind) {
            return;
        }
        if self.waiting.is_empty() && self.may_close() {
            self.close(out);
            self.start(kind, out);
        } else {
            self.waiting.push_back((kind, String::new()));
        }
    }

    /// As long as the open block is whole, those that wait take their turn.
    fn advance(&mut self, out: &mut Vec<u8>) {
        while self.may_close()
            && let Some((kind, kept)) = self.waiting.pop_front()
        {
            self.waiting_bytes -= kept.len();
            self.close(out);
            self.start(kind, out);
            self.delta(kind, &kept, out);
        }
    }

    /// Nothing is open, or nothing of the open block has to be waited for.
    fn may_close(&self) -> bool {
        match self.open {
            Some(Kind::Call(number)) => {
                self.calls.get(number).is_none_or(|call| call.arguments.is_complete())
            }
            _ => true,
        }
    }

    fn close_all(&mut self, out: &mut Vec<u8>) {
        self.close(out);
        while let Some((kind, kept)) = self.waiting.pop_front() {
            self.waiting_bytes -= kept.len();
            self.start(kind, out);
            self.delta(kind, &kept, out);
            self.close(out);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(kind) = self.open.take() else { return };
        if let Kind::Call(number) = kind
            && let Some(call) = self.calls.get_mut(number)
        {
            call.closed = true;
        }
        sse::named("content_block_stop", vec![("index", (self.blocks - 1).into())], out);
    }

    fn start(&mut self, kind: Kind, out: &mut Vec<u8>) {
        let index = self.blocks;
        self.blocks += 1;
        self.open = Some(kind);
        let block = match kind {
            Kind::Thinking => typed("thinking", [("thinking", "".into()), ("signature", "".into())]),
            Kind::Text => typed("text", [("text", "".into())]),
            Kind::Call(number) => {
                let Some(call) = self.calls.get(number) else { return };
                let given = Some(Cow::Borrowed(&*call.id));
                let id = call_id(given, &self.id, number);
                let name = (&*call.name).into();
                typed("tool_use", [("id", id.into()), ("name", name), ("input", Json::Object(Vec::new()))])
            }
        };
        sse::named("content_block_start", vec![("index", index.into()), ("content_block", block)], out);
    }

    fn delta(&self, kind: Kind, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let delta = match kind {
            Kind::Thinking => typed("thinking_delta", [("thinking", text.into())]),
            Kind::Text => typed("text_delta", [("text", text.into())]),
            Kind::Call(_) => typed("input_json_delta", [("partial_json", text.into())]),
        };
        let fields = vec![("index", (self.blocks - 1).into()), ("delta", delta)];
        sse::named("content_block_delta", fields, out);
    }

    /// The end: how the answer stopped, the whole usage, and the end marker.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        self.begin(out);
        self.close_all(out);
        let calls = !self.calls.is_empty();
        let (reason, sequence) =
            self.stop.take().unwrap_or_else(|| (finish::to_messages("stop", calls), None));
        let sequence = sequence.map_or(Json::Null, Json::from);
        let delta = object([("stop_reason", reason.into()), ("stop_sequence", sequence)]);
        sse::named("message_delta", vec![("delta", delta), ("usage", self.used.to_messages())], out);
        sse::named("message_stop", Vec::new(), out);
        self.ended = true;
    }
}
