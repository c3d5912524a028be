//! The bytes of an answer: JSON, server-sent events and chunked framing. What does not change from event to event
//! is written once for each answer.

mod anthropic;
mod embeddings;
mod openai;
mod pieces;
mod responses;
mod served;
mod sse;

use std::sync::Arc;

use crate::fault::FaultKind;
use crate::request::{Call, Protocol};
use crate::shape::{Piece, Shape};
use crate::text::Text;

pub(crate) use served::Served;
pub(crate) use sse::Outbox;

/// Token counts as an answer reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    /// Of the prompt: read from the cache.
    pub(crate) cached: u64,
    /// Of the prompt: written to the cache.
    pub(crate) written: u64,
    pub(crate) completion: u64,
    pub(crate) reasoning: u64,
}

/// What a [`Frames`] is made from.
#[derive(Debug)]
pub(crate) struct Manner<'a> {
    pub(crate) call: &'a Call,
    pub(crate) served: &'a Served,
    pub(crate) id: &'a str,
    pub(crate) created_s: i64,
    pub(crate) shape: Shape,
    pub(crate) token_ids: bool,
    pub(crate) role_first: bool,
    /// Events without tokens come before the first token.
    pub(crate) empty_events: bool,
    /// What is known of the usage at the beginning; none: nothing is ever said of it.
    pub(crate) usage: Option<Usage>,
    pub(crate) fault: Option<FaultKind>,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// `stop`, `length` or `tool_calls`.
    pub(crate) reason: &'static str,
    pub(crate) usage: Option<Usage>,
    /// Every event says the usage.
    pub(crate) usage_each: bool,
    /// The client has asked for it.
    pub(crate) usage_asked: bool,
    /// The end marker is not left out.
    pub(crate) marker: bool,
}

/// All that is constant in one answer, and what the protocol makes the answer remember.
#[derive(Debug)]
pub(crate) enum Frames {
    OpenAi(openai::Frames),
    Responses(responses::Frames),
    Messages(anthropic::Frames),
    Embeddings(embeddings::Frames),
}

impl Frames {
    pub(crate) fn new(manner: &Manner<'_>, text: Arc<Text>) -> Self {
        match manner.call.protocol {
            Protocol::Chat | Protocol::Completions => Self::OpenAi(openai::Frames::new(manner, text)),
            Protocol::Responses => Self::Responses(responses::Frames::new(manner, text)),
            Protocol::Messages => Self::Messages(anthropic::Frames::new(manner, text)),
            Protocol::Embeddings => Self::Embeddings(embeddings::Frames::new(manner)),
        }
    }

    /// What leaves with the head, before any token.
    pub(crate) fn opening(&mut self, out: &mut Outbox) {
        match self {
            Self::OpenAi(frames) => frames.opening(out),
            Self::Responses(frames) => frames.opening(out),
            Self::Messages(frames) => frames.opening(out),
            Self::Embeddings(_) => {}
        }
    }

    /// An event without a token.
    pub(crate) fn empty(&mut self, out: &mut Outbox) {
        match self {
            Self::OpenAi(frames) => frames.empty(out),
            Self::Responses(frames) => frames.empty(out),
            Self::Messages(frames) => frames.empty(out),
            Self::Embeddings(_) => {}
        }
    }

    /// Events with tokens. `padding` bytes are added in a field of their own.
    pub(crate) fn tokens(&mut self, out: &mut Outbox, piece: &Piece, usage: Option<Usage>, padding: usize) {
        match self {
            Self::OpenAi(frames) => frames.tokens(out, piece, usage, padding),
            Self::Responses(frames) => frames.tokens(out, piece, padding),
            Self::Messages(frames) => frames.tokens(out, piece, padding),
            Self::Embeddings(_) => {}
        }
    }

    /// An event of this protocol carries one kind of token only: reasoning, content or a tool call.
    pub(crate) fn parts_kinds(&self) -> bool {
        matches!(self, Self::Responses(_) | Self::Messages(_))
    }

    /// An event with tokens that breaks off in the middle of its JSON.
    pub(crate) fn broken(&mut self, out: &mut Outbox, piece: &Piece) {
        match self {
            Self::OpenAi(frames) => frames.broken(out, piece),
            Self::Responses(frames) => frames.broken(out, piece),
            Self::Messages(frames) => frames.broken(out, piece),
            Self::Embeddings(_) => {}
        }
    }

    /// All that is said after the last token.
    pub(crate) fn end(&mut self, out: &mut Outbox, ending: &Ending) {
        match self {
            Self::OpenAi(frames) => frames.end(out, ending),
            Self::Responses(frames) => frames.end(out, ending),
            Self::Messages(frames) => frames.end(out, ending),
            Self::Embeddings(_) => {}
        }
    }

    /// An error in the stream, and what the protocol lets follow.
    pub(crate) fn error(&mut self, out: &mut Outbox) {
        match self {
            Self::OpenAi(frames) => frames.error(out),
            Self::Responses(frames) => frames.error(out),
            Self::Messages(frames) => frames.error(out),
            Self::Embeddings(_) => {}
        }
    }

    /// A whole answer as one JSON body.
    pub(crate) fn whole(&self, reason: &'static str, usage: Option<Usage>, padding: usize) -> Vec<u8> {
        match self {
            Self::OpenAi(frames) => frames.whole(reason, usage, padding),
            Self::Responses(frames) => frames.whole(reason, usage, padding),
            Self::Messages(frames) => frames.whole(reason, usage, padding),
            Self::Embeddings(frames) => frames.whole(usage, padding),
        }
    }
}

/// What an error says that was asked for.
pub(crate) const ERROR_MESSAGE: &str = "The reference engine was told to fail here.";

/// What a server that is no model server would send.
pub(crate) const HTML_BODY: &str =
    "<!doctype html>\n<html><head><title>Welcome</title></head><body><p>It works.</p></body></html>\n";
