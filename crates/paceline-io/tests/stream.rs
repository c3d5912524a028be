//! Streams over loopback: what arrives, and when it is said to have arrived.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use paceline_io::clock::{StampClock, now_ns};
use paceline_io::poller::Poller;
use paceline_io::stream::{Arrival, ReadEnd, Scratch, Stamping, Stream};

fn pair(kernel_stamps: bool) -> (Stream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = Stream::connect(listener.local_addr().unwrap(), kernel_stamps).unwrap();
    let (peer, _) = listener.accept().unwrap();
    let mut poller = Poller::new(4).unwrap();
    poller.add(&stream, 1).unwrap();
    poller.wait(Some(1_000_000_000), &mut Vec::new()).unwrap();
    stream.take_error().unwrap();
    (stream, peer)
}

fn read(stream: &mut Stream) -> (Vec<u8>, Vec<Arrival>, ReadEnd) {
    let (mut bytes, mut arrivals) = (Vec::new(), Vec::new());
    let end = stream
        .read(&mut Scratch::new(), &StampClock::new(), true, &mut |piece, arrival| {
            bytes.extend_from_slice(piece);
            arrivals.push(arrival);
        })
        .unwrap();
    (bytes, arrivals, end)
}

#[test]
fn a_late_reader_still_gets_the_arrival() {
    // The kernel turns its stamps on some time after the first socket has asked for them.
    let _stamping = Stamping::begin().unwrap();
    let stamped = (0..500).any(|_| {
        let (mut stream, mut peer) = pair(true);
        peer.write_all(b"first").unwrap();
        std::thread::sleep(Duration::from_millis(2));
        read(&mut stream).1.first().is_some_and(|arrival| arrival.kernel)
    });
    assert!(stamped, "loopback on Linux has receive stamps");
    let (mut stream, mut peer) = pair(true);
    let before = now_ns();
    peer.write_all(b"token").unwrap();
    let after = now_ns();
    std::thread::sleep(Duration::from_millis(60));
    let (bytes, arrivals, end) = read(&mut stream);
    assert_eq!((bytes.as_slice(), end), (b"token".as_slice(), ReadEnd::Drained));
    let arrival = arrivals[0];
    assert!(arrival.kernel, "loopback on Linux has receive stamps");
    // 2 ms of room for a preempted writer; the 60 ms of lateness must not be in the stamp.
    assert!(
        arrival.ns >= before - 2_000_000 && arrival.ns <= after + 2_000_000,
        "{before} {arrival:?} {after}"
    );
    assert!(arrival.lag_ns >= 50_000_000);
}

#[test]
fn without_kernel_stamps_the_read_is_the_arrival_and_says_so() {
    let (mut stream, mut peer) = pair(false);
    peer.write_all(b"token").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let before = now_ns();
    let (_, arrivals, _) = read(&mut stream);
    assert!(!arrivals[0].kernel && arrivals[0].ns >= before);
}

#[test]
fn an_end_is_seen_after_the_bytes_before_it() {
    let (mut stream, mut peer) = pair(true);
    peer.write_all(b"last").unwrap();
    drop(peer);
    std::thread::sleep(Duration::from_millis(20));
    let (bytes, _, end) = read(&mut stream);
    assert_eq!((bytes.as_slice(), end), (b"last".as_slice(), ReadEnd::Eof));
}

#[test]
fn what_does_not_fit_waits_and_arrives_whole() {
    let (mut stream, mut peer) = pair(true);
    let sent: Vec<u8> = (0..8_000_000u32).map(|i| (i % 251) as u8).collect();
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        let mut got = vec![0; 8_000_000];
        peer.read_exact(&mut got).unwrap();
        got
    });
    let mut poller = Poller::new(4).unwrap();
    poller.add(&stream, 1).unwrap();
    let mut done = stream.send(&sent[..5_000_000]).unwrap() && !stream.has_pending();
    done &= stream.send(&sent[5_000_000..]).unwrap();
    while !done {
        poller.wait(Some(1_000_000_000), &mut Vec::new()).unwrap();
        done = stream.flush().unwrap();
    }
    assert!(reader.join().unwrap() == sent);
}

#[test]
fn a_refused_connect_is_an_error() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = match Stream::connect(address, true) {
        Err(_) => true,
        Ok(stream) => {
            let mut poller = Poller::new(4).unwrap();
            poller.add(&stream, 1).unwrap();
            poller.wait(Some(1_000_000_000), &mut Vec::new()).unwrap();
            stream.take_error().is_err()
        }
    };
    assert!(refused);
}

#[test]
fn a_bounded_read_leaves_the_rest_and_says_so() {
    let (mut stream, mut peer) = pair(false);
    let writer = std::thread::spawn(move || peer.write_all(&vec![7; 1_000_000]));
    let (mut scratch, clock) = (Scratch::bounded(100_000), StampClock::new());
    let (mut got, mut more) = (0, 0);
    loop {
        let before = got;
        let end = stream.read(&mut scratch, &clock, true, &mut |bytes, _| got += bytes.len()).unwrap();
        assert!(got - before < 100_000 + 65_536, "{} bytes in one go", got - before);
        match end {
            ReadEnd::More => more += 1,
            ReadEnd::Drained => std::thread::yield_now(),
            ReadEnd::Eof => break,
        }
    }
    writer.join().unwrap().unwrap();
    assert!(got == 1_000_000 && more <= 10, "{got} bytes, {more} times more");
}
