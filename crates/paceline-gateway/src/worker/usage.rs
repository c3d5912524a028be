//! What an attempt used: as the upstream says, else as far as it can be told.

use paceline_wire::{Observation, Outcome};

use crate::accounts::price::cost_usd;
use crate::ledger::entry::{Usage, UsageSource};
use crate::table::Offer;

/// The cost of a server's usage; none: the price, or what was used, is not known.
pub(super) fn cost_of(offer: &Offer, usage: &paceline_wire::Usage) -> Option<f64> {
    let price = offer.price.as_ref()?;
    let prompt_tokens = usage.prompt_tokens?;
    let count = |tokens: Option<i64>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let used = Usage {
        prompt_tokens: count(Some(prompt_tokens)),
        completion_tokens: count(usage.completion_tokens),
        reasoning_tokens: count(usage.reasoning_tokens),
        cached_tokens: count(usage.cached_tokens),
        cache_write_tokens: count(usage.cache_write_tokens),
        source: UsageSource::Server,
    };
    Some(cost_usd(price, &used))
}

/// What an attempt used. `prompt_tokens`: an estimate of the prompt, for answers that did not live to say.
pub(super) fn used(row: &Observation, was_sent: bool, prompt_tokens: u64) -> Usage {
    let count = |tokens: Option<i64>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let said = row.prompt_tokens.is_some() && row.completion_tokens.is_some();
    let whole = row.outcome == Outcome::Ok || row.outcome == Outcome::Empty;
    let mut usage = Usage {
        prompt_tokens: count(row.prompt_tokens),
        completion_tokens: count(row.completion_tokens),
        reasoning_tokens: count(row.reasoning_tokens),
        cached_tokens: count(row.cached_tokens),
        cache_write_tokens: count(row.cache_write_tokens),
        source: UsageSource::Server,
    };
    let is_embedding = row.event_kind.contains(&paceline_wire::KIND_EMBEDDING);
    if (said && whole) || (is_embedding && row.prompt_tokens.is_some()) {
        return usage;
    }
    let begun = !row.event_ns.is_empty();
    let refused = row.status.is_some_and(|status| !(200..300).contains(&status));
    let never = matches!(row.outcome, Outcome::ConnectError) || !was_sent;
    // A server that was cut off while it worked has most likely done, and will charge, what it had done by then. One
    // that failed before its first token has given nothing that it could charge for.
    let left = matches!(row.outcome, Outcome::Cancelled | Outcome::Timeout);
    if refused || never || !(begun || left || whole) {
        return Usage::NOTHING;
    }
    usage.source = UsageSource::Estimated;
    if row.prompt_tokens.is_none() {
        usage.prompt_tokens = prompt_tokens;
    }
    if !is_embedding {
        let counted = row.event_tokens.iter().map(|tokens| u64::try_from(*tokens).unwrap_or(1)).sum();
        usage.completion_tokens = usage.completion_tokens.max(counted);
    }
    usage
}
