//! HTTP/1.1 framing without sockets: bytes in, head, body pieces and end out. Heads are read by `httparse`.

/// The most bytes a head may have, and the most headers.
pub const MAX_HEAD_BYTES: usize = 65_536;
const MAX_HEADERS: usize = 128;
/// The most bytes a chunk-size line or a trailer line may have.
const MAX_LINE_BYTES: usize = 8_192;

/// Why a message cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// Not HTTP/1.x, or a broken head.
    #[error("not an HTTP/1.1 message: {0}")]
    Head(String),
    /// The head goes on for too long.
    #[error(
        "the message's head is larger than {MAX_HEAD_BYTES} bytes or has more than {MAX_HEADERS} headers"
    )]
    HeadTooLarge,
    /// The chunked framing is broken.
    #[error("broken chunked framing: {0}")]
    Chunk(&'static str),
    /// An encoding that was not asked for.
    #[error("unsupported {0}: {1}")]
    Unsupported(&'static str, String),
}

/// A head: the start line and the headers, names in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// Response: the status. Request: 0.
    pub status: u16,
    /// Request: the method. Response: empty.
    pub method: String,
    /// Request: the target. Response: empty.
    pub target: String,
    /// Name and value of each header, in order; values that are not UTF-8 are replaced where they are not.
    pub headers: Vec<(String, String)>,
    /// The connection may be used again after this message.
    pub keep_alive: bool,
}

impl Head {
    /// The first header of that name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn has_token(&self, name: &str, token: &str) -> bool {
        self.headers
            .iter()
            .filter(|(key, _)| key == name)
            .flat_map(|(_, value)| value.split(','))
            .any(|part| part.trim().eq_ignore_ascii_case(token))
    }
}

/// A piece of a message.
#[derive(Debug)]
pub enum Part<'a> {
    /// The head is complete.
    Head(&'a Head),
    /// Bytes of the body, with the framing taken off.
    Body(&'a [u8]),
    /// The message is complete.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    /// In the size line; `in_extension` after a `;`.
    Size {
        value: u64,
        digits: usize,
        in_extension: bool,
        line_bytes: usize,
    },
    Data(u64),
    /// After the data, before its CRLF has ended.
    DataEnd,
    /// In the trailers; `line_bytes` of the present line.
    Trailer {
        line_bytes: usize,
    },
}

const CHUNK_START: Chunk = Chunk::Size { value: 0, digits: 0, in_extension: false, line_bytes: 0 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Head,
    Body(Body),
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Response,
}

/// Reads one message after another from a connection. Call [`Reader::next_message`] between two.
#[derive(Debug)]
pub struct Reader {
    side: Side,
    state: State,
    buffer: Vec<u8>,
    keep_alive: bool,
}

impl Reader {
    /// Reads responses (to requests other than HEAD).
    #[must_use]
    pub fn responses() -> Self {
        Self { side: Side::Response, state: State::Head, buffer: Vec::new(), keep_alive: true }
    }

    /// Reads requests.
    #[must_use]
    pub fn requests() -> Self {
        Self { side: Side::Request, ..Self::responses() }
    }

    /// Takes bytes, hands on the parts that they complete, and returns how many bytes belonged to this message.
    /// Bytes after [`Part::End`] are not taken.
    ///
    /// # Errors
    /// When the bytes are not HTTP/1.1; the connection is of no more use then.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(Part<'_>)) -> Result<usize, HttpError> {
        let mut used = 0;
        while self.state != State::Done {
            let rest = &bytes[used..];
            if rest.is_empty() {
                break;
            }
            used += match self.state.clone() {
                State::Head => self.feed_head(rest, sink)?,
                State::Body(body) => self.feed_body(body, rest, sink)?,
                State::Done => 0,
            };
        }
        Ok(used)
    }

    /// The peer has closed. `true`: the message is complete (a body that lasts until the close).
    pub fn finish(&mut self, sink: &mut impl FnMut(Part<'_>)) -> bool {
        if self.state == State::Body(Body::UntilClose) {
            self.state = State::Done;
            sink(Part::End);
        }
        self.state == State::Done
    }

    /// The message is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The connection may carry another message after this one.
    #[must_use]
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Makes ready for the next message.
    pub fn next_message(&mut self) {
        self.state = State::Head;
        self.buffer.clear();
    }

    fn feed_head(&mut self, bytes: &[u8], sink: &mut impl FnMut(Part<'_>)) -> Result<usize, HttpError> {
        let before = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        let Some((length, head)) = parse_head(self.side, &self.buffer)? else {
            if self.buffer.len() > MAX_HEAD_BYTES {
                return Err(HttpError::HeadTooLarge);
            }
            return Ok(bytes.len());
        };
        self.buffer.clear();
        if self.side == Side::Response && (100..200).contains(&head.status) {
            return Ok(length - before);
        }
        let body = body_of(self.side, &head)?;
        self.keep_alive = head.keep_alive && body != Body::UntilClose;
        sink(Part::Head(&head));
        if body == Body::Length(0) {
            self.state = State::Done;
            sink(Part::End);
        } else {
            self.state = State::Body(body);
        }
        Ok(length - before)
    }

    fn feed_body(
        &mut self,
        body: Body,
        bytes: &[u8],
        sink: &mut impl FnMut(Part<'_>),
    ) -> Result<usize, HttpError> {
        let (used, next) = match body {
            Body::UntilClose => {
                sink(Part::Body(bytes));
                (bytes.len(), Some(body))
            }
            Body::Length(left) => {
                let (n, left) = take(bytes, left, sink);
                (n, (left > 0).then_some(Body::Length(left)))
            }
            Body::Chunked(Chunk::Data(left)) => {
                let (n, left) = take(bytes, left, sink);
                (n, Some(Body::Chunked(if left > 0 { Chunk::Data(left) } else { Chunk::DataEnd })))
            }
            Body::Chunked(chunk) => {
                let mut chunk = Some(chunk);
                let mut used = 0;
                while let Some(state) = chunk
                    && !matches!(state, Chunk::Data(_))
                    && used < bytes.len()
                {
                    chunk = framing_byte(state, bytes[used])?;
                    used += 1;
                }
                (used, chunk.map(Body::Chunked))
            }
        };
        if let Some(body) = next {
            self.state = State::Body(body);
        } else {
            self.state = State::Done;
            sink(Part::End);
        }
        Ok(used)
    }
}

/// Hands on at most `left` bytes; returns how many, and how many are still to come.
fn take(bytes: &[u8], left: u64, sink: &mut impl FnMut(Part<'_>)) -> (usize, u64) {
    let n = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
    sink(Part::Body(&bytes[..n]));
    (n, left - n as u64)
}

/// One byte of chunk framing; none: the message is complete.
fn framing_byte(state: Chunk, byte: u8) -> Result<Option<Chunk>, HttpError> {
    Ok(Some(match state {
        Chunk::Size { value, digits, in_extension, line_bytes } => {
            if line_bytes > MAX_LINE_BYTES {
                return Err(HttpError::Chunk("a size line without end"));
            }
            let line_bytes = line_bytes + 1;
            match (byte, char::from(byte).to_digit(16)) {
                (b'\n', _) if digits == 0 => return Err(HttpError::Chunk("a size line without a size")),
                (b'\n', _) if value == 0 => Chunk::Trailer { line_bytes: 0 },
                (b'\n', _) => Chunk::Data(value),
                (b'\r' | b' ' | b'\t', _) => Chunk::Size { value, digits, in_extension, line_bytes },
                _ if in_extension => Chunk::Size { value, digits, in_extension, line_bytes },
                (b';', _) => Chunk::Size { value, digits, in_extension: true, line_bytes },
                (_, Some(digit)) if digits < 15 => {
                    let value = value * 16 + u64::from(digit);
                    Chunk::Size { value, digits: digits + 1, in_extension, line_bytes }
                }
                _ => return Err(HttpError::Chunk("a chunk size that is not a hexadecimal number")),
            }
        }
        Chunk::Data(_) => state,
        Chunk::DataEnd => match byte {
            b'\r' => Chunk::DataEnd,
            b'\n' => CHUNK_START,
            _ => return Err(HttpError::Chunk("a chunk longer than its size")),
        },
        Chunk::Trailer { line_bytes } => match byte {
            b'\n' if line_bytes == 0 => return Ok(None),
            b'\n' => Chunk::Trailer { line_bytes: 0 },
            b'\r' => state,
            _ if line_bytes > MAX_LINE_BYTES => return Err(HttpError::Chunk("a trailer line without end")),
            _ => Chunk::Trailer { line_bytes: line_bytes + 1 },
        },
    }))
}

fn parse_head(side: Side, bytes: &[u8]) -> Result<Option<(usize, Head)>, HttpError> {
    let mut slots = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let explain = |error: httparse::Error| match error {
        httparse::Error::TooManyHeaders => HttpError::HeadTooLarge,
        other => HttpError::Head(other.to_string()),
    };
    let mut head = Head::default();
    let (status, version, headers): (_, _, &[httparse::Header<'_>]) = match side {
        Side::Response => {
            let mut response = httparse::Response::new(&mut slots);
            let status = response.parse(bytes).map_err(explain)?;
            head.status = response.code.unwrap_or(0);
            (status, response.version, response.headers)
        }
        Side::Request => {
            let mut request = httparse::Request::new(&mut slots);
            let status = request.parse(bytes).map_err(explain)?;
            request.method.unwrap_or("").clone_into(&mut head.method);
            request.path.unwrap_or("").clone_into(&mut head.target);
            (status, request.version, request.headers)
        }
    };
    let httparse::Status::Complete(length) = status else { return Ok(None) };
    head.headers = headers
        .iter()
        .map(|header| {
            (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
        })
        .collect();
    head.keep_alive = if version == Some(1) {
        !head.has_token("connection", "close")
    } else {
        head.has_token("connection", "keep-alive")
    };
    Ok(Some((length, head)))
}

fn body_of(side: Side, head: &Head) -> Result<Body, HttpError> {
    if let Some(encoding) =
        head.header("content-encoding").filter(|value| !value.eq_ignore_ascii_case("identity"))
    {
        return Err(HttpError::Unsupported("content-encoding (none was asked for)", encoding.to_owned()));
    }
    if side == Side::Response && matches!(head.status, 204 | 304) {
        return Ok(Body::Length(0));
    }
    if head.has_token("transfer-encoding", "chunked") {
        return Ok(Body::Chunked(CHUNK_START));
    }
    if let Some(encoding) = head.header("transfer-encoding") {
        return Err(HttpError::Unsupported("transfer-encoding", encoding.to_owned()));
    }
    match head.header("content-length") {
        Some(length) => length
            .parse()
            .map(Body::Length)
            .map_err(|_| HttpError::Head(format!("content-length is not a number: {length}"))),
        None if side == Side::Request => Ok(Body::Length(0)),
        None => Ok(Body::UntilClose),
    }
}

#[cfg(test)]
mod tests {
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
}
