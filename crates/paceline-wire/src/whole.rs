//! A response that is no stream: an error, a non-streaming answer, or what came where a stream was asked for.

use crate::error::excerpt;
use crate::observe::BodyEnd;
use crate::outcome::Outcome;
use crate::protocol::{Form, Generated, server_message};
use crate::seen::{Seen, read};

/// A body that is gathered before it is read.
#[derive(Debug)]
pub(crate) struct WholeBody {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl WholeBody {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), max_bytes }
    }

    /// Takes some of the body; `false` when it is longer than allowed.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        let taken = bytes.len().min(self.max_bytes - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        taken == bytes.len()
    }

    /// Reads what came.
    pub(crate) fn read(&self, seen: &mut Seen, end: &BodyEnd) {
        let body = self.bytes.trim_ascii();
        match seen.row.status {
            Some(status) if !seen.is_success() => read_error(seen, status, body),
            _ if seen.row.streaming => read_instead_of_stream(seen, body),
            _ if *end == BodyEnd::Complete && !body.is_empty() => read_answer(seen, body),
            _ => {}
        }
    }
}

fn read_error(seen: &mut Seen, status: u16, body: &[u8]) {
    let outcome = if status == 429 { Outcome::RateLimited } else { Outcome::HttpError };
    let message = server_message(body).unwrap_or_else(|| excerpt(body));
    let text =
        if message.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {message}") };
    seen.fail(outcome, &text);
}

fn read_instead_of_stream(seen: &mut Seen, body: &[u8]) {
    let read = read(seen.protocol, body, Form::Whole, &mut Generated::new(None, &mut seen.pieces));
    match read.map(|document| document.error) {
        Ok(Some(error)) => seen.fail(Outcome::ErrorInStream, &error),
        Ok(None) => {
            let text = seen.not_a_stream("the server did not stream, it sent one JSON document");
            seen.fail(Outcome::Malformed, &text);
        }
        Err(_) => {
            let text = seen.not_a_stream(&format!("it begins with {}", excerpt(body)));
            seen.fail(Outcome::Malformed, &text);
        }
    }
}

fn read_answer(seen: &mut Seen, body: &[u8]) {
    let row = &mut seen.row;
    let keep = seen.limits.keep_text.then_some((&mut row.text, &mut row.stretches));
    let mut generated = Generated::new(keep, &mut seen.pieces);
    let read = read(seen.protocol, body, Form::Whole, &mut generated);
    let (bytes, kinds) = (generated.bytes, generated.kinds);
    if read.is_err() {
        row.text.clear();
        row.stretches.truncate(0);
    }
    let document = match read {
        Ok(document) => document,
        Err(_) if body.starts_with(b"data:") => {
            return seen.fail(Outcome::Malformed, "the server streamed although no stream was asked for");
        }
        Err(why) => {
            let text = format!("the answer is {why}: {}", excerpt(body));
            return seen.fail(Outcome::Malformed, &text);
        }
    };
    let listed = document.listed_tokens.map(i64::from);
    let tokens = document.usage.as_ref().and_then(|usage| usage.completion).or(listed);
    seen.facts(document);
    seen.row.events = 1;
    seen.whole = true;
    if kinds > 0 {
        seen.token_event(kinds, bytes, tokens.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1));
    }
}
