//! What a client's connection has received: one request at a time, within bounds.

use paceline_io::http1::{Head, HttpError, Part, Reader};

use crate::settings::ClientLimits;

/// Bytes of requests to come that a client may send before it has its answer.
const MAX_EARLY_BYTES: usize = 65_536;

/// Why a request cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InboxError {
    /// It is not HTTP/1.1.
    Http(HttpError),
    /// Its body is larger than allowed.
    BodyTooLarge,
    /// It sends on and on while it has not had its answer.
    TooEarly,
}

/// A request that is whole.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
    /// When its first byte arrived.
    pub(super) first_ns: i64,
}

/// How far the present request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Nothing,
    Head { first_ns: i64 },
    Body { head_ns: i64 },
    Whole,
}

/// Collects requests.
#[derive(Debug)]
pub(super) struct Inbox {
    reader: Reader,
    head: Option<Head>,
    body: Vec<u8>,
    first_ns: i64,
    head_ns: i64,
    /// Of the next request, while this one is being answered.
    early: Vec<u8>,
    pub(super) error: Option<InboxError>,
    wants_continue: bool,
    /// The head is complete, and nobody has looked at it.
    fresh_head: bool,
    /// Bytes of the present head.
    head_bytes: usize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            reader: Reader::requests(),
            head: None,
            body: Vec::new(),
            first_ns: 0,
            head_ns: 0,
            early: Vec::new(),
            error: None,
            wants_continue: false,
            fresh_head: false,
            head_bytes: 0,
        }
    }

    /// Takes bytes that arrived at `arrival_ns`. `busy`: a request is being answered, and these are of the next.
    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: i64, busy: bool, limits: &ClientLimits) {
        if self.error.is_some() {
            return;
        }
        if busy || self.reader.is_done() {
            if self.early.len() + bytes.len() > MAX_EARLY_BYTES {
                self.error = Some(InboxError::TooEarly);
            } else {
                self.early.extend_from_slice(bytes);
            }
            return;
        }
        // Some clients send an empty line after a body.
        let bytes = if self.progress() == Progress::Nothing { skip_blank(bytes) } else { bytes };
        if bytes.is_empty() {
            return;
        }
        if self.progress() == Progress::Nothing {
            self.first_ns = arrival_ns;
        }
        let used = match self.feed(bytes, arrival_ns, limits) {
            Ok(used) => used,
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        if self.head.is_none() {
            self.head_bytes += used;
            if self.head_bytes > limits.head_bytes {
                self.error = Some(InboxError::Http(HttpError::HeadTooLarge));
            }
        }
        self.early.extend_from_slice(&bytes[used..]);
    }

    fn feed(&mut self, bytes: &[u8], arrival_ns: i64, limits: &ClientLimits) -> Result<usize, InboxError> {
        let Self { reader, head, body, head_ns, wants_continue, fresh_head, .. } = self;
        let (mut too_large, mut head_too_large) = (false, false);
        let fed = reader.feed(bytes, &mut |part| match part {
            Part::Head(got) => {
                *head_ns = arrival_ns;
                *fresh_head = true;
                *wants_continue =
                    got.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
                let length = got.header("content-length").and_then(|length| length.parse::<usize>().ok());
                too_large = length.is_some_and(|length| length > limits.body_bytes);
                head_too_large = head_bytes_of(got) > limits.head_bytes;
                *head = Some(got.clone());
            }
            Part::Body(piece) if too_large || body.len() + piece.len() > limits.body_bytes => {
                too_large = true
            }
            Part::Body(piece) => body.extend_from_slice(piece),
            Part::End => {}
        });
        let used = fed.map_err(InboxError::Http)?;
        if head_too_large {
            return Err(InboxError::Http(HttpError::HeadTooLarge));
        }
        if too_large { Err(InboxError::BodyTooLarge) } else { Ok(used) }
    }

    pub(super) fn progress(&self) -> Progress {
        if self.reader.is_done() {
            Progress::Whole
        } else if self.head.is_some() {
            Progress::Body { head_ns: self.head_ns }
        } else if self.first_ns != 0 {
            Progress::Head { first_ns: self.first_ns }
        } else {
            Progress::Nothing
        }
    }

    /// The head of the present request, if it is complete.
    pub(super) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The head, once, if it is there before its body is.
    pub(super) fn take_fresh_head(&mut self) -> Option<&Head> {
        let fresh = std::mem::take(&mut self.fresh_head) && !self.reader.is_done();
        self.head.as_ref().filter(|_| fresh)
    }

    /// The client waits to be told to go on (once).
    pub(super) fn take_continue(&mut self) -> bool {
        std::mem::take(&mut self.wants_continue) && !self.reader.is_done()
    }

    /// The request, once it is whole.
    pub(super) fn take_request(&mut self) -> Option<Received> {
        if !self.reader.is_done() {
            return None;
        }
        let head = self.head.take()?;
        Some(Received { head, body: std::mem::take(&mut self.body), first_ns: self.first_ns })
    }

    /// Makes ready for the next request, of which some may have come already.
    pub(super) fn next(&mut self, now_ns: i64, limits: &ClientLimits) {
        self.reader.next_message();
        self.head = None;
        self.first_ns = 0;
        self.head_bytes = 0;
        let early = std::mem::take(&mut self.early);
        self.take(&early, now_ns, false, limits);
    }
}

/// Of the lines of a head, with their ends.
fn head_bytes_of(head: &Head) -> usize {
    let lines = head.headers.iter().map(|(name, value)| name.len() + value.len() + 4);
    head.method.len() + head.target.len() + lines.sum::<usize>()
}

fn skip_blank(bytes: &[u8]) -> &[u8] {
    let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    &bytes[blank..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"POST /v1/x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody";

    fn limits() -> ClientLimits {
        ClientLimits {
            connections: 1,
            requests: 1,
            head_bytes: 1_000,
            body_bytes: 10,
            head_ns: 1,
            body_ns: 1,
            idle_ns: 1,
            write_ns: 1,
            pending_bytes: 1,
            answer_bytes: 1,
            event_bytes: 1,
        }
    }

    #[test]
    fn pipelined_requests_come_one_after_the_other() {
        let mut inbox = Inbox::new();
        let both = [REQUEST, b"\r\n", REQUEST, &REQUEST[..5]].concat();
        inbox.take(&both, 7, false, &limits());
        for _ in 0..2 {
            let got = inbox.take_request().unwrap();
            assert_eq!((got.first_ns, got.body.as_slice()), (7, &b"body"[..]));
            inbox.next(7, &limits());
        }
        assert_eq!(inbox.progress(), Progress::Head { first_ns: 7 });
        assert!(inbox.take_request().is_none() && inbox.error.is_none());
    }

    #[test]
    fn bodies_have_a_bound_whether_they_say_their_length_or_not() {
        for request in [
            "POST / HTTP/1.1\r\ncontent-length: 11\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n8\r\n12345678\r\n3\r\nabc\r\n".to_owned(),
        ] {
            let mut inbox = Inbox::new();
            inbox.take(request.as_bytes(), 1, false, &limits());
            assert_eq!(inbox.error, Some(InboxError::BodyTooLarge));
        }
    }

    #[test]
    fn heads_have_a_bound_in_one_read_or_many() {
        let request = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1_000));
        for piece in [7, request.len()] {
            let mut inbox = Inbox::new();
            for bytes in request.as_bytes().chunks(piece) {
                inbox.take(bytes, 1, false, &limits());
            }
            assert_eq!(inbox.error, Some(InboxError::Http(HttpError::HeadTooLarge)), "in pieces of {piece}");
        }
    }

    #[test]
    fn what_comes_while_busy_waits_and_is_bounded() {
        let mut inbox = Inbox::new();
        inbox.take(REQUEST, 1, false, &limits());
        let _ = inbox.take_request();
        inbox.take(REQUEST, 2, true, &limits());
        inbox.next(3, &limits());
        assert_eq!(inbox.progress(), Progress::Whole);
        inbox.take(&[b'x'; MAX_EARLY_BYTES + 1], 4, true, &limits());
        assert_eq!(inbox.error, Some(InboxError::TooEarly));
    }

    #[test]
    fn a_head_is_shown_once_and_only_before_its_body() {
        let mut inbox = Inbox::new();
        inbox.take(&REQUEST[..REQUEST.len() - 1], 1, false, &limits());
        assert!(inbox.take_fresh_head().is_some() && inbox.take_fresh_head().is_none());
        inbox.take(b"y", 1, false, &limits());
        let _ = inbox.take_request();
        inbox.next(2, &limits());
        inbox.take(REQUEST, 2, false, &limits());
        assert!(inbox.take_fresh_head().is_none());
    }

    #[test]
    fn who_expects_to_be_told_is_told_once() {
        let mut inbox = Inbox::new();
        inbox.take(
            b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n",
            1,
            false,
            &limits(),
        );
        assert!(inbox.take_continue() && !inbox.take_continue());
        assert_eq!(inbox.progress(), Progress::Body { head_ns: 1 });
    }
}
