//! What pages are made of.

use std::sync::Arc;

use super::Counters;
use crate::accounts::KeyFigures;
use crate::ledger::LedgerState;
use crate::refusal::Refusal;
use crate::route::OfferFigures;
use crate::table::{Key, RouteTable};

/// A request for a page. `path`: without `/api` before `/v1`, and without the query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    /// It came to the admin address.
    pub(crate) admin: bool,
    /// It has a header `anthropic-version`: lists and errors are in Anthropic's shape.
    pub(crate) anthropic: bool,
}

/// The gateway at one moment.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) table: &'a RouteTable,
    /// In the table's order, as are those that wait.
    pub(crate) figures: Vec<OfferFigures>,
    /// Requests that wait for a place at each offer.
    pub(crate) waiting: Vec<u32>,
    pub(crate) counters: &'a Counters,
    pub(crate) ledger: LedgerState,
    /// Nothing is served while the ledger cannot be written.
    pub(crate) needs_ledger: bool,
    /// Requests, waiting ones included.
    pub(crate) in_flight: usize,
    pub(crate) connections: usize,
    pub(crate) draining: bool,
    pub(crate) unix_s: i64,
}

/// Who asks, and what is known of them.
pub(crate) trait Keys {
    /// The key that the request presents; none: it needs none.
    ///
    /// # Errors
    /// `invalid_api_key`.
    fn authenticate(&self, table: &RouteTable) -> Result<Option<Arc<Key>>, Refusal>;

    fn figures(&self, key: Option<&Arc<Key>>) -> KeyFigures;

    /// The `data` of a request of that key's, JSON.
    fn generation(&self, id: &str, key: Option<&Key>) -> Option<String>;
}
