//! What a connection has received: one request at a time.

use paceline_io::http1::{Head, HttpError, Part, Reader};

/// The most bytes that a request's body may have.
pub(crate) const MAX_BODY_BYTES: usize = 64 << 20;

/// Why a request cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InboxError {
    /// It is not HTTP/1.1.
    Http(HttpError),
    /// Its body is too large.
    TooLarge,
}

/// Collects a request.
#[derive(Debug)]
pub(crate) struct Inbox {
    reader: Reader,
    head: Option<Head>,
    body: Vec<u8>,
    first_ns: Option<i64>,
    /// Bytes came that belong to no request that could be answered now.
    pub(crate) has_extra: bool,
    pub(crate) error: Option<InboxError>,
    wants_continue: bool,
}

/// A request that is whole.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
    /// When its first byte arrived.
    pub(crate) first_ns: i64,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            reader: Reader::requests(),
            head: None,
            body: Vec::new(),
            first_ns: None,
            has_extra: false,
            error: None,
            wants_continue: false,
        }
    }

    /// Takes bytes that arrived at `arrival_ns`. While an answer is on its way (`busy`) none belong to a request.
    pub(crate) fn take(&mut self, bytes: &[u8], arrival_ns: i64, busy: bool) {
        if self.error.is_some() {
            return;
        }
        if busy || self.reader.is_done() {
            self.has_extra |= !is_blank(bytes);
            return;
        }
        self.first_ns.get_or_insert(arrival_ns);
        let Self { reader, head, body, wants_continue, .. } = self;
        let mut too_large = false;
        let fed = reader.feed(bytes, &mut |part| match part {
            Part::Head(got) => {
                *wants_continue =
                    got.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
                *head = Some(got.clone());
            }
            Part::Body(piece) if body.len() + piece.len() > MAX_BODY_BYTES => too_large = true,
            Part::Body(piece) => body.extend_from_slice(piece),
            Part::End => {}
        });
        match fed {
            Err(error) => self.error = Some(InboxError::Http(error)),
            Ok(_) if too_large => self.error = Some(InboxError::TooLarge),
            Ok(used) => self.has_extra |= !is_blank(&bytes[used..]),
        }
    }

    /// The client waits to be told to go on (once).
    pub(crate) fn take_continue(&mut self) -> bool {
        std::mem::take(&mut self.wants_continue) && !self.reader.is_done()
    }

    /// The request, once it is whole.
    pub(crate) fn take_request(&mut self) -> Option<Received> {
        if !self.reader.is_done() {
            return None;
        }
        let head = self.head.take()?;
        Some(Received { head, body: std::mem::take(&mut self.body), first_ns: self.first_ns.unwrap_or(0) })
    }

    /// Makes ready for the next request.
    pub(crate) fn next(&mut self) {
        self.reader.next_message();
        self.first_ns = None;
    }
}

/// Some clients send an empty line after a body.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"POST /v1/x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody";

    #[test]
    fn the_first_byte_is_the_arrival() {
        let mut inbox = Inbox::new();
        inbox.take(&REQUEST[..10], 100, false);
        assert!(inbox.take_request().is_none());
        inbox.take(&REQUEST[10..], 200, false);
        let got = inbox.take_request().unwrap();
        assert_eq!(
            (got.first_ns, got.body.as_slice(), got.head.target.as_str()),
            (100, &b"body"[..], "/v1/x")
        );
        inbox.next();
        inbox.take(REQUEST, 300, false);
        assert_eq!(inbox.take_request().unwrap().first_ns, 300);
        assert!(!inbox.has_extra);
    }

    #[test]
    fn what_comes_too_early_is_noticed() {
        let mut inbox = Inbox::new();
        inbox.take(&[REQUEST, b"\r\n"].concat(), 1, false);
        assert!(!inbox.has_extra, "an empty line is nothing");
        inbox.take(REQUEST, 2, true);
        assert!(inbox.has_extra);
        let mut inbox = Inbox::new();
        inbox.take(&[REQUEST, REQUEST].concat(), 1, false);
        assert!(inbox.has_extra && inbox.take_request().is_some());
    }

    #[test]
    fn broken_and_oversized_requests_are_errors() {
        let mut inbox = Inbox::new();
        inbox.take(b"\x16\x03\x01 hello\r\n\r\n", 1, false);
        assert!(matches!(inbox.error, Some(InboxError::Http(_))));
        let mut inbox = Inbox::new();
        inbox.take(b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 1, false);
        let piece = vec![b'x'; 1 << 20];
        (0..65).for_each(|_| inbox.take(&piece, 2, false));
        assert_eq!(inbox.error, Some(InboxError::TooLarge));
    }

    #[test]
    fn a_client_that_waits_is_told_once() {
        let mut inbox = Inbox::new();
        inbox.take(b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n", 1, false);
        assert!(inbox.take_continue() && !inbox.take_continue());
        inbox.take(b"ok", 2, false);
        assert!(inbox.take_request().is_some());
    }
}
