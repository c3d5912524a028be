//! Descriptors run out. The only test of its file, since the limit is the process's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::net::TcpStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use support::Engine;

#[test]
fn an_engine_without_descriptors_serves_again_when_there_are_some() {
    let engine = Engine::start(json!({}));
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(open + 20), maximum: before.maximum }).unwrap();
    let address = engine.sim.address();
    let clients: Vec<TcpStream> = (0..100).map_while(|_| TcpStream::connect(address).ok()).collect();
    assert!(clients.len() < 100, "the limit was met");
    // Each connection was taken or turned away, although there is no descriptor left: none waits in
    // the listener, which would keep the loop spinning.
    let clients_open = clients.len() as u64;
    engine.wait_until(|stats| stats.connections + stats.connections_refused >= clients_open);
    drop(clients);
    setrlimit(Resource::Nofile, before).unwrap();
    engine.wait_until(|stats| stats.connections == 0);
    let mut client = engine.connect();
    client.get("/health");
    assert_eq!(client.answer().status, 200);
}
