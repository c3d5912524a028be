//! What a gateway knew of its offers before it ended, from its ledger: one that starts anew need not learn it again.

use std::collections::HashMap;

use crate::ledger::Past;
use crate::route::{Recalled, Router, Seen};
use crate::table::RouteTable;

/// A moment by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) unix_ns: i64,
    pub(crate) monotonic_ns: i64,
}

/// Tells the router of attempts of before, oldest first, each as old as it is. Left out: what is older than the policy's
/// window, what by the wall clock is still to come (it was set back, so that the age is not known), and offers that are
/// gone, or lead elsewhere by now.
pub(crate) fn recall(router: &Router, table: &RouteTable, attempts: &[Past], now: Now) {
    let offers: HashMap<&str, (usize, String)> = table
        .offers
        .iter()
        .enumerate()
        .map(|(place, offer)| (offer.id.as_str(), (place, offer.target.endpoint())))
        .collect();
    for past in attempts {
        let age_ns = now.unix_ns - past.ended_unix_ns;
        let Some((place, endpoint)) = offers.get(past.offer.as_str()) else { continue };
        let same = *endpoint == past.endpoint
            && table.offers.get(*place).is_some_and(|offer| offer.upstream_model == past.upstream_model);
        if same && (0..=table.policy.window_ns).contains(&age_ns) {
            router.recall(table, *place, &recalled(past), now.monotonic_ns - age_ns);
        }
    }
}

fn recalled(past: &Past) -> Recalled {
    Recalled {
        probe: past.probe,
        streaming: past.streaming,
        embedding: past.embedding,
        seen: Seen {
            ask: None,
            ticket: None,
            outcome: past.outcome,
            status: past.status,
            client_left: false,
            prompt_tokens: past.prompt_tokens,
            cached_tokens: past.cached_tokens,
            completion_tokens: past.completion_tokens,
            ttft_ns: past.ttft_ns,
            decode_tok_s: past.decode_tok_s,
            elapsed_ns: past.elapsed_ns,
            retry_after_ns: None,
            downgraded: false,
        },
    }
}
