//! What an answer names in place of what was asked for.

use serde_json::Value;

use crate::table::{Offer, Tier};

/// Another model or tier than was asked for; none: it names that, or nothing.
pub(super) fn named(offer: &Offer, model: Option<&str>, tier: Option<&str>) -> Option<String> {
    let model = model.filter(|named| !is_same_model(&offer.upstream_model, named));
    let tier = tier.filter(|served| is_other_tier(offer, served));
    match (model, tier) {
        (Some(model), Some(tier)) => Some(format!("model {model}, tier {tier}")),
        (Some(model), None) => Some(format!("model {model}")),
        (None, Some(tier)) => Some(format!("tier {tier}")),
        (None, None) => None,
    }
}

/// Servers add dates and numbers (`gpt-5-2026-01-01`, `model@001`), say what `-latest` is, or leave the author out. A
/// word that they add is another model: `gpt-5-mini` is not `gpt-5`.
fn is_same_model(asked: &str, named: &str) -> bool {
    let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let (asked, named) = (base(asked), base(named));
    let asked = asked.strip_suffix("-latest").unwrap_or(&asked);
    named.strip_prefix(asked).is_some_and(|rest| {
        let numbers = rest.chars().all(|letter| letter.is_ascii_digit() || "-@:.".contains(letter));
        // `gpt-5` and `gpt-50`, `gpt-5.1`: a number that goes on is another one.
        rest.is_empty() || (rest.starts_with(['-', '@', ':']) && numbers)
    })
}

fn is_other_tier(offer: &Offer, served: &str) -> bool {
    let wanted = offer.extra_body.get("service_tier").or_else(|| offer.extra_body.get("speed"));
    match wanted.and_then(Value::as_str) {
        Some("auto") | None => {
            matches!(offer.tier, Tier::Fast | Tier::Ultra)
                && matches!(served, "default" | "standard" | "flex" | "batch")
        }
        Some(wanted) => wanted != served,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_or_an_author_is_the_same_model_and_a_word_is_not() {
        for (asked, named) in [
            ("gpt-5", "gpt-5"),
            ("gpt-5", "gpt-5-2026-01-01"),
            ("openai/gpt-5", "gpt-5-0613"),
            ("gpt-5", "openai/GPT-5"),
            ("claude-sonnet-latest", "claude-sonnet-20260101"),
            ("model", "model@001"),
        ] {
            assert!(is_same_model(asked, named), "{asked}: {named}");
        }
        for (asked, named) in [
            ("gpt-5", "gpt-5-mini"),
            ("gpt-5", "gpt-50"),
            ("gpt-5", "gpt-5.1"),
            ("gpt-5-mini", "gpt-5"),
            ("large", "small"),
            ("large", "large-fp8"),
        ] {
            assert!(!is_same_model(asked, named), "{asked}: {named}");
        }
    }
}
