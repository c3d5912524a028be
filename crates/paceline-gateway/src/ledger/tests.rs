//! Opening, rolling, recovering, finding.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::testing::{Folder, attempt, entry, settings};
use super::{Ledger, entry::Role, line::Line, segment};

#[test]
fn what_is_appended_is_one_line_each_and_for_the_owner_alone() {
    let folder = Folder::new();
    let (ledger, recovered) = Ledger::open(&settings(&folder.0)).unwrap();
    assert_eq!((recovered.segments, recovered.next_segment, recovered.next_attempt), (0, 1, 0));
    for place in 0..3 {
        assert!(ledger.append(&entry(&format!("gen-{place}"), ledger.next_attempt(), "a\\nb")));
    }
    assert_eq!(folder.ids(), ["gen-0", "gen-1", "gen-2"]);
    let state = ledger.state();
    assert_eq!((state.written, state.lost, state.failing, state.segment), (3, 0, false, Some(1)));
    assert_eq!(state.bytes, folder.bytes().len() as u64);
    let first: Value =
        serde_json::from_slice(folder.bytes().split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(first["schema"], "paceline.ledger/1");
    assert_eq!(first["attempts"][0]["row"]["text"], "a\nb");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.0), mode(&segment::path(&folder.0, 1))), (0o700, 0o600));
}

#[test]
fn segments_follow_each_other_at_their_size_and_a_line_is_in_one_of_them() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&{
        let mut small = settings(&folder.0);
        small.segment_bytes = 4_000;
        small
    })
    .unwrap();
    let long = "x".repeat(10_000);
    let ids: Vec<String> = (0..20).map(|place| format!("gen-{place:02}")).collect();
    for (place, id) in ids.iter().enumerate() {
        assert!(ledger.append(&entry(id, 0, if place == 7 { &long } else { "hi" })));
    }
    assert_eq!(folder.ids(), ids);
    let numbers = segment::numbers(&folder.0).unwrap();
    assert!(numbers.len() > 4 && numbers == (1..=numbers.len() as u64).collect::<Vec<_>>());
    let sizes: Vec<u64> =
        numbers.iter().map(|number| fs::metadata(segment::path(&folder.0, *number)).unwrap().len()).collect();
    assert_eq!(sizes.iter().filter(|size| **size > 4_000).count(), 1, "the long line alone: {sizes:?}");
    for id in &ids {
        assert!(ledger.find(id, None).is_some() && ledger.find(&format!("up-{id}"), None).is_some());
    }
}

#[test]
fn wherever_the_last_line_is_torn_the_whole_ones_stay() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    for place in 0..3 {
        assert!(ledger.append(&entry(&format!("gen-{place}"), place + 5, "hi")));
    }
    drop(ledger);
    let whole = folder.bytes();
    let ends: Vec<usize> =
        (0..whole.len()).filter(|place| whole[*place] == b'\n').map(|place| place + 1).collect();
    for cut in (0..=whole.len()).step_by(13).chain(ends.iter().copied()).chain(ends.iter().map(|end| end - 1))
    {
        fs::remove_dir_all(&folder.0).unwrap();
        fs::create_dir(&folder.0).unwrap();
        fs::write(segment::path(&folder.0, 1), &whole[..cut]).unwrap();
        let (ledger, recovered) = Ledger::open(&settings(&folder.0)).unwrap();
        let lines = ends.iter().filter(|end| **end <= cut).count();
        let kept = if lines > 0 { ends[lines - 1] } else { 0 };
        assert_eq!(folder.bytes(), &whole[..kept]);
        assert_eq!((recovered.bytes_cut, recovered.recent), ((cut - kept) as u64, lines as u64));
        assert_eq!(recovered.next_attempt, if lines > 0 { lines as u64 + 5 } else { 0 });
        // A segment without a line is used again.
        assert_eq!(recovered.next_segment, if lines > 0 { 2 } else { 1 });
        assert!(ledger.append(&entry("gen-new", 0, "hi")));
    }
}

#[test]
fn a_line_longer_than_a_step_of_the_search_is_cut_whole() {
    let folder = Folder::new();
    fs::create_dir(&folder.0).unwrap();
    let mut bytes = b"no line of a ledger\n".to_vec();
    bytes.extend(vec![b'x'; 300_000]);
    fs::write(segment::path(&folder.0, 4), &bytes).unwrap();
    fs::write(segment::path(&folder.0, 3), b"torn").unwrap();
    let (_ledger, recovered) = Ledger::open(&settings(&folder.0)).unwrap();
    assert_eq!((recovered.bytes_cut, recovered.lines_unread, recovered.next_segment), (300_004, 1, 5));
}

#[test]
fn numbers_go_on_even_where_every_segment_was_taken_away() {
    let folder = Folder::new();
    let mut small = settings(&folder.0);
    small.segment_bytes = 1;
    let (ledger, _) = Ledger::open(&small).unwrap();
    for place in 0..4 {
        assert!(ledger.append(&entry(&format!("gen-{place}"), ledger.next_attempt(), "hi")));
    }
    drop(ledger);
    // The attempts of the last segment are found in it, those before are noted.
    for number in 1..=3 {
        fs::remove_file(segment::path(&folder.0, number)).unwrap();
    }
    let (ledger, recovered) = Ledger::open(&small).unwrap();
    assert_eq!((recovered.next_segment, recovered.next_attempt, recovered.recent), (5, 4, 1));
    drop(ledger);
    for number in segment::numbers(&folder.0).unwrap() {
        fs::remove_file(segment::path(&folder.0, number)).unwrap();
    }
    let (ledger, recovered) = Ledger::open(&small).unwrap();
    assert_eq!((recovered.next_segment, recovered.next_attempt), (6, 4));
    assert_eq!(ledger.next_attempt(), 4);
    // Restarts without traffic leave no trail.
    drop(ledger);
    let (_ledger, recovered) = Ledger::open(&small).unwrap();
    assert_eq!((recovered.next_segment, segment::numbers(&folder.0).unwrap()), (6, vec![6]));
}

#[test]
fn a_second_gateway_is_told_that_there_is_one() {
    let folder = Folder::new();
    let (first, _) = Ledger::open(&settings(&folder.0)).unwrap();
    let error = Ledger::open(&settings(&folder.0)).err().unwrap().to_string();
    assert!(
        error.contains("another gateway writes it") && error.contains(folder.0.to_str().unwrap()),
        "{error}"
    );
    drop(first);
    assert!(Ledger::open(&settings(&folder.0)).is_ok());
}

#[test]
fn a_folder_that_cannot_be_is_an_error_that_names_it() {
    let folder = Folder::new();
    fs::write(&folder.0, "a file").unwrap();
    let error = Ledger::open(&settings(&folder.0)).err().unwrap().to_string();
    fs::remove_file(&folder.0).unwrap();
    assert!(error.contains(folder.0.to_str().unwrap()), "{error}");
}

#[test]
fn the_last_requests_are_found_by_both_ids_by_their_key_alone_and_after_a_restart() {
    let folder = Folder::new();
    let mut few = settings(&folder.0);
    few.recent_requests = 3;
    let (ledger, _) = Ledger::open(&few).unwrap();
    for place in 0..5 {
        let mut one = entry(&format!("gen-{place}"), place, "hi");
        one.key = Some("ann".to_owned());
        // An upstream that uses an id twice.
        one.attempts[0].row = super::testing::row(place, if place < 2 { "up-same" } else { "up-2" }, "hi");
        assert!(ledger.append(&one));
    }
    let found = |ledger: &Ledger, id: &str, key: Option<&str>| {
        let data: Option<Value> = ledger.find(id, key).map(|data| serde_json::from_str(&data).unwrap());
        data.map(|data| data["id"].as_str().unwrap().to_owned())
    };
    let check = |ledger: &Ledger| {
        for (id, key, expected) in [
            ("gen-1", Some("ann"), None),
            ("gen-2", Some("ann"), Some("gen-2")),
            ("gen-4", Some("ann"), Some("gen-4")),
            ("up-2", Some("ann"), Some("gen-4")),
            ("up-same", Some("ann"), None),
            ("gen-4", Some("bob"), None),
            ("gen-4", None, None),
            ("gen-9", Some("ann"), None),
        ] {
            assert_eq!(found(ledger, id, key).as_deref(), expected, "{id} for {key:?}");
        }
    };
    check(&ledger);
    drop(ledger);
    let (ledger, recovered) = Ledger::open(&few).unwrap();
    assert_eq!(recovered.recent, 3);
    check(&ledger);
}

#[test]
fn a_generation_has_the_figures_of_its_line() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    let mut one = entry("gen-1", 1, "hi");
    one.outcome = "client_gone";
    one.deadline_ns = Some(2_000_000_000);
    one.deadline_met = Some(true);
    one.cost_usd = 0.5;
    let mut loser = attempt(0, "up-loser", "");
    (loser.served, loser.role, loser.offer) = (false, Role::Hedge, "b".to_owned());
    loser.downgrade = Some("tier standard".to_owned());
    one.attempts.insert(0, loser);
    assert!(ledger.append(&one));
    let data: Value = serde_json::from_str(&ledger.find("up-gen-1", None).unwrap()).unwrap();
    for (name, expected) in [
        ("id", json!("gen-1")),
        ("upstream_id", json!("up-gen-1")),
        ("model", json!("demo")),
        ("provider_name", json!("p")),
        ("created_at", json!("2026-11-30T12:00:00Z")),
        ("streamed", json!(true)),
        ("cancelled", json!(true)),
        ("latency", json!(1_500.0)),
        ("generation_time", json!(500.0)),
        ("finish_reason", json!("stop")),
        ("tokens_prompt", json!(10)),
        ("tokens_completion", json!(4)),
        ("native_tokens_reasoning", json!(1)),
        ("native_tokens_cached", json!(6)),
        ("native_tokens_cache_write", json!(2)),
        ("total_cost", json!(0.5)),
        ("usage", json!(0.5)),
        ("origin", json!("")),
        ("app_title", json!("App")),
        ("offer", json!("a")),
        ("tier", json!("fast")),
        ("downgrade", json!(null)),
        ("deadline", json!(2_000.0)),
        ("deadline_met", json!(true)),
        ("usage_source", json!("server")),
    ] {
        assert_eq!(data[name], expected, "{name}");
    }
    let attempts = data["attempts"].as_array().unwrap();
    let of = |place: usize, name: &str| attempts[place][name].clone();
    assert_eq!((of(0, "offer"), of(0, "role"), of(0, "served")), (json!("b"), json!("hedge"), json!(false)));
    assert_eq!((of(0, "downgrade"), of(1, "cost")), (json!("tier standard"), json!(0.25)));
    assert_eq!((of(1, "outcome"), of(1, "elapsed")), (json!("ok"), json!(1_900.0)));
    assert_eq!(data["provider_responses"][1]["status"], 200);
}

#[test]
fn a_request_that_no_offer_answered_is_found_too() {
    let folder = Folder::new();
    let (ledger, _) = Ledger::open(&settings(&folder.0)).unwrap();
    let mut one = entry("gen-1", 1, "");
    one.attempts.clear();
    (one.outcome, one.status, one.code) = ("refused", Some(402), Some("budget_exhausted".to_owned()));
    (one.ttft_ns, one.streaming) = (None, false);
    assert!(ledger.append(&one));
    let data: Value = serde_json::from_str(&ledger.find("gen-1", None).unwrap()).unwrap();
    assert_eq!((&data["code"], &data["provider_name"]), (&json!("budget_exhausted"), &Value::Null));
    assert_eq!((&data["latency"], &data["generation_time"]), (&Value::Null, &json!(2_000.0)));
}

#[test]
fn lines_of_many_threads_are_whole() {
    let folder = Folder::new();
    let mut small = settings(&folder.0);
    (small.segment_bytes, small.sync_every_ns) = (50_000, 1_000_000);
    let (ledger, _) = Ledger::open(&small).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let one = entry(&ledger.new_id(1), ledger.next_attempt(), "hi");
                    assert!(ledger.append(&one));
                }
            });
        }
    });
    let mut attempts: Vec<u64> = folder
        .bytes()
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| Line::read(line).unwrap().attempts[0].row.request_index)
        .collect();
    attempts.sort_unstable();
    assert_eq!(attempts, (0..400).collect::<Vec<_>>());
    let mut ids = folder.ids();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 400);
    drop(ledger);
}
