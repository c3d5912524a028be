//! Offers that only so many keys may use at a time: each holds a session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::table::{Offer, OfferLimits, RouteTable};

/// What a holder is told when it is not known how long a request in flight takes.
const UNKNOWN_WAIT_NS: i64 = 1_000_000_000;

#[derive(Debug)]
struct Session {
    began_ns: i64,
    asked_ns: i64,
    in_flight: u32,
}

type Held = HashMap<String, HashMap<String, Session>>;

/// All sessions: by offer, by who holds them.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    held: Arc<Mutex<Held>>,
}

/// A request of a session is in flight until this is dropped; a session does not end while one is.
#[derive(Debug)]
#[must_use]
pub(crate) struct Pass {
    of: Option<(Arc<Mutex<Held>>, String, String)>,
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRefused {
    pub(crate) why: String,
    /// When a session may be free.
    pub(crate) retry_after_ns: i64,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Forgets offers that are not in the table any more.
    pub(crate) fn apply(&self, table: &RouteTable) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|id, sessions| {
            table.offers.iter().any(|offer| offer.id == *id)
                || sessions.values().any(|session| session.in_flight > 0)
        });
    }

    /// Begins a session, or goes on with it. A session ends after `limits.session_ns`, or when nothing was asked for
    /// `limits.idle_ns`; with neither, when nothing is in flight. Then its place is for whoever asks first.
    ///
    /// `who`: the key's id; all who have no key are one.
    ///
    /// # Errors
    /// When all are held by others, or one's own has lasted for as long as it may and has requests in flight.
    pub(crate) fn enter(&self, offer: &Offer, who: &str, now_ns: i64) -> Result<Pass, SessionRefused> {
        let Some(most) = offer.limits.sessions else {
            return Ok(Pass { of: None });
        };
        let limits = &offer.limits;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = held.entry(offer.id.clone()).or_default();
        sessions.retain(|_, session| session.in_flight > 0 || wait_ns(session, limits, now_ns) > 0);
        if let Some(session) = sessions.get_mut(who) {
            if limits.session_ns.is_some_and(|length| now_ns - session.began_ns >= length) {
                let why = format!("the session at {} has lasted for as long as it may", offer.id);
                return Err(SessionRefused { why, retry_after_ns: UNKNOWN_WAIT_NS });
            }
            session.asked_ns = now_ns;
            session.in_flight += 1;
        } else if sessions.len() >= most as usize {
            let wait = sessions.values().map(|session| wait_ns(session, limits, now_ns)).min();
            let why = format!("all {most} sessions at {} are held by others", offer.id);
            return Err(SessionRefused { why, retry_after_ns: wait.unwrap_or(UNKNOWN_WAIT_NS) });
        } else {
            let session = Session { began_ns: now_ns, asked_ns: now_ns, in_flight: 1 };
            sessions.insert(who.to_owned(), session);
        }
        Ok(Pass { of: Some((Arc::clone(&self.held), offer.id.clone(), who.to_owned())) })
    }
}

/// How long until a session may end; 0: it has.
fn wait_ns(session: &Session, limits: &OfferLimits, now_ns: i64) -> i64 {
    let idle = if session.in_flight > 0 { None } else { limits.idle_ns };
    let ends = [
        limits.session_ns.map(|length| session.began_ns.saturating_add(length)),
        idle.map(|idle| session.asked_ns.saturating_add(idle)),
    ];
    let end = ends.into_iter().flatten().min();
    if session.in_flight > 0 {
        return end.map_or(UNKNOWN_WAIT_NS, |end| (end - now_ns).max(UNKNOWN_WAIT_NS));
    }
    // With neither limit, a session is what is in flight.
    end.map_or(0, |end| (end - now_ns).max(0))
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Some((held, offer, who)) = self.of.take() else {
            return;
        };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = held.get_mut(&offer).and_then(|sessions| sessions.get_mut(&who)) {
            session.in_flight = session.in_flight.saturating_sub(1);
        }
    }
}
