//! The ledger: a line for each request, written before its client has the last byte (docs/concepts/accounting.md).

pub(crate) mod entry;
#[cfg(test)]
mod failures;
mod generation;
mod history;
mod ids;
mod line;
mod lock;
mod recent;
mod recover;
mod segment;
mod syncer;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::error::GatewayError;
use crate::settings::LedgerSettings;
use entry::Entry;
use ids::Ids;
use line::Line;
use lock::Lock;
use recent::Recent;
use syncer::Syncer;
use writer::{SharedWriter, Writer};

pub(crate) use history::{Past, decode_tok_s};
pub(crate) use recover::Recovered;
pub(crate) use writer::LedgerState;

const SCHEMA: &str = "paceline.ledger/1";
const SECOND_NS: i64 = 1_000_000_000;

/// What a gateway writes down. The locks are held over one `write(2)` (and where a segment is full, over the opening of
/// the next), never over a sync.
pub(crate) struct Ledger {
    folder: PathBuf,
    ids: Ids,
    next_attempt: Arc<AtomicU64>,
    writer: Arc<SharedWriter>,
    recent: Mutex<Recent>,
    /// Dropped, it brings the last lines to the disk.
    _syncer: Syncer,
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    #[serde(flatten)]
    entry: &'a Entry,
}

impl Ledger {
    /// Opens the folder for this process alone, makes it where it is not there, and cuts off what is not whole.
    ///
    /// # Errors
    /// When the folder cannot be made, read or written, or another gateway writes it.
    pub(crate) fn open(settings: &LedgerSettings) -> Result<(Self, Recovered), GatewayError> {
        Self::open_folder(settings)
            .map_err(|source| GatewayError::Ledger { folder: settings.folder.display().to_string(), source })
    }

    fn open_folder(settings: &LedgerSettings) -> io::Result<(Self, Recovered)> {
        let folder = settings.folder.clone();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let lock = Lock::take(&folder)?;
        let mut recent = Recent::new(settings.recent_requests);
        let mut recovered = recover::recover(&folder, lock.progress(), &mut recent)?;
        recovered.recent = recent.len();
        let next_attempt = Arc::new(AtomicU64::new(recovered.next_attempt));
        let syncs = settings.sync_every_ns > 0;
        let mut writer = Writer::new(
            folder.clone(),
            settings.segment_bytes,
            lock,
            recovered.next_segment,
            Arc::clone(&next_attempt),
            syncs,
        );
        writer.begin()?;
        let writer = Arc::new(SharedWriter::new(writer));
        let ledger = Self {
            folder,
            ids: Ids::new()?,
            next_attempt,
            _syncer: Syncer::start(Arc::clone(&writer), settings.sync_every_ns)?,
            writer,
            recent: Mutex::new(recent),
        };
        Ok((ledger, recovered))
    }

    /// The attempts that ended since then, oldest first, as far as the newest segments tell of them. What cannot be read is
    /// left out: a gateway can start without.
    pub(crate) fn last_attempts(&self, since_unix_ns: i64) -> Vec<Past> {
        history::last_attempts(&self.folder, since_unix_ns, history::READ_BYTES).unwrap_or_default()
    }

    /// The id of a request that was received at that instant.
    pub(crate) fn new_id(&self, received_unix_ns: i64) -> String {
        self.ids.next(received_unix_ns)
    }

    /// The number of an attempt (`row.request_index`): no two of a ledger's life have the same.
    pub(crate) fn next_attempt(&self) -> u64 {
        self.next_attempt.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes a request down: the kernel has the line before this returns. False: it is lost, and counted.
    pub(crate) fn append(&self, entry: &Entry) -> bool {
        let unix_s = (entry.received_unix_ns + (entry.ended_ns - entry.received_ns)).div_euclid(SECOND_NS);
        let mut line = Vec::with_capacity(4096);
        if let Err(error) = serde_json::to_writer(&mut line, &Written { schema: SCHEMA, entry }) {
            self.writer.lock().lose(&error.into(), unix_s);
            return false;
        }
        line.push(b'\n');
        let place = self.writer.lock().append(&line, unix_s);
        if let Some(place) = place {
            let served = entry.attempts.iter().find(|attempt| attempt.served);
            let response_id = served.and_then(|attempt| attempt.row.observation.response_id.as_deref());
            self.recent.lock().unwrap_or_else(PoisonError::into_inner).push(&entry.id, response_id, place);
        }
        place.is_some()
    }

    /// The last line could not be written, and it cannot be now. Tried anew about once a second, and with each line.
    pub(crate) fn is_failing(&self) -> bool {
        self.writer.is_failing()
    }

    /// How it is.
    pub(crate) fn state(&self) -> LedgerState {
        self.writer.lock().state()
    }

    /// The `data` of `/v1/generation`, JSON, of a request by its id or by the one that the upstream gave it. Only who
    /// asked with the same key (its id; none: without one) is told. Read from the ledger: what is lost is not found.
    pub(crate) fn find(&self, id: &str, key: Option<&str>) -> Option<String> {
        let place = self.recent.lock().unwrap_or_else(PoisonError::into_inner).place(id)?;
        let file = File::open(segment::path(&self.folder, place.segment)).ok()?;
        let mut bytes = vec![0; place.bytes as usize];
        file.read_exact_at(&mut bytes, place.offset).ok()?;
        let line = Line::read(&bytes)?;
        let response_id = line.served().and_then(|attempt| attempt.row.response_id.as_deref());
        let is_it = (line.id == id || response_id == Some(id)) && line.key.as_deref() == key;
        is_it.then(|| generation::generation(&line).to_string())
    }
}
