//! Lines into segments. What cannot be written is counted, and each line tries anew.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paceline_io::clock::unix_ns;
use serde::Serialize;

use super::lock::{Lock, Progress};
use super::recent::Place;
use super::segment::{NotWritten, Segment};

/// So much room must be there before a ledger that could not be written is taken to be well again.
const ROOM_BYTES: usize = 64 * 1024;
const PROBE: &str = "room.probe";

/// How the ledger is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LedgerState {
    /// The last line could not be written.
    pub(crate) failing: bool,
    /// Why not.
    pub(crate) why: Option<String>,
    /// The first time in a row, seconds since 1970.
    pub(crate) since_unix_s: Option<i64>,
    /// Lines that are in the ledger, of this process.
    pub(crate) written: u64,
    /// Lines that are not.
    pub(crate) lost: u64,
    pub(crate) bytes: u64,
    /// The segment that is written to; none: none can be.
    pub(crate) segment: Option<u64>,
    /// Times that the disk did not confirm what was written.
    pub(crate) syncs_failed: u64,
}

#[derive(Debug)]
struct Failing {
    why: String,
    since_unix_s: i64,
}

/// What one gateway writes.
#[derive(Debug)]
pub(super) struct Writer {
    folder: PathBuf,
    segment_bytes: u64,
    lock: Lock,
    next_attempt: Arc<AtomicU64>,
    segment: Option<Segment>,
    next_number: u64,
    /// Segments that are full, with lines that were not brought to the disk yet.
    unsynced: Vec<Arc<File>>,
    /// Lines were written since the last sync.
    dirty: bool,
    /// A file was made since the last sync.
    folder_dirty: bool,
    /// Someone calls for syncs: without, nothing is kept for them.
    syncs: bool,
    failing: Option<Failing>,
    /// The same, for those who hold no lock.
    is_failing: Arc<AtomicBool>,
    written: u64,
    lost: u64,
    bytes: u64,
    syncs_failed: u64,
    /// Lines since it was last seen that the segment is in its folder.
    unseen: u64,
}

/// A writer of several threads. The lock is held over one `write(2)` (and where a segment is full, over the making of the
/// next), never over a sync.
#[derive(Debug)]
pub(super) struct SharedWriter {
    writer: Mutex<Writer>,
    failing: Arc<AtomicBool>,
}

impl SharedWriter {
    pub(super) fn new(writer: Writer) -> Self {
        Self { failing: Arc::clone(&writer.is_failing), writer: Mutex::new(writer) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without a lock: each request asks.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Looks whether all is well, and tries what fails.
    pub(super) fn look(&self) {
        let mut writer = self.lock();
        writer.look(unix_ns().div_euclid(1_000_000_000));
        writer.retry();
    }

    /// Brings what was written to the disk; takes as long as the disk does.
    pub(super) fn sync(&self) {
        let to_sync = self.lock().take_unsynced();
        if let Some(to_sync) = to_sync
            && to_sync.run().is_err()
        {
            self.lock().sync_failed();
        }
    }
}

/// What a sync has to bring to the disk.
#[derive(Debug)]
pub(super) struct ToSync {
    files: Vec<Arc<File>>,
    /// Its entries too.
    folder: Option<PathBuf>,
}

impl ToSync {
    pub(super) fn run(self) -> io::Result<()> {
        if let Some(folder) = self.folder {
            File::open(folder)?.sync_all()?;
        }
        self.files.iter().try_for_each(|file| file.sync_data())
    }
}

impl Writer {
    pub(super) fn new(
        folder: PathBuf,
        segment_bytes: u64,
        lock: Lock,
        next_number: u64,
        next_attempt: Arc<AtomicU64>,
        syncs: bool,
    ) -> Self {
        Self {
            folder,
            segment_bytes,
            lock,
            next_attempt,
            segment: None,
            next_number,
            unsynced: Vec::new(),
            dirty: false,
            folder_dirty: false,
            syncs,
            failing: None,
            is_failing: Arc::default(),
            written: 0,
            lost: 0,
            bytes: 0,
            syncs_failed: 0,
            unseen: 0,
        }
    }

    /// Begins the first segment, so that a folder that cannot be written is known at the start.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.ready(0)
    }

    /// Where the line is; none: it is lost.
    pub(super) fn append(&mut self, line: &[u8], unix_s: i64) -> Option<Place> {
        match self.write(line) {
            Ok(place) => {
                self.written += 1;
                self.unseen += 1;
                self.bytes += line.len() as u64;
                self.dirty = true;
                // A short line may still fit where the next one does not.
                if self.failing.is_some() && self.has_room() {
                    self.is_well();
                }
                Some(place)
            }
            Err(error) => {
                self.lost += 1;
                self.fails(&error, unix_s);
                None
            }
        }
    }

    /// A line that never came to be one.
    pub(super) fn lose(&mut self, error: &io::Error, unix_s: i64) {
        self.lost += 1;
        self.fails(error, unix_s);
    }

    /// Looks whether the segment is still in its folder, about once a second: asking at each line would cost a system
    /// call. Who takes it away, or its folder, takes its lines: those since the last look are counted as lost, and no
    /// others can be.
    pub(super) fn look(&mut self, unix_s: i64) {
        let lines = std::mem::take(&mut self.unseen);
        if self.segment.as_ref().is_none_or(|segment| segment.is_there(&self.folder)) {
            return;
        }
        self.segment = None;
        self.written -= lines;
        self.lost += lines;
        if let Err(error) = self.ready(0) {
            self.fails(&error, unix_s);
        }
    }

    /// Looks whether what could not be written can be again; no line is written to find out.
    pub(super) fn retry(&mut self) {
        if self.failing.is_some() && self.ready(0).is_ok() && self.has_room() {
            self.is_well();
        }
    }

    /// What was written since the last time, to be brought to the disk while lines go on.
    pub(super) fn take_unsynced(&mut self) -> Option<ToSync> {
        if !self.dirty && !self.folder_dirty {
            return None;
        }
        let mut files = std::mem::take(&mut self.unsynced);
        if self.dirty {
            files.extend(self.segment.as_ref().map(|segment| Arc::clone(&segment.file)));
        }
        self.dirty = false;
        let folder = std::mem::take(&mut self.folder_dirty).then(|| self.folder.clone());
        Some(ToSync { files, folder })
    }

    /// The disk did not take what the kernel had: that cannot be had again (a second call would succeed and bring
    /// nothing), so what follows goes to another segment.
    pub(super) fn sync_failed(&mut self) {
        self.syncs_failed += 1;
        if self.segment.as_ref().is_some_and(|segment| segment.len > 0) {
            self.segment = None;
        }
    }

    pub(super) fn state(&self) -> LedgerState {
        LedgerState {
            failing: self.failing.is_some(),
            why: self.failing.as_ref().map(|failing| failing.why.clone()),
            since_unix_s: self.failing.as_ref().map(|failing| failing.since_unix_s),
            written: self.written,
            lost: self.lost,
            bytes: self.bytes,
            segment: self.segment.as_ref().map(|segment| segment.number),
            syncs_failed: self.syncs_failed,
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<Place> {
        self.ready(line.len() as u64)?;
        let Some(segment) = &mut self.segment else {
            return Err(io::Error::other("there is no segment"));
        };
        let number = segment.number;
        match segment.write(line) {
            Ok(offset) => Ok(Place::new(number, offset, line.len())),
            Err(NotWritten::Clean(error)) => Err(error),
            Err(NotWritten::Torn(error)) => {
                self.segment = None;
                Err(error)
            }
        }
    }

    fn fails(&mut self, error: &io::Error, unix_s: i64) {
        let since_unix_s = self.failing.as_ref().map_or(unix_s, |failing| failing.since_unix_s);
        self.failing = Some(Failing { why: error.to_string(), since_unix_s });
        self.is_failing.store(true, Ordering::Relaxed);
    }

    fn is_well(&mut self) {
        if self.failing.take().is_some() {
            self.is_failing.store(false, Ordering::Relaxed);
        }
    }

    /// A segment that takes so many bytes more.
    fn ready(&mut self, bytes: u64) -> io::Result<()> {
        if let Some(segment) = &self.segment
            && segment.len > 0
            && segment.len + bytes > self.segment_bytes
        {
            // No descriptor or inode left for another: this one goes on, and nothing is lost.
            if let Ok(next) = self.next_segment() {
                let full = self.segment.replace(next);
                self.unsynced.extend(full.filter(|_| self.syncs && self.dirty).map(|full| full.file));
            }
            return Ok(());
        }
        if self.segment.is_none() {
            self.segment = Some(self.next_segment()?);
        }
        Ok(())
    }

    fn next_segment(&mut self) -> io::Result<Segment> {
        if !self.lock.guards(&self.folder)? {
            self.lock = Lock::take(&self.folder)?;
        }
        let segment = loop {
            match Segment::begin(&self.folder, self.next_number)? {
                Some(segment) => break segment,
                None => self.next_number += 1,
            }
        };
        self.next_number = segment.number + 1;
        self.folder_dirty = true;
        let attempt = self.next_attempt.load(Ordering::Relaxed);
        // A hint for the time after this process; the segments themselves say the same while they are there. Nothing may
        // fail from here on: whoever follows the ledger takes a segment that has a successor to be whole.
        let _ = self.lock.note(Progress { segment: segment.number, attempt });
        Ok(segment)
    }

    /// By a file beside: that says more than asking for space, which knows nothing of a disk that fails or may only be
    /// read.
    fn has_room(&self) -> bool {
        let path = self.folder.join(PROBE);
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(&vec![0; ROOM_BYTES]));
        let removed = std::fs::remove_file(&path);
        written.is_ok() && removed.is_ok()
    }
}
