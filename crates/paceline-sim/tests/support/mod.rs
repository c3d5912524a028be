//! A client of the plainest kind, and the truth log.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use paceline_sim::{Sim, SimConfig};
use serde_json::{Value, json};

/// An engine with a truth log of its own.
pub(crate) struct Engine {
    /// The engine.
    pub(crate) sim: Sim,
    log: PathBuf,
}

impl Engine {
    /// Starts one; `config` needs no `truth_log`.
    pub(crate) fn start(mut config: Value) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("paceline-sim-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let log = std::env::temp_dir().join(name);
        config["truth_log"] = json!(log);
        let sim = Sim::start(SimConfig::from_json(&config.to_string()).unwrap()).unwrap();
        Self { sim, log }
    }

    /// Stops it and returns what it logged, without the header.
    pub(crate) fn truth(&self) -> Vec<Value> {
        self.sim.stop();
        let text = std::fs::read_to_string(&self.log).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert_eq!(lines.next().unwrap()["schema"], "paceline.truth/1");
        lines.collect()
    }

    /// A fresh connection.
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.sim.address())
    }

    /// One POST on a fresh connection, with header `x-paceline-sim` unless it is null.
    pub(crate) fn post(&self, path: &str, sim: &Value, body: &Value) -> Answer {
        let mut client = self.connect();
        client.post(path, sim, body);
        client.answer()
    }

    /// Waits until the counters are as wanted.
    pub(crate) fn wait_until(&self, wanted: impl Fn(&paceline_sim::SimStats) -> bool) {
        for _ in 0..2_000 {
            if wanted(&self.sim.stats()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the engine never came to be as wanted: {:?}", self.sim.stats());
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.sim.stop();
        let _ = std::fs::remove_file(&self.log);
    }
}

/// A chat request.
pub(crate) fn chat(stream: bool) -> Value {
    json!({"model": "truth", "stream": stream, "messages": [{"role": "user", "content": "one two three"}]})
}

/// A completions request.
pub(crate) fn completion(stream: bool) -> Value {
    json!({"model": "truth", "stream": stream, "prompt": "one two three"})
}

/// A Responses request.
pub(crate) fn response(stream: bool) -> Value {
    json!({"model": "truth", "stream": stream, "input": "one two three"})
}

/// A request for one of Anthropic's messages.
pub(crate) fn message(stream: bool) -> Value {
    json!({"model": "truth", "stream": stream, "max_tokens": 1000,
           "messages": [{"role": "user", "content": "one two three"}]})
}

/// Makes a request, streaming or not.
pub(crate) type MakeRequest = fn(bool) -> Value;

/// Each protocol that streams: its path, and a request with the prompt `one two three`.
pub(crate) fn streaming_protocols() -> [(&'static str, MakeRequest); 4] {
    [
        ("/v1/chat/completions", chat),
        ("/v1/completions", completion),
        ("/v1/responses", response),
        ("/v1/messages", message),
    ]
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As its framing says.
    Whole,
    /// The connection was closed before.
    Closed,
    /// The connection was reset before.
    Reset,
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status; 0: no head came.
    pub(crate) status: u16,
    /// The head's lines.
    pub(crate) head: Vec<String>,
    /// The body with its framing taken off.
    pub(crate) body: Vec<u8>,
    /// How it ended.
    pub(crate) ended: Ended,
}

impl Answer {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The payload of each event, however its lines are written.
    pub(crate) fn payloads(&self) -> Vec<String> {
        let text = self.text().replace("\r\n", "\n");
        text.split("\n\n")
            .filter_map(|event| {
                let lines: Vec<&str> = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .map(|line| line.strip_prefix(' ').unwrap_or(line))
                    .collect();
                (!lines.is_empty()).then(|| lines.join("\n"))
            })
            .collect()
    }

    /// The events that are JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.payloads().iter().filter_map(|payload| serde_json::from_str(payload).ok()).collect()
    }

    /// Whether the protocol's end marker came, last.
    pub(crate) fn is_done(&self) -> bool {
        let payloads = self.payloads();
        let Some(last) = payloads.last() else { return false };
        let kind = serde_json::from_str::<Value>(last).unwrap_or_default()["type"].clone();
        last == "[DONE]"
            || ["message_stop", "response.completed", "response.incomplete"].iter().any(|end| kind == *end)
    }

    /// The type of each event.
    pub(crate) fn types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap_or("").to_owned()).collect()
    }

    /// The last usage that was said, as prompt, cached and completion tokens.
    pub(crate) fn usage(&self) -> (u64, u64, u64) {
        let documents = if self.header("content-type").is_some_and(|kind| kind.contains("json")) {
            vec![self.json()]
        } else {
            self.events()
        };
        let mut usages = documents.iter().filter_map(|document| {
            [&document["usage"], &document["response"]["usage"]].into_iter().find(|usage| usage.is_object())
        });
        let usage = usages.next_back().unwrap();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        if usage.get("cache_read_input_tokens").is_some() {
            let cached = number(&usage["cache_read_input_tokens"]);
            let prompt =
                number(&usage["input_tokens"]) + cached + number(&usage["cache_creation_input_tokens"]);
            (prompt, cached, number(&usage["output_tokens"]))
        } else if usage.get("input_tokens").is_some() {
            let cached = number(&usage["input_tokens_details"]["cached_tokens"]);
            (number(&usage["input_tokens"]), cached, number(&usage["output_tokens"]))
        } else {
            let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
            (number(&usage["prompt_tokens"]), cached, number(&usage["completion_tokens"]))
        }
    }

    /// The finish reason, if one came.
    pub(crate) fn finish_reason(&self) -> Option<String> {
        let reason = |event: &Value| {
            let places = [
                &event["choices"][0]["finish_reason"],
                &event["delta"]["stop_reason"],
                &event["response"]["incomplete_details"]["reason"],
            ];
            let said = places.into_iter().find_map(|reason| reason.as_str());
            let completed = event["type"] == "response.completed";
            said.or(completed.then_some("completed")).map(str::to_owned)
        };
        self.events().iter().find_map(reason)
    }

    /// The words of each token event: content, reasoning, text or tool arguments.
    pub(crate) fn words(&self) -> Vec<usize> {
        self.events().iter().map(words).filter(|words| *words > 0).collect()
    }
}

/// The words of a token event. In Anthropic's deltas the field says the kind; in those of Responses it is the delta
/// itself.
fn words(event: &Value) -> usize {
    let choice = &event["choices"][0];
    let delta = &choice["delta"];
    [
        &choice["text"],
        &delta["content"],
        &delta["reasoning_content"],
        &delta["tool_calls"][0]["function"]["arguments"],
        &event["delta"],
        &event["delta"]["text"],
        &event["delta"]["thinking"],
        &event["delta"]["partial_json"],
    ]
    .iter()
    .filter_map(|text| text.as_str())
    .map(|text| text.split_whitespace().count())
    .sum()
}

/// A connection.
pub(crate) struct Client {
    /// The socket.
    pub(crate) socket: TcpStream,
    received: Vec<u8>,
    ended: Option<Ended>,
}

impl Client {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { socket, received: Vec::new(), ended: None }
    }

    /// Sends raw text.
    pub(crate) fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).unwrap();
    }

    /// Sends a POST.
    pub(crate) fn post(&mut self, path: &str, sim: &Value, body: &Value) {
        let body = body.to_string();
        let header = if sim.is_null() { String::new() } else { format!("x-paceline-sim: {sim}\r\n") };
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: sim\r\n{header}content-length: {}\r\n\r\n{body}",
            body.len()
        ));
    }

    /// Closes the sending half.
    pub(crate) fn close_sending(&self) {
        self.socket.shutdown(std::net::Shutdown::Write).unwrap();
    }

    /// Sends a GET.
    pub(crate) fn get(&mut self, path: &str) {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: sim\r\n\r\n"));
    }

    /// Reads one answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = Answer { status: 0, head: Vec::new(), body: Vec::new(), ended: Ended::Whole };
        let Some(head) = self.until(b"\r\n\r\n") else {
            answer.ended = self.ended.unwrap();
            return answer;
        };
        answer.head = String::from_utf8(head).unwrap().lines().map(str::to_owned).collect();
        answer.status = answer.head[0].split(' ').nth(1).unwrap().parse().unwrap();
        if answer.header("transfer-encoding") == Some("chunked") {
            self.chunks(&mut answer);
        } else {
            let length: usize = answer.header("content-length").unwrap_or("0").parse().unwrap();
            answer.body = self.exactly(length).unwrap_or_else(|| std::mem::take(&mut self.received));
        }
        answer.ended = self.ended.filter(|_| answer.ended != Ended::Whole).unwrap_or(answer.ended);
        if answer.header("content-length").is_some_and(|length| length != answer.body.len().to_string()) {
            answer.ended = self.ended.unwrap();
        }
        answer
    }

    fn chunks(&mut self, answer: &mut Answer) {
        while let Some(size) = self.until(b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&size).unwrap().trim(), 16).unwrap();
            let Some(chunk) = self.exactly(size + 2) else { break };
            assert!(chunk.ends_with(b"\r\n"));
            if size == 0 {
                return;
            }
            answer.body.extend_from_slice(&chunk[..size]);
        }
        answer.ended = self.ended.unwrap();
    }

    /// Reads until the end, and says what came and how it ended.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, Ended) {
        while self.more() {}
        (std::mem::take(&mut self.received), self.ended.unwrap())
    }

    fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.received.windows(mark.len()).position(|window| window == mark) {
                return Some(self.received.drain(..at + mark.len()).collect());
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.received.len() < length {
            if !self.more() {
                return None;
            }
        }
        Some(self.received.drain(..length).collect())
    }

    fn more(&mut self) -> bool {
        let mut piece = vec![0; 65_536];
        match self.socket.read(&mut piece) {
            Ok(0) => self.ended = Some(Ended::Closed),
            Ok(n) => {
                self.received.extend_from_slice(&piece[..n]);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.ended = Some(Ended::Reset),
            Err(error) => panic!("{error}"),
        }
        false
    }
}
