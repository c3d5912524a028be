//! Thousands of streams at once, and what is left of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::{Engine, chat};

const CHAT: &str = "/v1/chat/completions";

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The only test of its file, since it counts the descriptors of the process.
#[test]
fn two_thousand_streams_end_and_leave_no_descriptor_behind() {
    let before = open_files();
    let engine = Engine::start(json!({"exact": {"ttft_us": 20_000, "itl_us": 5_000, "output_tokens": 4}}));
    let mut clients: Vec<_> = (0..2_000).map(|_| engine.connect()).collect();
    for client in &mut clients {
        client.post(CHAT, &Value::Null, &chat(true));
    }
    // Some go in the middle.
    let gone = clients.split_off(1_800);
    engine.wait_until(|stats| stats.requests == 2_000);
    drop(gone);
    for client in &mut clients {
        let answer = client.answer();
        assert!(answer.words() == [1; 4] && answer.is_done());
    }
    engine.wait_until(|stats| stats.in_flight == 0);
    let stats = engine.sim.stats();
    assert_eq!((stats.requests, stats.connections, stats.truth_lost), (2_000, 1_800, 0));
    assert!(
        stats.cpu_ns > 0 && stats.late_p50_ns <= stats.late_p99_ns && stats.late_p99_ns <= stats.late_max_ns
    );
    drop(clients);
    engine.wait_until(|stats| stats.connections == 0);
    let truth = engine.truth();
    assert_eq!(truth.len(), 2_000);
    let ends = |name: &str| truth.iter().filter(|record| record["end"] == name).count() as u64;
    assert_eq!((ends("client_gone"), ends("complete")), (stats.client_gone, 2_000 - stats.client_gone));
    drop(engine);
    assert!(open_files() <= before, "{before} files were open before, {} are now", open_files());
}
