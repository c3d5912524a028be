//! The truth log: what really left, and when. A thread of its own writes it, so that the engine never waits for a
//! disk.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::SimError;
use crate::fault::FaultKind;
use crate::request::Protocol;

/// Records that may wait for the writer; more are lost, and counted.
const QUEUE: usize = 65_536;
/// What was written is on its way to the disk after so long.
const FLUSH_EVERY: Duration = Duration::from_millis(50);

const HEADER: &[u8] = b"{\"schema\":\"paceline.truth/1\",\"clock\":\"CLOCK_MONOTONIC ns\"}\n";

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All that the answer was to be has left.
    Complete,
    /// A status other than 200, or an error in the answer.
    Error,
    /// The connection was closed in the middle.
    Cut,
    /// The connection was reset in the middle.
    Reset,
    /// The client went away first.
    ClientGone,
    /// The engine was stopped first.
    Stopped,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Cut => "cut",
            Self::Reset => "reset",
            Self::ClientGone => "client_gone",
            Self::Stopped => "stopped",
        }
    }
}

/// An event that carried tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentEvent {
    /// Just before the write call that carried it (its last byte, where there were several).
    pub(crate) sent_ns: i64,
    pub(crate) tokens: u32,
    /// Bits as in the row: 1 content, 2 reasoning, 4 tool call.
    pub(crate) kind: u8,
}

/// One request: one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TruthRecord {
    pub(crate) id: String,
    pub(crate) path: &'static str,
    pub(crate) protocol: Protocol,
    pub(crate) status: u16,
    pub(crate) fault: Option<FaultKind>,
    /// The stage of the timeline that it belonged to.
    pub(crate) stage: Option<usize>,
    pub(crate) prompt_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) received_ns: i64,
    pub(crate) headers_sent_ns: Option<i64>,
    pub(crate) events: Vec<SentEvent>,
    /// When the engine noticed that the client had closed its side.
    pub(crate) gone_ns: Option<i64>,
    pub(crate) end_ns: i64,
    pub(crate) end: End,
}

impl TruthRecord {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(
            out,
            r#"{{"id":"{}","path":"{}","protocol":"{}","status":{},"fault":"#,
            self.id,
            self.path,
            self.protocol.name(),
            self.status
        )?;
        match self.fault {
            Some(fault) => write!(out, r#""{}""#, fault.name())?,
            None => out.write_all(b"null")?,
        }
        match self.stage {
            Some(stage) => write!(out, r#","stage":{stage}"#)?,
            None => out.write_all(br#","stage":null"#)?,
        }
        write!(
            out,
            r#","prompt_tokens":{},"cached_tokens":{},"received_ns":{},"headers_sent_ns":"#,
            self.prompt_tokens, self.cached_tokens, self.received_ns
        )?;
        write_instant(out, self.headers_sent_ns)?;
        out.write_all(br#","events":["#)?;
        for (place, event) in self.events.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(out, "{comma}[{},{},{}]", event.sent_ns, event.tokens, event.kind)?;
        }
        out.write_all(br#"],"gone_ns":"#)?;
        write_instant(out, self.gone_ns)?;
        writeln!(out, r#","end_ns":{},"end":"{}"}}"#, self.end_ns, self.end.name())
    }
}

fn write_instant(out: &mut impl Write, ns: Option<i64>) -> std::io::Result<()> {
    match ns {
        Some(ns) => write!(out, "{ns}"),
        None => out.write_all(b"null"),
    }
}

/// The engine's end of the log.
#[derive(Debug)]
pub(crate) struct TruthLog {
    sender: Option<SyncSender<TruthRecord>>,
    writer: Option<JoinHandle<u64>>,
    lost: u64,
}

impl TruthLog {
    /// Creates the file and its writer; without a path, a log that takes nothing.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, SimError> {
        let Some(path) = path else { return Ok(Self { sender: None, writer: None, lost: 0 }) };
        let explain = |source| SimError::TruthLog { path: path.display().to_string(), source };
        let mut file = File::create(path).map_err(explain)?;
        file.write_all(HEADER).map_err(explain)?;
        let (sender, receiver) = sync_channel(QUEUE);
        let writer = std::thread::Builder::new()
            .name("sim-truth".to_owned())
            .spawn(move || write_all(file, &receiver))
            .map_err(SimError::Thread)?;
        Ok(Self { sender: Some(sender), writer: Some(writer), lost: 0 })
    }

    /// Somebody wants to know.
    pub(crate) fn is_kept(&self) -> bool {
        self.sender.is_some()
    }

    pub(crate) fn push(&mut self, record: TruthRecord) {
        if let Some(sender) = &self.sender
            && sender.try_send(record).is_err()
        {
            self.lost += 1;
        }
    }

    /// Records that the writer had no room for.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes what is left, and returns how many records were lost, those among them that the disk refused.
    pub(crate) fn close(&mut self) -> u64 {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            self.lost += writer.join().unwrap_or(0);
        }
        self.lost
    }
}

/// Returns how many records could not be written.
fn write_all(file: File, records: &Receiver<TruthRecord>) -> u64 {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut refused = 0;
    loop {
        match records.recv_timeout(FLUSH_EVERY) {
            Ok(record) => refused += u64::from(record.write(&mut out).is_err()),
            Err(RecvTimeoutError::Timeout) => {
                let _ = out.flush();
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    refused + u64::from(out.flush().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> TruthRecord {
        TruthRecord {
            id: "cmpl-sim-3".to_owned(),
            path: "/v1/completions",
            protocol: Protocol::Completions,
            status: 200,
            fault: Some(FaultKind::SplitUtf8),
            stage: Some(2),
            prompt_tokens: 12,
            cached_tokens: 0,
            received_ns: 100,
            headers_sent_ns: None,
            events: vec![
                SentEvent { sent_ns: 150, tokens: 4, kind: 3 },
                SentEvent { sent_ns: 160, tokens: 1, kind: 1 },
            ],
            gone_ns: Some(165),
            end_ns: 170,
            end: End::ClientGone,
        }
    }

    #[test]
    fn a_line_is_the_contracts_json() {
        let mut line = Vec::new();
        record().write(&mut line).unwrap();
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(
            line,
            serde_json::json!({
                "id": "cmpl-sim-3", "path": "/v1/completions", "protocol": "openai-completions", "status": 200, "fault": "split_utf8", "stage": 2,
                "prompt_tokens": 12, "cached_tokens": 0, "received_ns": 100, "headers_sent_ns": null,
                "events": [[150, 4, 3], [160, 1, 1]], "gone_ns": 165, "end_ns": 170, "end": "client_gone",
            })
        );
    }

    #[test]
    fn a_closed_log_is_whole() {
        let path = std::env::temp_dir().join(format!("paceline-truth-{}.jsonl", std::process::id()));
        let mut log = TruthLog::create(Some(&path)).unwrap();
        for _ in 0..500 {
            log.push(record());
        }
        assert_eq!(log.close(), 0);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(text.starts_with(r#"{"schema":"paceline.truth/1""#));
        assert_eq!(text.lines().count(), 501);
    }

    #[test]
    fn a_path_that_cannot_be_written_is_an_error_that_names_it() {
        let error = TruthLog::create(Some(Path::new("/nonexistent/truth.jsonl"))).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/truth.jsonl"));
    }
}
