//! What a server still sends after the caller has hung up.

use paceline_wire::RequestRecord;

/// The row of a call that was hung up, until it is known when the server stops.
#[derive(Debug)]
pub(crate) struct Tail {
    record: RequestRecord,
    bytes: u64,
    last_ns: i64,
}

impl Tail {
    pub(crate) fn new(mut record: RequestRecord, hangup_ns: i64) -> Self {
        record.hangup_ns = Some(hangup_ns);
        Self { record, bytes: 0, last_ns: hangup_ns }
    }

    pub(crate) fn receive(&mut self, bytes: usize, at_ns: i64) {
        self.bytes += bytes as u64;
        self.last_ns = self.last_ns.max(at_ns);
    }

    /// The server has closed, or broken the connection off.
    pub(crate) fn stop(&mut self, at_ns: i64) {
        self.record.stopped_ns = Some(self.last_ns.max(at_ns));
    }

    /// The row. Without a stop before, the server was still sending or open.
    pub(crate) fn finish(mut self) -> RequestRecord {
        self.record.tail_bytes = Some(self.bytes);
        self.record
    }
}
