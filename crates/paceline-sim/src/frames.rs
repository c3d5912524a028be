//! The bytes of an answer: JSON, server-sent events and chunked framing. What does not change from event to event
//! is written once for each answer.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use crate::fault::FaultKind;
use crate::request::Protocol;
use crate::shape::{Piece, Shape};
use crate::text::Text;

/// Token counts as an answer reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
    pub(crate) completion: u64,
    pub(crate) reasoning: u64,
}

/// Bytes that are about to leave, and a buffer to build an event in.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) bytes: Vec<u8>,
    event: Vec<u8>,
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    data: &'static [u8],
    newline: &'static [u8],
    comments: bool,
}

impl Style {
    fn of(fault: Option<FaultKind>) -> Self {
        Self {
            data: if fault == Some(FaultKind::NoSpace) { b"data:" } else { b"data: " },
            newline: if fault == Some(FaultKind::Crlf) { b"\r\n" } else { b"\n" },
            comments: fault == Some(FaultKind::Comments),
        }
    }
}

/// All that is constant in one answer.
#[derive(Debug)]
pub(crate) struct Frames {
    protocol: Protocol,
    id: String,
    text: Arc<Text>,
    shape: Shape,
    token_ids: bool,
    /// The role is said in the first token event, since it has none of its own.
    role_inside: bool,
    style: Style,
    /// A stream event's JSON up to `choices`.
    prefix: Vec<u8>,
    /// A whole answer's JSON up to `choices`.
    whole_prefix: Vec<u8>,
}

/// What a [`Frames`] is made from.
#[derive(Debug)]
pub(crate) struct Manner<'a> {
    pub(crate) protocol: Protocol,
    pub(crate) id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) created_s: i64,
    pub(crate) shape: Shape,
    pub(crate) token_ids: bool,
    pub(crate) role_first: bool,
    pub(crate) fault: Option<FaultKind>,
}

impl Frames {
    pub(crate) fn new(manner: &Manner<'_>, text: Arc<Text>) -> Self {
        let (stream, whole) = match manner.protocol {
            Protocol::Chat => ("chat.completion.chunk", "chat.completion"),
            Protocol::Completions => ("text_completion", "text_completion"),
        };
        let model = serde_json::Value::from(manner.model);
        let fields = |object: &str| {
            format!(
                r#""id":"{}","object":"{object}","created":{},"model":{model},"#,
                manner.id, manner.created_s
            )
        };
        let open = if manner.fault == Some(FaultKind::MultiLine) { "{\ndata: " } else { "{" };
        Self {
            protocol: manner.protocol,
            id: manner.id.to_owned(),
            text,
            shape: manner.shape,
            token_ids: manner.token_ids,
            role_inside: !manner.role_first && manner.protocol == Protocol::Chat,
            style: Style::of(manner.fault),
            prefix: format!("{open}{}", fields(stream)).into_bytes(),
            whole_prefix: format!("{{{}", fields(whole)).into_bytes(),
        }
    }

    /// An event with tokens. `padding` bytes are added in a field of their own.
    pub(crate) fn tokens(&self, out: &mut Outbox, piece: &Piece, usage: Option<Usage>, padding: usize) {
        self.event(out, |frames, json| {
            json.extend_from_slice(&frames.prefix);
            json.extend_from_slice(br#""choices":[{"index":0,"#);
            match frames.protocol {
                Protocol::Chat => frames.delta(json, piece),
                Protocol::Completions => {
                    json.extend_from_slice(br#""text":""#);
                    frames.text.append(piece.content.clone(), json);
                    json.push(b'"');
                }
            }
            json.extend_from_slice(br#","logprobs":null,"finish_reason":null"#);
            if frames.token_ids {
                json.extend_from_slice(br#","token_ids":"#);
                frames.ids(json, piece.tokens());
            }
            json.extend_from_slice(b"}]");
            frames.close(json, usage, padding);
        });
    }

    /// An event with a token that breaks off in the middle of its JSON.
    pub(crate) fn broken(&self, out: &mut Outbox, piece: &Piece) {
        self.event(out, |frames, json| {
            json.extend_from_slice(&frames.prefix);
            json.extend_from_slice(br#""choices":[{"index":0,"delta":{"content":""#);
            frames.text.append(piece.tokens(), json);
        });
    }

    /// An event with the role and no token.
    pub(crate) fn role(&self, out: &mut Outbox) {
        self.plain(out, br#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#, None);
    }

    /// An event with neither role nor token.
    pub(crate) fn empty(&self, out: &mut Outbox) {
        let choices: &[u8] = match self.protocol {
            Protocol::Chat => {
                br#""choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":null}]"#
            }
            Protocol::Completions => {
                br#""choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null}]"#
            }
        };
        self.plain(out, choices, None);
    }

    /// The event that says why the answer ends.
    pub(crate) fn finish(&self, out: &mut Outbox, reason: &str, usage: Option<Usage>) {
        let body = match self.protocol {
            Protocol::Chat => r#""delta":{}"#,
            Protocol::Completions => r#""text":"""#,
        };
        let choices =
            format!(r#""choices":[{{"index":0,{body},"logprobs":null,"finish_reason":"{reason}"}}]"#);
        self.plain(out, choices.as_bytes(), usage);
    }

    /// The event that says nothing but the usage.
    pub(crate) fn usage(&self, out: &mut Outbox, usage: Usage) {
        self.plain(out, br#""choices":[]"#, Some(usage));
    }

    /// `[DONE]`.
    pub(crate) fn done(&self, out: &mut Outbox) {
        self.event(out, |_, json| json.extend_from_slice(b"[DONE]"));
    }

    /// An error in the stream.
    pub(crate) fn error(&self, out: &mut Outbox) {
        self.event(out, |_, json| json.extend_from_slice(ERROR_BODY.as_bytes()));
    }

    /// The last chunk of a chunked body.
    pub(crate) fn end_of_body(out: &mut Outbox) {
        out.bytes.extend_from_slice(b"0\r\n\r\n");
    }

    /// A whole answer as one JSON body.
    pub(crate) fn whole(&self, reason: &str, usage: Option<Usage>, padding: usize) -> Vec<u8> {
        let mut json = self.whole_prefix.clone();
        json.extend_from_slice(br#""choices":[{"index":0,"#);
        let piece = self.shape.piece(0..self.shape.total);
        match self.protocol {
            Protocol::Chat => self.message(&mut json, &piece),
            Protocol::Completions => {
                json.extend_from_slice(br#""text":""#);
                self.text.append(piece.content.clone(), &mut json);
                json.push(b'"');
            }
        }
        json.extend_from_slice(br#","logprobs":null,"finish_reason":""#);
        json.extend_from_slice(reason.as_bytes());
        json.push(b'"');
        if self.token_ids {
            json.extend_from_slice(br#","token_ids":"#);
            self.ids(&mut json, piece.tokens());
        }
        json.extend_from_slice(b"}]");
        self.close(&mut json, usage, padding);
        json
    }

    fn plain(&self, out: &mut Outbox, choices: &[u8], usage: Option<Usage>) {
        self.event(out, |frames, json| {
            json.extend_from_slice(&frames.prefix);
            json.extend_from_slice(choices);
            frames.close(json, usage, 0);
        });
    }

    /// Builds one event with `fill`, and puts it behind its chunk size.
    fn event(&self, out: &mut Outbox, fill: impl FnOnce(&Self, &mut Vec<u8>)) {
        let Outbox { bytes, event } = out;
        event.clear();
        if self.style.comments {
            event.extend_from_slice(b": keep-alive\n\n");
        }
        event.extend_from_slice(self.style.data);
        fill(self, event);
        event.extend_from_slice(self.style.newline);
        event.extend_from_slice(self.style.newline);
        push_hex(bytes, event.len());
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(event);
        bytes.extend_from_slice(b"\r\n");
    }

    fn close(&self, json: &mut Vec<u8>, usage: Option<Usage>, padding: usize) {
        if let Some(usage) = usage {
            push_usage(json, usage);
        }
        if padding > 0 {
            json.extend_from_slice(br#","padding":""#);
            json.resize(json.len() + padding, b'x');
            json.push(b'"');
        }
        json.push(b'}');
    }

    fn delta(&self, json: &mut Vec<u8>, piece: &Piece) {
        json.extend_from_slice(br#""delta":{"#);
        let opened = json.len();
        let field = |json: &mut Vec<u8>, name: &[u8]| {
            if json.len() > opened {
                json.push(b',');
            }
            json.extend_from_slice(name);
        };
        if self.role_inside && piece.tokens().start == 0 {
            field(json, br#""role":"assistant""#);
        }
        if !piece.reasoning.is_empty() {
            field(json, br#""reasoning_content":""#);
            self.text.append(piece.reasoning.clone(), json);
            json.push(b'"');
        }
        if !piece.content.is_empty() {
            field(json, br#""content":""#);
            self.text.append(piece.content.clone(), json);
            json.push(b'"');
        }
        if !piece.tools.is_empty() {
            field(json, br#""tool_calls":[{"index":0,"#);
            if piece.tools.start == self.shape.tools_from() {
                self.tool_name(json);
            } else {
                json.extend_from_slice(br#""function":{"arguments":""#);
            }
            self.arguments(json, &piece.tools);
            json.extend_from_slice(br#""}}]"#);
        }
        json.push(b'}');
    }

    fn message(&self, json: &mut Vec<u8>, piece: &Piece) {
        json.extend_from_slice(br#""message":{"role":"assistant""#);
        if !piece.reasoning.is_empty() {
            json.extend_from_slice(br#","reasoning_content":""#);
            self.text.append(piece.reasoning.clone(), json);
            json.push(b'"');
        }
        json.extend_from_slice(br#","content":""#);
        self.text.append(piece.content.clone(), json);
        json.push(b'"');
        if !piece.tools.is_empty() {
            json.extend_from_slice(br#","tool_calls":[{"#);
            self.tool_name(json);
            self.arguments(json, &piece.tools);
            json.extend_from_slice(br#""}}]"#);
        }
        json.push(b'}');
    }

    fn tool_name(&self, json: &mut Vec<u8>) {
        let id = self.id.trim_start_matches("chatcmpl-");
        let opening =
            format!(r#""id":"call-{id}","type":"function","function":{{"name":"look_up","arguments":""#);
        json.extend_from_slice(opening.as_bytes());
    }

    /// The arguments are one JSON object, `{"q":"word word ..."}`, written inside a JSON string.
    fn arguments(&self, json: &mut Vec<u8>, tokens: &Range<u64>) {
        if tokens.start == self.shape.tools_from() {
            json.extend_from_slice(br#"{\"q\":\""#);
            let before = json.len();
            self.text.append(tokens.clone(), json);
            // The first word goes without its space, so that opening and word are one token.
            json.remove(before);
        } else {
            self.text.append(tokens.clone(), json);
        }
        if tokens.end == self.shape.total {
            json.extend_from_slice(br#"\"}"#);
        }
    }

    fn ids(&self, json: &mut Vec<u8>, tokens: Range<u64>) {
        json.push(b'[');
        let first = tokens.start;
        for token in tokens {
            if token > first {
                json.push(b',');
            }
            push_number(json, u64::from(self.text.id(token)));
        }
        json.push(b']');
    }
}

/// What an answer's place is taken by when an error is asked for.
pub(crate) const ERROR_BODY: &str = r#"{"error":{"message":"The reference engine was told to fail here.","type":"server_error","param":null,"code":"sim_fault"}}"#;

/// What a server that is no model server would send.
pub(crate) const HTML_BODY: &str =
    "<!doctype html>\n<html><head><title>Welcome</title></head><body><p>It works.</p></body></html>\n";

fn push_number(out: &mut Vec<u8>, value: u64) {
    // Writing to a Vec does not fail.
    let _ = write!(out, "{value}");
}

fn push_hex(out: &mut Vec<u8>, value: usize) {
    let _ = write!(out, "{value:x}");
}

fn push_usage(out: &mut Vec<u8>, usage: Usage) {
    let Usage { prompt, cached, completion, reasoning } = usage;
    let total = prompt + completion;
    let _ = write!(
        out,
        r#","usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total},"prompt_tokens_details":{{"cached_tokens":{cached}}},"completion_tokens_details":{{"reasoning_tokens":{reasoning}}}}}"#
    );
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
