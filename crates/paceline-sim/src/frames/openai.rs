//! OpenAI's chat completions and completions.

use std::ops::Range;
use std::sync::Arc;

use super::pieces::{TOOL_NAME, push, push_arguments, push_padding};
use super::sse::{Outbox, Style};
use super::{ERROR_MESSAGE, Ending, Manner, Usage};
use crate::request::Protocol;
use crate::shape::{Piece, Shape};
use crate::text::Text;

/// All that is constant in one answer.
#[derive(Debug)]
pub(crate) struct Frames {
    protocol: Protocol,
    id: String,
    text: Arc<Text>,
    shape: Shape,
    token_ids: bool,
    logprobs: bool,
    role_first: bool,
    /// The role is said in the first token event, since it has none of its own.
    role_inside: bool,
    style: Style,
    /// A stream event's JSON up to `choices`.
    prefix: Vec<u8>,
    /// A whole answer's JSON up to `choices`.
    whole_prefix: Vec<u8>,
}

impl Frames {
    pub(super) fn new(manner: &Manner<'_>, text: Arc<Text>) -> Self {
        let protocol = manner.call.protocol;
        let (stream, whole) = match protocol {
            Protocol::Chat => ("chat.completion.chunk", "chat.completion"),
            _ => ("text_completion", "text_completion"),
        };
        let model = serde_json::Value::from(manner.served.model.as_str());
        let tier = manner.served.tier_field();
        let tier = tier.strip_prefix(',').map_or_else(String::new, |field| format!("{field},"));
        let fields = |object: &str| {
            format!(
                r#""id":"{}","object":"{object}","created":{},"model":{model},{tier}"#,
                manner.id, manner.created_s
            )
        };
        let style = Style::of(manner.fault);
        Self {
            protocol,
            id: manner.id.to_owned(),
            text,
            shape: manner.shape,
            token_ids: manner.token_ids,
            logprobs: manner.call.logprobs,
            role_first: manner.role_first && protocol == Protocol::Chat,
            role_inside: !manner.role_first && protocol == Protocol::Chat,
            style,
            prefix: format!("{}{}", style.open, fields(stream)).into_bytes(),
            whole_prefix: format!("{{{}", fields(whole)).into_bytes(),
        }
    }

    /// The role, where it has an event of its own.
    pub(super) fn opening(&self, out: &mut Outbox) {
        if self.role_first {
            self.plain(out, br#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#, None);
        }
    }

    /// An event with tokens. `padding` bytes are added in a field of their own.
    pub(super) fn tokens(&self, out: &mut Outbox, piece: &Piece, usage: Option<Usage>, padding: usize) {
        self.event(out, |frames, json| {
            json.extend_from_slice(&frames.prefix);
            json.extend_from_slice(br#""choices":[{"index":0,"#);
            match frames.protocol {
                Protocol::Chat => frames.delta(json, piece),
                _ => {
                    json.extend_from_slice(br#""text":""#);
                    frames.text.append(piece.content.clone(), json);
                    json.push(b'"');
                }
            }
            frames.logprobs(json, piece);
            json.extend_from_slice(br#","finish_reason":null"#);
            if frames.token_ids {
                json.extend_from_slice(br#","token_ids":"#);
                frames.ids(json, piece.tokens());
            }
            json.extend_from_slice(b"}]");
            Self::close(json, usage, padding);
        });
    }

    /// An event with a token that breaks off in the middle of its JSON.
    pub(super) fn broken(&self, out: &mut Outbox, piece: &Piece) {
        self.event(out, |frames, json| {
            json.extend_from_slice(&frames.prefix);
            json.extend_from_slice(br#""choices":[{"index":0,"delta":{"content":""#);
            frames.text.append(piece.tokens(), json);
        });
    }

    /// An event with neither role nor token.
    pub(super) fn empty(&self, out: &mut Outbox) {
        let choices: &[u8] = match self.protocol {
            Protocol::Chat => {
                br#""choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":null}]"#
            }
            _ => br#""choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null}]"#,
        };
        self.plain(out, choices, None);
    }

    /// The finish reason, the usage where it is wanted, `[DONE]`.
    pub(super) fn end(&self, out: &mut Outbox, ending: &Ending) {
        let body = match self.protocol {
            Protocol::Chat => r#""delta":{}"#,
            _ => r#""text":"""#,
        };
        let reason = ending.reason;
        let choices =
            format!(r#""choices":[{{"index":0,{body},"logprobs":null,"finish_reason":"{reason}"}}]"#);
        self.plain(out, choices.as_bytes(), ending.usage.filter(|_| ending.usage_each));
        if let Some(usage) = ending.usage.filter(|_| ending.usage_each || ending.usage_asked) {
            self.plain(out, br#""choices":[]"#, Some(usage));
        }
        if ending.marker {
            self.done(out);
        }
    }

    fn done(&self, out: &mut Outbox) {
        self.event(out, |_, json| json.extend_from_slice(b"[DONE]"));
    }

    /// An error, and `[DONE]`.
    pub(super) fn error(&self, out: &mut Outbox) {
        self.event(out, |_, json| {
            push(json, format_args!(r#"{{"error":{{"message":"{ERROR_MESSAGE}","type":"server_error","param":null,"code":"sim_fault"}}}}"#));
        });
        self.done(out);
    }

    /// A whole answer as one JSON body.
    pub(super) fn whole(&self, reason: &str, usage: Option<Usage>, padding: usize) -> Vec<u8> {
        let mut json = self.whole_prefix.clone();
        json.extend_from_slice(br#""choices":[{"index":0,"#);
        let piece = self.shape.piece(0..self.shape.total);
        match self.protocol {
            Protocol::Chat => self.message(&mut json, &piece),
            _ => {
                json.extend_from_slice(br#""text":""#);
                self.text.append(piece.content.clone(), &mut json);
                json.push(b'"');
            }
        }
        self.logprobs(&mut json, &piece);
        json.extend_from_slice(br#","finish_reason":""#);
        json.extend_from_slice(reason.as_bytes());
        json.push(b'"');
        if self.token_ids {
            json.extend_from_slice(br#","token_ids":"#);
            self.ids(&mut json, piece.tokens());
        }
        json.extend_from_slice(b"}]");
        Self::close(&mut json, usage, padding);
        json
    }

    fn plain(&self, out: &mut Outbox, choices: &[u8], usage: Option<Usage>) {
        self.event(out, |frames, json| {
            json.extend_from_slice(&frames.prefix);
            json.extend_from_slice(choices);
            Self::close(json, usage, 0);
        });
    }

    fn event(&self, out: &mut Outbox, fill: impl FnOnce(&Self, &mut Vec<u8>)) {
        self.style.event(out, "", |json| fill(self, json));
    }

    fn close(json: &mut Vec<u8>, usage: Option<Usage>, padding: usize) {
        if let Some(usage) = usage {
            push_usage(json, usage);
        }
        push_padding(json, padding);
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
            push_arguments(json, &self.text, &self.shape, &piece.tools);
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
            push_arguments(json, &self.text, &self.shape, &piece.tools);
            json.extend_from_slice(br#""}}]"#);
        }
        json.push(b'}');
    }

    fn tool_name(&self, json: &mut Vec<u8>) {
        let id = self.id.trim_start_matches("chatcmpl-");
        let opening =
            format!(r#""id":"call-{id}","type":"function","function":{{"name":"{TOOL_NAME}","arguments":""#);
        json.extend_from_slice(opening.as_bytes());
    }

    /// The log-probability of each token that is content, where they are wanted.
    fn logprobs(&self, json: &mut Vec<u8>, piece: &Piece) {
        if !self.logprobs {
            json.extend_from_slice(br#","logprobs":null"#);
        } else if self.protocol == Protocol::Chat {
            json.extend_from_slice(br#","logprobs":{"content":["#);
            for token in piece.content.clone() {
                json.extend_from_slice(if token > piece.content.start { b"," } else { b"" });
                json.extend_from_slice(br#"{"token":""#);
                let begin = json.len();
                self.text.append(token..token + 1, json);
                let bytes = json[begin..].to_vec();
                let logprob = self.logprob(token);
                push(json, format_args!(r#"","logprob":{logprob},"bytes":{bytes:?},"top_logprobs":[]}}"#));
            }
            json.extend_from_slice(br#"],"refusal":null}"#);
        } else {
            json.extend_from_slice(br#","logprobs":{"tokens":["#);
            for token in piece.content.clone() {
                json.extend_from_slice(if token > piece.content.start { b",\"" } else { b"\"" });
                self.text.append(token..token + 1, json);
                json.push(b'"');
            }
            let values: Vec<f64> = piece.content.clone().map(|token| self.logprob(token)).collect();
            push(json, format_args!(r#"],"token_logprobs":{values:?},"top_logprobs":null}}"#));
        }
    }

    /// From -0.01 to -1.00, the same for the same word.
    fn logprob(&self, token: u64) -> f64 {
        -f64::from(self.text.id(token) % 100 + 1) / 100.0
    }

    fn ids(&self, json: &mut Vec<u8>, tokens: Range<u64>) {
        json.push(b'[');
        let first = tokens.start;
        for token in tokens {
            if token > first {
                json.push(b',');
            }
            push(json, format_args!("{}", self.text.id(token)));
        }
        json.push(b']');
    }
}

fn push_usage(out: &mut Vec<u8>, usage: Usage) {
    let Usage { prompt, cached, completion, reasoning, .. } = usage;
    let total = prompt + completion;
    push(
        out,
        format_args!(
            r#","usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total},"prompt_tokens_details":{{"cached_tokens":{cached}}},"completion_tokens_details":{{"reasoning_tokens":{reasoning}}}}}"#
        ),
    );
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
