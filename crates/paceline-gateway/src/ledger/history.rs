//! The last attempts that a ledger knows of, newest segments first: what a gateway that starts can go on from.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use paceline_wire::{KIND_EMBEDDING, Outcome};
use serde::Deserialize;

use super::segment;

/// So much is read at most, from the ledger's end.
pub(super) const READ_BYTES: u64 = 8 * 1024 * 1024;
/// Attempts of one offer.
const MOST_AN_OFFER: u32 = 256;

/// One attempt of before, as far as it tells of its offer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Past {
    pub(crate) offer: String,
    pub(crate) upstream_model: String,
    pub(crate) endpoint: String,
    /// A probe: no client had asked.
    pub(crate) probe: bool,
    pub(crate) streaming: bool,
    pub(crate) embedding: bool,
    /// Its end by the wall clock: instants of CLOCK_MONOTONIC mean nothing after a new start of the machine.
    pub(crate) ended_unix_ns: i64,
    pub(crate) outcome: Outcome,
    pub(crate) status: Option<u16>,
    /// As the server says, else as was estimated; none: neither.
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) cached_tokens: Option<u64>,
    pub(crate) completion_tokens: Option<u64>,
    /// From the first byte written, as the next two.
    pub(crate) ttft_ns: Option<i64>,
    pub(crate) elapsed_ns: i64,
    /// Generated tokens a second after the first event.
    pub(crate) decode_tok_s: Option<f64>,
}

#[derive(Deserialize)]
struct Line {
    received_unix_ns: i64,
    received_ns: i64,
    ended_ns: i64,
    attempts: Vec<Attempt>,
}

#[derive(Deserialize)]
struct Attempt {
    offer: String,
    upstream_model: String,
    endpoint: String,
    role: String,
    usage: Usage,
    row: Row,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
}

#[derive(Deserialize)]
struct Row {
    intended_ns: i64,
    sent_ns: Option<i64>,
    end_ns: i64,
    status: Option<u16>,
    outcome: String,
    streaming: bool,
    prompt_tokens: Option<i64>,
    cached_tokens: Option<i64>,
    completion_tokens: Option<i64>,
    event_ns: Vec<i64>,
    event_kind: Vec<u8>,
    event_tokens: Vec<i32>,
}

/// Generated tokens a second after the first event; none: that cannot be told.
#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
pub(crate) fn decode_tok_s(
    event_ns: &[i64],
    event_tokens: &[i32],
    completion_tokens: Option<i64>,
) -> Option<f64> {
    let (first, last) = (event_ns.first()?, event_ns.last()?);
    let first_tokens = i64::from(*event_tokens.first()?).max(1);
    let tokens = completion_tokens? - first_tokens;
    (tokens > 0 && last > first).then(|| tokens as f64 * 1e9 / (last - first) as f64)
}

/// The attempts that ended after `since_unix_ns`, in the order of their ends; at most 256 of an offer, and those alone
/// that the last `most_bytes` tell of. What cannot be read is passed over.
pub(super) fn last_attempts(folder: &Path, since_unix_ns: i64, most_bytes: u64) -> io::Result<Vec<Past>> {
    let mut found = Vec::new();
    let mut taken: HashMap<String, u32> = HashMap::new();
    let mut room = most_bytes;
    for number in segment::numbers(folder)?.into_iter().rev() {
        let bytes = tail(&segment::path(folder, number), room)?;
        room -= (bytes.len() as u64).min(room);
        for line in bytes.rsplit(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
            let unix_ns = |ns: i64| line.received_unix_ns.saturating_add(ns.saturating_sub(line.received_ns));
            // Lines lie in the order of their ends.
            if unix_ns(line.ended_ns) < since_unix_ns {
                room = 0;
                break;
            }
            for attempt in line.attempts.into_iter().rev() {
                let ended_unix_ns = unix_ns(attempt.row.end_ns);
                let Some(past) = attempt.told(ended_unix_ns) else { continue };
                let count = taken.entry(past.offer.clone()).or_default();
                if *count < MOST_AN_OFFER && ended_unix_ns >= since_unix_ns {
                    *count += 1;
                    found.push(past);
                }
            }
        }
        if room == 0 {
            break;
        }
    }
    found.sort_by_key(|past| past.ended_unix_ns);
    Ok(found)
}

/// The last bytes of a file, from a line's beginning on.
fn tail(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let from = size.saturating_sub(most_bytes);
    let mut bytes = vec![0; usize::try_from(size - from).unwrap_or(0)];
    file.read_exact_at(&mut bytes, from)?;
    if from > 0 {
        // The first line may be whole: it is not worth finding out.
        let begun = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |place| place + 1);
        bytes.drain(..begun);
    }
    Ok(bytes)
}

impl Attempt {
    fn told(self, ended_unix_ns: i64) -> Option<Past> {
        let row = self.row;
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == row.outcome)?;
        let count = |tokens: Option<i64>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
        let estimated = Some(self.usage.prompt_tokens).filter(|tokens| *tokens > 0);
        let embedding = row.event_kind.contains(&KIND_EMBEDDING);
        let sent_ns = row.sent_ns.unwrap_or(row.intended_ns);
        let first_ns = row.event_ns.first().filter(|_| row.streaming && !embedding);
        Some(Past {
            offer: self.offer,
            upstream_model: self.upstream_model,
            endpoint: self.endpoint,
            probe: self.role == "probe",
            streaming: row.streaming,
            embedding,
            ended_unix_ns,
            outcome,
            status: row.status,
            prompt_tokens: count(row.prompt_tokens).or(estimated),
            cached_tokens: count(row.cached_tokens),
            completion_tokens: count(row.completion_tokens),
            ttft_ns: first_ns.map(|first_ns| first_ns - sent_ns),
            elapsed_ns: row.end_ns - sent_ns,
            decode_tok_s: decode_tok_s(&row.event_ns, &row.event_tokens, row.completion_tokens),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Ledger;
    use super::super::entry::{Entry, Role};
    use super::super::testing::{Folder, attempt, entry, settings};
    use super::*;

    const NOON_NS: i64 = 1_796_040_000_000_000_000;
    const S: i64 = 1_000_000_000;

    /// A request that came so many seconds after noon, and ended 2 s later.
    fn at(second: i64, offer: &str) -> Entry {
        let mut entry = entry(&format!("gen-{second}"), 0, "hi");
        entry.received_unix_ns = NOON_NS + second * S;
        entry.attempts[0].offer = offer.to_owned();
        entry
    }

    fn written(entries: &[Entry]) -> Folder {
        let folder = Folder::new();
        let mut small = settings(&folder.0);
        small.segment_bytes = 5_000;
        let (ledger, _) = Ledger::open(&small).unwrap();
        assert!(entries.iter().all(|entry| ledger.append(entry)));
        folder
    }

    fn read(folder: &Folder, since_s: i64, most_bytes: u64) -> Vec<(String, i64)> {
        let found = last_attempts(&folder.0, NOON_NS + since_s * S, most_bytes).unwrap();
        found.into_iter().map(|past| (past.offer, (past.ended_unix_ns - NOON_NS) / S)).collect()
    }

    #[test]
    fn an_attempt_tells_what_it_told_when_it_ended() {
        let mut asked = at(0, "a");
        let mut probe = attempt(1, "up", "hi");
        probe.role = Role::Probe;
        let row = &mut probe.row.observation;
        row.event_ns = vec![2 * S, 3 * S];
        row.event_tokens = vec![1, 4];
        (row.prompt_tokens, row.completion_tokens, row.cached_tokens) = (Some(20), Some(5), Some(8));
        row.end_ns = 4 * S;
        asked.attempts.push(probe);
        let found = last_attempts(&written(&[asked]).0, 0, READ_BYTES).unwrap();
        let first = Past {
            offer: "a".to_owned(),
            upstream_model: "m".to_owned(),
            endpoint: "http://h:1/v1".to_owned(),
            probe: false,
            streaming: true,
            embedding: false,
            ended_unix_ns: NOON_NS + 2 * S,
            outcome: Outcome::Ok,
            status: Some(200),
            prompt_tokens: Some(10),
            cached_tokens: None,
            completion_tokens: None,
            ttft_ns: Some(1_400_000_000),
            elapsed_ns: 1_900_000_000,
            decode_tok_s: None,
        };
        let second = Past {
            probe: true,
            ended_unix_ns: NOON_NS + 3 * S,
            prompt_tokens: Some(20),
            cached_tokens: Some(8),
            completion_tokens: Some(5),
            ttft_ns: Some(900_000_000),
            elapsed_ns: 2_900_000_000,
            decode_tok_s: Some(4.0),
            ..first.clone()
        };
        assert_eq!(found, [first, second]);
    }

    #[test]
    fn over_segments_in_order_as_far_back_as_is_asked() {
        let entries: Vec<Entry> = (0..20).map(|second| at(second, ["a", "b"][second as usize % 2])).collect();
        let folder = written(&entries);
        assert!(segment::numbers(&folder.0).unwrap().len() > 3);
        let all: Vec<(String, i64)> =
            entries.iter().zip(2..).map(|(entry, end)| (entry.attempts[0].offer.clone(), end)).collect();
        assert_eq!(read(&folder, 0, READ_BYTES), all);
        assert_eq!(read(&folder, 12, READ_BYTES), all[10..]);
        assert_eq!(read(&folder, 100, READ_BYTES), []);
        // Of what is read of a line in part, nothing is told.
        let few = read(&folder, 0, 7_000);
        assert!((1..10).contains(&few.len()));
        assert_eq!(few, all[20 - few.len()..]);
        assert_eq!(read(&folder, 0, 0), []);
    }

    #[test]
    fn so_many_of_an_offer_and_what_is_no_line_is_passed_over() {
        let mut entries: Vec<Entry> = (0..3).map(|second| at(second, "rare")).collect();
        entries.extend((3..400).map(|second| at(second, "often")));
        let folder = written(&entries);
        let last = *segment::numbers(&folder.0).unwrap().last().unwrap();
        let mut bytes = fs::read(segment::path(&folder.0, last)).unwrap();
        bytes.extend_from_slice(b"{}\nnothing\n\n{\"received");
        fs::write(segment::path(&folder.0, last), bytes).unwrap();
        let found = read(&folder, 0, READ_BYTES);
        let of = |offer: &str| -> Vec<i64> {
            found.iter().filter(|(id, _)| id == offer).map(|(_, end)| *end).collect()
        };
        assert_eq!(of("rare"), [2, 3, 4]);
        assert_eq!(of("often"), (146..402).collect::<Vec<_>>());
    }
}
