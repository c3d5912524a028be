//! OpenAI's Responses: items that are added, filled and done, each event named and numbered.

use std::ops::Range;
use std::sync::Arc;

use super::pieces::{TOOL_NAME, push, push_arguments, push_padding};
use super::sse::{Outbox, Style};
use super::{ERROR_MESSAGE, Ending, Manner, Usage};
use crate::shape::{Part, Piece, Shape};
use crate::text::Text;

/// An answer.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The number that ids end in, `sim-17`.
    suffix: String,
    text: Arc<Text>,
    shape: Shape,
    style: Style,
    /// The response object's fields that never change.
    head: String,
    /// Reasoning is shown as a summary.
    summary: bool,
    /// The opening events leave with the head, not with the first token.
    opens_early: bool,
    /// The first item is added before its first token.
    adds_early: bool,
    /// The number of the next event.
    sequence: u64,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    InProgress,
    Completed,
    Incomplete,
    Failed,
}

impl Status {
    /// By the finish reason.
    fn of(reason: &str) -> Self {
        if reason == "length" { Self::Incomplete } else { Self::Completed }
    }

    fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        }
    }
}

impl Frames {
    pub(super) fn new(manner: &Manner<'_>, text: Arc<Text>) -> Self {
        let call = manner.call;
        let model = serde_json::Value::from(manner.served.model.as_str());
        let tier = manner.served.tier_field();
        let limit = call.max_tokens.map_or_else(|| "null".to_owned(), |limit| limit.to_string());
        let summary = if call.reasoning_summary { r#""auto""# } else { "null" };
        let head = format!(
            r#""id":"{}","object":"response","created_at":{},"background":false,"instructions":null,"max_output_tokens":{limit},"metadata":{{}},"model":{model},"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{{"effort":null,"summary":{summary}}},"store":false,"temperature":1.0,"text":{{"format":{{"type":"text"}}}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled"{tier}"#,
            manner.id, manner.created_s
        );
        Self {
            suffix: manner.id.trim_start_matches("resp-").to_owned(),
            text,
            shape: manner.shape,
            style: Style::of(manner.fault),
            head,
            summary: call.reasoning_summary,
            opens_early: manner.role_first || manner.empty_events,
            adds_early: manner.empty_events && manner.shape.total > 0,
            sequence: 0,
        }
    }

    pub(super) fn opening(&mut self, out: &mut Outbox) {
        if self.opens_early {
            self.open(out);
        }
    }

    fn open(&mut self, out: &mut Outbox) {
        for name in ["response.created", "response.in_progress"] {
            self.event(out, name, |frames, json| frames.response(json, Status::InProgress, None));
        }
        if self.adds_early
            && let Some(part) = self.shape.first()
        {
            self.add(out, part);
        }
    }

    /// A delta of the first item with nothing in it.
    pub(super) fn empty(&mut self, out: &mut Outbox) {
        let part = self.shape.first().unwrap_or(Part::Content);
        self.delta(out, part, &(0..0), 0);
    }

    pub(super) fn tokens(&mut self, out: &mut Outbox, piece: &Piece, padding: usize) {
        if piece.tokens().start == 0 && !self.opens_early {
            self.open(out);
        }
        for (part, tokens) in piece.parts() {
            if tokens.start == self.shape.range(part).start && !(tokens.start == 0 && self.adds_early) {
                if let Some(before) = self.shape.before(part) {
                    self.finish_item(out, before, Status::Completed);
                }
                self.add(out, part);
            }
            self.delta(out, part, &tokens, padding);
        }
    }

    pub(super) fn broken(&mut self, out: &mut Outbox, piece: &Piece) {
        let text = self.text.clone();
        self.style.event(out, "response.output_text.delta", |json| {
            json.extend_from_slice(self.style.open.as_bytes());
            json.extend_from_slice(br#""type":"response.output_text.delta","delta":""#);
            text.append(piece.tokens(), json);
        });
    }

    /// What is open is done, and the response is completed, or incomplete where a limit cut it.
    pub(super) fn end(&mut self, out: &mut Outbox, ending: &Ending) {
        if self.shape.total == 0 && !self.opens_early {
            self.open(out);
        }
        let status = Status::of(ending.reason);
        if let Some(part) = self.shape.last() {
            self.finish_item(out, part, status);
        }
        if ending.marker {
            let name =
                if status == Status::Incomplete { "response.incomplete" } else { "response.completed" };
            self.event(out, name, |frames, json| frames.response(json, status, ending.usage));
        }
    }

    pub(super) fn error(&mut self, out: &mut Outbox) {
        self.event(out, "error", |_, json| {
            push(json, format_args!(r#""code":"server_error","message":"{ERROR_MESSAGE}","param":null"#));
        });
        self.event(out, "response.failed", |frames, json| frames.response(json, Status::Failed, None));
    }

    pub(super) fn whole(&self, reason: &'static str, usage: Option<Usage>, padding: usize) -> Vec<u8> {
        let mut json = b"{".to_vec();
        self.fields(&mut json, Status::of(reason), usage);
        push_padding(&mut json, padding);
        json.push(b'}');
        json
    }

    /// Adds an item, and the part of it that the deltas fill.
    fn add(&mut self, out: &mut Outbox, part: Part) {
        let place = self.shape.place(part);
        self.event(out, "response.output_item.added", |frames, json| {
            push(json, format_args!(r#""output_index":{place},"item":"#));
            frames.item(json, part, Status::InProgress);
        });
        if let Some(name) = self.part_event(part, "added") {
            self.event(out, name, |frames, json| {
                frames.place(json, part);
                json.extend_from_slice(br#","part":"#);
                frames.part(json, part, 0..0);
            });
        }
    }

    /// The done events of an item that is filled.
    fn finish_item(&mut self, out: &mut Outbox, part: Part, status: Status) {
        let tokens = self.shape.range(part);
        let name = match part {
            Part::Reasoning if self.summary => "response.reasoning_summary_text.done",
            Part::Reasoning => "response.reasoning_text.done",
            Part::Content => "response.output_text.done",
            Part::Tools => "response.function_call_arguments.done",
        };
        self.event(out, name, |frames, json| {
            frames.place(json, part);
            if part == Part::Tools {
                push(json, format_args!(r#","name":"{TOOL_NAME}","arguments":""#));
                push_arguments(json, &frames.text, &frames.shape, &tokens);
            } else {
                json.extend_from_slice(br#","text":""#);
                frames.text.append(tokens.clone(), json);
            }
            json.push(b'"');
            frames.logprobs(json, part);
        });
        if let Some(name) = self.part_event(part, "done") {
            self.event(out, name, |frames, json| {
                frames.place(json, part);
                json.extend_from_slice(br#","part":"#);
                frames.part(json, part, tokens.clone());
            });
        }
        let place = self.shape.place(part);
        self.event(out, "response.output_item.done", |frames, json| {
            push(json, format_args!(r#""output_index":{place},"item":"#));
            frames.item(json, part, status);
        });
    }

    fn delta(&mut self, out: &mut Outbox, part: Part, tokens: &Range<u64>, padding: usize) {
        let name = match part {
            Part::Reasoning if self.summary => "response.reasoning_summary_text.delta",
            Part::Reasoning => "response.reasoning_text.delta",
            Part::Content => "response.output_text.delta",
            Part::Tools => "response.function_call_arguments.delta",
        };
        self.event(out, name, |frames, json| {
            frames.place(json, part);
            json.extend_from_slice(br#","delta":""#);
            match part {
                Part::Tools if !tokens.is_empty() => {
                    push_arguments(json, &frames.text, &frames.shape, tokens);
                }
                _ => frames.text.append(tokens.clone(), json),
            }
            json.push(b'"');
            frames.logprobs(json, part);
            push_padding(json, padding);
        });
    }

    /// The event that says that the part of an item is added or done; a tool call has none.
    fn part_event(&self, part: Part, what: &str) -> Option<&'static str> {
        match (part, self.summary, what) {
            (Part::Tools, ..) => None,
            (Part::Reasoning, true, "added") => Some("response.reasoning_summary_part.added"),
            (Part::Reasoning, true, _) => Some("response.reasoning_summary_part.done"),
            (_, _, "added") => Some("response.content_part.added"),
            _ => Some("response.content_part.done"),
        }
    }

    fn item_id(&self, part: Part) -> String {
        let prefix = match part {
            Part::Reasoning => "rs",
            Part::Content => "msg",
            Part::Tools => "fc",
        };
        format!("{prefix}-{}", self.suffix)
    }

    /// Which item, and which part of it, an event is about.
    fn place(&self, json: &mut Vec<u8>, part: Part) {
        let (id, place) = (self.item_id(part), self.shape.place(part));
        push(json, format_args!(r#""item_id":"{id}","output_index":{place}"#));
        match part {
            Part::Reasoning if self.summary => json.extend_from_slice(br#","summary_index":0"#),
            Part::Tools => {}
            _ => json.extend_from_slice(br#","content_index":0"#),
        }
    }

    /// Events with text have a list of log-probabilities, which stays empty here.
    fn logprobs(&self, json: &mut Vec<u8>, part: Part) {
        if part == Part::Content {
            json.extend_from_slice(br#","logprobs":[]"#);
        }
    }

    fn part(&self, json: &mut Vec<u8>, part: Part, tokens: Range<u64>) {
        let kind = match part {
            Part::Reasoning if self.summary => "summary_text",
            Part::Reasoning => "reasoning_text",
            _ => "output_text",
        };
        push(json, format_args!(r#"{{"type":"{kind}","text":""#));
        self.text.append(tokens, json);
        json.push(b'"');
        if part == Part::Content {
            json.extend_from_slice(br#","annotations":[],"logprobs":[]"#);
        }
        json.push(b'}');
    }

    fn item(&self, json: &mut Vec<u8>, part: Part, status: Status) {
        let (id, state) = (self.item_id(part), status.name());
        let filled = status != Status::InProgress;
        let tokens = self.shape.range(part);
        push(json, format_args!(r#"{{"id":"{id}","status":"{state}","#));
        match part {
            Part::Reasoning => {
                let (empty, full) =
                    if self.summary { ("content", "summary") } else { ("summary", "content") };
                push(json, format_args!(r#""type":"reasoning","{empty}":[],"{full}":["#));
            }
            Part::Content => json.extend_from_slice(br#""type":"message","role":"assistant","content":["#),
            Part::Tools => {
                let (suffix, name) = (&self.suffix, TOOL_NAME);
                push(
                    json,
                    format_args!(
                        r#""type":"function_call","call_id":"call-{suffix}","name":"{name}","arguments":""#
                    ),
                );
                if filled {
                    push_arguments(json, &self.text, &self.shape, &tokens);
                }
                json.extend_from_slice(br#""}"#);
                return;
            }
        }
        if filled {
            self.part(json, part, tokens);
        }
        json.extend_from_slice(b"]}");
    }

    fn response(&self, json: &mut Vec<u8>, status: Status, usage: Option<Usage>) {
        json.extend_from_slice(br#""response":{"#);
        self.fields(json, status, usage);
        json.push(b'}');
    }

    fn fields(&self, json: &mut Vec<u8>, status: Status, usage: Option<Usage>) {
        push(json, format_args!(r#"{},"status":"{}","error":"#, self.head, status.name()));
        match status {
            Status::Failed => {
                push(json, format_args!(r#"{{"code":"server_error","message":"{ERROR_MESSAGE}"}}"#));
            }
            _ => json.extend_from_slice(b"null"),
        }
        let cut = if status == Status::Incomplete { r#"{"reason":"max_output_tokens"}"# } else { "null" };
        push(json, format_args!(r#","incomplete_details":{cut},"output":["#));
        if matches!(status, Status::Completed | Status::Incomplete) {
            let last = self.shape.last();
            for (part, _) in self.shape.piece(0..self.shape.total).parts() {
                json.extend_from_slice(if self.shape.place(part) > 0 { b"," } else { b"" });
                self.item(json, part, if Some(part) == last { status } else { Status::Completed });
            }
        }
        json.extend_from_slice(br#"],"usage":"#);
        match usage {
            Some(usage) => push_usage(json, usage),
            None => json.extend_from_slice(b"null"),
        }
    }

    fn event(&mut self, out: &mut Outbox, name: &str, fill: impl FnOnce(&Self, &mut Vec<u8>)) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.style.event(out, name, |json| {
            push(json, format_args!(r#"{}"type":"{name}","sequence_number":{sequence},"#, self.style.open));
            fill(self, json);
            json.push(b'}');
        });
    }
}

fn push_usage(json: &mut Vec<u8>, usage: Usage) {
    let Usage { prompt, cached, written, completion, reasoning } = usage;
    let total = prompt + completion;
    push(
        json,
        format_args!(
            r#"{{"input_tokens":{prompt},"input_tokens_details":{{"cached_tokens":{cached},"cache_write_tokens":{written}}},"output_tokens":{completion},"output_tokens_details":{{"reasoning_tokens":{reasoning}}},"total_tokens":{total}}}"#
        ),
    );
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
