//! Folders and entries for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_wire::{BodyEnd, Head, Limits, Protocol, RequestRecord, Stamp, StreamObserver};

use super::entry::{AttemptEntry, Entry, Role, Usage, UsageSource};
use crate::settings::{LedgerSettings, OnLedgerFailure};
use crate::table::Tier;

/// A folder that is gone when it is dropped.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("paceline-ledger-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// Bytes of all segments, in order.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let numbers = super::segment::numbers(&self.0).unwrap();
        numbers
            .iter()
            .flat_map(|number| std::fs::read(super::segment::path(&self.0, *number)).unwrap())
            .collect()
    }

    /// The ids of all lines, each of which must be whole.
    pub(super) fn ids(&self) -> Vec<String> {
        let bytes = self.bytes();
        assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "the last line is torn");
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        lines.map(|line| super::line::Line::read(line).expect("a line is torn").id).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn settings(folder: &Path) -> LedgerSettings {
    LedgerSettings {
        folder: folder.to_owned(),
        segment_bytes: 1 << 20,
        sync_every_ns: 0,
        on_failure: OnLedgerFailure::Flow,
        recent_requests: 100,
    }
}

/// The row of an answer `hi`, whose upstream calls it `response_id`.
pub(super) fn row(request_index: u64, response_id: &str, text: &str) -> RequestRecord {
    let limits = Limits { max_event_bytes: 1 << 20, keep_text: true, max_body_bytes: 1 << 20 };
    let mut observer = StreamObserver::new(Protocol::OpenaiChat, true, limits);
    let head =
        Head { status: 200, content_type: Some("text/event-stream"), retry_after: None, request_id: None };
    let stamp = |ns| Stamp { ns, kernel: true, read: 1 };
    observer.on_head(&head, stamp(2_000_000_000));
    let chunk = format!(
        "data: {{\"id\":\"{response_id}\",\"model\":\"m-1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
         \"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    );
    observer.on_body(chunk.as_bytes(), stamp(2_500_000_000));
    RequestRecord {
        segment: 0,
        request_index,
        session: None,
        step: None,
        warmup: false,
        intended_ns: 1_000_000_000,
        sent_ns: Some(1_100_000_000),
        written_ns: Some(1_100_000_000),
        connect_ns: None,
        tls_ns: None,
        connection_reused: true,
        hangup_ns: None,
        stopped_ns: None,
        tail_bytes: None,
        observation: observer.finish(BodyEnd::Complete, 3_000_000_000),
    }
}

pub(super) fn attempt(request_index: u64, response_id: &str, text: &str) -> AttemptEntry {
    AttemptEntry {
        offer: "a".to_owned(),
        provider: "p".to_owned(),
        model: "demo".to_owned(),
        upstream_model: "m".to_owned(),
        tier: Tier::Fast,
        endpoint: "http://h:1/v1".to_owned(),
        protocol: "openai-chat",
        role: Role::First,
        served: true,
        downgrade: None,
        usage: Usage {
            prompt_tokens: 10,
            completion_tokens: 4,
            reasoning_tokens: 1,
            cached_tokens: 6,
            cache_write_tokens: 2,
            source: UsageSource::Server,
        },
        cost_usd: Some(0.25),
        row: row(request_index, response_id, text),
    }
}

/// A request of one attempt. It was received at 1 s, had its first token at 2.5 s and ended at 3 s.
pub(super) fn entry(id: &str, request_index: u64, text: &str) -> Entry {
    Entry {
        id: id.to_owned(),
        received_unix_ns: 1_796_040_000_000_000_000,
        received_ns: 1_000_000_000,
        ended_ns: 3_000_000_000,
        key: None,
        app_title: Some("App".to_owned()),
        app_referer: None,
        protocol: "openai-chat",
        streaming: true,
        asked_model: "demo".to_owned(),
        outcome: "ok",
        status: Some(200),
        code: None,
        ttft_ns: Some(1_500_000_000),
        queued_ns: 0,
        deadline_ns: None,
        finish_by_ns: None,
        deadline_met: None,
        cost_usd: 0.25,
        cost_is_partial: false,
        attempts: vec![attempt(request_index, &format!("up-{id}"), text)],
    }
}
