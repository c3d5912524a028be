//! What a request costs, and what it can cost at most.

use paceline_wire::Protocol;

use crate::ask::Ask;
use crate::ledger::entry::Usage;
use crate::table::{Offer, Price};

use super::Most;

/// Tokens that an image is taken to be at most.
const IMAGE_TOKENS: u64 = 5_000;
/// What a chat template is taken to add to a prompt at most, tokens.
const TEMPLATE_TOKENS: u64 = 256;
/// Tokens of an answer where neither the client nor the offer says how many there may be.
const UNBOUNDED_OUTPUT_TOKENS: u64 = 4_096;

const PER_MTOK: f64 = 1e-6;

/// USD of a usage: prompt tokens from a cache and into one at their own prices (where there is none: as other prompt
/// tokens), reasoning as what it is, a part of the completion.
pub(crate) fn cost_usd(price: &Price, usage: &Usage) -> f64 {
    let cached = usage.cached_tokens.min(usage.prompt_tokens);
    let written = usage.cache_write_tokens.min(usage.prompt_tokens - cached);
    let fresh = usage.prompt_tokens - cached - written;
    let input = price.input_usd_per_mtok;
    let per_mtok = tokens(fresh) * input
        + tokens(cached) * price.cache_read_usd_per_mtok.unwrap_or(input)
        + tokens(written) * price.cache_write_usd_per_mtok.unwrap_or(input)
        + tokens(usage.completion_tokens) * price.output_usd_per_mtok;
    per_mtok * PER_MTOK + price.request_usd
}

/// What one attempt at an offer can cost at most, USD: all tokens of [`prompt_most`] and [`output_most`], those of the prompt at the dearest
/// of their prices.
pub(crate) fn most_usd(price: &Price, ask: &Ask, offer: &Offer) -> f64 {
    let dearest = [price.cache_read_usd_per_mtok, price.cache_write_usd_per_mtok]
        .into_iter()
        .flatten()
        .fold(price.input_usd_per_mtok, f64::max);
    let per_mtok =
        tokens(prompt_most(ask)) * dearest + tokens(output_most(ask, offer)) * price.output_usd_per_mtok;
    per_mtok * PER_MTOK + price.request_usd
}

/// The most that one attempt at an offer can cost and use. An offer without a price costs nothing here: what is not
/// known cannot be held against a budget, and its ledger lines say that their cost is partial.
pub(crate) fn most(ask: &Ask, offer: &Offer) -> Most {
    Most {
        usd: offer.price.map_or(0.0, |price| most_usd(&price, ask, offer)),
        tokens: prompt_most(ask).saturating_add(output_most(ask, offer)),
    }
}

/// A token for every two bytes of text, 5,000 for each image, 256 for the chat template. English and code have a token
/// for three to five bytes, Chinese and Japanese about one a character, which is three bytes. Text can go beyond it
/// (digits where each is a token, random bytes, many short messages), but no further than a token a byte: what is then
/// spent beyond the reservation is stated in docs/concepts/accounting.md.
pub(crate) fn prompt_most(ask: &Ask) -> u64 {
    ask.prompt_bytes
        .div_ceil(2)
        .saturating_add(u64::from(ask.images).saturating_mul(IMAGE_TOKENS))
        .saturating_add(TEMPLATE_TOKENS)
}

/// What the client allows, else what the offer can, else 4,096; for each answer. Tokens.
pub(crate) fn output_most(ask: &Ask, offer: &Offer) -> u64 {
    if ask.protocol == Protocol::OpenaiEmbeddings {
        return 0;
    }
    let one = ask.max_tokens.or(offer.max_output_tokens).unwrap_or(UNBOUNDED_OUTPUT_TOKENS);
    one.saturating_mul(u64::from(ask.answers.max(1)))
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens")]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::testing::offer;
    use crate::ledger::entry::UsageSource;

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
    }

    fn usage(prompt: u64, completion: u64, reasoning: u64, cached: u64, written: u64) -> Usage {
        Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            reasoning_tokens: reasoning,
            cached_tokens: cached,
            cache_write_tokens: written,
            source: UsageSource::Server,
        }
    }

    const PLAIN: Price = Price {
        input_usd_per_mtok: 3.0,
        output_usd_per_mtok: 15.0,
        cache_read_usd_per_mtok: None,
        cache_write_usd_per_mtok: None,
        request_usd: 0.0,
    };
    const CACHED: Price = Price {
        cache_read_usd_per_mtok: Some(0.3),
        cache_write_usd_per_mtok: Some(3.75),
        request_usd: 0.001,
        ..PLAIN
    };

    #[test]
    fn costs_are_those_computed_by_hand() {
        // 1000 x 3 + 200 x 15 = 6000 millionths.
        close(cost_usd(&PLAIN, &usage(1_000, 200, 0, 0, 0)), 0.006);
        // Reasoning is a part of the completion; without cache prices all of the prompt is input.
        close(cost_usd(&PLAIN, &usage(1_000, 200, 150, 600, 300)), 0.006);
        // 100 x 3 + 600 x 0.3 + 300 x 3.75 + 200 x 15 = 300 + 180 + 1125 + 3000 = 4605 millionths, and the request.
        close(cost_usd(&CACHED, &usage(1_000, 200, 0, 600, 300)), 0.005_605);
        close(cost_usd(&CACHED, &usage(0, 0, 0, 0, 0)), 0.001);
        // A server whose parts are more than the whole: no token is charged twice. 1000 x 0.3.
        close(cost_usd(&CACHED, &usage(1_000, 0, 0, 2_000, 500)), 0.001_3);
        close(cost_usd(&Price::default(), &usage(1_000, 200, 0, 0, 0)), 0.0);
    }

    #[test]
    fn the_most_is_that_computed_by_hand() {
        let mut ask = Ask::of(Protocol::OpenaiChat, "demo");
        ask.prompt_bytes = 2_001;
        ask.images = 2;
        ask.answers = 3;
        let mut offer = offer("a");
        // 1001 + 2 x 5000 + 256 = 11257 tokens of prompt.
        assert_eq!(prompt_most(&ask), 11_257);
        assert_eq!(output_most(&ask, &offer), 3 * 4_096);
        offer.max_output_tokens = Some(8_000);
        assert_eq!(output_most(&ask, &offer), 24_000);
        ask.max_tokens = Some(100);
        assert_eq!(output_most(&ask, &offer), 300);
        // 11257 x 3 + 300 x 15 = 38271 millionths.
        close(most_usd(&PLAIN, &ask, &offer), 0.038_271);
        // The dearest that a token of the prompt can be is a write to the cache: 11257 x 3.75 + 4500 = 46713.75.
        close(most_usd(&CACHED, &ask, &offer), 0.047_713_75);
        offer.price = Some(PLAIN);
        assert_eq!(most(&ask, &offer), Most { usd: most_usd(&PLAIN, &ask, &offer), tokens: 11_557 });
        offer.price = None;
        assert_eq!(most(&ask, &offer), Most { usd: 0.0, tokens: 11_557 });
        ask.protocol = Protocol::OpenaiEmbeddings;
        assert_eq!(most(&ask, &offer).tokens, 11_257);
    }

    #[test]
    fn absurd_sizes_saturate() {
        let mut ask = Ask::of(Protocol::OpenaiChat, "demo");
        (ask.prompt_bytes, ask.max_tokens, ask.answers) = (u64::MAX, Some(u64::MAX), u32::MAX);
        assert_eq!(most(&ask, &offer("a")).tokens, u64::MAX);
    }
}
