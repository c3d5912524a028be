//! Whole runs against small servers of the test's own. No test asserts a duration.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod server;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, BinaryArray, RecordBatch};
use paceline_load::{LoadRun, Progress, RunState};
use server::{Server, reply, stream};

struct Options<'a> {
    arrival: &'a str,
    more: &'a str,
}

const CLOSED_2: &str = r#"{"kind":"closed","concurrency":2}"#;

fn spec(address: std::net::SocketAddr, options: &Options<'_>) -> String {
    format!(
        r#"{{"schema":"paceline.load/1","target":{{"scheme":"http","host":"127.0.0.1","port":{},
        "path":"/v1/chat/completions","addresses":["{address}"],"headers":[["x-test","yes"]],
        "protocol":"openai-chat","streaming":true}},
        "arrival":{},"seed":1,"timeout_ns":10000000000,"threads":1{}}}"#,
        address.port(),
        options.arrival,
        options.more
    )
}

fn bodies(n: usize) -> RecordBatch {
    let array = BinaryArray::from_iter_values((0..n).map(|i| format!(r#"{{"n":{i}}}"#)));
    RecordBatch::try_from_iter([("body", Arc::new(array) as arrow_array::ArrayRef)]).unwrap()
}

fn start(server: &Server, arrival: &str, more: &str, n: usize) -> LoadRun {
    let mut run = LoadRun::new(&spec(server.address, &Options { arrival, more })).unwrap();
    run.push(&bodies(n)).unwrap();
    run.close_input();
    run.start().unwrap();
    run
}

fn finish(run: &mut LoadRun) -> (Progress, Vec<RecordBatch>) {
    let mut batches = Vec::new();
    for _ in 0..3_000 {
        let (progress, batch) = run.poll().unwrap();
        batches.extend(batch);
        if matches!(progress.state, RunState::Done | RunState::Failed) {
            assert_eq!(progress.error, None);
            return (progress, batches);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the run does not end");
}

fn strings(batches: &[RecordBatch], column: &str) -> Vec<Option<String>> {
    let mut all = Vec::new();
    for batch in batches {
        let values = batch.column_by_name(column).unwrap();
        let values = values.as_string::<i32>();
        all.extend((0..values.len()).map(|i| values.is_valid(i).then(|| values.value(i).to_owned())));
    }
    all
}

fn instants(batches: &[RecordBatch], column: &str) -> Vec<Option<i64>> {
    batches
        .iter()
        .flat_map(|batch| batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().iter())
        .collect()
}

fn indices(batches: &[RecordBatch]) -> Vec<u64> {
    let mut all: Vec<u64> = batches
        .iter()
        .flat_map(|batch| {
            batch.column_by_name("request_index").unwrap().as_primitive::<UInt64Type>().values().to_vec()
        })
        .collect();
    all.sort_unstable();
    all
}

fn bools(batches: &[RecordBatch], column: &str) -> Vec<bool> {
    batches
        .iter()
        .flat_map(|batch| batch.column_by_name(column).unwrap().as_boolean().iter().map(Option::unwrap))
        .collect()
}

#[test]
fn a_closed_loop_sends_each_body_once_and_keeps_its_connections() {
    // The kernel turns its stamps on some time after the first socket has asked for them.
    let _stamping = paceline_io::stream::Stamping::begin().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let server = Server::start(|_, request, socket| {
        assert!(request.head.contains("x-test: yes"), "{}", request.head);
        stream(socket, &["a", "b", "c"])
    });
    let mut run = start(&server, CLOSED_2, r#","max_requests":20,"warmup_requests":4"#, 20);
    let (progress, batches) = finish(&mut run);
    assert_eq!(indices(&batches), (0..20).collect::<Vec<_>>());
    assert_eq!(progress.outcomes.get("ok"), Some(&20));
    assert_eq!((progress.started, progress.finished, progress.in_flight, progress.dropped), (20, 20, 0, 0));
    assert_eq!(progress.token_events, 60);
    assert!(progress.kernel_stamps);
    assert_eq!(server.connections(), 2);
    assert_eq!(bools(&batches, "connection_reused").iter().filter(|reused| !**reused).count(), 2);
    let phases = strings(&batches, "phase");
    assert_eq!(phases.iter().filter(|phase| phase.as_deref() == Some("warmup")).count(), 4);
    let mut bodies = server.bodies();
    bodies.sort();
    let mut expected: Vec<_> = (0..20).map(|i| format!(r#"{{"n":{i}}}"#)).collect();
    expected.sort();
    assert_eq!(bodies, expected);
}

#[test]
fn instants_are_in_order_and_count_from_the_origin() {
    let server = Server::start(|_, _, socket| stream(socket, &["a", "b"]));
    let mut run = start(&server, CLOSED_2, r#","max_requests":6"#, 6);
    let (progress, batches) = finish(&mut run);
    let column = |name| instants(&batches, name).into_iter().map(Option::unwrap).collect::<Vec<_>>();
    let (intended, sent, written) = (column("intended_ns"), column("sent_ns"), column("written_ns"));
    let (headers, end) = (column("headers_ns"), column("end_ns"));
    for i in 0..6 {
        assert!(intended[i] >= 0 && intended[i] <= sent[i] && sent[i] <= written[i], "{i}");
        assert!(sent[i] < headers[i] && headers[i] <= end[i] && end[i] <= progress.elapsed_ns, "{i}");
    }
}

#[test]
fn new_connections_are_never_used_twice() {
    let server = Server::start(|_, request, socket| {
        assert!(request.head.contains("connection: close"));
        stream(socket, &["a"])
    });
    let mut run = start(&server, CLOSED_2, r#","max_requests":8,"new_connections":true"#, 8);
    let (progress, batches) = finish(&mut run);
    assert_eq!((progress.outcomes.get("ok"), server.connections()), (Some(&8), 8));
    assert!(instants(&batches, "connect_ns").iter().all(Option::is_some));
}

#[test]
fn a_connection_that_the_server_closed_while_idle_costs_no_request() {
    // The server closes after each answer without saying so.
    let server = Server::start(|_, _, socket| {
        let _ = stream(socket, &["a"]);
        false
    });
    let mut run = start(&server, r#"{"kind":"closed","concurrency":1}"#, r#","max_requests":10"#, 10);
    let (progress, batches) = finish(&mut run);
    assert_eq!(
        progress.outcomes.get("ok"),
        Some(&10),
        "{:?} {:?}",
        progress.outcomes,
        strings(&batches, "error")
    );
}

#[test]
fn a_connection_that_closes_with_its_answer_is_not_used_again() {
    // Answer and end are there before the client reads, and nothing ever comes of what is sent after them.
    let server = Server::start(|_, _, socket| {
        use std::io::Write;
        let events = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let _ = socket.write_all(format!("{head}{:x}\r\n{events}\r\n0\r\n\r\n", events.len()).as_bytes());
        let _ = socket.shutdown(std::net::Shutdown::Write);
        std::thread::sleep(Duration::from_secs(100));
        false
    });
    // The timeout is longer than the test's patience: a request on a dead connection would end it.
    let json = spec(server.address, &Options { arrival: CLOSED_2, more: r#","max_requests":50"# })
        .replace(r#""timeout_ns":10000000000"#, r#""timeout_ns":100000000000"#);
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&bodies(50)).unwrap();
    run.start().unwrap();
    let (progress, _) = finish(&mut run);
    assert_eq!(progress.outcomes.get("ok"), Some(&50), "{:?}", progress.outcomes);
}

#[test]
fn a_request_that_was_taken_and_dropped_is_a_failure_also_on_a_used_connection() {
    let server = Server::start(|number, _, socket| {
        if number % 5 == 4 {
            std::thread::sleep(Duration::from_millis(150));
            return false;
        }
        stream(socket, &["a"])
    });
    let mut run = start(&server, r#"{"kind":"closed","concurrency":1}"#, r#","max_requests":20"#, 20);
    let (progress, _) = finish(&mut run);
    assert_eq!(progress.outcomes.get("truncated"), Some(&4), "{:?}", progress.outcomes);
    assert_eq!((progress.outcomes.get("ok"), progress.resent, server.bodies().len()), (Some(&16), 0, 20));
}

#[test]
fn an_answer_that_nobody_asked_for_is_nobody_s_answer() {
    // Both in one write, so that what was not asked for is there before the next request leaves. (Later than that
    // HTTP/1.1 has no means to tell it from an answer.)
    let server = Server::start(|_, _, socket| {
        use std::io::Write;
        let answer = |text: &str| {
            let event =
                format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#);
            let events = format!("data: {event}\n\ndata: [DONE]\n\n");
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{events}", events.len())
        };
        socket.write_all((answer("right") + &answer("STALE")).as_bytes()).is_ok()
    });
    let mut run = start(&server, CLOSED_2, r#","max_requests":60"#, 60);
    let (progress, batches) = finish(&mut run);
    assert_eq!((progress.outcomes.get("ok"), server.connections()), (Some(&60), 60));
    let text = |batch: &RecordBatch| {
        let column = batch.column_by_name("text").unwrap().as_string::<i64>();
        column.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(batches.iter().flat_map(text).all(|text| text == "right"));
}

#[test]
fn what_was_sent_as_a_secret_is_not_kept_however_it_comes_back() {
    let server = Server::start(|number, request, socket| {
        let secret = request.head.split("x-secret: ").nth(1).unwrap().split("\r\n").next().unwrap();
        if number % 2 == 0 {
            return reply(socket, "500 Oops", &format!(r#"{{"error":{{"message":"got {secret}"}}}}"#));
        }
        stream(socket, &["you sent ", secret])
    });
    let json = spec(server.address, &Options { arrival: CLOSED_2, more: r#","max_requests":6"# })
        .replace(r#"["x-test","yes"]"#, r#"["x-secret","swordfish77"]"#);
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&bodies(6)).unwrap();
    run.start().unwrap();
    let (progress, batches) = finish(&mut run);
    assert_eq!((progress.outcomes.get("ok"), progress.outcomes.get("http_error")), (Some(&3), Some(&3)));
    assert!(!format!("{batches:?}").contains("swordfish"));
}

#[test]
fn a_server_that_hangs_up_without_a_word_is_a_failure_each_time() {
    let server = Server::start(|_, _, _| false);
    let mut run = start(&server, CLOSED_2, r#","max_requests":4"#, 4);
    let (progress, batches) = finish(&mut run);
    assert_eq!(progress.outcomes.get("truncated"), Some(&4), "{:?}", progress.outcomes);
    assert!(strings(&batches, "error")[0].as_deref().unwrap().contains("before any response"));
}

#[test]
fn an_endpoint_that_refuses_is_asked_at_a_bounded_pace() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = Options { arrival: CLOSED_2, more: r#","duration_ns":500000000"# };
    let mut run = LoadRun::new(&spec(gone, &options)).unwrap();
    run.push(&bodies(10_000)).unwrap();
    run.start().unwrap();
    let (progress, batches) = finish(&mut run);
    assert!(
        progress.finished >= 2 && progress.finished <= 12,
        "two slots, ten a second: {}",
        progress.finished
    );
    assert_eq!(progress.outcomes.get("connect_error"), Some(&progress.finished));
    assert!(instants(&batches, "sent_ns").iter().all(Option::is_none));
}

#[test]
fn a_request_without_an_end_is_a_timeout_and_keeps_its_tokens() {
    let server = Server::start(|_, _, socket| {
        server::head(socket);
        server::event(socket, r#"{"choices":[{"delta":{"content":"a"}}]}"#);
        std::thread::sleep(Duration::from_millis(1_500));
        false
    });
    let json = spec(server.address, &Options { arrival: CLOSED_2, more: r#","max_requests":2"# })
        .replace(r#""timeout_ns":10000000000"#, r#""timeout_ns":200000000"#);
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&bodies(2)).unwrap();
    run.start().unwrap();
    let (progress, batches) = finish(&mut run);
    assert_eq!(progress.outcomes.get("timeout"), Some(&2));
    assert_eq!(progress.token_events, 2);
    let events: usize = batches
        .iter()
        .map(|batch| batch.column_by_name("event_ns").unwrap().as_list::<i32>().values().len())
        .sum();
    assert_eq!(events, 2);
}

#[test]
fn stop_lets_requests_end_and_cancel_does_not() {
    for cancel in [false, true] {
        let server = Server::start(|_, _, socket| {
            server::head(socket);
            server::event(socket, r#"{"choices":[{"delta":{"content":"a"}}]}"#);
            std::thread::sleep(Duration::from_millis(300));
            server::event(socket, r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
            server::end(socket)
        });
        let mut run = start(&server, CLOSED_2, r#","duration_ns":60000000000"#, 1_000);
        while run.poll().unwrap().0.token_events < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        if cancel {
            run.cancel()
        } else {
            run.stop()
        }
        let (progress, _) = finish(&mut run);
        let expected = if cancel { "cancelled" } else { "ok" };
        assert_eq!(progress.outcomes.get(expected), Some(&2), "{:?}", progress.outcomes);
        assert_eq!(progress.finished, 2);
    }
}

#[test]
fn an_open_loop_does_not_wait_for_answers_and_a_cap_makes_it() {
    for (more, most) in [("", 20), (r#","concurrency_cap":3"#, 3)] {
        let open = Arc::new(AtomicUsize::new(0));
        let peak = Arc::new(AtomicUsize::new(0));
        let (open_, peak_) = (open.clone(), peak.clone());
        let server = Server::start(move |_, _, socket| {
            peak_.fetch_max(open_.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(100));
            open_.fetch_sub(1, Ordering::SeqCst);
            stream(socket, &["a"])
        });
        let more = format!(r#","max_requests":20{more}"#);
        let mut run = start(&server, r#"{"kind":"constant","rate_requests_s":1000}"#, &more, 20);
        let (progress, batches) = finish(&mut run);
        assert_eq!((progress.outcomes.get("ok"), progress.planned, progress.dropped), (Some(&20), 20, 0));
        let seen = peak.load(Ordering::SeqCst);
        assert!(seen <= most && seen >= most / 2, "{seen} of {most}");
        let mut intended: Vec<_> =
            instants(&batches, "intended_ns").into_iter().map(Option::unwrap).collect();
        intended.sort_unstable();
        let planned: Vec<_> = (0..20).map(|i| i * 1_000_000).collect();
        assert_eq!(intended, planned, "late or not, the intended instants are the plan's");
    }
}

#[test]
fn several_threads_share_the_work() {
    let server = Server::start(|_, _, socket| stream(socket, &["a", "b"]));
    let json = spec(
        server.address,
        &Options { arrival: r#"{"kind":"closed","concurrency":7}"#, more: r#","max_requests":50"# },
    )
    .replace(r#""threads":1"#, r#""threads":3"#);
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&bodies(50)).unwrap();
    run.close_input();
    run.start().unwrap();
    let (progress, batches) = finish(&mut run);
    assert_eq!((progress.threads, progress.outcomes.get("ok")), (3, Some(&50)));
    assert_eq!(indices(&batches), (0..50).collect::<Vec<_>>());
    assert!(server.connections() <= 7);
}

#[test]
fn a_missing_body_is_counted_and_the_request_goes_out_late() {
    let server = Server::start(|_, _, socket| stream(socket, &["a"]));
    let options =
        Options { arrival: r#"{"kind":"constant","rate_requests_s":1000}"#, more: r#","max_requests":4"# };
    let mut run = LoadRun::new(&spec(server.address, &options)).unwrap();
    run.push(&bodies(2)).unwrap();
    run.start().unwrap();
    while run.poll().unwrap().0.starved == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    run.push(&bodies(2)).unwrap();
    let (progress, _) = finish(&mut run);
    assert_eq!((progress.finished, progress.planned), (4, 4));
    assert!(progress.starved >= 1);
}

#[test]
fn errors_before_and_instead_of_a_stream_have_their_names() {
    for (status, body, outcome) in [
        ("429 Too Many", r#"{"error":{"message":"slow down"}}"#, "rate_limited"),
        ("500 Oops", "boom", "http_error"),
        ("200 OK", "<html>hello</html>", "malformed"),
    ] {
        let server = Server::start(move |_, _, socket| reply(socket, status, body));
        let mut run = start(&server, CLOSED_2, r#","max_requests":3"#, 3);
        let (progress, _) = finish(&mut run);
        assert_eq!(progress.outcomes.get(outcome), Some(&3), "{status}: {:?}", progress.outcomes);
    }
}

#[test]
fn what_is_not_http_is_malformed() {
    let server = Server::start(|_, _, socket| {
        use std::io::Write;
        let _ = socket.write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
        false
    });
    let mut run = start(&server, CLOSED_2, r#","max_requests":2"#, 2);
    let (progress, batches) = finish(&mut run);
    assert_eq!(progress.outcomes.get("malformed"), Some(&2), "{:?}", progress.outcomes);
    assert!(strings(&batches, "error")[0].as_deref().unwrap().contains("HTTP"));
}

#[test]
fn a_body_that_does_not_end_after_the_end_marker_holds_no_slot() {
    let server = Server::start(|_, _, socket| {
        server::head(socket);
        server::event(socket, r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#);
        server::event(socket, "[DONE]");
        std::thread::sleep(Duration::from_secs(100));
        false
    });
    // Neither the server nor the timeout would end these before the test gives up.
    let json = spec(server.address, &Options { arrival: CLOSED_2, more: r#","max_requests":4"# })
        .replace(r#""timeout_ns":10000000000"#, r#""timeout_ns":100000000000"#);
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&bodies(4)).unwrap();
    run.start().unwrap();
    let (progress, _) = finish(&mut run);
    assert_eq!(progress.outcomes.get("ok"), Some(&4), "{:?}", progress.outcomes);
}

#[test]
fn a_run_starts_once() {
    let server = Server::start(|_, _, socket| stream(socket, &["a"]));
    let mut run = start(&server, CLOSED_2, r#","max_requests":1"#, 1);
    assert!(run.start().is_err());
    finish(&mut run);
}

#[test]
fn a_server_that_sends_faster_than_it_is_read_holds_up_nothing_else() {
    let server = Server::start(|n, _, socket| {
        if n > 0 {
            return stream(socket, &["x"]);
        }
        server::head(socket);
        let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
        let chunk = format!("{:x}\r\n{event}\r\n", event.len()).repeat(10_000);
        while socket.write_all(chunk.as_bytes()).is_ok() {}
        false
    });
    let json = spec(server.address, &Options { arrival: CLOSED_2, more: r#","max_requests":20"# })
        .replace("\"timeout_ns\":10000000000", "\"timeout_ns\":300000000");
    let mut run = LoadRun::new(&json).unwrap();
    run.push(&bodies(20)).unwrap();
    run.close_input();
    run.start().unwrap();
    let (progress, _) = finish(&mut run);
    assert_eq!(progress.outcomes.get("timeout"), Some(&1), "{:?}", progress.outcomes);
    assert_eq!(progress.outcomes.get("ok"), Some(&19), "{:?}", progress.outcomes);
}
