//! Prices as OpenRouter's clients read them: USD a token (and a request), as decimal text.

use serde_json::{Map, Value, json};

use crate::table::Price;

/// What stands for a price that is not known; OpenRouter has it for those that vary.
const UNKNOWN: &str = "-1";

/// The `pricing` object.
pub(super) fn pricing(price: Option<&Price>) -> Value {
    let Some(price) = price else { return json!({"prompt": UNKNOWN, "completion": UNKNOWN}) };
    let mut pricing = Map::new();
    let mut put = |name: &str, usd: f64| pricing.insert(name.to_owned(), Value::from(decimal(usd)));
    put("prompt", price.input_usd_per_mtok / 1e6);
    put("completion", price.output_usd_per_mtok / 1e6);
    put("request", price.request_usd);
    if let Some(usd) = price.cache_read_usd_per_mtok {
        put("input_cache_read", usd / 1e6);
    }
    if let Some(usd) = price.cache_write_usd_per_mtok {
        put("input_cache_write", usd / 1e6);
    }
    Value::Object(pricing)
}

/// Digits without an exponent, and without zeros at the end: many clients take prices for decimals, not floats.
fn decimal(number: f64) -> String {
    let text = format!("{number:.15}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_plain_decimals() {
        for (usd_per_mtok, text) in [
            (0.0, "0"),
            (3.0, "0.000003"),
            (0.075, "0.000000075"),
            (1e6, "1"),
            (0.15, "0.00000015"),
            (2.5e7, "25"),
        ] {
            assert_eq!(decimal(usd_per_mtok / 1e6), text);
        }
    }

    #[test]
    fn what_is_not_priced_is_left_out_and_what_is_unknown_says_so() {
        let price = Price { input_usd_per_mtok: 1.0, output_usd_per_mtok: 2.0, ..Price::default() };
        assert_eq!(
            pricing(Some(&price)),
            json!({"prompt": "0.000001", "completion": "0.000002", "request": "0"})
        );
        let price =
            Price { cache_read_usd_per_mtok: Some(0.1), cache_write_usd_per_mtok: Some(1.25), ..price };
        assert_eq!(pricing(Some(&price))["input_cache_read"], "0.0000001");
        assert_eq!(pricing(Some(&price))["input_cache_write"], "0.00000125");
        assert_eq!(pricing(None)["prompt"], "-1");
    }
}
