//! HTTP/1.1 framing without sockets: bytes in, head, body pieces and end out. Heads are read by `httparse`.

#[cfg(test)]
mod tests;

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
    /// It is of HTTP/1.0, whose clients know no chunks.
    pub is_http_1_0: bool,
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
    /// In the size line.
    Size {
        value: u64,
        digits: usize,
        part: SizePart,
        line_bytes: usize,
    },
    Data(u64),
    /// After the data, before its CRLF has ended; the CR has come.
    DataEnd {
        cr: bool,
    },
    /// In the trailers; `line_bytes` of the present line.
    Trailer {
        line_bytes: usize,
    },
}

/// Where in a chunk's size line: whoever reads one less strictly than its sender frames another body than was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizePart {
    Digits,
    /// Space after the digits.
    Space,
    /// After a `;`.
    Extension,
    /// After the CR, before the LF.
    End,
}

const CHUNK_START: Chunk = Chunk::Size { value: 0, digits: 0, part: SizePart::Digits, line_bytes: 0 };

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

    /// The peer has closed, or the connection has failed. None: the message is complete thereby; else how it was cut.
    /// `answered`: something had come.
    pub fn cut_by_peer(&mut self, answered: bool, error: Option<&std::io::Error>) -> Option<String> {
        if error.is_none() && self.finish(&mut |_| {}) {
            return None;
        }
        let when = if answered { "before the response was complete" } else { "before any response" };
        Some(match error {
            Some(error) => format!("the connection broke {when}: {error}"),
            None => format!("the server closed the connection {when}"),
        })
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
            if head.status == 101 {
                return Err(HttpError::Unsupported(
                    "status",
                    "101, and no other protocol was asked for".to_owned(),
                ));
            }
            return Ok(length - before);
        }
        let body = body_of(self.side, &head)?;
        let two_lengths = matches!(body, Body::Chunked(_)) && head.header("content-length").is_some();
        self.keep_alive = head.keep_alive && body != Body::UntilClose && !two_lengths;
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
                (
                    n,
                    Some(Body::Chunked(if left > 0 {
                        Chunk::Data(left)
                    } else {
                        Chunk::DataEnd { cr: false }
                    })),
                )
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
        Chunk::Size { value, digits, part, line_bytes } => {
            if line_bytes > MAX_LINE_BYTES {
                return Err(HttpError::Chunk("a size line without end"));
            }
            let go_on = |part| Chunk::Size { value, digits, part, line_bytes: line_bytes + 1 };
            match (part, byte, char::from(byte).to_digit(16)) {
                (SizePart::End, b'\n', _) if value == 0 => Chunk::Trailer { line_bytes: 0 },
                (SizePart::End, b'\n', _) => Chunk::Data(value),
                (SizePart::Digits, _, Some(digit)) if digits < 15 => {
                    let value = value * 16 + u64::from(digit);
                    Chunk::Size { value, digits: digits + 1, part, line_bytes: line_bytes + 1 }
                }
                (SizePart::Digits, ..) if digits == 0 => {
                    return Err(HttpError::Chunk("a size line without a size"));
                }
                (SizePart::Digits | SizePart::Space | SizePart::Extension, b'\r', _) => go_on(SizePart::End),
                (SizePart::Extension, other, _) if other != b'\n' => go_on(part),
                (SizePart::Digits | SizePart::Space, b' ' | b'\t', _) => go_on(SizePart::Space),
                (SizePart::Digits | SizePart::Space, b';', _) => go_on(SizePart::Extension),
                (SizePart::End, ..) | (_, b'\n', _) => {
                    return Err(HttpError::Chunk("a size line that does not end with CR and LF"));
                }
                _ => return Err(HttpError::Chunk("a chunk size that is not a hexadecimal number")),
            }
        }
        Chunk::Data(_) => state,
        Chunk::DataEnd { cr } => match (byte, cr) {
            (b'\r', false) => Chunk::DataEnd { cr: true },
            (b'\n', true) => CHUNK_START,
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
    head.is_http_1_0 = version == Some(0);
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
    if is_chunked(head)? {
        // Whoever stands between may have framed such a request by its length: what follows would be another to it.
        if side == Side::Request && head.header("content-length").is_some() {
            return Err(HttpError::Head("it has both a content-length and a transfer-encoding".to_owned()));
        }
        return Ok(Body::Chunked(CHUNK_START));
    }
    match content_length(head)? {
        Some(length) => Ok(Body::Length(length)),
        None if side == Side::Request => Ok(Body::Length(0)),
        None => Ok(Body::UntilClose),
    }
}

/// `transfer-encoding: chunked`, and no other: not before it, after it, or twice.
fn is_chunked(head: &Head) -> Result<bool, HttpError> {
    let mut encodings = head.headers.iter().filter(|(name, _)| name == "transfer-encoding");
    let Some((_, first)) = encodings.next() else { return Ok(false) };
    match encodings.next() {
        None if first.eq_ignore_ascii_case("chunked") => Ok(true),
        None => Err(HttpError::Unsupported("transfer-encoding", first.clone())),
        Some((_, second)) => Err(HttpError::Unsupported("transfer-encoding", format!("{first}, {second}"))),
    }
}

/// Several headers, or values of one, that all say the same are one.
fn content_length(head: &Head) -> Result<Option<u64>, HttpError> {
    let mut length = None;
    let values = head.headers.iter().filter(|(name, _)| name == "content-length");
    for value in values.flat_map(|(_, value)| value.split(',')).map(str::trim) {
        // `parse` would take a sign.
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        let read = value.parse().ok().filter(|_| digits);
        let read: u64 =
            read.ok_or_else(|| HttpError::Head(format!("content-length is not a number: {value}")))?;
        if length.is_some_and(|other| other != read) {
            return Err(HttpError::Head("it has two content-lengths".to_owned()));
        }
        length = Some(read);
    }
    Ok(length)
}
