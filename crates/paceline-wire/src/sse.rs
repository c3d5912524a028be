//! Reading a server-sent event stream, at any split of its bytes.
//!
//! After the WHATWG HTML standard, section "Server-sent events", with three differences: an event may not be larger
//! than a stated bound, the end of a complete body also ends its last event ([`SseReader::finish`]), and a byte order
//! mark is left to the caller, who looks at the first bytes anyway.

use memchr::memchr2;

/// An event is larger than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// One event that has data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// Its data, lines joined by a line feed.
    pub(crate) data: &'a [u8],
    /// Its name is `error`.
    pub(crate) named_error: bool,
}

/// The state between two pieces of the stream. Holds no more than `max_event_bytes`.
#[derive(Debug)]
pub(crate) struct SseReader {
    max_event_bytes: usize,
    /// A line whose end has not come.
    line: Vec<u8>,
    /// Data of an event whose end has not come.
    data: Vec<u8>,
    has_data: bool,
    named_error: bool,
    /// The last byte was a CR that ended a line: a LF right after it is part of that end.
    after_cr: bool,
    /// A line was no field of an event stream.
    foreign: bool,
}

impl SseReader {
    pub(crate) fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            named_error: false,
            after_cr: false,
            foreign: false,
        }
    }

    /// A line was seen that is no field of an event stream.
    pub(crate) fn foreign(&self) -> bool {
        self.foreign
    }

    /// Takes the next piece and hands on the events that it completes. Stops early when `sink` returns `false`;
    /// the rest of the piece is then lost.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut impl FnMut(Event<'_>) -> bool,
    ) -> Result<(), TooLarge> {
        // Data of this piece that is not copied unless the event goes beyond the piece or has several lines.
        let mut borrowed: Option<&[u8]> = None;
        let mut at = 0;
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            at = usize::from(bytes[0] == b'\n');
        }
        while let Some(length) = memchr2(b'\n', b'\r', &bytes[at..]) {
            let end = at + length;
            let piece = &bytes[at..end];
            at = end + 1;
            if bytes[end] == b'\r' {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            let go_on = if self.line.is_empty() {
                self.take_line(piece, &mut borrowed, sink)?
            } else {
                self.extend_line(piece, 0)?;
                let line = std::mem::take(&mut self.line);
                // What the kept part of the line gives must outlive it, hence the copy.
                let mut whole = None;
                let go_on = self.take_line(&line, &mut whole, sink)?;
                if let Some(data) = whole {
                    self.keep(data);
                }
                self.line = line;
                self.line.clear();
                go_on
            };
            if !go_on {
                return Ok(());
            }
        }
        self.extend_line(&bytes[at..], borrowed.map_or(0, <[u8]>::len))?;
        if let Some(data) = borrowed {
            self.keep(data);
        }
        Ok(())
    }

    /// The body is complete: what is left is the last event, if it is one.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(Event<'_>) -> bool) -> Result<(), TooLarge> {
        let line = std::mem::take(&mut self.line);
        let mut borrowed = None;
        if !line.is_empty() && !self.take_line(&line, &mut borrowed, sink)? {
            return Ok(());
        }
        self.take_line(b"", &mut borrowed, sink).map(|_| ())
    }

    /// Takes one line without its end; `false` when `sink` wants no more.
    #[inline]
    fn take_line<'b>(
        &mut self,
        line: &'b [u8],
        borrowed: &mut Option<&'b [u8]>,
        sink: &mut impl FnMut(Event<'_>) -> bool,
    ) -> Result<bool, TooLarge> {
        self.check(borrowed.map_or(0, <[u8]>::len) + line.len())?;
        if line.is_empty() {
            return Ok(self.dispatch(borrowed.take(), sink));
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            self.add_data(value.strip_prefix(b" ").unwrap_or(value), borrowed);
            return Ok(true);
        }
        let colon = memchr::memchr(b':', line);
        let (name, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        match name {
            // A comment.
            b"" if colon.is_some() => {}
            b"data" => self.add_data(value, borrowed),
            b"event" => self.named_error = value.strip_prefix(b" ").unwrap_or(value) == b"error",
            b"id" | b"retry" => {}
            _ => self.foreign = true,
        }
        Ok(true)
    }

    fn dispatch(&mut self, borrowed: Option<&[u8]>, sink: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        let named_error = std::mem::take(&mut self.named_error);
        if let Some(data) = borrowed {
            return sink(Event { data, named_error });
        }
        if !std::mem::take(&mut self.has_data) {
            return true;
        }
        let go_on = sink(Event { data: &self.data, named_error });
        self.data.clear();
        go_on
    }

    fn add_data<'b>(&mut self, value: &'b [u8], borrowed: &mut Option<&'b [u8]>) {
        if !self.has_data && borrowed.is_none() {
            *borrowed = Some(value);
            return;
        }
        if let Some(first) = borrowed.take() {
            self.keep(first);
        }
        self.keep(value);
    }

    fn keep(&mut self, value: &[u8]) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    fn extend_line(&mut self, piece: &[u8], borrowed_bytes: usize) -> Result<(), TooLarge> {
        self.check(borrowed_bytes + self.line.len() + piece.len())?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    fn check(&self, more_bytes: usize) -> Result<(), TooLarge> {
        if self.data.len() + more_bytes > self.max_event_bytes { Err(TooLarge) } else { Ok(()) }
    }
}
