//! Which offer a request goes to: what was seen of each, what that makes of the next request, and the choice.
//!
//! Pure logic: no sockets, no clock. How it chooses, and why so, stands in docs/concepts/routing.md.

mod affinity;
mod breaker;
mod budget;
mod change;
mod cooldown;
mod estimate;
mod explain;
mod figures;
mod filters;
mod judge;
mod limit;
mod line;
mod order;
mod outputs;
mod permit;
mod plan;
mod router;
mod seen;
mod shares;
mod state;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use explain::Considered;
pub(crate) use figures::{OfferFigures, Percentiles};
pub(crate) use permit::Permit;
pub(crate) use plan::{Candidate, PlanRequest};
pub(crate) use router::{NotNow, Router};
pub(crate) use seen::{Recalled, Seen};
