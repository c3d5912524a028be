//! The ledger.

pub(crate) mod entry;
