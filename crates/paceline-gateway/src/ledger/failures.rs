//! Tests: disks that are full, folders that go, processes that are killed.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Ledger;
use super::segment::{self, NotWritten, Segment};
use super::testing::{Folder, entry, settings};

/// Names the folder to the child, which is this test binary again.
const FOLDER: &str = "PACELINE_TEST_LEDGER";

fn child(test: &str, folder: &Folder) -> Command {
    let mut command = Command::new("sh");
    // A write beyond the limit on a file's size ends a process, unless the signal is ignored.
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", &format!("ledger::failures::{test}")]).env(FOLDER, &folder.0);
    command
}

#[test]
fn a_full_device_takes_nothing_and_leaves_the_segment_as_it_is() {
    let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let mut segment = Segment { number: 1, file: Arc::new(full), len: 0 };
    match segment.write(b"line\n") {
        Err(NotWritten::Clean(error)) => assert_eq!(error.kind(), std::io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
    assert_eq!(segment.len, 0);
}

#[test]
fn a_line_of_which_a_part_cannot_be_cut_off_again_is_torn() {
    // A socket takes what it has room for, and has no length.
    let (reader, writer) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let mut segment = Segment { number: 1, file: Arc::new(File::from(OwnedFd::from(writer))), len: 0 };
    assert!(matches!(segment.write(&vec![b'x'; 1 << 20]), Err(NotWritten::Torn(_))));
    drop(reader);
}

#[test]
fn a_disk_that_fills_up_loses_whole_lines_counts_them_and_is_noticed_to_be_well() {
    let folder = Folder::new();
    let output = child("fills_its_disk", &folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // The lines before, and those after.
    let ids = folder.ids();
    assert!(ids.iter().any(|id| id.starts_with("gen-early")) && ids.ends_with(&["gen-late".to_owned()]));
    assert!(ids.iter().all(|id| !id.starts_with("gen-lost")));
}

fn limit(resource: Resource, current: u64) {
    let maximum = getrlimit(resource).maximum;
    setrlimit(resource, Rlimit { current: Some(current), maximum }).unwrap();
}

#[test]
#[ignore = "the child of another test"]
fn fills_its_disk() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (ledger, _) = Ledger::open(&settings(folder.as_ref())).unwrap();
    limit(Resource::Fsize, 20_000);
    // A short line fits where a long one did not, and says nothing of the next one.
    assert!(!ledger.append(&entry("gen-lost-long", 0, &"x".repeat(30_000))));
    assert!(ledger.append(&entry("gen-early-short", 0, "hi")));
    assert!(ledger.is_failing(), "there is no room for more than a few lines");
    let mut written = 1;
    while ledger.append(&entry(&format!("gen-early-{written}"), 0, "hi")) {
        written += 1;
    }
    let whole_bytes = fs::metadata(segment::path(folder.as_ref(), 1)).unwrap().len();
    for place in 0..3 {
        assert!(!ledger.append(&entry(&format!("gen-lost-{place}"), 0, &"x".repeat(30_000))));
        assert_eq!(fs::metadata(segment::path(folder.as_ref(), 1)).unwrap().len(), whole_bytes);
    }
    let state = ledger.state();
    assert!(state.failing && ledger.is_failing() && state.why.is_some());
    assert_eq!((state.written, state.lost), (written, 5));
    // The first that was lost ended 2 s after noon.
    assert_eq!(state.since_unix_s, Some(1_796_040_002));
    ledger.writer.lock().retry();
    assert!(ledger.is_failing(), "there is no room yet");
    limit(Resource::Fsize, 1 << 30);
    ledger.writer.lock().retry();
    assert!(!ledger.is_failing(), "there is room, and it is found without a line");
    assert_eq!(fs::metadata(segment::path(folder.as_ref(), 1)).unwrap().len(), whole_bytes);
    assert!(ledger.append(&entry("gen-late", 0, "hi")));
    let state = ledger.state();
    assert_eq!((state.failing, state.why, state.since_unix_s, state.lost), (false, None, None, 5));
}

#[test]
fn without_descriptors_a_full_segment_goes_on() {
    let folder = Folder::new();
    let output = child("has_no_descriptors", &folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(folder.ids().len(), 6);
    assert_eq!(segment::numbers(&folder.0).unwrap(), [1, 2]);
}

#[test]
#[ignore = "the child of another test"]
fn has_no_descriptors() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut small = settings(folder.as_ref());
    small.segment_bytes = 2_000;
    let (ledger, _) = Ledger::open(&small).unwrap();
    let before = getrlimit(Resource::Nofile).current.unwrap();
    limit(Resource::Nofile, 0);
    let appended: Vec<bool> =
        (0..5).map(|place| ledger.append(&entry(&format!("gen-{place}"), 0, "hi"))).collect();
    limit(Resource::Nofile, before);
    assert_eq!(appended, [true; 5]);
    assert_eq!((ledger.state().segment, ledger.state().lost), (Some(1), 0));
    assert!(ledger.append(&entry("gen-6", 0, "hi")));
    assert_eq!(ledger.state().segment, Some(2));
}

#[test]
fn a_folder_that_goes_and_comes_back_is_written_again_and_locked_again() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    assert!(ledger.append(&entry("gen-1", 0, "hi")));
    ledger.writer.look();
    assert!(!ledger.is_failing());
    fs::remove_dir_all(&folder.0).unwrap();
    // Nobody has looked since: it is taken, and counted as lost by the next look.
    ledger.append(&entry("gen-2", 0, "hi"));
    ledger.writer.look();
    assert!(ledger.is_failing(), "found without a line");
    assert!(!ledger.append(&entry("gen-3", 0, "hi")));
    let state = ledger.state();
    assert_eq!((state.failing, state.written, state.lost, state.segment), (true, 1, 2, None));
    // It is not made again: an empty mount point is no place for a ledger.
    assert!(!folder.0.exists());
    fs::create_dir(&folder.0).unwrap();
    assert!(ledger.append(&entry("gen-4", 0, "hi")));
    assert_eq!(folder.ids(), ["gen-4"]);
    assert_eq!((ledger.state().failing, ledger.state().segment), (false, Some(2)));
    assert!(Ledger::open(&settings(&folder.0)).is_err(), "the new folder is locked");
}

#[test]
fn a_folder_that_is_moved_takes_no_more_lines_and_the_new_one_has_the_next() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    assert!(ledger.append(&entry("gen-1", 0, "hi")));
    ledger.writer.look();
    fs::rename(&folder.0, &elsewhere.0).unwrap();
    fs::create_dir(&folder.0).unwrap();
    // Nobody has looked since.
    ledger.append(&entry("gen-2", 0, "hi"));
    ledger.writer.look();
    assert!(ledger.append(&entry("gen-3", 0, "hi")));
    assert_eq!(folder.ids(), ["gen-3"]);
    let state = ledger.state();
    assert_eq!((state.failing, state.written, state.lost, state.segment), (false, 2, 1, Some(2)));
    assert_eq!(elsewhere.ids()[0], "gen-1");
    assert!(Ledger::open(&settings(&folder.0)).is_err(), "the new folder is locked");
    // Moved without another in its place: it is gone.
    fs::remove_dir_all(&elsewhere.0).unwrap();
    fs::rename(&folder.0, &elsewhere.0).unwrap();
    ledger.writer.look();
    assert!(ledger.is_failing() && !folder.0.exists());
}

#[test]
fn a_segment_in_whose_place_another_file_lies_is_left() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    assert!(ledger.append(&entry("gen-1", 0, "hi")));
    ledger.writer.look();
    let (path, copy) = (segment::path(&folder.0, 1), folder.0.join("copy"));
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    ledger.writer.look();
    assert!(ledger.append(&entry("gen-2", 0, "hi")));
    assert_eq!(
        (folder.ids(), ledger.state().segment),
        (vec!["gen-1".to_owned(), "gen-2".to_owned()], Some(2))
    );
}

#[test]
fn a_segment_that_is_deleted_is_followed_by_another() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    assert!(ledger.append(&entry("gen-1", 0, "hi")));
    ledger.writer.look();
    fs::remove_file(segment::path(&folder.0, 1)).unwrap();
    ledger.writer.look();
    assert!(ledger.append(&entry("gen-2", 0, "hi")));
    assert_eq!((folder.ids(), ledger.state().segment), (vec!["gen-2".to_owned()], Some(2)));
    assert!(ledger.find("gen-1", None).is_none() && ledger.find("gen-2", None).is_some());
    assert_eq!((ledger.state().failing, ledger.state().written, ledger.state().lost), (false, 2, 0));
}

#[test]
fn whoever_opens_a_ledger_looks_after_it() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    fs::remove_dir_all(&folder.0).unwrap();
    let look = |failing: bool| {
        while ledger.is_failing() != failing {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    look(true);
    fs::create_dir(&folder.0).unwrap();
    look(false);
    assert!(ledger.append(&entry("gen-1", 0, "hi")));
    assert_eq!(folder.ids(), ["gen-1"]);
}

/// The child of the next test: appends from two threads, and says which lines were taken.
#[test]
#[ignore = "the child of another test"]
fn appends_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut small = settings(folder.as_ref());
    (small.segment_bytes, small.sync_every_ns) = (200_000, 1_000_000);
    let (ledger, _) = Ledger::open(&small).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2_usize {
            let ledger = &ledger;
            scope.spawn(move || {
                for place in thread.. {
                    let id = ledger.new_id(1_796_040_000_000_000_000);
                    // Some lines have hundreds of pages: a kill may come between two of them.
                    let text = "x".repeat(if place % 5 == 0 { 400_000 } else { place % 700 });
                    let said = format!("{id} {}\n", ledger.next_attempt());
                    let (_, attempt) = said.trim_end().split_once(' ').unwrap();
                    assert!(ledger.append(&entry(&id, attempt.parse().unwrap(), &text)));
                    std::io::stderr().write_all(said.as_bytes()).unwrap();
                }
            });
        }
    });
}

struct Acknowledged {
    id: String,
    attempt: u64,
}

/// What a child said until it was killed, at an instant that the generator draws.
fn killed(mut child: Child, rng: &mut ChaCha8Rng) -> Vec<Acknowledged> {
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    for _ in 0..rng.random_range(0..12) {
        said.read_line(&mut text).unwrap();
    }
    for _ in 0..rng.random_range(0..200_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    said.read_to_string(&mut text).unwrap();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let acknowledged = whole.map(|line| {
        let (id, attempt) = line.trim_end().split_once(' ').unwrap_or_else(|| panic!("it said {line:?}"));
        Acknowledged { id: id.to_owned(), attempt: attempt.parse().unwrap() }
    });
    acknowledged.collect()
}

#[test]
fn killed_at_any_instant_each_line_that_was_taken_is_there_exactly_once() {
    let folder = Folder::new();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut acknowledged = Vec::new();
    let mut lines = HashMap::new();
    for _ in 0..300 {
        let mut command = child("appends_until_it_is_killed", &folder);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        acknowledged.extend(killed(child, &mut rng));
        // About one kill in twelve tears a line, which is cut off here.
        drop(Ledger::open(&settings(&folder.0)).unwrap());
        // What is whole is taken away, as the control process does: numbers go on all the same.
        for number in segment::numbers(&folder.0).unwrap() {
            let path = segment::path(&folder.0, number);
            let bytes = fs::read(&path).unwrap();
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                let line = super::line::Line::read(line).expect("a line is torn");
                let attempt = line.attempts[0].row.request_index;
                assert_eq!(lines.insert(line.id, attempt), None, "a line is there twice");
            }
            fs::remove_file(path).unwrap();
        }
    }
    assert!(acknowledged.len() > 300);
    for Acknowledged { id, attempt } in &acknowledged {
        assert_eq!(lines.get(id), Some(attempt), "{id} was taken, and is not there");
    }
    // Two threads: no more than two lines a kill were taken and could not be said any more.
    assert!(lines.len() <= acknowledged.len() + 2 * 300);
    let mut attempts: Vec<u64> = lines.into_values().collect();
    let count = attempts.len();
    attempts.sort_unstable();
    attempts.dedup();
    assert_eq!(attempts.len(), count, "two attempts have one number");
}
