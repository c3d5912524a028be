//! Offers with what was measured of them: `/v1/models/{model}/endpoints` for clients, `/endpoints` for operators.

use serde_json::{Value, json};

use super::models::{offers_of, parameters};
use super::prices::pricing;
use super::{Context, Page};
use crate::route::{OfferFigures, Percentiles};
use crate::table::{Key, Model, Offer};

/// The offers of one model, as OpenRouter lists them. Its fields are named for its windows; here the policy's window
/// counts, and `window_s` says how long it is.
pub(super) fn of_model(context: &Context<'_>, model: &Model, key: Option<&Key>) -> Page {
    let endpoints: Vec<Value> = offers_of(context.table, model)
        .filter(|offer| may_use(key, offer))
        .map(|offer| endpoint(offer, context.figures.iter().find(|known| known.offer == offer.id)))
        .collect();
    Page::json(
        200,
        &json!({"data": {
            "id": model.id,
            "name": model.id,
            "created": 0,
            "description": model.description.clone().unwrap_or_default(),
            "architecture": {
                "modality": "text->text", "input_modalities": ["text"], "output_modalities": ["text"],
                "tokenizer": "Other", "instruct_type": null,
            },
            "window_s": window_s(context),
            "endpoints": endpoints,
        }}),
    )
}

fn may_use(key: Option<&Key>, offer: &Offer) -> bool {
    let Some(allowed) = &offer.allow_keys else { return true };
    key.is_some_and(|key| allowed.contains(&key.id))
}

fn endpoint(offer: &Offer, known: Option<&OfferFigures>) -> Value {
    let uptime = known.filter(|known| known.success.n > 0.0).map(|known| known.success.value * 100.0);
    json!({
        "name": format!("{} | {}", offer.provider, offer.model),
        "model_id": offer.model,
        "model_name": offer.model,
        "provider_name": offer.provider,
        "tag": offer.id,
        "tier": offer.tier.as_str(),
        "context_length": offer.context_tokens,
        "max_completion_tokens": offer.max_output_tokens,
        "max_prompt_tokens": offer.context_tokens,
        "pricing": pricing(offer.price.as_ref()),
        "price_source": offer.price_source,
        "quantization": "unknown",
        "supported_parameters": parameters(std::iter::once(offer)),
        "supports_implicit_caching": offer.price.is_some_and(|price| price.cache_read_usd_per_mtok.is_some()),
        // OpenRouter's: 0 is as it should be, -1 and less are not.
        "status": if known.is_some_and(|known| known.resting_ms.is_some()) { -1 } else { 0 },
        "uptime_last_5m": uptime,
        "uptime_last_30m": uptime,
        "uptime_last_1d": uptime,
        "latency_last_30m": known.and_then(|known| percentiles(known.ttft_ms.as_ref())),
        "throughput_last_30m": known.and_then(|known| percentiles(known.output_tok_s.as_ref())),
        "figures": known.map(shown),
    })
}

/// What a client may know of an offer: how it does, and not how much the gateway sends there.
fn shown(known: &OfferFigures) -> Value {
    json!({
        "ttft_ms": known.ttft_ms, "ttft_at_tokens": known.ttft_at_tokens, "ttft_by_size": known.ttft_by_size,
        "output_tok_s": known.output_tok_s, "success": known.success.seen(),
        "rate_limited": known.rate_limited.seen(), "cold": known.cold,
    })
}

fn percentiles(of: Option<&Percentiles>) -> Option<Value> {
    of.filter(|of| of.n > 0)
        .map(|of| json!({"p50": of.p50.value, "p75": of.p75.value, "p90": of.p90.value, "p99": of.p99.value}))
}

/// Every offer with all that is known of it, `paceline.endpoints/1`.
pub(super) fn figures(context: &Context<'_>) -> Page {
    Page::json(
        200,
        &json!({
            "schema": "paceline.endpoints/1",
            "at_unix_s": context.unix_s,
            "table_version": context.table.version,
            "window_s": window_s(context),
            "min_samples": context.table.policy.min_samples,
            "offers": entries(context),
        }),
    )
}

#[expect(clippy::cast_precision_loss, reason = "a window is far below 2^53 ns")]
fn window_s(context: &Context<'_>) -> f64 {
    context.table.policy.window_ns as f64 / 1e9
}

/// One entry an offer: its figures, and what the table says of it.
pub(super) fn entries(context: &Context<'_>) -> Vec<Value> {
    context
        .table
        .offers
        .iter()
        .enumerate()
        .map(|(place, offer)| {
            let known = context.figures.iter().find(|known| known.offer == offer.id);
            let mut entry =
                known.and_then(|known| serde_json::to_value(known).ok()).unwrap_or_else(|| json!({}));
            let protocols: Vec<&str> = offer.protocols.iter().map(|protocol| protocol.name()).collect();
            if let Value::Object(fields) = &mut entry {
                for (name, value) in [
                    ("offer", json!(offer.id)),
                    ("upstream_model", json!(offer.upstream_model)),
                    ("endpoint", json!(format!("{:?}", offer.target))),
                    ("protocols", json!(protocols)),
                    ("price", json!(offer.price)),
                    ("price_source", json!(offer.price_source)),
                    ("context_tokens", json!(offer.context_tokens)),
                    ("max_output_tokens", json!(offer.max_output_tokens)),
                    ("parameters", json!(offer.parameters)),
                    ("waiting", json!(context.waiting.get(place).copied().unwrap_or(0))),
                ] {
                    fields.insert(name.to_owned(), value);
                }
            }
            entry
        })
        .collect()
}
