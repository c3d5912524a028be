//! What was considered for a request, for who asks why.

use serde::Serialize;

use super::estimate::{Distribution, Figure, Share};
use super::filters::LeftOut;
use super::judge::{Judged, Readiness};
use super::plan::PlanRequest;

const MS_A_NS: f64 = 1e-6;

/// One offer of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Considered {
    pub(crate) offer: String,
    pub(crate) provider: String,
    pub(crate) tier: &'static str,
    /// `chosen`, `candidate` or `left out`.
    pub(crate) verdict: &'static str,
    pub(crate) why: String,
    /// Where its price is from, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) price_source: Option<String>,
    /// None where a constraint removed it before it was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) figures: Option<Predicted>,
}

/// What an offer is expected to be for this request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Predicted {
    pub(crate) samples: usize,
    /// So few samples that its rivals' worse quartile stands in for it.
    pub(crate) cold: bool,
    pub(crate) prompt_tokens: f64,
    pub(crate) cached_tokens: f64,
    pub(crate) output_tokens: f64,
    pub(crate) ttft_ms_p50: Option<Figure>,
    pub(crate) ttft_ms_p95: Option<Figure>,
    pub(crate) ttft_effective_samples: f64,
    pub(crate) output_tok_s_p50: Option<Figure>,
    #[serde(serialize_with = "Share::or_null")]
    pub(crate) success: Share,
    #[serde(serialize_with = "Share::or_null")]
    pub(crate) rate_limited: Share,
    pub(crate) in_time: Option<Share>,
    pub(crate) price_usd: Option<f64>,
    pub(crate) bill_usd: f64,
    pub(crate) in_flight: u32,
    pub(crate) places: Option<u32>,
}

/// All offers of the model, candidates in their order first.
pub(super) fn considered(
    request: &PlanRequest<'_>,
    judged: &[Judged],
    left_out: &[LeftOut],
    reason: &str,
) -> Vec<Considered> {
    let one = |place: usize, verdict, why: String, figures| {
        let offer = request.table.offers.get(place)?;
        Some(Considered {
            offer: offer.id.clone(),
            provider: offer.provider.clone(),
            tier: offer.tier.as_str(),
            verdict,
            why,
            price_source: offer.price_source.clone(),
            figures,
        })
    };
    let candidates = judged.iter().enumerate().map(|(place, offer)| {
        let (verdict, why) =
            if place == 0 { ("chosen", reason.to_owned()) } else { ("candidate", behind(offer, judged)) };
        one(offer.offer, verdict, why, Some(predicted(offer)))
    });
    let rest = left_out.iter().map(|out| one(out.offer, "left out", out.why.text.clone(), None));
    candidates.chain(rest).flatten().collect()
}

fn behind(offer: &Judged, judged: &[Judged]) -> String {
    let first = judged.first().map_or(0.0, |first| first.bill_usd);
    match offer.readiness {
        Readiness::Full => "all its places are taken".to_owned(),
        Readiness::Resting => "its breaker is open or it cools down".to_owned(),
        Readiness::Ready if offer.cold => format!("too little is known of it ({} samples)", offer.samples),
        Readiness::Ready if first > 0.0 => {
            format!("its expected bill is {:.2} times that of the chosen one", offer.bill_usd / first)
        }
        Readiness::Ready => "it comes later in the order".to_owned(),
    }
}

fn predicted(offer: &Judged) -> Predicted {
    let ttft = |q| offer.ttft.as_ref().map(|ttft| ttft.figure(q).times(MS_A_NS));
    Predicted {
        samples: offer.samples,
        cold: offer.cold,
        prompt_tokens: offer.prompt_tokens,
        cached_tokens: offer.prompt_tokens - offer.uncached_tokens,
        output_tokens: offer.output_tokens,
        ttft_ms_p50: ttft(0.5),
        ttft_ms_p95: ttft(0.95),
        ttft_effective_samples: offer.ttft.as_ref().map_or(0.0, Distribution::effective),
        output_tok_s_p50: offer.decode.as_ref().map(|rates| rates.figure(0.5)),
        success: offer.success_seen,
        rate_limited: offer.limited_seen,
        in_time: offer.in_time,
        price_usd: offer.price_usd,
        bill_usd: offer.bill_usd,
        in_flight: offer.in_flight,
        places: offer.places,
    }
}
