//! Server-sent events in chunked framing, well-formed or as a fault asks.

use std::io::Write;

use crate::fault::FaultKind;

/// Bytes that are about to leave, and a buffer to build an event in.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) bytes: Vec<u8>,
    event: Vec<u8>,
}

impl Outbox {
    /// Appends the last chunk of a chunked body.
    pub(crate) fn end_of_body(&mut self) {
        self.bytes.extend_from_slice(b"0\r\n\r\n");
    }
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    name: &'static [u8],
    data: &'static [u8],
    newline: &'static [u8],
    comments: bool,
    /// What a JSON object begins with.
    pub(super) open: &'static str,
}

impl Style {
    pub(super) fn of(fault: Option<FaultKind>) -> Self {
        let spaced = fault != Some(FaultKind::NoSpace);
        Self {
            name: if spaced { b"event: " } else { b"event:" },
            data: if spaced { b"data: " } else { b"data:" },
            newline: if fault == Some(FaultKind::Crlf) { b"\r\n" } else { b"\n" },
            comments: fault == Some(FaultKind::Comments),
            open: if fault == Some(FaultKind::MultiLine) { "{\ndata: " } else { "{" },
        }
    }

    /// Builds one event with `fill`, and puts it behind its chunk size. An empty `name` is not written.
    pub(super) fn event(&self, out: &mut Outbox, name: &str, fill: impl FnOnce(&mut Vec<u8>)) {
        let Outbox { bytes, event } = out;
        event.clear();
        if self.comments {
            event.extend_from_slice(b": keep-alive\n\n");
        }
        if !name.is_empty() {
            event.extend_from_slice(self.name);
            event.extend_from_slice(name.as_bytes());
            event.extend_from_slice(self.newline);
        }
        event.extend_from_slice(self.data);
        fill(event);
        event.extend_from_slice(self.newline);
        event.extend_from_slice(self.newline);
        push_hex(bytes, event.len());
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(event);
        bytes.extend_from_slice(b"\r\n");
    }
}

fn push_hex(out: &mut Vec<u8>, value: usize) {
    // Writing to a Vec does not fail.
    let _ = write!(out, "{value:x}");
}
