//! The request's `provider` object, in OpenRouter's terms and the gateway's own.

use super::field::Field;
use super::{Bound, MaxPrice, Preferences, Sort};
use crate::refusal::Refusal;

pub(super) const KEYS: [&str; 17] = [
    "order",
    "only",
    "ignore",
    "allow_fallbacks",
    "require_parameters",
    "sort",
    "preferred_min_throughput",
    "preferred_max_latency",
    "max_price",
    "deadline_ms",
    "finish_by_ms",
    "hedge",
    "data_collection",
    "zdr",
    "enforce_distillable_text",
    "quantizations",
    "experimental",
];

/// Longer deadlines than a day are taken for mistakes.
const MAX_DEADLINE_MS: f64 = 86_400_000.0;

/// Reads `provider`. A key that is not known is refused, and so is one that would narrow the choice of offers by what
/// the gateway does not know of them: to ignore either would break a promise in silence.
pub(super) fn preferences(provider: &Field<'_>) -> Result<Preferences, Refusal> {
    let mut read = Preferences::default();
    for (name, field) in provider.fields()? {
        match name.as_str() {
            "order" => read.order = field.names()?,
            "only" => read.only = field.names()?,
            "ignore" => read.ignore = field.names()?,
            "allow_fallbacks" => read.allow_fallbacks = field.boolean()?.unwrap_or(true),
            "require_parameters" => read.require_parameters = field.boolean()?.unwrap_or(false),
            "sort" => read.sort = sort(&field)?,
            "preferred_min_throughput" => read.min_throughput_tok_s = bounds(&field)?,
            "preferred_max_latency" => read.max_latency_s = bounds(&field)?,
            "max_price" => read.max_price = max_price(&field)?,
            "deadline_ms" => read.deadline_ns = deadline(&field)?,
            "finish_by_ms" => read.finish_by_ns = deadline(&field)?,
            "hedge" => read.hedge = field.boolean()?,
            "data_collection" => data_collection(&field)?,
            "zdr" | "enforce_distillable_text" => cannot_be_true(&field)?,
            "quantizations" => {
                if !field.names()?.is_empty() {
                    return Err(field.wrong(
                        "cannot be honoured: the gateway does not know its offers' quantizations; name offers in \
                         `provider.only`",
                    ));
                }
            }
            "experimental" => {}
            _ => return Err(field.unknown(&name, &KEYS)),
        }
    }
    Ok(read)
}

fn sort(field: &Field<'_>) -> Result<Option<Sort>, Refusal> {
    if !field.is_object() {
        return sort_by(field);
    }
    let mut by = None;
    for (name, inner) in field.fields()? {
        match name.as_str() {
            "by" => by = sort_by(&inner)?,
            "partition" => {
                if inner.string()?.as_deref() != Some("model") {
                    return Err(inner.wrong(
                        "can only be \"model\": the offers of one model are tried before those of the next",
                    ));
                }
            }
            _ => return Err(inner.unknown(&name, &["by", "partition"])),
        }
    }
    Ok(by)
}

fn sort_by(field: &Field<'_>) -> Result<Option<Sort>, Refusal> {
    match field.string()?.as_deref() {
        None => Ok(None),
        Some("price") => Ok(Some(Sort::Price)),
        Some("throughput") => Ok(Some(Sort::Throughput)),
        Some("latency") => Ok(Some(Sort::Latency)),
        Some(_) => Err(field.wrong("must be \"price\", \"throughput\" or \"latency\"")),
    }
}

fn bounds(field: &Field<'_>) -> Result<Vec<Bound>, Refusal> {
    if !field.is_object() {
        let bound = field.positive(false)?.map(|value| Bound { quantile: 0.5, value });
        return Ok(bound.into_iter().collect());
    }
    let mut bounds = Vec::new();
    for (name, inner) in field.fields()? {
        let quantile = match name.as_str() {
            "p50" => 0.5,
            "p75" => 0.75,
            "p90" => 0.9,
            "p99" => 0.99,
            _ => return Err(inner.unknown(&name, &["p50", "p75", "p90", "p99"])),
        };
        bounds.extend(inner.positive(false)?.map(|value| Bound { quantile, value }));
    }
    Ok(bounds)
}

fn max_price(field: &Field<'_>) -> Result<MaxPrice, Refusal> {
    let mut most = MaxPrice::default();
    for (name, inner) in field.fields()? {
        match name.as_str() {
            "prompt" => most.prompt_usd_per_mtok = inner.not_negative(true)?,
            "completion" => most.completion_usd_per_mtok = inner.not_negative(true)?,
            "request" => most.request_usd = inner.not_negative(true)?,
            "image" | "audio" => {
                return Err(inner.wrong("cannot be honoured: the gateway has no such prices"));
            }
            _ => return Err(inner.unknown(&name, &["prompt", "completion", "request"])),
        }
    }
    Ok(most)
}

fn deadline(field: &Field<'_>) -> Result<Option<i64>, Refusal> {
    field.positive(false)?.map(|wait_ms| deadline_ns(wait_ms).map_err(|what| field.wrong(what))).transpose()
}

/// A deadline in ns.
pub(super) fn deadline_ns(wait_ms: f64) -> Result<i64, &'static str> {
    if !(0.001..=MAX_DEADLINE_MS).contains(&wait_ms) {
        return Err("must be above 0 and at most 86400000 (a day, in ms)");
    }
    #[expect(clippy::cast_possible_truncation, reason = "a day in ns is far within i64")]
    Ok((wait_ms * 1e6).round() as i64)
}

fn data_collection(field: &Field<'_>) -> Result<(), Refusal> {
    match field.string()?.as_deref() {
        None | Some("allow") => Ok(()),
        Some("deny") => Err(field.wrong(
            "cannot be \"deny\": the gateway does not know what its upstreams keep; name offers in `provider.only`",
        )),
        Some(_) => Err(field.wrong("must be \"allow\" or \"deny\"")),
    }
}

fn cannot_be_true(field: &Field<'_>) -> Result<(), Refusal> {
    if field.boolean()? == Some(true) {
        return Err(field.wrong(
            "cannot be true: the gateway does not know this of its upstreams; name offers in `provider.only`",
        ));
    }
    Ok(())
}
