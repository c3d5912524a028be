//! What an attempt used: as the upstream says, else as far as it can be told.

use paceline_wire::{Observation, Outcome};

use crate::accounts::price::cost_usd;
use crate::ask::Ask;
use crate::ledger::entry::{Usage, UsageSource};
use crate::table::Offer;

/// Tokens that a prompt may have beyond its bytes: what a provider puts in (its own instructions, what a search found).
const ADDED_TOKENS: u64 = 200_000;
/// Of an image, at most.
const IMAGE_TOKENS: u64 = 20_000;
/// Beyond `max_tokens`: servers end with a whole character, a tool call, a thought.
const SLACK_TOKENS: u64 = 10_000;
/// No answer is longer, where nobody has said how long it may be.
const LONGEST_TOKENS: u64 = 2_000_000;

/// The most tokens that a server is believed to have used. One that says more is wrong or lies, and neither a budget nor
/// a ledger must follow it: then what was seen counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credible {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
}

impl Credible {
    pub(super) fn of(ask: &Ask) -> Self {
        let images = u64::from(ask.images).saturating_mul(IMAGE_TOKENS);
        let longest = ask.max_tokens.map_or(LONGEST_TOKENS, |most| most.saturating_add(SLACK_TOKENS));
        Self {
            prompt_tokens: ask.prompt_bytes.saturating_add(images).saturating_add(ADDED_TOKENS),
            completion_tokens: longest.saturating_mul(u64::from(ask.answers.max(1))),
        }
    }

    /// Of a request of the gateway's own.
    pub(super) const fn of_probe(output_tokens: u32) -> Self {
        Self { prompt_tokens: ADDED_TOKENS, completion_tokens: output_tokens as u64 + SLACK_TOKENS }
    }

    fn takes(self, prompt_tokens: Option<i64>, completion_tokens: Option<i64>) -> bool {
        let within = |tokens: Option<i64>, most: u64| {
            tokens.is_none_or(|tokens| u64::try_from(tokens).is_ok_and(|tokens| tokens <= most))
        };
        within(prompt_tokens, self.prompt_tokens) && within(completion_tokens, self.completion_tokens)
    }
}

/// The cost of a server's usage; none: the price, or what was used, is not known.
pub(super) fn cost_of(offer: &Offer, usage: &paceline_wire::Usage, credible: Credible) -> Option<f64> {
    let price = offer.price.as_ref()?;
    let prompt_tokens = usage.prompt_tokens?;
    if !credible.takes(usage.prompt_tokens, usage.completion_tokens) {
        return None;
    }
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
pub(super) fn used(row: &Observation, was_sent: bool, prompt_tokens: u64, credible: Credible) -> Usage {
    let believed = credible.takes(row.prompt_tokens, row.completion_tokens);
    let count = |tokens: Option<i64>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let said = believed && row.prompt_tokens.is_some() && row.completion_tokens.is_some();
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
    if (said && whole) || (believed && is_embedding && row.prompt_tokens.is_some()) {
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
    if !believed {
        usage = Usage::NOTHING;
    }
    usage.source = UsageSource::Estimated;
    if !believed || row.prompt_tokens.is_none() {
        usage.prompt_tokens = prompt_tokens;
    }
    if !is_embedding {
        let counted = row.event_tokens.iter().map(|tokens| u64::try_from(*tokens).unwrap_or(1)).sum();
        usage.completion_tokens = usage.completion_tokens.max(counted);
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_wire::{BodyEnd, Head, Limits, Protocol, Stamp, StreamObserver};

    const CREDIBLE: Credible = Credible { prompt_tokens: 1_000, completion_tokens: 100 };

    fn row(usage: &str) -> Observation {
        let limits = Limits { max_event_bytes: 1_000, keep_text: false, max_body_bytes: 1_000 };
        let mut observer = StreamObserver::new(Protocol::OpenaiChat, true, limits);
        let stamp = Stamp { ns: 1, kernel: true, read: 1 };
        let head = Head { status: 200, content_type: None, retry_after: None, request_id: None };
        observer.on_head(&head, stamp);
        for text in ["one", "two"] {
            let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
            observer.on_body(event.as_bytes(), stamp);
        }
        observer.on_body(
            format!("data: {{\"choices\":[],\"usage\":{usage}}}\n\ndata: [DONE]\n\n").as_bytes(),
            stamp,
        );
        observer.finish(BodyEnd::Complete, 2)
    }

    #[test]
    fn a_usage_is_taken_as_it_is_said() {
        let usage = used(&row(r#"{"prompt_tokens":1000,"completion_tokens":100}"#), true, 7, CREDIBLE);
        let tokens = (usage.prompt_tokens, usage.completion_tokens, usage.source);
        assert_eq!(tokens, (1_000, 100, UsageSource::Server));
    }

    #[test]
    fn a_usage_that_nobody_can_believe_counts_as_what_was_seen() {
        for said in [
            r#"{"prompt_tokens":1001,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":900}}"#,
            r#"{"prompt_tokens":9,"completion_tokens":101}"#,
        ] {
            let usage = used(&row(said), true, 7, CREDIBLE);
            let expected = Usage {
                prompt_tokens: 7,
                completion_tokens: 2,
                source: UsageSource::Estimated,
                ..Usage::NOTHING
            };
            assert_eq!(usage, expected, "{said}");
        }
    }
}
