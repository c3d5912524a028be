//! The floor of the benchmarks: an epoll client that parses nothing.
//!
//! In its loop it waits, reads and takes the time; the only thing that it looks at is whether a read ends with the
//! last chunk's `0\r\n\r\n`. With `keep` it also appends the bytes to a buffer, and finds out what they mean after
//! its clock has stopped; with `drop` it forgets them, which is the floor of CPU time. It prints one JSON object: CPU
//! time of the loop, reads, and with `keep` per request the instant of sending, the response's id and the arrival of
//! each event that carries text.
//!
//! Usage: `paceline-bare-client HOST:PORT STREAMS REQUESTS MAX_TOKENS keep|drop`

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};

fn clock_ns(clock: ClockId) -> i64 {
    let t = clock_gettime(clock);
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

struct Exchange {
    sent_ns: i64,
    bytes: Vec<u8>,
    /// Where the buffer ended after each read, and when that read was.
    reads: Vec<(usize, i64)>,
}

struct Stream {
    socket: TcpStream,
    exchange: Exchange,
}

fn send(socket: &mut TcpStream, request: &[u8]) -> Result<Exchange, Box<dyn Error>> {
    let sent_ns = clock_ns(ClockId::Monotonic);
    socket.write_all(request)?;
    Ok(Exchange { sent_ns, bytes: Vec::new(), reads: Vec::new() })
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, address, streams, requests, max_tokens, mode] = args.as_slice() else {
        return Err("usage: paceline-bare-client HOST:PORT STREAMS REQUESTS MAX_TOKENS keep|drop".into());
    };
    let address: SocketAddr = address.parse()?;
    let (streams, requests): (usize, usize) = (streams.parse()?, requests.parse()?);
    let body = format!(
        r#"{{"model":"truth","messages":[{{"role":"user","content":"Say something."}}],"stream":true,"max_tokens":{max_tokens}}}"#
    );
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let begun_ns = clock_ns(ClockId::Monotonic);
    let (finished, reads, cpu_ns) = run(address, streams, requests, request.as_bytes(), mode == "keep")?;
    let wall_ns = clock_ns(ClockId::Monotonic) - begun_ns;
    let rows: Vec<_> = finished.iter().map(describe).collect();
    println!(
        "{}",
        serde_json::json!({"cpu_ns": cpu_ns, "wall_ns": wall_ns, "reads": reads, "requests": rows})
    );
    Ok(())
}

fn run(
    address: SocketAddr,
    streams: usize,
    requests: usize,
    request: &[u8],
    keep: bool,
) -> Result<(Vec<Exchange>, u64, i64), Box<dyn Error>> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut all = Vec::new();
    for token in 0..streams {
        let mut socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let exchange = send(&mut socket, request)?;
        socket.set_nonblocking(true)?;
        epoll::add(&poll, &socket, epoll::EventData::new_u64(token as u64), epoll::EventFlags::IN)?;
        all.push(Stream { socket, exchange });
    }
    let cpu_before_ns = clock_ns(ClockId::ThreadCPUTime);
    let (mut started, mut reads) = (streams, 0u64);
    let mut finished: Vec<Exchange> = Vec::with_capacity(requests);
    let mut events = Vec::with_capacity(512);
    let mut buffer = vec![0u8; 65_536];
    while finished.len() < requests.max(streams) {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let stream = &mut all[usize::try_from(event.data.u64())?];
            let n = match stream.socket.read(&mut buffer) {
                Ok(0) => return Err("the server closed a connection".into()),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            let now_ns = clock_ns(ClockId::Monotonic);
            reads += 1;
            if keep {
                stream.exchange.bytes.extend_from_slice(&buffer[..n]);
                stream.exchange.reads.push((stream.exchange.bytes.len(), now_ns));
            } else {
                std::hint::black_box(now_ns);
            }
            if buffer[..n].ends_with(b"0\r\n\r\n") {
                let next = if started < requests {
                    started += 1;
                    send(&mut stream.socket, request)?
                } else {
                    epoll::delete(&poll, &stream.socket)?;
                    Exchange { sent_ns: 0, bytes: Vec::new(), reads: Vec::new() }
                };
                finished.push(std::mem::replace(&mut stream.exchange, next));
            }
        }
    }
    Ok((finished, reads, clock_ns(ClockId::ThreadCPUTime) - cpu_before_ns))
}

/// After the clock: the events with text, each at the read that completed it.
fn describe(exchange: &Exchange) -> serde_json::Value {
    let text = String::from_utf8_lossy(&exchange.bytes);
    let id = text.find(r#""id":""#).map(|at| text[at + 6..].split('"').next().unwrap_or("").to_owned());
    let mut events_ns = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("data: ") {
        let begin = at + found;
        let end = text[begin..].find("\n\n").map_or(text.len(), |length| begin + length + 2);
        if text[begin..end].contains(r#""content":" "#) || text[begin..end].contains(r#""content":"\u"#) {
            let read = exchange.reads.partition_point(|(until, _)| *until < end);
            if let Some((_, ns)) = exchange.reads.get(read) {
                events_ns.push(*ns);
            }
        }
        at = end;
    }
    serde_json::json!({"id": id, "sent_ns": exchange.sent_ns, "events_ns": events_ns})
}
