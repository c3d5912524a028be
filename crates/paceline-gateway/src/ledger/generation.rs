//! What `/v1/generation` says of a request: the `data` that clients of OpenRouter read, and more.

use paceline_io::calendar::rfc3339;
use serde_json::{Value, json};

use super::line::{Attempt, Line, Usage};

const SECOND_NS: i64 = 1_000_000_000;
const MS_NS: f64 = 1e6;

/// Times in ms: `latency` from the receipt of the request to its first token, `generation_time` from there to its end
/// (of an answer that is no stream: all of it). Money in USD.
pub(super) fn generation(line: &Line) -> Value {
    let mut data = theirs(line);
    if let (Some(data), Value::Object(ours)) = (data.as_object_mut(), ours(line)) {
        data.extend(ours);
    }
    data
}

fn theirs(line: &Line) -> Value {
    let served = line.served();
    let none = Usage::default();
    let usage = served.map_or(&none, |attempt| &attempt.usage);
    let whole_ns = line.ended_ns - line.received_ns;
    json!({
        "id": line.id,
        "upstream_id": served.and_then(|attempt| attempt.row.response_id.as_deref()),
        "model": served.map_or(line.asked_model.as_str(), |attempt| attempt.model.as_str()),
        "provider_name": served.map(|attempt| attempt.provider.as_str()),
        "created_at": rfc3339(line.received_unix_ns.div_euclid(SECOND_NS)),
        "streamed": line.streaming,
        "cancelled": line.outcome == "client_gone",
        "latency": line.ttft_ns.map(ms),
        "moderation_latency": null,
        "generation_time": ms(whole_ns - line.ttft_ns.filter(|_| line.streaming).unwrap_or(0)),
        "finish_reason": served.and_then(|attempt| attempt.row.finish_reason.as_deref()),
        "native_finish_reason": served.and_then(|attempt| attempt.row.finish_reason.as_deref()),
        "tokens_prompt": usage.prompt_tokens,
        "tokens_completion": usage.completion_tokens,
        "native_tokens_prompt": usage.prompt_tokens,
        "native_tokens_completion": usage.completion_tokens,
        "native_tokens_reasoning": usage.reasoning_tokens,
        "native_tokens_cached": usage.cached_tokens,
        "total_cost": line.cost_usd,
        "usage": line.cost_usd,
        "upstream_inference_cost": null,
        "cache_discount": null,
        "is_byok": false,
        "app_id": null,
        "origin": line.app_referer.as_deref().unwrap_or(""),
        "api_type": line.protocol,
        "provider_responses": line.attempts.iter().map(provider_response).collect::<Vec<_>>(),
    })
}

fn ours(line: &Line) -> Value {
    let served = line.served();
    json!({
        "app_title": line.app_title,
        "asked_model": line.asked_model,
        "outcome": line.outcome,
        "status": line.status,
        "code": line.code,
        "cost_is_partial": line.cost_is_partial,
        "offer": served.map(|attempt| attempt.offer.as_str()),
        "tier": served.map(|attempt| attempt.tier.as_str()),
        "downgrade": served.and_then(|attempt| attempt.downgrade.as_deref()),
        "usage_source": served.map(|attempt| attempt.usage.source.as_str()),
        "native_tokens_cache_write": served.map_or(0, |attempt| attempt.usage.cache_write_tokens),
        "queued": ms(line.queued_ns),
        "deadline": line.deadline_ns.map(ms),
        "finish_by": line.finish_by_ns.map(ms),
        "deadline_met": line.deadline_met,
        "attempts": line.attempts.iter().map(attempt).collect::<Vec<_>>(),
    })
}

fn provider_response(attempt: &Attempt) -> Value {
    json!({
        "id": attempt.row.response_id,
        "endpoint_id": attempt.offer,
        "provider_name": attempt.provider,
        "model_permaslug": attempt.model,
        "status": attempt.row.status,
        "is_byok": false,
    })
}

fn attempt(attempt: &Attempt) -> Value {
    let usage = &attempt.usage;
    json!({
        "offer": attempt.offer,
        "provider": attempt.provider,
        "model": attempt.model,
        "upstream_model": attempt.upstream_model,
        "server_model": attempt.row.server_model,
        "tier": attempt.tier,
        "role": attempt.role,
        "served": attempt.served,
        "outcome": attempt.row.outcome,
        "status": attempt.row.status,
        "error": attempt.row.error,
        "downgrade": attempt.downgrade,
        "cost": attempt.cost_usd,
        "tokens_prompt": usage.prompt_tokens,
        "tokens_completion": usage.completion_tokens,
        "usage_source": usage.source,
        "elapsed": attempt.row.sent_ns.map(|sent_ns| ms(attempt.row.end_ns - sent_ns)),
    })
}

/// To the microsecond.
#[expect(clippy::cast_precision_loss, reason = "durations of under a year")]
fn ms(ns: i64) -> f64 {
    (ns as f64 / MS_NS * 1e3).round() / 1e3
}
