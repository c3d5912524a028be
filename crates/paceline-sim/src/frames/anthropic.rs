//! Anthropic's messages: blocks that start, fill and stop, each event named.

use std::ops::Range;
use std::sync::Arc;

use super::pieces::{TOOL_NAME, push, push_arguments, push_arguments_object, push_padding};
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
    /// The message object's fields that never change.
    head: String,
    usage: Option<Usage>,
    /// The usage's fields of tier and speed.
    tier: String,
    /// The opening events leave with the head, not with the first token.
    opens_early: bool,
    /// The first block starts before its first token.
    starts_early: bool,
}

fn stop_reason(reason: &str) -> &'static str {
    match reason {
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        _ => "end_turn",
    }
}

impl Frames {
    pub(super) fn new(manner: &Manner<'_>, text: Arc<Text>) -> Self {
        let model = serde_json::Value::from(manner.served.model.as_str());
        Self {
            suffix: manner.id.trim_start_matches("msg-").to_owned(),
            text,
            shape: manner.shape,
            style: Style::of(manner.fault),
            head: format!(r#""id":"{}","type":"message","role":"assistant","model":{model}"#, manner.id),
            usage: manner.usage,
            tier: manner.served.tier_field() + &manner.served.speed_field(),
            opens_early: manner.role_first || manner.empty_events,
            starts_early: manner.empty_events && manner.shape.total > 0,
        }
    }

    pub(super) fn opening(&self, out: &mut Outbox) {
        if self.opens_early {
            self.open(out);
        }
    }

    fn open(&self, out: &mut Outbox) {
        self.event(out, "message_start", |json| {
            push(
                json,
                format_args!(
                    r#","message":{{{},"content":[],"stop_reason":null,"stop_sequence":null"#,
                    self.head
                ),
            );
            // The real API's first figure of the output is 1 or little more, too.
            self.push_usage(json, self.usage.map(|usage| Usage { completion: 1, reasoning: 0, ..usage }));
            json.push(b'}');
        });
        self.event(out, "ping", |_| {});
        if self.starts_early
            && let Some(part) = self.shape.first()
        {
            self.start(out, part);
        }
    }

    /// A delta of the first block with nothing in it.
    pub(super) fn empty(&self, out: &mut Outbox) {
        self.delta(out, self.shape.first().unwrap_or(Part::Content), &(0..0), 0);
    }

    pub(super) fn tokens(&self, out: &mut Outbox, piece: &Piece, padding: usize) {
        if piece.tokens().start == 0 && !self.opens_early {
            self.open(out);
        }
        for (part, tokens) in piece.parts() {
            if tokens.start == self.shape.range(part).start && !(tokens.start == 0 && self.starts_early) {
                if let Some(before) = self.shape.before(part) {
                    self.stop(out, before);
                }
                self.start(out, part);
            }
            self.delta(out, part, &tokens, padding);
        }
    }

    pub(super) fn broken(&self, out: &mut Outbox, piece: &Piece) {
        self.style.event(out, "content_block_delta", |json| {
            json.extend_from_slice(self.style.open.as_bytes());
            json.extend_from_slice(
                br#""type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""#,
            );
            self.text.append(piece.tokens(), json);
        });
    }

    /// What is open stops; the stop reason with the usage; `message_stop`.
    pub(super) fn end(&self, out: &mut Outbox, ending: &Ending) {
        if self.shape.total == 0 && !self.opens_early {
            self.open(out);
        }
        if let Some(part) = self.shape.last() {
            self.stop(out, part);
        }
        let reason = stop_reason(ending.reason);
        self.event(out, "message_delta", |json| {
            push(json, format_args!(r#","delta":{{"stop_reason":"{reason}","stop_sequence":null}}"#));
            self.push_usage(json, ending.usage);
        });
        if ending.marker {
            self.event(out, "message_stop", |_| {});
        }
    }

    pub(super) fn error(&self, out: &mut Outbox) {
        self.event(out, "error", |json| {
            push(json, format_args!(r#","error":{{"type":"api_error","message":"{ERROR_MESSAGE}"}}"#));
        });
    }

    pub(super) fn whole(&self, reason: &'static str, usage: Option<Usage>, padding: usize) -> Vec<u8> {
        let mut json = format!(r#"{{{},"content":["#, self.head).into_bytes();
        for (part, tokens) in self.shape.piece(0..self.shape.total).parts() {
            json.extend_from_slice(if self.shape.place(part) > 0 { b"," } else { b"" });
            self.block(&mut json, part, tokens);
        }
        let reason = stop_reason(reason);
        push(&mut json, format_args!(r#"],"stop_reason":"{reason}","stop_sequence":null"#));
        self.push_usage(&mut json, usage);
        push_padding(&mut json, padding);
        json.push(b'}');
        json
    }

    fn start(&self, out: &mut Outbox, part: Part) {
        let place = self.shape.place(part);
        self.event(out, "content_block_start", |json| {
            push(json, format_args!(r#","index":{place},"content_block":"#));
            self.block(json, part, 0..0);
        });
        if part == Part::Tools {
            // The real API begins a tool's arguments with a delta that holds nothing.
            self.delta(out, part, &(0..0), 0);
        }
    }

    fn stop(&self, out: &mut Outbox, part: Part) {
        let place = self.shape.place(part);
        if part == Part::Reasoning {
            self.event(out, "content_block_delta", |json| {
                let signature = self.signature();
                push(
                    json,
                    format_args!(
                        r#","index":{place},"delta":{{"type":"signature_delta","signature":"{signature}"}}"#
                    ),
                );
            });
        }
        self.event(out, "content_block_stop", |json| push(json, format_args!(r#","index":{place}"#)));
    }

    fn delta(&self, out: &mut Outbox, part: Part, tokens: &Range<u64>, padding: usize) {
        let place = self.shape.place(part);
        self.event(out, "content_block_delta", |json| {
            let (kind, field) = match part {
                Part::Reasoning => ("thinking_delta", "thinking"),
                Part::Content => ("text_delta", "text"),
                Part::Tools => ("input_json_delta", "partial_json"),
            };
            push(json, format_args!(r#","index":{place},"delta":{{"type":"{kind}","{field}":""#));
            match part {
                Part::Tools if !tokens.is_empty() => push_arguments(json, &self.text, &self.shape, tokens),
                _ => self.text.append(tokens.clone(), json),
            }
            json.extend_from_slice(br#""}"#);
            push_padding(json, padding);
        });
    }

    /// A block with these tokens; without tokens as it starts.
    fn block(&self, json: &mut Vec<u8>, part: Part, tokens: Range<u64>) {
        match part {
            Part::Reasoning => {
                let signature = if tokens.is_empty() { String::new() } else { self.signature() };
                json.extend_from_slice(br#"{"type":"thinking","thinking":""#);
                self.text.append(tokens, json);
                push(json, format_args!(r#"","signature":"{signature}"}}"#));
            }
            Part::Content => {
                json.extend_from_slice(br#"{"type":"text","text":""#);
                self.text.append(tokens, json);
                json.extend_from_slice(br#""}"#);
            }
            Part::Tools => {
                let (suffix, name) = (&self.suffix, TOOL_NAME);
                push(
                    json,
                    format_args!(r#"{{"type":"tool_use","id":"toolu-{suffix}","name":"{name}","input":"#),
                );
                if tokens.is_empty() {
                    json.extend_from_slice(b"{}");
                } else {
                    push_arguments_object(json, &self.text, &tokens);
                }
                json.push(b'}');
            }
        }
    }

    fn signature(&self) -> String {
        format!("signature-{}", self.suffix)
    }

    fn push_usage(&self, json: &mut Vec<u8>, usage: Option<Usage>) {
        let Some(Usage { prompt, cached, written, completion, reasoning }) = usage else { return };
        // What was read from the cache and written to it is no part of `input_tokens`.
        let fresh = prompt.saturating_sub(cached + written);
        push(
            json,
            format_args!(
                r#","usage":{{"input_tokens":{fresh},"cache_creation_input_tokens":{written},"cache_read_input_tokens":{cached},"output_tokens":{completion}"#
            ),
        );
        if reasoning > 0 {
            push(json, format_args!(r#","output_tokens_details":{{"thinking_tokens":{reasoning}}}"#));
        }
        json.extend_from_slice(self.tier.as_bytes());
        json.push(b'}');
    }

    /// `fill` goes on behind the type.
    fn event(&self, out: &mut Outbox, name: &str, fill: impl FnOnce(&mut Vec<u8>)) {
        self.style.event(out, name, |json| {
            push(json, format_args!(r#"{}"type":"{name}""#, self.style.open));
            fill(json);
            json.push(b'}');
        });
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
