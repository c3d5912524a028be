//! Pages: what they show is gathered here.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use paceline_io::clock::{now_ns, unix_ns};
use paceline_io::http1::Head;

use super::begin::presented_key;
use crate::accounts::KeyFigures;
use crate::pages::{self, Asked, Context, Keys, Page};
use crate::refusal::Refusal;
use crate::settings::OnLedgerFailure;
use crate::shared::Shared;
use crate::table::{Key, RouteTable};

/// The answer to a request for a page.
pub(super) fn page(shared: &Shared, head: &Head, path: &str, query: &str, admin: bool) -> Page {
    let anthropic = head.header("anthropic-version").is_some();
    let asked = Asked { method: &head.method, path, query, admin, anthropic };
    let table = shared.table();
    pages::page(&asked, &context(shared, &table), &Who { shared, head })
}

/// Counters, the ledger's state and what is known of each offer.
pub(crate) fn stats(shared: &Shared) -> serde_json::Value {
    let table = shared.table();
    pages::stats(&context(shared, &table))
}

fn context<'a>(shared: &'a Shared, table: &'a RouteTable) -> Context<'a> {
    Context {
        table,
        figures: shared.router.figures(table, now_ns()),
        waiting: table.offers.iter().map(|offer| shared.waiting(&offer.id)).collect(),
        counters: &shared.counters,
        ledger: shared.ledger.state(),
        needs_ledger: shared.settings.ledger.on_failure == OnLedgerFailure::Stop,
        in_flight: shared.requests.load(Ordering::Acquire),
        connections: shared.connections.load(Ordering::Acquire),
        draining: shared.is_draining(),
        unix_s: unix_s(),
    }
}

fn unix_s() -> i64 {
    unix_ns().div_euclid(1_000_000_000)
}

struct Who<'a> {
    shared: &'a Shared,
    head: &'a Head,
}

impl Keys for Who<'_> {
    fn authenticate(&self, table: &RouteTable) -> Result<Option<Arc<Key>>, Refusal> {
        self.shared.accounts.authenticate(table, presented_key(self.head), unix_s())
    }

    fn figures(&self, key: Option<&Arc<Key>>) -> KeyFigures {
        self.shared.accounts.figures(key, unix_s(), now_ns())
    }

    fn generation(&self, id: &str, key: Option<&Key>) -> Option<String> {
        self.shared.ledger.find(id, key.map(|key| key.id.as_str()))
    }
}
