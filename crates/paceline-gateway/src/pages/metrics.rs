//! `/metrics`, for Prometheus. Histograms have OpenTelemetry's GenAI names after `paceline_gateway_`, in Prometheus'
//! spelling, and its buckets.

use paceline_wire::Outcome;

use super::counters::{OfferCounters, get};
use super::exposition::{Exposition, Labels};
use super::{Context, Page};

/// Everything that is counted or known now.
pub(super) fn metrics(context: &Context<'_>) -> Page {
    let mut out = Exposition::default();
    gateway(&mut out, context);
    requests(&mut out, context);
    attempts(&mut out, context);
    usage(&mut out, context);
    times(&mut out, context);
    offers(&mut out, context);
    estimates(&mut out, context);
    ledger(&mut out, context);
    Page::of(200, "text/plain; version=0.0.4; charset=utf-8", out.finish())
}

#[expect(clippy::cast_precision_loss, reason = "the format's numbers are floats")]
fn gateway(out: &mut Exposition, context: &Context<'_>) {
    out.family("paceline_gateway_info", "gauge", "1; the version is a label.")
        .value(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.family("paceline_gateway_table_version", "gauge", "Version of the route table.")
        .count(&[], context.table.version);
    out.family("paceline_gateway_draining", "gauge", "1: it is shutting down.")
        .value(&[], f64::from(u8::from(context.draining)));
    out.family("paceline_gateway_connections", "gauge", "Clients' connections that are open.")
        .value(&[], context.connections as f64);
    out.family(
        "paceline_gateway_connections_refused_total",
        "counter",
        "Connections turned away: there are too many.",
    )
    .count(&[], get(&context.counters.connections_refused));
    out.family(
        "paceline_gateway_requests_in_flight",
        "gauge",
        "Requests that are not over, waiting ones included.",
    )
    .value(&[], context.in_flight as f64);
}

fn requests(out: &mut Exposition, context: &Context<'_>) {
    let mut family = out.family(
        "paceline_gateway_requests_total",
        "counter",
        "Requests that are over, by the model last tried (empty: none was), how they ended and the error's code.",
    );
    for ((model, outcome, code), count) in context.counters.requests() {
        family.count(&[("model", &model), ("outcome", outcome), ("code", &code)], count);
    }
    out.family(
        "paceline_gateway_queued_seconds_total",
        "counter",
        "Time that requests waited for a free place.",
    )
    .value(&[], context.counters.queued_s());
    out.family(
        "paceline_gateway_deadlines_total",
        "counter",
        "Requests with a deadline that are over, by whether it was met.",
    )
    .count(&[("met", "true")], get(&context.counters.deadlines_met))
    .count(&[("met", "false")], get(&context.counters.deadlines_missed));
    out.family(
        "paceline_gateway_client_time_to_first_token_seconds",
        "histogram",
        "From the receipt of a request to its first token on its way to the client.",
    )
    .histogram(&[], context.counters.client_ttft());
}

/// A counter of each offer.
fn each_offer(
    out: &mut Exposition,
    context: &Context<'_>,
    name: &'static str,
    help: &'static str,
    of: fn(&OfferCounters) -> u64,
) {
    let mut family = out.family(name, "counter", help);
    for (id, counters) in context.counters.offers() {
        family.count(&labels(&id, &counters), of(&counters));
    }
}

fn labels<'a>(id: &'a str, counters: &'a OfferCounters) -> [(&'static str, &'a str); 4] {
    [("offer", id), ("provider", &counters.provider), ("model", &counters.model), ("tier", counters.tier)]
}

fn attempts(out: &mut Exposition, context: &Context<'_>) {
    let mut family = out.family(
        "paceline_gateway_attempts_total",
        "counter",
        "Times that an offer was asked, by how it ended; a hedge that lost is `cancelled`.",
    );
    for (id, counters) in context.counters.offers() {
        let [offer, provider, model, tier] = labels(&id, &counters);
        for (outcome, count) in Outcome::ALL.iter().zip(&counters.outcomes) {
            let count = get(count);
            if count > 0 {
                family.count(&[offer, provider, model, tier, ("outcome", outcome.as_str())], count);
            }
        }
    }
    let mut each = |name, help, of| each_offer(out, context, name, help, of);
    each("paceline_gateway_served_total", "Answers that went to a client.", |of| get(&of.served));
    each("paceline_gateway_retries_total", "Asked after another offer had failed.", |of| get(&of.retries));
    each("paceline_gateway_hedges_total", "Asked since another offer was late.", |of| get(&of.hedges));
    each("paceline_gateway_hedges_won_total", "Hedges whose answer went to the client.", |of| {
        get(&of.hedges_won)
    });
    each("paceline_gateway_probes_total", "Asked only to learn of the offer.", |of| get(&of.probes));
    each("paceline_gateway_downgrades_total", "Answers that named another model or tier.", |of| {
        get(&of.downgrades)
    });
}

fn usage(out: &mut Exposition, context: &Context<'_>) {
    let mut family = out.family(
        "paceline_gateway_tokens_total",
        "counter",
        "Tokens, by kind. Cached ones and those written to a cache are among the prompt's, reasoning among the completion's.",
    );
    for (id, counters) in context.counters.offers() {
        let [offer, provider, model, tier] = labels(&id, &counters);
        for (kind, count) in [
            ("prompt", &counters.prompt_tokens),
            ("completion", &counters.completion_tokens),
            ("reasoning", &counters.reasoning_tokens),
            ("cached", &counters.cached_tokens),
            ("cache_write", &counters.cache_write_tokens),
        ] {
            family.count(&[offer, provider, model, tier, ("kind", kind)], get(count));
        }
    }
    let mut family = out.family(
        "paceline_gateway_cost_usd_total",
        "counter",
        "Cost of all attempts whose price is known, USD.",
    );
    for (id, counters) in context.counters.offers() {
        family.value(&labels(&id, &counters), counters.cost_usd());
    }
    each_offer(
        out,
        context,
        "paceline_gateway_unpriced_total",
        "Attempts that used something and whose price is not known.",
        |of| get(&of.unpriced),
    );
}

fn times(out: &mut Exposition, context: &Context<'_>) {
    let offers = context.counters.offers();
    let mut family = out.family(
        "paceline_gateway_server_time_to_first_token_seconds",
        "histogram",
        "Of an answer that streamed: from the first byte of the request to an offer to its first token.",
    );
    for (id, counters) in &offers {
        family.histogram(&labels(id, counters), &counters.ttft);
    }
    let mut family = out.family(
        "paceline_gateway_server_time_per_output_token_seconds",
        "histogram",
        "Of an answer that streamed and was whole: from the first token to the last, by the tokens after the first.",
    );
    for (id, counters) in &offers {
        family.histogram(&labels(id, counters), &counters.per_token);
    }
    let mut family = out.family(
        "paceline_gateway_server_request_duration_seconds",
        "histogram",
        "Of an answer that was whole: from the first byte of the request to an offer to the last of its answer.",
    );
    for (id, counters) in &offers {
        family.histogram(&labels(id, counters), &counters.duration);
    }
}

/// A gauge of each offer of the table; none: it is left out.
fn gauge(
    out: &mut Exposition,
    context: &Context<'_>,
    name: &'static str,
    help: &'static str,
    of: impl Fn(usize) -> Option<f64>,
) {
    let mut family = out.family(name, "gauge", help);
    for (place, known) in context.figures.iter().enumerate() {
        let labels: &Labels<'_> = &[
            ("offer", &known.offer),
            ("provider", &known.provider),
            ("model", &known.model),
            ("tier", known.tier),
        ];
        if let Some(value) = of(place) {
            family.value(labels, value);
        }
    }
}

fn offers(out: &mut Exposition, context: &Context<'_>) {
    let known = &context.figures;
    gauge(out, context, "paceline_gateway_offer_in_flight", "Requests in flight at the offer.", |at| {
        Some(f64::from(known[at].in_flight))
    });
    gauge(out, context, "paceline_gateway_offer_places", "Requests that may be in flight at it now.", |at| {
        known[at].places.map(f64::from)
    });
    gauge(out, context, "paceline_gateway_offer_waiting", "Requests that wait for a place at it.", |at| {
        context.waiting.get(at).copied().map(f64::from)
    });
    gauge(
        out,
        context,
        "paceline_gateway_offer_breaker",
        "0: closed, it may be asked. 1: half open, one may try. 2: open.",
        |at| {
            Some(match known[at].breaker {
                "closed" => 0.0,
                "half_open" => 1.0,
                _ => 2.0,
            })
        },
    );
    gauge(
        out,
        context,
        "paceline_gateway_offer_resting_seconds",
        "Until it may be asked again, after failures or a rate limit; 0: now.",
        |at| Some(known[at].resting_ms.unwrap_or(0.0) / 1e3),
    );
    gauge(out, context, "paceline_gateway_offer_cold", "1: too few samples to go by.", |at| {
        Some(f64::from(u8::from(known[at].cold)))
    });
}

fn estimates(out: &mut Exposition, context: &Context<'_>) {
    let known = &context.figures;
    gauge(
        out,
        context,
        "paceline_gateway_offer_ttft_p50_seconds",
        "What routing takes its TTFT to be, at the window's median prompt size: the median.",
        |at| known[at].ttft_ms.as_ref().map(|ttft| ttft.p50.value / 1e3),
    );
    gauge(out, context, "paceline_gateway_offer_ttft_p95_seconds", "The same: the 95th percentile.", |at| {
        known[at].ttft_ms.as_ref().map(|ttft| ttft.p95.value / 1e3)
    });
    gauge(
        out,
        context,
        "paceline_gateway_offer_output_tokens_per_second",
        "What routing takes its decode rate to be: the median.",
        |at| known[at].output_tok_s.as_ref().map(|rate| rate.p50.value),
    );
    gauge(
        out,
        context,
        "paceline_gateway_offer_success_ratio",
        "Answered, of what was answered or failed.",
        |at| Some(known[at].success.value).filter(|_| known[at].success.n > 0.0),
    );
}

fn ledger(out: &mut Exposition, context: &Context<'_>) {
    let state = &context.ledger;
    out.family(
        "paceline_gateway_ledger_written_total",
        "counter",
        "Requests in the ledger, of this process.",
    )
    .count(&[], state.written);
    out.family("paceline_gateway_ledger_lost_total", "counter", "Requests that could not be written down.")
        .count(&[], state.lost);
    out.family("paceline_gateway_ledger_bytes_total", "counter", "Bytes written to the ledger.")
        .count(&[], state.bytes);
    out.family(
        "paceline_gateway_ledger_syncs_failed_total",
        "counter",
        "Times that the disk did not confirm.",
    )
    .count(&[], state.syncs_failed);
    out.family("paceline_gateway_ledger_failing", "gauge", "1: the ledger cannot be written.")
        .value(&[], f64::from(u8::from(state.failing)));
}
