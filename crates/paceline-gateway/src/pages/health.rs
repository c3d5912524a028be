//! `/healthz`: the process answers. `/readyz`: it can serve, or why not.

use serde_json::json;

use super::{Context, Page};

/// It answers.
pub(super) fn alive() -> Page {
    Page::json(200, &json!({"status": "ok"}))
}

/// Whether requests should be sent here: 200, or 503 with the reasons. A ledger that fails is told of in both cases.
pub(super) fn ready(context: &Context<'_>) -> Page {
    let reasons = reasons(context);
    let mut told = json!({"status": if reasons.is_empty() { "ready" } else { "not ready" }});
    if context.ledger.failing {
        let ledger = &context.ledger;
        told["ledger"] = json!({"why": ledger.why, "since_unix_s": ledger.since_unix_s, "lost": ledger.lost});
    }
    if reasons.is_empty() {
        return Page::json(200, &told);
    }
    told["reasons"] = json!(reasons);
    Page::json(503, &told)
}

/// Why the gateway can serve nothing now; none: it can. One offer that may be asked is enough.
pub(super) fn reasons(context: &Context<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if context.draining {
        reasons.push("it is shutting down".to_owned());
    }
    if context.needs_ledger && context.ledger.failing {
        let why = context.ledger.why.as_deref().unwrap_or("for a reason that is not known");
        reasons.push(format!("the ledger cannot be written: {why}"));
    }
    if context.table.offers.is_empty() {
        reasons.push("there are no offers".to_owned());
    } else if context.figures.iter().all(|offer| offer.resting_ms.is_some()) {
        let soonest_ms =
            context.figures.iter().filter_map(|offer| offer.resting_ms).fold(f64::INFINITY, f64::min);
        reasons.push(format!(
            "every offer is left alone after failures or rate limits; the next may be asked in {soonest_ms:.0} ms"
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::super::testing::{figures, ledger, table};
    use super::*;
    use crate::pages::Counters;

    #[test]
    fn ready_means_that_something_can_be_served() {
        let (table, counters) = (table(), Counters::new());
        let mut context = Context {
            table: &table,
            figures: table.offers.iter().map(|offer| figures(offer)).collect(),
            waiting: vec![0; 3],
            counters: &counters,
            ledger: ledger(),
            needs_ledger: true,
            in_flight: 0,
            connections: 0,
            draining: false,
            unix_s: 0,
        };
        assert_eq!(ready(&context).status, 200);
        context.figures[0].resting_ms = Some(900.0);
        assert_eq!(ready(&context).status, 200, "the others may be asked");
        for offer in &mut context.figures {
            offer.resting_ms = Some(2_000.0);
        }
        context.figures[1].resting_ms = Some(1_500.0);
        context.draining = true;
        context.ledger.failing = true;
        context.ledger.why = Some("no space left".to_owned());
        let page = ready(&context);
        let body: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
        assert_eq!(page.status, 503);
        let said = body["reasons"].to_string();
        for words in ["shutting down", "no space left", "1500 ms"] {
            assert!(said.contains(words), "{said}");
        }
        context.needs_ledger = false;
        assert_eq!(reasons(&context).len(), 2);
        // Traffic flows on, and what is lost is said.
        context.draining = false;
        context.figures[0].resting_ms = None;
        (context.ledger.since_unix_s, context.ledger.lost) = (Some(7), 3);
        let page = ready(&context);
        let body: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
        let ledger = json!({"why": "no space left", "since_unix_s": 7, "lost": 3});
        assert_eq!((page.status, &body["status"], &body["ledger"]), (200, &json!("ready"), &ledger));
    }
}
