//! The plan of a request: the offers that can answer it, best first, and why.

use paceline_wire::Protocol;

use super::explain::{self, Considered};
use super::filters::{self, LeftOut};
use super::judge::{self, Judged};
use super::order;
use super::router::State;
use crate::ask::Ask;
use crate::table::RouteTable;

/// What is to be planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanRequest<'a> {
    pub(crate) table: &'a RouteTable,
    pub(crate) ask: &'a Ask,
    /// The id of the model to plan for: the one asked for, or a fallback.
    pub(crate) model: &'a str,
    pub(crate) key_id: Option<&'a str>,
    pub(crate) now_ns: i64,
    /// When the request's first byte came: deadlines count from here.
    pub(crate) received_ns: i64,
}

/// An offer that can answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// Its place in the table.
    pub(crate) offer: usize,
    /// What it is to be asked in.
    pub(crate) protocol: Protocol,
    /// A second offer may be asked so long after this one was. None: this one is not hedged.
    pub(crate) hedge_after_ns: Option<i64>,
    /// Prompt tokens by the offer's tokenizer, as estimated, and those of them that it is expected not to have cached.
    pub(crate) prompt_tokens: f64,
    pub(crate) uncached_tokens: f64,
    /// Expected; none: the offer's price is unknown.
    pub(crate) price_usd: Option<f64>,
    /// It was put first only to learn of it.
    pub(crate) explored: bool,
}

/// Candidates, best first; at least one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) candidates: Vec<Candidate>,
    /// All offers of the model; empty unless the client asked to have it explained.
    pub(crate) considered: Vec<Considered>,
    /// Why the first is first.
    pub(crate) reason: String,
}

/// No offer can answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NoOffer {
    /// Stable: that of the constraint, where one constraint removed them all; else `no_offer`.
    pub(crate) code: &'static str,
    pub(crate) status: u16,
    /// Which constraint removed which offer.
    pub(crate) message: String,
    /// When it may be worth asking again; none: nothing will change by itself.
    pub(crate) retry_after_ms: Option<i64>,
    pub(crate) considered: Vec<Considered>,
}

/// Plans a request.
///
/// # Errors
/// When no offer can answer.
pub(super) fn plan(state: &mut State, request: &PlanRequest<'_>) -> Result<Plan, NoOffer> {
    let mut left_out: Vec<LeftOut> = Vec::new();
    let mut judged = judge::judge(state, request, &mut left_out);
    filters::by_deadline(request, &mut judged, &mut left_out);
    let verdict = order::order(state, request, &mut judged, &mut left_out);
    if judged.is_empty() {
        return Err(filters::no_offer(request, &left_out));
    }
    let reason = verdict.reason(request, &judged);
    let considered = if request.ask.explain {
        explain::considered(request, &judged, &left_out, &reason)
    } else {
        Vec::new()
    };
    let candidates = judged
        .iter()
        .enumerate()
        .map(|(place, judged)| candidate(request, judged, place == 0 && verdict.explored))
        .collect();
    Ok(Plan { candidates, considered, reason })
}

fn candidate(request: &PlanRequest<'_>, judged: &Judged, explored: bool) -> Candidate {
    let hedging = request.table.policy.hedging;
    let may_hedge = hedging.share > 0.0 && request.ask.preferences.hedge != Some(false);
    let hedge_after_ns = match &judged.ttft {
        Some(ttft) if may_hedge && !judged.cold => {
            Some((ttft.quantile(0.95).0 as i64).max(hedging.least_wait_ns))
        }
        _ => None,
    };
    Candidate {
        offer: judged.offer,
        protocol: judged.protocol,
        hedge_after_ns,
        prompt_tokens: judged.prompt_tokens,
        uncached_tokens: judged.uncached_tokens,
        price_usd: judged.price_usd,
        explored,
    }
}
