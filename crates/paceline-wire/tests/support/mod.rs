//! Observing a response that is given as text.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use paceline_wire::{BodyEnd, Head, Limits, Observation, Protocol, Stamp, StreamObserver};

pub(crate) const LIMITS: Limits =
    Limits { max_event_bytes: 1 << 20, keep_text: true, max_body_bytes: 1 << 16 };
pub(crate) const CHAT: Protocol = Protocol::OpenaiChat;
pub(crate) const COMPLETIONS: Protocol = Protocol::OpenaiCompletions;
pub(crate) const RESPONSES: Protocol = Protocol::OpenaiResponses;
pub(crate) const EMBEDDINGS: Protocol = Protocol::OpenaiEmbeddings;
pub(crate) const MESSAGES: Protocol = Protocol::AnthropicMessages;
pub(crate) const END_NS: i64 = 9_999;

/// A response to be observed.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) protocol: Protocol,
    pub(crate) streaming: bool,
    pub(crate) limits: Limits,
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) end: BodyEnd,
}

impl Response {
    pub(crate) fn stream(protocol: Protocol) -> Self {
        Self {
            protocol,
            streaming: true,
            limits: LIMITS,
            status: 200,
            content_type: "text/event-stream",
            end: BodyEnd::Complete,
        }
    }

    pub(crate) fn whole(protocol: Protocol) -> Self {
        Self { streaming: false, content_type: "application/json", ..Self::stream(protocol) }
    }

    pub(crate) fn status(self, status: u16) -> Self {
        Self { status, content_type: "application/json", ..self }
    }

    pub(crate) fn ends(self, end: BodyEnd) -> Self {
        Self { end, ..self }
    }

    /// The whole body by one read.
    pub(crate) fn observe(&self, body: &str) -> Observation {
        self.observe_reads(&[body.as_bytes()])
    }

    /// Piece `n` comes with read `n`, at `100 * (n + 1)` ns.
    pub(crate) fn observe_reads(&self, pieces: &[&[u8]]) -> Observation {
        let stamp = |n: usize| Stamp { ns: 100 * (n as i64 + 1), kernel: true, read: n as u64 };
        let stamped: Vec<_> = pieces.iter().enumerate().map(|(n, piece)| (*piece, stamp(n))).collect();
        self.observe_stamped(&stamped).0
    }

    /// The row, and whether the observer gave up before the end.
    pub(crate) fn observe_stamped(&self, pieces: &[(&[u8], Stamp)]) -> (Observation, bool) {
        let mut observer = StreamObserver::new(self.protocol, self.streaming, self.limits);
        let head = Head {
            status: self.status,
            content_type: Some(self.content_type),
            retry_after: None,
            request_id: Some("req-1"),
        };
        observer.on_head(&head, Stamp { ns: 50, kernel: true, read: 0 });
        for (piece, stamp) in pieces {
            observer.on_body(piece, *stamp);
        }
        let failed = observer.failed();
        (observer.finish(self.end.clone(), END_NS), failed)
    }
}

/// The body in `tests/data` of this name.
pub(crate) fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every body in `tests/data`, by name, with the response that it belongs to.
pub(crate) fn corpus() -> Vec<(String, Response)> {
    let folder = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".md"))
        .collect();
    names.sort_unstable();
    let response = |name: &String| {
        let protocol = Protocol::from_name(name.split('.').next().unwrap()).unwrap();
        if name.ends_with(".sse") { Response::stream(protocol) } else { Response::whole(protocol) }
    };
    names.into_iter().map(|name| (data(&name), response(&name))).collect()
}

/// Data events of these documents.
pub(crate) fn events(documents: &[&str]) -> String {
    documents.iter().map(|document| format!("data: {document}\n\n")).collect()
}

/// A chat event with this delta.
pub(crate) fn delta(fields: &str) -> String {
    format!(
        r#"{{"id":"c-1","object":"chat.completion.chunk","model":"m","choices":[{{"index":0,"delta":{{{fields}}},"finish_reason":null}}]}}"#
    )
}

/// The chat event that ends a choice.
pub(crate) const STOP: &str =
    r#"{"id":"c-1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
