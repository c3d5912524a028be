//! A client's request, from its receipt to its line in the ledger.

use std::collections::VecDeque;
use std::sync::Arc;

use super::head::Framing;
use crate::accounts::Hold;
use crate::ask::Ask;
use crate::ledger::entry::AttemptEntry;
use crate::refusal::Refusal;
use crate::route::{Candidate, Considered};
use crate::table::{Key, RouteTable};

/// Clients take no larger header (Python's `http.client`: 64 KiB, others 8 or 16).
const MAX_HEADER_BYTES: usize = 8_000;

/// An attempt in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Live {
    /// Of its connection.
    pub(super) token: u64,
    /// Another offer is asked then, if nothing has come.
    pub(super) hedge_at_ns: i64,
}

/// It waits for a place.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    /// The offer (id) in whose queue it stands.
    pub(super) offer: String,
    pub(super) since_ns: i64,
    pub(super) until_ns: i64,
}

/// What the client is told when no offer answers.
#[derive(Debug, Clone)]
pub(super) enum LastWord {
    /// The gateway's words.
    Refusal(Refusal),
    /// The upstream's: status, and body in the client's protocol.
    Upstream { status: u16, body: Vec<u8> },
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) id: String,
    pub(super) received_ns: i64,
    pub(super) received_unix_ns: i64,
    /// Headers of the client that belong to its protocol, and go upstream.
    pub(super) forwarded: Vec<(String, String)>,
    /// As it came; let go of once an answer has begun.
    pub(super) body: Vec<u8>,
    pub(super) ask: Arc<Ask>,
    pub(super) table: Arc<RouteTable>,
    pub(super) key: Option<Arc<Key>>,
    pub(super) hold: Option<Hold>,
    /// The model (id) that is being tried, and those to be tried after it.
    pub(super) model: String,
    pub(super) models: VecDeque<String>,
    pub(super) candidates: VecDeque<Candidate>,
    pub(super) considered: Vec<Considered>,
    pub(super) reason: String,
    pub(super) live: Vec<Live>,
    pub(super) begun: u32,
    pub(super) attempts: Vec<AttemptEntry>,
    pub(super) last_word: Option<LastWord>,
    pub(super) queued: Option<Queued>,
    pub(super) queued_ns: i64,
    pub(super) hedged: bool,
    /// The attempt whose answer the client gets.
    pub(super) committed: Option<u64>,
    pub(super) first_token_ns: Option<i64>,
    /// The head of the answer has left.
    pub(super) head_sent: bool,
    /// When the next comment keeps the connection alive.
    pub(super) comment_at_ns: i64,
    pub(super) deadline_at_ns: i64,
    pub(super) finish_at_ns: i64,
    /// The client's connection may carry another request.
    pub(super) keep_alive: bool,
    pub(super) framing: Framing,
}

impl Flight {
    /// When it wants to be looked at again.
    pub(super) fn due_ns(&self) -> i64 {
        let mut due_ns = self.finish_at_ns;
        if self.committed.is_none() {
            due_ns = due_ns.min(self.deadline_at_ns).min(self.comment_at_ns);
            if let Some(queued) = &self.queued {
                due_ns = due_ns.min(queued.until_ns);
            }
            due_ns = due_ns.min(self.hedge_at_ns());
        }
        due_ns
    }

    /// When another offer is asked, since the first is late.
    pub(super) fn hedge_at_ns(&self) -> i64 {
        match self.live.as_slice() {
            [only] if !self.hedged && self.committed.is_none() => only.hedge_at_ns,
            _ => i64::MAX,
        }
    }

    /// Names what the client is told if nobody answers; the last that is named counts.
    pub(super) fn blame(&mut self, word: LastWord) {
        self.last_word = Some(word);
    }

    /// Which offers were considered, and why this one: where the client asked for it.
    pub(super) fn explanation_json(&self) -> Option<String> {
        if !self.ask.explain {
            return None;
        }
        Some(self.explained(&serde_json::json!(self.considered)))
    }

    fn explained(&self, considered: &serde_json::Value) -> String {
        serde_json::json!({
            "schema": "paceline.explain/1",
            "table_version": self.table.version,
            "reason": self.reason,
            "considered": considered,
        })
        .to_string()
    }

    /// The same as a header, in ASCII. Of many offers there are too many figures for one: then there are those of the
    /// chosen one, and the others' names and reasons as far as they fit.
    pub(super) fn explanation(&self) -> Option<(&'static str, String)> {
        let mut json = self.explanation_json()?;
        if json.len() > MAX_HEADER_BYTES {
            let mut short = self.considered.clone();
            short.iter_mut().skip(1).for_each(|offer| offer.figures = None);
            json = self.explained(&serde_json::json!(short));
            while json.len() > MAX_HEADER_BYTES && short.len() > 1 {
                short.truncate(short.len().div_ceil(2));
                json = self.explained(&serde_json::json!(short));
            }
        }
        let mut ascii = String::with_capacity(json.len());
        for letter in json.chars() {
            if letter.is_ascii() {
                ascii.push(letter);
            } else {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    ascii.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        Some(("x-paceline-explain", ascii))
    }

    /// The deadlines that the client set were kept; none: it set none.
    pub(super) fn deadline_met(&self, ended_ns: i64, ok: bool) -> Option<bool> {
        if self.deadline_at_ns == i64::MAX && self.finish_at_ns == i64::MAX {
            return None;
        }
        let first = self.first_token_ns.is_some_and(|ns| ns <= self.deadline_at_ns);
        Some(ok && (first || self.deadline_at_ns == i64::MAX) && ended_ns <= self.finish_at_ns)
    }
}
