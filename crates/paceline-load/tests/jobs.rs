//! Jobs of several calls against small servers of the test's own. No test asserts a duration; orders are asserted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod server;

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::{ListBuilder, StructBuilder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field};
use paceline_load::{LoadRun, Progress, RunState};
use server::{Server, event, head, reply, stream};

const CLOSED_1: &str = r#"{"kind":"closed","concurrency":1}"#;
const CLOSED_2: &str = r#"{"kind":"closed","concurrency":2}"#;

/// One call of a test's job.
#[derive(Clone, Default)]
struct Call {
    session: u64,
    body: &'static str,
    after: Option<Vec<u32>>,
    wait_ns: i64,
    splices: Vec<(u32, u32)>,
    hangup_ns: Option<i64>,
    start_ns: i64,
}

fn batch(calls: &[Call]) -> RecordBatch {
    let mut after = ListBuilder::new(UInt32Builder::new());
    let fields = ["at", "step"].map(|name| Field::new(name, DataType::UInt32, false));
    let builders = [UInt32Builder::new(), UInt32Builder::new()].map(|builder| Box::new(builder) as _);
    let mut splices = ListBuilder::new(StructBuilder::new(fields.to_vec(), builders.into_iter().collect()));
    for call in calls {
        match &call.after {
            Some(steps) => after.append_value(steps.iter().map(|step| Some(*step))),
            None => after.append_null(),
        }
        for (at, step) in &call.splices {
            let values = splices.values();
            values.field_builder::<UInt32Builder>(0).unwrap().append_value(*at);
            values.field_builder::<UInt32Builder>(1).unwrap().append_value(*step);
            values.append(true);
        }
        splices.append(true);
    }
    let bodies = BinaryArray::from_iter_values(calls.iter().map(|call| call.body));
    let numbers =
        |of: fn(&Call) -> i64| Arc::new(Int64Array::from_iter_values(calls.iter().map(of))) as ArrayRef;
    RecordBatch::try_from_iter_with_nullable([
        ("body", Arc::new(bodies) as ArrayRef, false),
        ("session", Arc::new(UInt64Array::from_iter_values(calls.iter().map(|call| call.session))), false),
        ("after", Arc::new(after.finish()), true),
        ("wait_ns", numbers(|call| call.wait_ns), true),
        ("splices", Arc::new(splices.finish()), true),
        ("hangup_ns", Arc::new(calls.iter().map(|call| call.hangup_ns).collect::<Int64Array>()), true),
        ("start_ns", numbers(|call| call.start_ns), true),
    ])
    .unwrap()
}

fn spec(address: std::net::SocketAddr, arrival: &str, more: &str) -> String {
    format!(
        r#"{{"schema":"paceline.load/1","target":{{"scheme":"http","host":"127.0.0.1","port":{},
        "path":"/v1/chat/completions","addresses":["{}"],"protocol":"openai-chat","streaming":true}},
        "arrival":{arrival},"seed":1,"timeout_ns":10000000000,"threads":1{more}}}"#,
        address.port(),
        address,
    )
}

fn start(server: &Server, arrival: &str, more: &str, calls: &[Call]) -> LoadRun {
    let mut run = LoadRun::new(&spec(server.address, arrival, more)).unwrap();
    run.push(&batch(calls)).unwrap();
    run.close_input();
    run.start().unwrap();
    run
}

fn finish(run: &mut LoadRun) -> (Progress, Vec<Row>) {
    let mut rows = Vec::new();
    for _ in 0..3_000 {
        let (progress, batch) = run.poll().unwrap();
        rows.extend(batch.iter().flat_map(read));
        if matches!(progress.state, RunState::Done | RunState::Failed) {
            assert_eq!(progress.error, None);
            rows.sort_by_key(|row| (row.session, row.step));
            return (progress, rows);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the run does not end");
}

/// What the tests look at in a row.
#[derive(Debug)]
struct Row {
    session: u64,
    step: u32,
    outcome: String,
    intended_ns: i64,
    sent_ns: i64,
    end_ns: i64,
    hangup_ns: Option<i64>,
    stopped_ns: Option<i64>,
    tail_bytes: Option<u64>,
    events: usize,
    text: String,
}

fn read(batch: &RecordBatch) -> Vec<Row> {
    let instants = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    let tail = batch.column_by_name("tail_bytes").unwrap().as_primitive::<UInt64Type>();
    (0..batch.num_rows())
        .map(|row| Row {
            session: batch.column_by_name("session").unwrap().as_primitive::<UInt64Type>().value(row),
            step: batch.column_by_name("step").unwrap().as_primitive::<UInt32Type>().value(row),
            outcome: batch.column_by_name("outcome").unwrap().as_string::<i32>().value(row).to_owned(),
            intended_ns: instants("intended_ns", row).unwrap(),
            sent_ns: instants("sent_ns", row).unwrap_or(-1),
            end_ns: instants("end_ns", row).unwrap(),
            hangup_ns: instants("hangup_ns", row),
            stopped_ns: instants("stopped_ns", row),
            tail_bytes: tail.is_valid(row).then(|| tail.value(row)),
            events: batch.column_by_name("event_ns").unwrap().as_list::<i32>().value(row).len(),
            text: batch.column_by_name("text").unwrap().as_string::<i64>().value(row).to_owned(),
        })
        .collect()
}

#[test]
fn a_call_waits_for_the_one_before_and_carries_its_answer_on() {
    let server = Server::start(|n, _, socket| stream(socket, &["a\\\"", if n == 0 { "é" } else { "b" }]));
    let calls = [
        Call { session: 4, body: "first", ..Call::default() },
        Call { session: 4, body: "<>", splices: vec![(1, 0)], wait_ns: 30_000_000, ..Call::default() },
        Call { session: 4, body: "<><>", splices: vec![(1, 0), (3, 1)], ..Call::default() },
    ];
    let (progress, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1"#, &calls));
    assert_eq!(server.bodies(), ["first", r#"<a\"é>"#, r#"<a\"é><a\"b>"#]);
    assert_eq!(rows.iter().map(|row| (row.session, row.step)).collect::<Vec<_>>(), [(4, 0), (4, 1), (4, 2)]);
    assert!(rows.iter().all(|row| row.outcome == "ok"), "{rows:?}");
    assert_eq!(rows[1].intended_ns, rows[0].end_ns + 30_000_000);
    assert_eq!(rows[2].intended_ns, rows[1].end_ns);
    assert!(rows.iter().all(|row| row.sent_ns >= row.intended_ns), "{rows:?}");
    assert_eq!((progress.jobs_started, progress.jobs_finished, progress.jobs_failed), (1, 1, 0));
    assert_eq!((progress.taken, progress.started, progress.skipped), (3, 3, 0));
}

#[test]
fn without_text_answers_are_carried_on_all_the_same() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    let calls = [
        Call { body: "first", ..Call::default() },
        Call { body: "", splices: vec![(0, 0)], ..Call::default() },
    ];
    let (_, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1,"keep_text":false"#, &calls));
    assert_eq!(server.bodies(), ["first", "x"]);
    assert!(rows.iter().all(|row| row.text.is_empty()));
}

#[test]
fn branches_run_side_by_side_and_a_join_waits_for_the_last() {
    // Each branch is answered only when both have been asked.
    let both = Arc::new(std::sync::Barrier::new(2));
    let server = Server::start(move |_, _, socket| {
        both.wait();
        stream(socket, &["x"])
    });
    let calls = [
        Call { body: "left", ..Call::default() },
        Call { body: "right", after: Some(vec![]), ..Call::default() },
        Call { body: "join", after: Some(vec![0, 1]), ..Call::default() },
        Call { body: "beside", after: Some(vec![0, 1]), ..Call::default() },
    ];
    let (progress, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1"#, &calls));
    assert_eq!(rows[2].intended_ns, rows[0].end_ns.max(rows[1].end_ns));
    assert_eq!(progress.jobs_finished, 1);
}

#[test]
fn a_failed_call_ends_its_job_and_no_other() {
    let server = Server::start(|n, _, socket| {
        if n == 0 { reply(socket, "500 Internal Server Error", "{}") } else { stream(socket, &["x"]) }
    });
    let of = |session, body| Call { session, body, ..Call::default() };
    let calls = [of(0, "a"), of(0, "b"), of(0, "c"), of(1, "d"), of(1, "e")];
    let (progress, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":2"#, &calls));
    assert_eq!(server.bodies(), ["a", "d", "e"]);
    assert_eq!(rows.iter().map(|row| row.outcome.as_str()).collect::<Vec<_>>(), ["http_error", "ok", "ok"]);
    assert_eq!((progress.jobs_started, progress.jobs_finished, progress.jobs_failed), (2, 1, 1));
    assert_eq!((progress.taken, progress.started, progress.skipped), (5, 3, 2));
}

#[test]
fn a_job_holds_its_slot_to_its_end() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    let calls: Vec<Call> =
        (0..12).map(|i| Call { session: i / 3, body: "b", wait_ns: 1_000_000, ..Call::default() }).collect();
    let (progress, rows) = finish(&mut start(&server, CLOSED_2, r#","max_requests":4"#, &calls));
    assert_eq!((progress.planned, progress.jobs_finished, progress.finished), (4, 4, 12));
    let spans: Vec<(i64, i64)> = (0..4)
        .map(|job| {
            let own = || rows.iter().filter(move |row| row.session == job);
            (own().map(|row| row.sent_ns).min().unwrap(), own().map(|row| row.end_ns).max().unwrap())
        })
        .collect();
    for (begun, _) in &spans {
        let beside = spans.iter().filter(|(first, last)| first <= begun && begun < last).count();
        assert!(beside <= 2, "{spans:?}");
    }
}

#[test]
fn a_hang_up_is_watched_until_the_server_stops() {
    let server = Server::start(|_, _, socket| {
        head(socket);
        event(socket, r#"{"id":"r","choices":[{"index":0,"delta":{"content":"one"}}]}"#);
        // Reads until the caller's FIN, then says one thing more and goes.
        let gone = socket.read(&mut [0; 64]).unwrap();
        assert_eq!(gone, 0);
        event(socket, r#"{"choices":[{"index":0,"delta":{"content":"unheard"}}]}"#);
        false
    });
    let calls = [
        Call { body: "talk", hangup_ns: Some(20_000_000), ..Call::default() },
        Call { session: 0, body: "<>", splices: vec![(1, 0)], hangup_ns: Some(0), ..Call::default() },
    ];
    let (progress, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1"#, &calls));
    assert_eq!(server.bodies(), ["talk", "<one>"]);
    assert_eq!((progress.jobs_finished, progress.outcomes.get("hung_up")), (1, Some(&2)));
    for row in &rows {
        let (hangup_ns, stopped_ns) = (row.hangup_ns.unwrap(), row.stopped_ns.unwrap());
        assert_eq!((row.end_ns, row.events, row.text.as_str()), (hangup_ns, 1, "one"));
        assert!(stopped_ns >= hangup_ns && row.tail_bytes.unwrap() > 0, "{row:?}");
    }
    assert_eq!(rows[1].intended_ns, rows[0].hangup_ns.unwrap());
}

#[test]
fn a_server_that_does_not_notice_a_hang_up_is_left_alone_after_a_while() {
    let server = Server::start(|_, _, socket| {
        head(socket);
        for _ in 0..400 {
            event(socket, r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x"}}]}"#);
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    });
    let calls = [Call { body: "talk", hangup_ns: Some(10_000_000), ..Call::default() }];
    let more = r#","max_requests":1,"hangup_wait_ns":50000000"#;
    let (_, rows) = finish(&mut start(&server, CLOSED_1, more, &calls));
    assert_eq!((rows[0].outcome.as_str(), rows[0].stopped_ns), ("hung_up", None));
    assert!(rows[0].tail_bytes.unwrap() > 0);
}

#[test]
fn an_answer_that_ends_before_the_hang_up_is_whole() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    let calls = [Call { body: "talk", hangup_ns: Some(5_000_000_000), ..Call::default() }];
    let (_, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1"#, &calls));
    assert_eq!((rows[0].outcome.as_str(), rows[0].hangup_ns), ("ok", None));
}

#[test]
fn an_answer_that_has_its_end_marker_by_the_hang_up_is_whole() {
    let server = Server::start(|_, _, socket| {
        head(socket);
        event(socket, r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#);
        event(socket, "[DONE]");
        // The last chunk's frame never comes.
        socket.read(&mut [0; 64]).is_err()
    });
    let calls = [
        Call { body: "talk", hangup_ns: Some(20_000_000), ..Call::default() },
        Call { body: "<>", splices: vec![(1, 0)], ..Call::default() },
    ];
    let (progress, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1"#, &calls));
    assert_eq!((rows[0].outcome.as_str(), rows[0].hangup_ns, rows[0].tail_bytes), ("ok", None, None));
    assert_eq!((server.bodies(), progress.jobs_finished), (vec!["talk".into(), "<x>".into()], 1));
}

#[test]
fn a_request_that_the_hang_up_cuts_off_is_no_stop_of_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        head(&mut socket);
        for _ in 0..400 {
            // It answers before it has read, and goes on reading little by little.
            event(&mut socket, r#"{"id":"r","choices":[{"index":0,"delta":{"content":"x"}}]}"#);
            let _ = socket.read(&mut [0; 65_536]);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let body = Box::leak("b".repeat(24 << 20).into_boxed_str());
    let calls = [Call { body, hangup_ns: Some(10_000_000), ..Call::default() }];
    let more = r#","max_requests":1,"hangup_wait_ns":150000000"#;
    let mut run = LoadRun::new(&spec(address, CLOSED_1, more)).unwrap();
    run.push(&batch(&calls)).unwrap();
    run.close_input();
    run.start().unwrap();
    let (_, rows) = finish(&mut run);
    assert_eq!((rows[0].outcome.as_str(), rows[0].stopped_ns), ("hung_up", None));
    assert!(rows[0].tail_bytes.unwrap() > 0);
}

#[test]
fn a_job_that_fails_as_it_begins_leaves_no_call_to_the_next() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    // Addresses take turns: the first job is refused, the second is not.
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let both = format!(r#""addresses":["{refused}","{}"]"#, server.address);
    let own = format!(r#""addresses":["{}"]"#, server.address);
    let wait_ns = 150_000_000;
    let of = |session| {
        let later = Call { session, body: "later", after: Some(vec![]), wait_ns, ..Call::default() };
        [Call { session, body: "now", ..Call::default() }, later]
    };
    let json = spec(server.address, CLOSED_1, r#","max_requests":2"#).replace(&own, &both);
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&batch(&[of(0), of(1)].concat())).unwrap();
    run.close_input();
    run.start().unwrap();
    let (progress, rows) = finish(&mut run);
    assert_eq!(
        rows.iter().map(|row| row.outcome.as_str()).collect::<Vec<_>>(),
        ["connect_error", "ok", "ok"]
    );
    assert_eq!(rows[2].intended_ns, rows[1].intended_ns + wait_ns);
    assert_eq!(server.bodies(), ["now", "later"]);
    assert_eq!((progress.jobs_failed, progress.jobs_finished, progress.skipped), (1, 1, 1));
}

#[test]
fn a_replay_keeps_each_job_s_instant() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    let starts = [0, 7_000_000, 7_000_000, 31_000_000];
    let calls: Vec<Call> = (0..)
        .zip(starts)
        .map(|(session, start_ns)| Call { session, body: "b", start_ns, ..Call::default() })
        .collect();
    let (progress, rows) = finish(&mut start(&server, r#"{"kind":"replay"}"#, "", &calls));
    assert_eq!(rows.iter().map(|row| row.intended_ns).collect::<Vec<_>>(), starts);
    assert!(rows.iter().all(|row| row.sent_ns >= row.intended_ns), "{rows:?}");
    assert_eq!((progress.planned, progress.dropped), (4, 0));
}

#[test]
fn another_arrival_takes_no_notice_of_the_jobs_instants() {
    for arrival in [CLOSED_2, r#"{"kind":"constant","rate_requests_s":1000}"#] {
        let server = Server::start(|_, _, socket| stream(socket, &["x"]));
        let hour_ns = 3_600_000_000_000;
        let of = |session| Call { session, body: "b", start_ns: hour_ns, ..Call::default() };
        let (progress, rows) =
            finish(&mut start(&server, arrival, r#","max_requests":3"#, &[of(0), of(1), of(2)]));
        assert_eq!((progress.jobs_finished, progress.planned, progress.dropped), (3, 3, 0));
        assert!(rows.iter().all(|row| row.intended_ns < hour_ns), "{rows:?}");
    }
}

#[test]
fn a_replay_that_is_cut_off_counts_what_was_due() {
    let server = Server::start(|_, _, socket| {
        std::thread::sleep(Duration::from_millis(60));
        stream(socket, &["x"])
    });
    let calls: Vec<Call> = (0..5)
        .map(|session| Call {
            session,
            body: "b",
            start_ns: i64::try_from(session).unwrap() * 5_000_000,
            ..Call::default()
        })
        .collect();
    // One at a time, and none begun after 18 ms: the first is sent, three more were due, the last was not.
    let more = r#","concurrency_cap":1,"duration_ns":18000000"#;
    let (progress, rows) = finish(&mut start(&server, r#"{"kind":"replay"}"#, more, &calls));
    assert_eq!((rows.len(), progress.planned, progress.dropped), (1, 4, 3));
}

#[test]
fn a_stopped_run_begins_no_further_call() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    let calls = [
        Call { body: "a", ..Call::default() },
        Call { body: "b", wait_ns: 3_600_000_000_000, ..Call::default() },
    ];
    let mut run = start(&server, CLOSED_1, r#","max_requests":1"#, &calls);
    while run.poll().unwrap().0.finished == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    run.stop();
    let (progress, _) = finish(&mut run);
    assert_eq!(server.bodies(), ["a"]);
    assert_eq!((progress.jobs_finished, progress.jobs_failed, progress.skipped), (0, 0, 1));
}

#[test]
fn a_step_that_names_another_twice_is_sent_once() {
    let server = Server::start(|_, _, socket| stream(socket, &["x"]));
    let calls = [
        Call { body: "first", ..Call::default() },
        Call { body: "twice", after: Some(vec![0, 0]), ..Call::default() },
        Call { body: "last", after: Some(vec![0, 1, 0]), ..Call::default() },
    ];
    let (progress, rows) = finish(&mut start(&server, CLOSED_1, r#","max_requests":1"#, &calls));
    assert_eq!(server.bodies(), ["first", "twice", "last"]);
    assert_eq!(rows[2].intended_ns, rows[1].end_ns);
    assert_eq!((progress.started, progress.skipped, progress.jobs_finished), (3, 0, 1));
}
