//! One file of the ledger: lines, one after the other.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

const SUFFIX: &str = ".jsonl";
const DIGITS: usize = 8;

/// A segment that is written to.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) file: Arc<File>,
    /// Bytes of whole lines.
    pub(super) len: u64,
}

/// Why a line is not in the ledger.
#[derive(Debug)]
pub(super) enum NotWritten {
    /// The segment is as it was.
    Clean(io::Error),
    /// A part of the line is in it, and cannot be cut off.
    Torn(io::Error),
}

impl Segment {
    /// Begins the segment of that number; none: there is one with something in it.
    pub(super) fn begin(folder: &Path, number: u64) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path(folder, number))?;
        if file.metadata()?.len() > 0 {
            return Ok(None);
        }
        Ok(Some(Self { number, file: Arc::new(file), len: 0 }))
    }

    /// The file is still where it was begun: neither it nor its folder was deleted, moved or replaced. Where that cannot
    /// be known it is taken to be.
    pub(super) fn is_there(&self, folder: &Path) -> bool {
        let (held, there) = (self.file.metadata(), std::fs::metadata(path(folder, self.number)));
        match (held, there) {
            (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
            (_, Err(error)) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            (Err(_), Ok(_)) => true,
        }
    }

    /// Appends a line, its newline included, whole or not at all, in one call of `write(2)`: what the call has taken
    /// is the kernel's, and no end of this process takes it back.
    pub(super) fn write(&mut self, line: &[u8]) -> Result<u64, NotWritten> {
        let written = loop {
            match rustix::io::write(&*self.file, line) {
                Err(Errno::INTR) => {}
                other => break other.map_err(|error| NotWritten::Clean(error.into()))?,
            }
        };
        if written == line.len() {
            let offset = self.len;
            self.len += line.len() as u64;
            return Ok(offset);
        }
        let error = io::Error::new(
            io::ErrorKind::StorageFull,
            format!("{written} of {} bytes could be written", line.len()),
        );
        match self.file.set_len(self.len) {
            Ok(()) => Err(NotWritten::Clean(error)),
            Err(_) => Err(NotWritten::Torn(error)),
        }
    }
}

/// Where the segment of that number is.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:0DIGITS$}{SUFFIX}"))
}

/// The numbers of all segments of a folder, in order.
pub(super) fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        if let Some(digits) = digits.filter(|digits| digits.len() >= DIGITS)
            && let Ok(number) = digits.parse()
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}
