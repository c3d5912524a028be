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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::testing::{offer, table};

    fn limited(sessions: u32, session_ns: Option<i64>, idle_ns: Option<i64>) -> Offer {
        let mut offer = offer("a");
        offer.limits =
            OfferLimits { sessions: Some(sessions), session_ns, idle_ns, ..OfferLimits::default() };
        offer
    }

    fn wait(refused: Result<Pass, SessionRefused>) -> i64 {
        refused.unwrap_err().retry_after_ns
    }

    #[test]
    fn without_a_limit_everyone_enters_and_nothing_is_kept() {
        let sessions = Sessions::new();
        let passes: Vec<Pass> =
            (0..100).map(|who| sessions.enter(&offer("a"), &who.to_string(), 0).unwrap()).collect();
        assert_eq!(passes.len(), 100);
        assert!(sessions.held.lock().unwrap().is_empty());
    }

    #[test]
    fn a_session_ends_when_nothing_was_asked_for_long_enough_and_nothing_is_in_flight() {
        let (sessions, offer) = (Sessions::new(), limited(1, None, Some(100)));
        let pass = sessions.enter(&offer, "ann", 0).unwrap();
        // In flight, and nobody knows for how long.
        assert_eq!(wait(sessions.enter(&offer, "bob", 500)), UNKNOWN_WAIT_NS);
        drop(sessions.enter(&offer, "ann", 600).unwrap());
        drop(pass);
        assert_eq!(wait(sessions.enter(&offer, "bob", 640)), 60);
        drop(sessions.enter(&offer, "ann", 650).unwrap());
        assert_eq!(wait(sessions.enter(&offer, "bob", 749)), 1);
        drop(sessions.enter(&offer, "bob", 750).unwrap());
        assert_eq!(wait(sessions.enter(&offer, "ann", 751)), 99);
    }

    #[test]
    fn a_session_ends_after_its_length_once_nothing_is_in_flight() {
        let (sessions, offer) = (Sessions::new(), limited(2, Some(1_000), None));
        let ann = sessions.enter(&offer, "ann", 0).unwrap();
        drop(sessions.enter(&offer, "bob", 300).unwrap());
        assert_eq!(wait(sessions.enter(&offer, "cy", 400)), 900);
        // Ann's is over, but goes on with what is in flight: she gets nothing new, and nobody her place.
        assert!(sessions.enter(&offer, "ann", 1_000).unwrap_err().why.contains("lasted"));
        assert_eq!(wait(sessions.enter(&offer, "cy", 1_000)), 300);
        drop(ann);
        drop(sessions.enter(&offer, "cy", 1_001).unwrap());
        // Bob's ended too, and whoever asks first has the place.
        drop(sessions.enter(&offer, "ann", 1_300).unwrap());
        assert_eq!(wait(sessions.enter(&offer, "bob", 1_300)), 701);
    }

    #[test]
    fn with_neither_limit_a_session_is_what_is_in_flight() {
        let (sessions, offer) = (Sessions::new(), limited(1, None, None));
        let pass = sessions.enter(&offer, "", 0).unwrap();
        let other = sessions.enter(&offer, "", 1).unwrap();
        drop(pass);
        assert_eq!(wait(sessions.enter(&offer, "bob", 2)), UNKNOWN_WAIT_NS);
        drop(other);
        assert!(sessions.enter(&offer, "bob", 2).is_ok());
    }

    #[test]
    fn offers_that_are_gone_are_forgotten_once_nothing_is_in_flight() {
        let sessions = Sessions::new();
        let mut gone = limited(1, Some(10), None);
        gone.id = "gone".to_owned();
        let pass = sessions.enter(&gone, "ann", 0).unwrap();
        drop(sessions.enter(&limited(1, Some(10), None), "ann", 0).unwrap());
        let table = table(false, &[]);
        sessions.apply(&table);
        assert_eq!(sessions.held.lock().unwrap().len(), 2);
        drop(pass);
        sessions.apply(&table);
        assert_eq!(sessions.held.lock().unwrap().keys().collect::<Vec<_>>(), ["a"]);
    }
}
