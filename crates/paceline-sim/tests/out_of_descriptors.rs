//! Descriptors run out. The only test of its file, since the limit is the process's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use support::Engine;

#[test]
fn an_engine_without_descriptors_serves_again_when_there_are_some() {
    let engine = Engine::start(json!({}));
    // The clients' own descriptors are there before: none of them takes one that the engine has given up for a moment.
    let clients: Vec<OwnedFd> =
        (0..100).map(|_| socket(AddressFamily::INET, SocketType::STREAM, None).unwrap()).collect();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(open + 20), maximum: before.maximum }).unwrap();
    let address = engine.sim.address();
    clients.iter().for_each(|client| connect(client, &address).unwrap());
    // Each connection was taken or turned away, although there is no descriptor left: none waits in
    // the listener, which would keep the loop spinning.
    let all = clients.len() as u64;
    engine.wait_until(|stats| stats.connections + stats.connections_refused >= all);
    assert!(engine.sim.stats().connections_refused > 0, "the limit was met");
    drop(clients);
    setrlimit(Resource::Nofile, before).unwrap();
    engine.wait_until(|stats| stats.connections == 0);
    let mut client = engine.connect();
    client.get("/health");
    assert_eq!(client.answer().status, 200);
}
