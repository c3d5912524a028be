//! The row: one request, one record.

use std::borrow::Cow;

use serde::Serialize;

use crate::outcome::Outcome;
use crate::stretches::Stretches;

/// Bit of `event_kind`: the answer (content, completion text, a refusal).
pub const KIND_CONTENT: u8 = 1;
/// Bit of `event_kind`: reasoning.
pub const KIND_REASONING: u8 = 2;
/// Bit of `event_kind`: arguments of a tool call.
pub const KIND_TOOL_CALL: u8 = 4;
/// Bit of `event_kind`: embeddings, which are no tokens.
pub const KIND_EMBEDDING: u8 = 8;

/// All of the row that comes from the response. Instants are absolute, in ns. Serialized, it has the names and values
/// of the row's columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// `id` of the response body, or the header `x-request-id`.
    pub response_id: Option<String>,
    /// When the response head was complete.
    pub headers_ns: Option<i64>,
    /// The terminal instant.
    pub end_ns: i64,
    /// HTTP status.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong: at most 500 characters, keys masked.
    pub error: Option<String>,
    /// Why the server says that it stopped; of several, the last.
    pub finish_reason: Option<String>,
    /// The protocol's end marker was seen; `data: [DONE]` is one in every protocol.
    pub end_marker: bool,
    /// From `retry-after`, where it names seconds. A date is left out: to make a duration of it needs a wall clock.
    pub retry_after_ms: Option<i64>,
    /// The server's usage: tokens of the prompt.
    pub prompt_tokens: Option<i64>,
    /// The server's usage: tokens generated.
    pub completion_tokens: Option<i64>,
    /// The server's usage: those of them that were reasoning.
    pub reasoning_tokens: Option<i64>,
    /// The server's usage: tokens of the prompt that came from a cache.
    pub cached_tokens: Option<i64>,
    /// The server's usage: tokens of the prompt that were written to a cache.
    pub cache_write_tokens: Option<i64>,
    /// `model` as the server names it.
    pub server_model: Option<String>,
    /// Raw JSON of the last `timings` object; one of more than 16 KiB is left out.
    pub server_timings: Option<String>,
    /// Bytes of the body, all of them.
    pub bytes_received: u64,
    /// Data events of any kind; 1 for a non-streaming response.
    pub events: u32,
    /// A stream was asked for.
    pub streaming: bool,
    /// There are token events, and each has a kernel receive stamp.
    pub kernel_stamped: bool,
    /// Arrival of each token event.
    pub event_ns: Vec<i64>,
    /// What each carries: `KIND_*` bits.
    pub event_kind: Vec<u8>,
    /// Tokens that the server says each carries; -1 where it does not say.
    pub event_tokens: Vec<i32>,
    /// Bytes of text that each adds.
    pub event_bytes: Vec<u32>,
    /// Another token event came with the same socket read.
    pub event_coalesced: Vec<bool>,
    /// The generated text in order of the events; empty where it is not kept.
    pub text: String,
    /// Of what kind each stretch of `text` is.
    #[serde(skip)]
    pub(crate) stretches: Stretches,
}

impl Observation {
    /// What a conversation carries on: the content; where there is none, whatever text came (tool call, reasoning).
    /// Empty where no text is kept.
    #[must_use]
    pub fn answer(&self) -> Cow<'_, str> {
        self.stretches.answer(&self.text)
    }

    pub(crate) fn new(streaming: bool) -> Self {
        Self {
            response_id: None,
            headers_ns: None,
            end_ns: 0,
            status: None,
            outcome: Outcome::Truncated,
            error: None,
            finish_reason: None,
            end_marker: false,
            retry_after_ms: None,
            prompt_tokens: None,
            completion_tokens: None,
            reasoning_tokens: None,
            cached_tokens: None,
            cache_write_tokens: None,
            server_model: None,
            server_timings: None,
            bytes_received: 0,
            events: 0,
            streaming,
            kernel_stamped: false,
            event_ns: Vec::new(),
            event_kind: Vec::new(),
            event_tokens: Vec::new(),
            event_bytes: Vec::new(),
            event_coalesced: Vec::new(),
            text: String::new(),
            stretches: Stretches::default(),
        }
    }
}

/// One request. Instants are absolute, in ns on CLOCK_MONOTONIC. Serialized, it has the names of the row's columns, but
/// for `warmup`, which a row has as its `phase`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestRecord {
    /// Which start of the load generator.
    pub segment: u32,
    /// Place in the workload, 0-based; unique in a run.
    pub request_index: u64,
    /// The job that it is a call of; none: a job by itself.
    pub session: Option<u64>,
    /// Which call of the job, 0-based.
    pub step: Option<u32>,
    /// It belongs to the warm-up, not to the measurement.
    pub warmup: bool,
    /// When the schedule meant to send.
    pub intended_ns: i64,
    /// Just before the first byte was written; none: never written.
    pub sent_ns: Option<i64>,
    /// After the last byte was written.
    pub written_ns: Option<i64>,
    /// Duration of the TCP connect; none when the connection was reused.
    pub connect_ns: Option<i64>,
    /// Duration of the TLS handshake; none without TLS or when reused.
    pub tls_ns: Option<i64>,
    /// The connection had carried a request before.
    pub connection_reused: bool,
    /// When we hung up, where the workload asked for it.
    pub hangup_ns: Option<i64>,
    /// After a hang-up: the arrival of the server's last byte or of its close, whichever was last. None: it was still
    /// sending, or open, when we gave up.
    pub stopped_ns: Option<i64>,
    /// Body bytes that came after the hang-up.
    pub tail_bytes: Option<u64>,
    /// What the response was.
    #[serde(flatten)]
    pub observation: Observation,
}
