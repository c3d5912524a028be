//! One gateway writes a ledger. The file that is locked also says, for the next one, how far this one had come: what
//! must go on when every segment has been read and deleted.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

const NAME: &str = "gateway.lock";

/// Held until it is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// The last segment that was begun, and the first attempt that may be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Progress {
    pub(super) segment: u64,
    pub(super) attempt: u64,
}

impl Lock {
    /// Takes the folder.
    pub(super) fn take(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            rustix::io::Errno::WOULDBLOCK => io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another gateway writes it; end that one, or give each its own folder",
            ),
            other => other.into(),
        })?;
        Ok(Self { file })
    }

    /// The lock is still that of the folder: nobody has removed it, or put another folder in its place.
    pub(super) fn guards(&self, folder: &Path) -> io::Result<bool> {
        let (held, there) = (self.file.metadata()?, std::fs::metadata(folder.join(NAME)));
        match there {
            Ok(there) => Ok(held.dev() == there.dev() && held.ino() == there.ino()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What stands in it; nothing: as if new.
    pub(super) fn progress(&self) -> Progress {
        let mut text = [0; 41];
        let numbers = self.file.read_exact_at(&mut text, 0).ok().and_then(|()| {
            let text = std::str::from_utf8(&text).ok()?;
            let (segment, attempt) = text.split_once(' ')?;
            Some(Progress { segment: segment.parse().ok()?, attempt: attempt.parse().ok()? })
        });
        numbers.unwrap_or_default()
    }

    /// Of a fixed size, in place: no length changes, and no block is needed on a disk that is full.
    pub(super) fn note(&self, progress: Progress) -> io::Result<()> {
        let text = format!("{:020} {:020}", progress.segment, progress.attempt);
        self.file.write_all_at(text.as_bytes(), 0)
    }
}
