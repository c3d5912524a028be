//! What each offer would be for this request: how late, how fast, how dear, how sure.

use paceline_wire::Protocol;

use super::breaker::BreakerState;
use super::estimate::{Distribution, Share};
use super::filters::{self, LeftOut};
use super::outputs;
use super::plan::PlanRequest;
use super::router::State;
use super::state::OfferState;
use crate::table::{Offer, Policy, Price};

/// With no offer of the model known at all: a second, and 50 tokens a second, for each alike.
const UNKNOWN_TTFT_NS: f64 = 1e9;
const UNKNOWN_NS_A_TOKEN: f64 = 2e7;
/// Prompt tokens that an image is taken for (Anthropic: up to about 1,600; OpenAI: 765 at 1024 x 1024).
const IMAGE_TOKENS: f64 = 1000.0;

/// Can it be asked now?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Readiness {
    Ready,
    /// All places are taken.
    Full,
    /// Its breaker is open, another request is trying it, or it cools down.
    Resting,
}

/// One offer, for one request.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) offer: usize,
    pub(super) protocol: Protocol,
    pub(super) prompt_tokens: f64,
    pub(super) uncached_tokens: f64,
    pub(super) output_tokens: f64,
    /// Fewer attempts in its window than the policy wants.
    pub(super) cold: bool,
    pub(super) samples: usize,
    /// TTFT in ns, and decode rate in tokens a second.
    pub(super) ttft: Option<Distribution>,
    pub(super) decode: Option<Distribution>,
    /// Means that the bill is made with; of a cold offer its rivals', mostly.
    pub(super) ttft_ns: f64,
    pub(super) ns_a_token: f64,
    pub(super) success: f64,
    pub(super) success_seen: Share,
    pub(super) limited_seen: Share,
    pub(super) price_usd: Option<f64>,
    pub(super) bill_usd: f64,
    /// That the deadlines are met; none: there is no deadline.
    pub(super) in_time: Option<Share>,
    pub(super) readiness: Readiness,
    /// The breaker lets one request through, to see.
    pub(super) half_open: bool,
    pub(super) in_flight: u32,
    pub(super) places: Option<u32>,
    /// When it last told something.
    pub(super) seen_ns: Option<i64>,
    pub(super) meets_preferred: bool,
}

/// Judges all offers of the model that no static constraint removes.
pub(super) fn judge(
    state: &mut State,
    request: &PlanRequest<'_>,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Judged> {
    let table = request.table;
    let offers = table.offers_of(request.model);
    let levels = if request.ask.protocol == Protocol::OpenaiEmbeddings {
        [0.0; 8]
    } else {
        state.outputs(request.model).levels(request.ask.max_tokens)
    };
    let mut judged = Vec::with_capacity(offers.len());
    for &place in offers {
        let Some(offer) = table.offers.get(place) else { continue };
        let known = state.offer(offer, &table.policy);
        let prompt_tokens = prompt_tokens(request, known);
        match filters::fixed(request, offer, prompt_tokens) {
            Ok(protocol) => judged.push(one(request, place, offer, known, protocol, prompt_tokens, &levels)),
            Err(why) => left_out.push(LeftOut { offer: place, why }),
        }
    }
    judge_cold(&table.policy, &mut judged);
    let worth = table.policy.time_worth_usd_per_hour / 3.6e12;
    let dearest = judged.iter().filter_map(|offer| offer.price_usd).fold(0.0, f64::max);
    for offer in &mut judged {
        let time_ns = offer.ttft_ns + offer.output_tokens * offer.ns_a_token;
        // An unknown price is taken to be as the dearest known one.
        let price = offer.price_usd.unwrap_or(dearest);
        // Of equals the known one.
        let unknown = if offer.cold { 1.0 + 1e-6 } else { 1.0 };
        offer.bill_usd = unknown * (price + worth * time_ns) / offer.success.max(1e-3);
    }
    judged
}

fn prompt_tokens(request: &PlanRequest<'_>, known: &OfferState) -> f64 {
    request.ask.prompt_bytes as f64 / known.bytes_a_token() + IMAGE_TOKENS * f64::from(request.ask.images)
}

fn one(
    request: &PlanRequest<'_>,
    place: usize,
    offer: &Offer,
    known: &mut OfferState,
    protocol: Protocol,
    prompt_tokens: f64,
    levels: &[f64; 8],
) -> Judged {
    let (policy, now_ns) = (&request.table.policy, request.now_ns);
    let cached_tokens = if policy.cache_affinity {
        known.affinity.cached_tokens(&request.ask.prefix, known.bytes_a_token(), now_ns).min(prompt_tokens)
    } else {
        0.0
    };
    let uncached_tokens = prompt_tokens - cached_tokens;
    let output_tokens = outputs::mean(levels) * f64::from(request.ask.answers.max(1));
    let ttft = known.ttft.next(uncached_tokens, now_ns);
    let decode = known.decode.next(0.0, now_ns);
    let samples = known.ttft.count(now_ns);
    let cold = samples < policy.min_samples as usize;
    let state = known.breaker.state(now_ns);
    let in_time = in_time(request, ttft.as_ref(), decode.as_ref(), levels);
    let places = known.places(offer);
    let limited_seen = known.shares.limited(now_ns);
    Judged {
        offer: place,
        protocol,
        prompt_tokens,
        uncached_tokens,
        output_tokens,
        cold,
        samples,
        ttft_ns: ttft.as_ref().map_or(UNKNOWN_TTFT_NS, Distribution::mean),
        ns_a_token: decode.as_ref().map_or(UNKNOWN_NS_A_TOKEN, |rates| rates.mean_inverse() * 1e9),
        success: known.shares.expected_success(now_ns),
        success_seen: known.shares.success(now_ns),
        limited_seen,
        price_usd: offer.price.map(|price| price_usd(&price, uncached_tokens, cached_tokens, output_tokens)),
        bill_usd: 0.0,
        in_time,
        readiness: readiness(known, state, places, now_ns),
        half_open: matches!(state, BreakerState::HalfOpen { .. }),
        in_flight: known.in_flight,
        places,
        seen_ns: known.last_seen_ns,
        meets_preferred: !cold && meets_preferred(request, ttft.as_ref(), decode.as_ref()),
        ttft,
        decode,
    }
}

fn readiness(known: &OfferState, breaker: BreakerState, places: Option<u32>, now_ns: i64) -> Readiness {
    let resting = known.cooldown.until(now_ns).is_some()
        || matches!(breaker, BreakerState::Open { .. } | BreakerState::HalfOpen { probing: true });
    match places {
        _ if resting => Readiness::Resting,
        Some(places) if known.in_flight >= places => Readiness::Full,
        _ => Readiness::Ready,
    }
}

fn price_usd(price: &Price, uncached_tokens: f64, cached_tokens: f64, output_tokens: f64) -> f64 {
    let read = price.cache_read_usd_per_mtok.unwrap_or(price.input_usd_per_mtok);
    let tokens = uncached_tokens * price.input_usd_per_mtok
        + cached_tokens * read
        + output_tokens * price.output_usd_per_mtok;
    tokens / 1e6 + price.request_usd
}

/// What is left of the deadlines at this instant: to the first token, and to the end.
pub(super) fn left_ns(request: &PlanRequest<'_>) -> (Option<i64>, Option<i64>) {
    let wanted = &request.ask.preferences;
    let gone_ns = request.now_ns - request.received_ns;
    let left = |deadline_ns: Option<i64>| deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(gone_ns));
    let (first, end) = (left(wanted.deadline_ns), left(wanted.finish_by_ns));
    if request.ask.streaming {
        return (first, end);
    }
    // Of an answer that is no stream, the first token comes with the last.
    match (first, end) {
        (Some(first), Some(end)) => (None, Some(first.min(end))),
        (first, end) => (None, first.or(end)),
    }
}

/// The probability that all deadlines are met, by TTFT, decode rate and length of the answer, taken as independent.
fn in_time(
    request: &PlanRequest<'_>,
    ttft: Option<&Distribution>,
    decode: Option<&Distribution>,
    levels: &[f64; 8],
) -> Option<Share> {
    const RATES: usize = 16;
    let (first, end) = left_ns(request);
    if first.is_none() && end.is_none() {
        return None;
    }
    let Some(ttft) = ttft else { return Some(Share::wilson(0.5, 0.0)) };
    let first_ns = first.map_or(f64::INFINITY, |left_ns| left_ns as f64);
    let Some(end_ns) = end.map(|left_ns| left_ns as f64) else { return Some(ttft.probability(first_ns)) };
    let answers = f64::from(request.ask.answers.max(1));
    let (mut sum, mut n) = (0.0, ttft.effective());
    for place in 0..RATES {
        let rate = decode
            .map_or(1e9 / UNKNOWN_NS_A_TOKEN, |rates| rates.quantile((place as f64 + 0.5) / RATES as f64).0);
        for tokens in levels {
            let first_token_by_ns = end_ns - tokens * answers / rate.max(1e-6) * 1e9;
            sum += ttft.at(first_token_by_ns.min(first_ns));
        }
    }
    if let Some(rates) = decode {
        n = n.min(rates.effective());
    }
    let share = sum / (RATES * levels.len()) as f64;
    Some(Share { value: (share * n + 0.5) / (n + 1.0), ..Share::wilson(share, n) })
}

/// The client's wishes, each at its percentile: 90 % of the requests have at most that TTFT, at least that rate.
fn meets_preferred(
    request: &PlanRequest<'_>,
    ttft: Option<&Distribution>,
    decode: Option<&Distribution>,
) -> bool {
    let wanted = &request.ask.preferences;
    let latency = wanted.max_latency_s.iter().all(|bound| {
        ttft.is_some_and(|ttft| {
            let (value_ns, at_least) = ttft.quantile(bound.quantile);
            !at_least && value_ns <= bound.value * 1e9
        })
    });
    latency
        && wanted
            .min_throughput_tok_s
            .iter()
            .all(|bound| decode.is_some_and(|rates| rates.quantile(1.0 - bound.quantile).0 >= bound.value))
}

/// A cold offer is taken to be as its warm rivals' worse quartile, more so the fewer samples it has: being unknown is no
/// merit. Where none is warm, each is judged by what little there is.
fn judge_cold(policy: &Policy, judged: &mut [Judged]) {
    let warm: Vec<&Judged> = judged.iter().filter(|offer| !offer.cold).collect();
    if warm.is_empty() || warm.len() == judged.len() {
        return;
    }
    let ttft_ns = quantile(warm.iter().map(|offer| offer.ttft_ns), 0.75);
    let ns_a_token = quantile(warm.iter().map(|offer| offer.ns_a_token), 0.75);
    let success = quantile(warm.iter().map(|offer| offer.success), 0.25);
    let in_time = quantile(warm.iter().filter_map(|offer| offer.in_time).map(|share| share.value), 0.25);
    let blend = |own: f64, theirs: f64, share: f64| {
        (own.max(1e-9).ln() * share + theirs.max(1e-9).ln() * (1.0 - share)).exp()
    };
    for offer in judged.iter_mut().filter(|offer| offer.cold) {
        let share = offer.samples as f64 / f64::from(policy.min_samples.max(1));
        offer.ttft_ns = blend(offer.ttft_ns, ttft_ns, share);
        offer.ns_a_token = blend(offer.ns_a_token, ns_a_token, share);
        offer.success = offer.success.min(success);
        if let Some(own) = &mut offer.in_time {
            own.value = own.value * share + in_time * (1.0 - share);
        }
    }
}

/// Linear, as everywhere in this project. 0 of nothing.
fn quantile(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = q * last as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    values[low] + (values[high] - values[low]) * (place - low as f64)
}
