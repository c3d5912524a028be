//! Reading a server-sent event stream, at any split of its bytes.
//!
//! After the WHATWG HTML standard, section "Server-sent events", with three differences: an event may not be larger
//! than a stated bound, the end of a complete body also ends its last event ([`SseReader::finish`]), and a byte order
//! mark is left to the caller, who looks at the first bytes anyway.

use memchr::memchr2;

use crate::error::excerpt;

/// An event is larger than allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// One event that has data.
#[derive(Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its data, lines joined by a line feed.
    pub data: &'a [u8],
    /// Its name is `error`.
    pub named_error: bool,
}

/// The state between two pieces of the stream. Holds no more than `max_event_bytes`.
#[derive(Debug)]
pub struct SseReader {
    max_event_bytes: usize,
    /// A line whose end has not come.
    line: Vec<u8>,
    /// Data of an event whose end has not come.
    data: Vec<u8>,
    has_data: bool,
    named_error: bool,
    /// The last byte was a CR that ended a line: a LF right after it is part of that end.
    after_cr: bool,
    /// The first line that was no field of an event stream.
    foreign: Option<String>,
}

impl SseReader {
    /// A reader of a stream that has not begun.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            named_error: false,
            after_cr: false,
            foreign: None,
        }
    }

    /// The beginning of the first line that was no field of an event stream.
    #[must_use]
    pub fn foreign(&self) -> Option<&str> {
        self.foreign.as_deref()
    }

    /// Takes the next piece and hands on the events that it completes. Stops early when `sink` returns `false`;
    /// the rest of the piece is then lost.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(Event<'_>) -> bool) -> Result<(), TooLarge> {
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
    pub fn finish(&mut self, sink: &mut impl FnMut(Event<'_>) -> bool) -> Result<(), TooLarge> {
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
            _ if self.foreign.is_none() => self.foreign = Some(excerpt(line)),
            _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Events = Vec<(String, bool)>;

    /// Events, whether a line was foreign, and whether one was too large.
    fn read(pieces: &[&[u8]], max_event_bytes: usize, finish: bool) -> (Events, bool, bool) {
        let mut reader = SseReader::new(max_event_bytes);
        let mut events = Vec::new();
        let mut sink = |event: Event<'_>| {
            events.push((String::from_utf8_lossy(event.data).into_owned(), event.named_error));
            true
        };
        let mut too_large = false;
        for piece in pieces {
            too_large = too_large || reader.feed(piece, &mut sink).is_err();
            assert!(reader.line.len() + reader.data.len() <= max_event_bytes);
        }
        if finish && !too_large {
            too_large = reader.finish(&mut sink).is_err();
        }
        (events, reader.foreign().is_some(), too_large)
    }

    fn data(stream: &str) -> Vec<String> {
        read(&[stream.as_bytes()], 1_000, false).0.into_iter().map(|(data, _)| data).collect()
    }

    #[test]
    fn all_line_ends_and_forms_of_a_field_are_read() {
        assert_eq!(data("data: a\n\ndata:b\n\n"), ["a", "b"]);
        assert_eq!(data("data: a\r\n\r\ndata: b\r\n\r\n"), ["a", "b"]);
        assert_eq!(data("data: a\r\rdata: b\r\r"), ["a", "b"]);
        assert_eq!(data("data: a\n\r\ndata: b\r\n\n"), ["a", "b"]);
        assert_eq!(data("data:  a \n\n"), [" a "]);
        assert_eq!(data("data\n\n"), [""]);
    }

    #[test]
    fn lines_of_data_are_joined() {
        assert_eq!(data("data: a\ndata: b\ndata:\ndata\n\n"), ["a\nb\n\n"]);
    }

    #[test]
    fn comments_and_other_fields_are_no_data() {
        assert_eq!(data(": ping\n\n:\n\nid: 1\nretry: 5\nevent: x\n\ndata: a\nid: 2\n\n"), ["a"]);
    }

    #[test]
    fn an_unfinished_event_waits() {
        assert!(data("data: a").is_empty());
        assert!(data("data: a\n").is_empty());
        assert_eq!(read(&[b"data: a"], 100, true).0, [("a".to_owned(), false)]);
        assert_eq!(read(&[b"data: a\n"], 100, true).0, [("a".to_owned(), false)]);
        assert!(read(&[b"event: error"], 100, true).0.is_empty());
    }

    #[test]
    fn the_name_error_holds_for_its_event_only() {
        let (events, ..) =
            read(&[b"event: error\ndata: a\n\ndata: b\n\nevent:error\n\ndata: c\n\n"], 100, false);
        assert_eq!(events, [("a".into(), true), ("b".into(), false), ("c".into(), false)]);
    }

    #[test]
    fn foreign_lines_are_noticed() {
        assert!(!read(&[b": c\ndata: a\nid\nretry: 1\nevent: x\n\n"], 100, false).1);
        assert!(read(&[b"<html>\n"], 100, false).1);
        assert!(read(&[b"Data: a\n"], 100, false).1);
    }

    #[test]
    fn an_event_may_be_as_large_as_the_bound_and_no_larger() {
        for (stream, ok) in [
            ("data: 45678\n\n", true),
            ("data: 456789\n\n", false),
            ("data:5\ndata:1\n\n", true),
            ("data:5678\ndata:234\n\n", false),
            ("data: 45678\n\ndata: 45678\n\n: 345678901\n\n", true),
            (": 23456789012", false),
        ] {
            for cut in 0..stream.len() {
                let (head, tail) = stream.as_bytes().split_at(cut);
                assert_eq!(read(&[head, tail], 11, false).2, !ok, "{stream:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn the_sink_can_stop_the_reading() {
        let mut reader = SseReader::new(100);
        let mut seen = 0;
        let stopped = reader.feed(b"data: a\n\ndata: b\n\n", &mut |_| {
            seen += 1;
            false
        });
        assert_eq!((stopped, seen), (Ok(()), 1));
    }

    fn line() -> impl Strategy<Value = String> {
        let text = prop::sample::select(vec![
            "data: {\"a\":1}",
            "data:x",
            "data",
            "",
            ": c",
            "event: error",
            "event: y",
            "id: 7",
            "dat",
            "data: äß€😀",
            "data: 0123456789012345678901234567890123456789",
        ]);
        let end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
        (text, end).prop_map(|(text, end)| format!("{text}{end}"))
    }

    /// The pieces of `bytes` between sorted cuts.
    fn pieces(bytes: &[u8], cuts: Vec<prop::sample::Index>) -> Vec<&[u8]> {
        let mut at: Vec<usize> = cuts.into_iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
    }

    proptest! {
        #[test]
        fn any_split_reads_the_same(
            lines in prop::collection::vec(line(), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            max_event_bytes in 20_usize..80,
            finish: bool,
        ) {
            let stream = lines.concat();
            let whole = read(&[stream.as_bytes()], max_event_bytes, finish);
            prop_assert_eq!(&read(&pieces(stream.as_bytes(), cuts), max_event_bytes, finish), &whole);
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            prop_assert_eq!(&read(&bytes, max_event_bytes, finish), &whole);
        }

        #[test]
        fn any_bytes_stay_within_the_bound(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            max_event_bytes in 0_usize..40,
        ) {
            let whole = read(&[&bytes], max_event_bytes, true);
            prop_assert_eq!(read(&pieces(&bytes, cuts), max_event_bytes, true), whole);
        }
    }
}
