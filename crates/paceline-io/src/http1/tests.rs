use super::*;

#[derive(Debug, Default, PartialEq, Eq, Clone)]
struct Read {
    heads: Vec<Head>,
    body: Vec<u8>,
    ends: usize,
}

fn read_split(mut reader: Reader, bytes: &[u8], piece: usize) -> Result<Read, HttpError> {
    let mut got = Read::default();
    for part in bytes.chunks(piece) {
        let mut rest = part;
        while !rest.is_empty() {
            let used = reader.feed(rest, &mut |part| match part {
                Part::Head(head) => got.heads.push(head.clone()),
                Part::Body(bytes) => got.body.extend_from_slice(bytes),
                Part::End => got.ends += 1,
            })?;
            rest = &rest[used..];
            if reader.is_done() {
                reader.next_message();
            } else {
                assert!(rest.is_empty(), "all is taken until the end");
            }
        }
    }
    Ok(got)
}

fn same_at_every_split(bytes: &[u8]) -> Read {
    let whole = read_split(Reader::responses(), bytes, bytes.len()).unwrap();
    for piece in 1..bytes.len() {
        assert_eq!(read_split(Reader::responses(), bytes, piece).unwrap(), whole, "in pieces of {piece}");
    }
    whole
}

#[test]
fn chunked_bodies_read_the_same_at_every_split() {
    let got = same_at_every_split(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5\r\nhello\r\n1;ext=\"x\"\r\n \r\n00A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n",
    );
    assert_eq!(got.body, b"hello 0123456789");
    assert_eq!((got.ends, got.heads[0].status), (1, 200));
    assert_eq!(got.heads[0].header("x-a"), Some("b"));
    assert!(got.heads[0].keep_alive);
}

#[test]
fn a_length_ends_the_body_and_the_next_message_follows() {
    let got = same_at_every_split(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No\r\n\r\nHTTP/1.0 500 X\r\ncontent-length: 0\r\n\r\n",
    );
    assert_eq!(got.body, b"abc");
    assert_eq!(got.ends, 3);
    assert_eq!(got.heads.iter().map(|head| head.status).collect::<Vec<_>>(), [200, 204, 500]);
    assert!(!got.heads[2].keep_alive, "HTTP/1.0 closes unless it says otherwise");
}

#[test]
fn without_a_length_the_close_is_the_end() {
    let mut reader = Reader::responses();
    let mut ends = 0;
    let mut count = |part: Part<'_>| ends += usize::from(matches!(part, Part::End));
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\npart", &mut count).unwrap();
    assert!(!reader.keep_alive());
    assert!(reader.finish(&mut count));
    assert_eq!(ends, 1);
}

#[test]
fn a_close_inside_a_framed_body_is_not_an_end() {
    for bytes in [
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\n",
    ] {
        let mut reader = Reader::responses();
        reader.feed(bytes.as_bytes(), &mut |_| {}).unwrap();
        assert!(!reader.finish(&mut |_| {}), "{bytes}");
    }
}

#[test]
fn broken_messages_are_errors() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for bytes in [
        "<html>hello</html>".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n".to_owned(),
        format!("{chunked}zz\r\n"),
        format!("{chunked}\r\n"),
        format!("{chunked}2\r\nabc\r\n"),
        format!("{chunked}{}\r\n", "1".repeat(30)),
        format!("{chunked}1;{}", "x".repeat(MAX_LINE_BYTES + 9)),
        format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(MAX_HEAD_BYTES)),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1)),
    ] {
        assert!(
            read_split(Reader::responses(), bytes.as_bytes(), 7).is_err(),
            "{}",
            &bytes[..40.min(bytes.len())]
        );
    }
}

#[test]
fn a_body_that_could_be_framed_in_two_ways_is_refused() {
    let chunks = "\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    for framing in [
        format!("content-length: 2\r\ntransfer-encoding: chunked{chunks}"),
        format!("transfer-encoding: chunked\r\ncontent-length: 2{chunks}"),
        format!("transfer-encoding: gzip, chunked{chunks}"),
        format!("transfer-encoding: chunked, identity{chunks}"),
        format!("transfer-encoding: chunked\r\ntransfer-encoding: chunked{chunks}"),
        format!("transfer-encoding: xchunked{chunks}"),
        format!("transfer-encoding:{chunks}"),
        "content-length: 2\r\ncontent-length: 3\r\n\r\nhi!".to_owned(),
        "content-length: 2, 3\r\n\r\nhi!".to_owned(),
        "content-length: +2\r\n\r\nhi".to_owned(),
        "content-length: 0x2\r\n\r\nhi".to_owned(),
        "content-length:\r\n\r\nhi".to_owned(),
        "content-length : 2\r\n\r\nhi".to_owned(),
        "x: y\r\n content-length: 2\r\n\r\nhi".to_owned(),
    ] {
        let request = format!("POST / HTTP/1.1\r\n{framing}");
        for piece in [1, request.len()] {
            assert!(read_split(Reader::requests(), request.as_bytes(), piece).is_err(), "{framing:?}");
        }
    }
    for framing in ["content-length: 2\r\ncontent-length: 2", "content-length: 2, 2"] {
        let request = format!("POST / HTTP/1.1\r\n{framing}\r\n\r\nhi");
        assert_eq!(read_split(Reader::requests(), request.as_bytes(), 5).unwrap().body, b"hi");
    }
}

#[test]
fn chunks_are_framed_as_the_standard_says_and_in_no_other_way() {
    let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    for chunks in [
        "1 0\r\n0123456789abcdef\r\n0\r\n\r\n",
        "1\r0\r\n0123456789abcdef\r\n0\r\n\r\n",
        "0x2\r\nhi\r\n0\r\n\r\n",
        " 2\r\nhi\r\n0\r\n\r\n",
        "-2\r\nhi\r\n0\r\n\r\n",
        "2\nhi\r\n0\r\n\r\n",
        "2;a\nhi\r\n0\r\n\r\n",
        "2\r\nhi\n0\r\n\r\n",
        "2\r\nhi0\r\n\r\n",
        ";a\r\n\r\n",
    ] {
        assert!(
            read_split(Reader::requests(), format!("{head}{chunks}").as_bytes(), 3).is_err(),
            "{chunks:?}"
        );
    }
    let fine = format!("{head}2 ; a=\"b\"\r\nhi\r\n0\r\n\r\n");
    assert_eq!(read_split(Reader::requests(), fine.as_bytes(), 1).unwrap().body, b"hi");
}

#[test]
fn a_response_with_two_framings_is_the_last_of_its_connection() {
    let mut reader = Reader::responses();
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    reader.feed(response, &mut |_| {}).unwrap();
    assert!(reader.is_done() && !reader.keep_alive());
    let switched = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";
    assert!(Reader::responses().feed(switched, &mut |_| {}).is_err());
}

#[test]
fn requests_have_method_target_and_body() {
    let got = read_split(
        Reader::requests(),
        b"POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n",
        11,
    )
    .unwrap();
    assert_eq!(got.body, b"hi");
    assert_eq!((got.heads[0].method.as_str(), got.heads[0].target.as_str()), ("POST", "/v1/x"));
    assert_eq!((got.heads[1].method.as_str(), got.heads[1].keep_alive), ("GET", false));
    assert_eq!(got.ends, 2);
}
