//! What a ledger was when it was last written: torn ends are cut off, and numbers go on where they had come to.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Serialize;

use super::line::Line;
use super::lock::Progress;
use super::recent::{Place, Recent};
use super::segment;

/// Older segments than the newest are read for recent requests while they are together no larger.
const READ_BACK_BYTES: u64 = 32 * 1024 * 1024;
/// The end of a segment is searched for its last newline in such steps.
const STEP_BYTES: u64 = 64 * 1024;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Recovered {
    /// Segments in the folder.
    pub(crate) segments: u64,
    /// Bytes of lines that were not whole, and were cut off: of requests that no client had got the end of.
    pub(crate) bytes_cut: u64,
    /// Lines in the middle of what was read that are no lines of a ledger; they were left where they are.
    pub(crate) lines_unread: u64,
    /// Requests that can be asked for by id.
    pub(crate) recent: u64,
    pub(crate) next_segment: u64,
    pub(crate) next_attempt: u64,
}

/// Cuts, and reads.
pub(super) fn recover(folder: &Path, progress: Progress, recent: &mut Recent) -> io::Result<Recovered> {
    let numbers = segment::numbers(folder)?;
    let mut sizes = Vec::with_capacity(numbers.len());
    let mut bytes_cut = 0;
    for number in &numbers {
        let (size, cut) = cut_torn_end(&segment::path(folder, *number))?;
        sizes.push(size);
        bytes_cut += cut;
    }
    let mut found = Recovered {
        segments: numbers.len() as u64,
        bytes_cut,
        lines_unread: 0,
        recent: 0,
        next_segment: numbers.last().map_or(0, |last| last + 1).max(progress.segment + 1),
        next_attempt: progress.attempt,
    };
    // An empty last segment is used, not followed by another: a gateway that restarts for ever leaves no trail.
    if let (Some(last), Some(0)) = (numbers.last(), sizes.last())
        && *last >= progress.segment
    {
        found.next_segment = *last;
    }
    let mut from = numbers.len();
    let mut bytes = 0;
    while from > 0 {
        let older = from - 1;
        bytes += sizes[older];
        // Attempts of all that was written since the noted segment began; of other segments what is of use.
        if numbers[older] < progress.segment && bytes > READ_BACK_BYTES {
            break;
        }
        from = older;
    }
    for number in &numbers[from..] {
        read(folder, *number, &mut found, recent)?;
    }
    Ok(found)
}

fn read(folder: &Path, number: u64, found: &mut Recovered, recent: &mut Recent) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 * 1024, File::open(segment::path(folder, number))?);
    let (mut bytes, mut offset) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let size = reader.read_until(b'\n', &mut bytes)?;
        if size == 0 {
            return Ok(());
        }
        if let Some(line) = Line::read(&bytes) {
            let last = line.attempts.iter().map(|attempt| attempt.row.request_index + 1).max();
            found.next_attempt = found.next_attempt.max(last.unwrap_or(0));
            let response_id = line.served().and_then(|attempt| attempt.row.response_id.as_deref());
            recent.push(&line.id, response_id, Place::new(number, offset, size));
        } else {
            found.lines_unread += 1;
        }
        offset += size as u64;
    }
}

/// Bytes left, bytes cut.
fn cut_torn_end(path: &Path) -> io::Result<(u64, u64)> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let size = file.metadata()?.len();
    let mut end = size;
    let mut step = Vec::new();
    while end > 0 {
        let from = end.saturating_sub(STEP_BYTES);
        step.resize(usize::try_from(end - from).unwrap_or(0), 0);
        file.read_exact_at(&mut step, from)?;
        if let Some(place) = memchr::memrchr(b'\n', &step) {
            end = from + place as u64 + 1;
            break;
        }
        end = from;
    }
    if end < size {
        file.set_len(end)?;
    }
    Ok((end, size - end))
}
