//! What is known of an offer, for `/endpoints`, metrics and pages.

use serde::Serialize;

use super::breaker::BreakerState;
use super::estimate::{Distribution, Figure, Share};
use super::state::OfferState;
use super::window::Window;
use crate::table::{Offer, Policy};

/// Upper ends of the size classes, in uncached prompt tokens.
const CLASSES: [f64; 6] = [256.0, 1024.0, 4096.0, 16_384.0, 65_536.0, f64::INFINITY];

/// Percentiles of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: Figure,
    pub(crate) p75: Figure,
    pub(crate) p90: Figure,
    pub(crate) p95: Figure,
    pub(crate) p99: Figure,
    /// Samples in the window.
    pub(crate) n: usize,
    /// So many equal and fresh samples would tell as much.
    pub(crate) effective_n: f64,
}

impl Percentiles {
    fn of(values: &Distribution, n: usize, factor: f64) -> Self {
        let at = |q| values.figure(q).times(factor);
        Self {
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            n,
            effective_n: values.effective(),
        }
    }
}

/// TTFT of prompts of about one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SizeClass {
    pub(crate) from_tokens: u64,
    /// None: without end.
    pub(crate) below_tokens: Option<u64>,
    pub(crate) n: usize,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
}

/// What is known of an offer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct OfferFigures {
    pub(crate) offer: String,
    pub(crate) model: String,
    pub(crate) provider: String,
    pub(crate) tier: &'static str,
    /// At the median prompt size of the window.
    pub(crate) ttft_ms: Option<Percentiles>,
    pub(crate) ttft_at_tokens: f64,
    pub(crate) ttft_by_size: Vec<SizeClass>,
    /// A percentile p here is the rate that a share p of the requests lies below, as everywhere else.
    pub(crate) output_tok_s: Option<Percentiles>,
    /// Answered, of what was answered or failed.
    #[serde(serialize_with = "Share::or_null")]
    pub(crate) success: Share,
    /// Refused for a rate limit, of all attempts.
    #[serde(serialize_with = "Share::or_null")]
    pub(crate) rate_limited: Share,
    /// `closed`, `open` or `half_open`.
    pub(crate) breaker: &'static str,
    /// Until it may be asked again (breaker or cooldown); none: now.
    pub(crate) resting_ms: Option<f64>,
    pub(crate) in_flight: u32,
    /// Places at once; none: without bound.
    pub(crate) places: Option<u32>,
    pub(crate) cold: bool,
    pub(crate) attempts: u64,
    /// Answers that named another model or tier.
    pub(crate) downgrades: u64,
    /// Changes of TTFT or decode rate that were found.
    pub(crate) speed_changes: u64,
    /// Since an attempt last told something; none: never.
    pub(crate) last_seen_ms_ago: Option<f64>,
    pub(crate) prompt_bytes_a_token: f64,
}

impl OfferFigures {
    pub(super) fn of(offer: &Offer, known: &mut OfferState, policy: &Policy, now_ns: i64) -> Self {
        let tokens = known.ttft.median_tokens();
        let samples = known.ttft.count(now_ns);
        let rates = known.decode.count(now_ns);
        let breaker = known.breaker.state(now_ns);
        let open_ns = match breaker {
            BreakerState::Open { until_ns } => Some(until_ns),
            _ => None,
        };
        let ms = |ns: i64| ns as f64 * 1e-6;
        Self {
            offer: offer.id.clone(),
            model: offer.model.clone(),
            provider: offer.provider.clone(),
            tier: offer.tier.as_str(),
            ttft_ms: known.ttft.next(tokens, now_ns).map(|values| Percentiles::of(&values, samples, 1e-6)),
            ttft_at_tokens: tokens,
            ttft_by_size: by_size(&known.ttft, now_ns),
            output_tok_s: known.decode.next(0.0, now_ns).map(|values| Percentiles::of(&values, rates, 1.0)),
            success: known.shares.success(now_ns),
            rate_limited: known.shares.limited(now_ns),
            breaker: match breaker {
                BreakerState::Closed => "closed",
                BreakerState::Open { .. } => "open",
                BreakerState::HalfOpen { .. } => "half_open",
            },
            resting_ms: open_ns.max(known.cooldown.until(now_ns)).map(|until_ns| ms(until_ns - now_ns)),
            in_flight: known.in_flight,
            places: known.places(offer),
            cold: samples < policy.min_samples as usize,
            attempts: known.attempts,
            downgrades: known.downgrades,
            speed_changes: known.ttft.changes() + known.decode.changes(),
            last_seen_ms_ago: known.last_seen_ns.map(|seen_ns| ms(now_ns - seen_ns)),
            prompt_bytes_a_token: known.bytes_a_token(),
        }
    }
}

fn by_size(window: &Window, now_ns: i64) -> Vec<SizeClass> {
    let mut classes: [Vec<f64>; CLASSES.len()] = Default::default();
    for (tokens, value) in window.seen(now_ns) {
        let class = CLASSES.partition_point(|end| *end <= tokens).min(CLASSES.len() - 1);
        classes[class].push(value * 1e-6);
    }
    let mut from_tokens = 0;
    let mut all = Vec::new();
    for (values, end) in classes.iter_mut().zip(CLASSES) {
        let below_tokens = end.is_finite().then_some(end as u64);
        values.sort_unstable_by(f64::total_cmp);
        if !values.is_empty() {
            all.push(SizeClass {
                from_tokens,
                below_tokens,
                n: values.len(),
                p50_ms: linear(values, 0.5),
                p95_ms: linear(values, 0.95),
            });
        }
        from_tokens = end as u64;
    }
    all
}

fn linear(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}
