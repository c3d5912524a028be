//! Which of the offers that can answer comes first.

use rand::RngExt;

use super::filters::{Constraint, LeftOut, Why, is_named};
use super::judge::{Judged, Readiness, left_ns};
use super::plan::PlanRequest;
use super::router::State;
use crate::ask::Sort;

/// Bills so near to the least are taken for equal: then the offer with less in flight is first, so that equals share
/// the load.
const EQUAL: f64 = 1.05;
/// With deadlines the cheapest offer goes first of those whose probability is so near to that of the surest.
const DEADLINE_SLACK: f64 = 0.02;
/// An exploration that is due is taken up by this share of the requests, so that it follows no rhythm of the traffic.
const TAKEN_UP: f64 = 0.5;
/// An offer that has told nothing for this share of the window is explored again: it may have become better.
const STALE: f64 = 0.25;

/// What the first is first by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Order,
    Deadline,
    Sort(Sort),
    Bill,
}

/// How the order came about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    by: By,
    pub(super) explored: bool,
}

/// Orders the offers, best first, and cuts the list where fallbacks are not allowed.
pub(super) fn order(
    state: &mut State,
    request: &PlanRequest<'_>,
    judged: &mut Vec<Judged>,
    left_out: &mut Vec<LeftOut>,
) -> Verdict {
    let wanted = &request.ask.preferences;
    let by = if !wanted.order.is_empty() {
        By::Order
    } else if left_ns(request) != (None, None) {
        By::Deadline
    } else {
        wanted.sort.map_or(By::Bill, By::Sort)
    };
    let late = |offer: &Judged| wants_more(request) && !offer.meets_preferred;
    // A half-open breaker's one request is a risk that a deadline does not allow, and an unknown offer gets no more
    // requests at once than it takes to know it.
    let deadline = left_ns(request) != (None, None);
    let held_back = |offer: &Judged| {
        let crowded = offer.cold && offer.in_flight >= request.table.policy.min_samples.max(1);
        (deadline && (offer.half_open || offer.cold)) || (crowded && by == By::Bill)
    };
    // The cheapest of those that are in time about as surely as the surest: a little surer is worth a little, and
    // much is worth all.
    let surest = judged.iter().filter(|offer| !held_back(offer)).map(sureness).fold(0.0, f64::max);
    let less_sure = |offer: &Judged| by == By::Deadline && sureness(offer) < surest - DEADLINE_SLACK;
    let class = |offer: &Judged| {
        let held_back = held_back(offer) || less_sure(offer);
        (late(offer), rank_in_order(request, offer), offer.readiness, held_back)
    };
    judged.sort_by(|a, b| {
        class(a)
            .cmp(&class(b))
            .then_with(|| objective(request, by, a).total_cmp(&objective(request, by, b)))
            .then_with(|| a.cold.cmp(&b.cold))
            .then_with(|| sureness(b).total_cmp(&sureness(a)))
            .then_with(|| a.bill_usd.total_cmp(&b.bill_usd))
    });
    if by == By::Bill {
        share_among_equals(state, judged, class);
    }
    let mut verdict = Verdict { by, explored: false };
    if !deadline && by != By::Order && by != By::Sort(Sort::Price) && wanted.allow_fallbacks {
        verdict.explored = explore(state, request, judged);
    }
    cut(request, judged, left_out);
    verdict
}

fn sureness(offer: &Judged) -> f64 {
    offer.in_time.map_or(0.0, |share| share.value)
}

fn wants_more(request: &PlanRequest<'_>) -> bool {
    let wanted = &request.ask.preferences;
    !wanted.max_latency_s.is_empty() || !wanted.min_throughput_tok_s.is_empty()
}

fn rank_in_order(request: &PlanRequest<'_>, judged: &Judged) -> usize {
    let Some(offer) = request.table.offers.get(judged.offer) else { return usize::MAX };
    let order = &request.ask.preferences.order;
    order.iter().position(|name| is_named(offer, name)).unwrap_or(usize::MAX)
}

/// Less is better.
fn objective(request: &PlanRequest<'_>, by: By, offer: &Judged) -> f64 {
    let sort = match by {
        By::Order => request.ask.preferences.sort,
        // Cheapest of those that are in time; time itself is worth nothing more.
        By::Deadline => Some(request.ask.preferences.sort.unwrap_or(Sort::Price)),
        By::Sort(sort) => Some(sort),
        By::Bill => None,
    };
    match sort {
        None => offer.bill_usd,
        Some(Sort::Price) => offer.price_usd.map_or(f64::INFINITY, |usd| usd / offer.success.max(1e-3)),
        Some(Sort::Latency) => {
            offer.ttft.as_ref().filter(|_| !offer.cold).map_or(offer.ttft_ns, |ttft| ttft.quantile(0.5).0)
        }
        Some(Sort::Throughput) => offer
            .decode
            .as_ref()
            .filter(|_| !offer.cold)
            .map_or(offer.ns_a_token, |rates| 1e9 / rates.quantile(0.5).0.max(1e-9)),
    }
}

/// Of the warm offers whose bill is as good as the least, the one with the least in flight goes first; equals by lot.
fn share_among_equals<K: PartialEq>(state: &mut State, judged: &mut [Judged], class: impl Fn(&Judged) -> K) {
    let Some(first) = judged.first() else { return };
    let (best_class, bound) = (class(first), first.bill_usd * EQUAL);
    let first_cold = first.cold;
    let equals = judged
        .iter()
        .take_while(|offer| class(offer) == best_class && offer.bill_usd <= bound)
        .filter(|offer| first_cold || !offer.cold)
        .count();
    if equals < 2 {
        return;
    }
    let lot = |offer: &Judged, random: f64| {
        let places = offer.places.map_or(1.0, |places| 1.0 / f64::from(places.max(1)));
        (f64::from(offer.in_flight) * places, random)
    };
    let mut best: Option<(usize, (f64, f64))> = None;
    for (place, offer) in judged.iter().enumerate().take(equals) {
        let this = lot(offer, state.rng.random::<f64>());
        if best.is_none_or(|(_, best)| this.0.total_cmp(&best.0).then(this.1.total_cmp(&best.1)).is_lt()) {
            best = Some((place, this));
        }
    }
    if let Some((place, _)) = best {
        judged[..=place].rotate_right(1);
    }
}

/// Now and then an offer of which too little is known is put first; the one that has been silent longest. One that
/// could not win even if it took no time at all is not worth it.
fn explore(state: &mut State, request: &PlanRequest<'_>, judged: &mut [Judged]) -> bool {
    let stale_ns = (request.table.policy.window_ns as f64 * STALE) as i64;
    let bill = judged.first().map_or(0.0, |first| first.bill_usd);
    let by_bill = request.ask.preferences.sort.is_none();
    let chosen = judged
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, offer)| {
            let silent = offer.seen_ns.is_none_or(|seen_ns| request.now_ns - seen_ns > stale_ns);
            let could_win = !by_bill || offer.price_usd.is_none_or(|usd| usd < bill);
            (offer.cold || silent) && could_win && offer.readiness == Readiness::Ready
        })
        .min_by_key(|(_, offer)| (offer.in_flight, offer.seen_ns))
        .map(|(place, _)| place);
    let Some(place) = chosen else { return false };
    state.explore.request();
    if state.rng.random::<f64>() >= TAKEN_UP || !state.explore.take(request.now_ns) {
        return false;
    }
    judged[..=place].rotate_right(1);
    true
}

fn cut(request: &PlanRequest<'_>, judged: &mut Vec<Judged>, left_out: &mut Vec<LeftOut>) {
    let wanted = &request.ask.preferences;
    if wanted.allow_fallbacks || !wanted.order.is_empty() || judged.len() < 2 {
        return;
    }
    for offer in judged.drain(1..) {
        let why = Why { constraint: Constraint::Fallbacks, text: "allow_fallbacks is false".to_owned() };
        left_out.push(LeftOut { offer: offer.offer, why });
    }
}

impl Verdict {
    /// Why the first is first, for people.
    pub(super) fn reason(&self, request: &PlanRequest<'_>, judged: &[Judged]) -> String {
        let Some(first) = judged.first() else { return String::new() };
        let others = if judged.len() == 1 { "the only one that can answer; " } else { "" };
        let ms = first.ttft_ns / 1e6;
        let rate = 1e9 / first.ns_a_token;
        let price =
            first.price_usd.map_or_else(|| "an unknown price".to_owned(), |usd| format!("{usd:.6} USD"));
        let known = if first.cold { ", of which little is known" } else { "" };
        if self.explored {
            return format!("explored: too little is known of it ({} samples in the window)", first.samples);
        }
        match self.by {
            By::Order => format!("{others}first that can answer in the order asked for"),
            By::Deadline => {
                let share = first.in_time.map_or(0.0, |share| share.value);
                format!(
                    "{others}least expected bill of those in time as surely: probability {share:.2}, {price}{known}"
                )
            }
            By::Sort(Sort::Price) => format!("{others}lowest price ({price})"),
            By::Sort(Sort::Latency) => format!("{others}lowest TTFT ({ms:.0} ms){known}"),
            By::Sort(Sort::Throughput) => format!("{others}highest decode rate ({rate:.0} tok/s){known}"),
            By::Bill => format!(
                "{others}least expected bill: {:.6} USD of {price}, TTFT {ms:.0} ms, {:.0} tokens at {rate:.0} tok/s, \
                 success {:.3}, with an hour worth {} USD{known}",
                first.bill_usd,
                first.output_tokens,
                first.success,
                request.table.policy.time_worth_usd_per_hour
            ),
        }
    }
}
