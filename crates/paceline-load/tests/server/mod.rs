//! A small threaded HTTP server whose answers are a closure.

#![allow(dead_code)] // each test file uses its part

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) struct Request {
    pub(crate) head: String,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets the number of the request; it returns whether the connection stays open.
    pub(crate) fn start(
        answer: impl Fn(usize, &Request, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (count, kept, answer) = (connections.clone(), bodies.clone(), Arc::new(answer));
        let number = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let (kept, answer, number) = (kept.clone(), answer.clone(), number.clone());
                std::thread::spawn(move || serve(socket, &kept, &number, &*answer));
            }
        });
        Self { address, connections, bodies }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }
}

fn serve(
    mut socket: TcpStream,
    kept: &Mutex<Vec<String>>,
    number: &AtomicUsize,
    answer: &(impl Fn(usize, &Request, &mut TcpStream) -> bool + ?Sized),
) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        kept.lock().unwrap().push(String::from_utf8(body).unwrap());
        if !answer(number.fetch_add(1, Ordering::SeqCst), &Request { head }, &mut socket) {
            let _ = socket.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

pub(crate) fn head(socket: &mut TcpStream) {
    let _ = socket.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    );
}

pub(crate) fn event(socket: &mut TcpStream, data: &str) {
    let event = format!("data: {data}\n\n");
    let _ = socket.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
}

pub(crate) fn end(socket: &mut TcpStream) -> bool {
    event(socket, "[DONE]");
    socket.write_all(b"0\r\n\r\n").is_ok()
}

/// A whole stream of these tokens, with a finish reason and an end marker.
pub(crate) fn stream(socket: &mut TcpStream, tokens: &[&str]) -> bool {
    head(socket);
    for token in tokens {
        event(socket, &format!(r#"{{"id":"r","choices":[{{"index":0,"delta":{{"content":"{token}"}}}}]}}"#));
    }
    event(socket, r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#);
    end(socket)
}

pub(crate) fn reply(socket: &mut TcpStream, status: &str, body: &str) -> bool {
    let kind = if body.starts_with('{') { "application/json" } else { "text/html" };
    socket
        .write_all(
            format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        )
        .is_ok()
}
