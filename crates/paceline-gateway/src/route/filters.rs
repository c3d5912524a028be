//! What removes an offer, and how that is said.

use paceline_wire::Protocol;

use super::estimate::Share;
use super::explain;
use super::judge::{Judged, Readiness, left_ns};
use super::plan::{NoOffer, PlanRequest};
use crate::ask::MaxPrice;
use crate::table::{Offer, Tier};

/// An offer may be quicker, or rest no more, after so long.
const DEADLINE_RETRY_MS: i64 = 1000;
/// Names by which an offer's `parameters` may say that it takes images.
const IMAGES: [&str; 4] = ["images", "image", "vision", "image_input"];
/// Parameters that an offer must support where a request has them, `require_parameters` or not: without them the
/// answer would be another one.
const NEEDED: [&str; 2] = ["tools", "tool_choice"];

/// What was seen longer ago than this part of the window says little of now.
const STALE: i64 = 40;

/// What removed an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Constraint {
    Protocol,
    Key,
    Only,
    Ignore,
    Order,
    Tier,
    Parameters,
    Images,
    Context,
    MaxOutput,
    MaxPrice,
    Deadline,
    Fallbacks,
}

impl Constraint {
    /// A stable code, and the status.
    const fn refusal(self) -> (&'static str, u16) {
        match self {
            Self::Protocol => ("protocol_unsupported", 404),
            Self::Key => ("not_allowed", 403),
            Self::Only | Self::Ignore | Self::Order | Self::Fallbacks => ("no_allowed_provider", 404),
            Self::Tier => ("tier_unavailable", 404),
            Self::Parameters => ("unsupported_parameters", 404),
            Self::Images => ("images_unsupported", 404),
            Self::Context => ("context_length_exceeded", 400),
            Self::MaxOutput => ("max_output_tokens_exceeded", 400),
            Self::MaxPrice => ("max_price_too_low", 404),
            // Not 5xx, which clients' libraries try again by themselves.
            Self::Deadline => ("deadline_cannot_be_met", 422),
        }
    }
}

/// A constraint and its figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Why {
    pub(super) constraint: Constraint,
    pub(super) text: String,
}

/// An offer that is out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeftOut {
    pub(super) offer: usize,
    pub(super) why: Why,
}

fn out<T>(constraint: Constraint, text: String) -> Result<T, Why> {
    Err(Why { constraint, text })
}

/// Does a name of the client's (`order`, `only`, `ignore`) mean this offer?
pub(super) fn is_named(offer: &Offer, name: &str) -> bool {
    offer.id == name || offer.provider.eq_ignore_ascii_case(name)
}

/// What does not change with what is measured. Gives the protocol that the offer is asked in.
pub(super) fn fixed(request: &PlanRequest<'_>, offer: &Offer, prompt_tokens: f64) -> Result<Protocol, Why> {
    let ask = request.ask;
    let Some(protocol) = offer.protocol_for(ask.protocol) else {
        return out(
            Constraint::Protocol,
            format!("it does not speak {}, nor what that translates to", ask.protocol.name()),
        );
    };
    let allowed =
        |allowed: &Vec<String>| request.key_id.is_some_and(|key| allowed.iter().any(|id| id == key));
    if !offer.allow_keys.as_ref().is_none_or(allowed) {
        return out(Constraint::Key, "the key may not use it".to_owned());
    }
    named(request, offer)?;
    tier(ask.tier, offer.tier)?;
    parameters(request, offer)?;
    length(request, offer, prompt_tokens)?;
    price(&ask.preferences.max_price, offer)?;
    Ok(protocol)
}

fn named(request: &PlanRequest<'_>, offer: &Offer) -> Result<(), Why> {
    let wanted = &request.ask.preferences;
    if !wanted.only.is_empty() && !wanted.only.iter().any(|name| is_named(offer, name)) {
        return out(Constraint::Only, "provider.only does not name it".to_owned());
    }
    if wanted.ignore.iter().any(|name| is_named(offer, name)) {
        return out(Constraint::Ignore, "provider.ignore names it".to_owned());
    }
    let fixed = !wanted.allow_fallbacks && !wanted.order.is_empty();
    if fixed && !wanted.order.iter().any(|name| is_named(offer, name)) {
        return out(
            Constraint::Order,
            "provider.order does not name it, and allow_fallbacks is false".to_owned(),
        );
    }
    Ok(())
}

fn tier(asked: Option<Tier>, offered: Tier) -> Result<(), Why> {
    let Some(asked) = asked else { return Ok(()) };
    // Who asks for fast may have faster; all else is meant as it is named.
    let meets = asked == offered || (asked == Tier::Fast && offered == Tier::Ultra);
    if meets {
        return Ok(());
    }
    out(Constraint::Tier, format!("its tier is {}, and {} was asked for", offered.as_str(), asked.as_str()))
}

fn parameters(request: &PlanRequest<'_>, offer: &Offer) -> Result<(), Why> {
    let ask = request.ask;
    let Some(supported) = &offer.parameters else { return Ok(()) };
    let has = |name: &str| supported.iter().any(|own| own == name);
    let wanted = |name: &&String| ask.preferences.require_parameters || NEEDED.contains(&name.as_str());
    // Who supports tools supports the choice among them.
    let lacks = |name: &&String| !(has(name) || name.as_str() == "tool_choice" && has("tools"));
    let missing: Vec<&str> = ask.parameters.iter().filter(wanted).filter(lacks).map(String::as_str).collect();
    if !missing.is_empty() {
        return out(Constraint::Parameters, format!("it does not support {}", missing.join(", ")));
    }
    if ask.images > 0 && !IMAGES.iter().any(|name| has(name)) {
        return out(Constraint::Images, "its parameters do not name images".to_owned());
    }
    Ok(())
}

fn length(request: &PlanRequest<'_>, offer: &Offer, prompt_tokens: f64) -> Result<(), Why> {
    let asked = request.ask.max_tokens;
    if let (Some(asked), Some(most)) = (asked, offer.max_output_tokens)
        && asked > most
    {
        let text = format!("it generates at most {most} tokens, and {asked} were asked for");
        return out(Constraint::MaxOutput, text);
    }
    if let Some(context) = offer.context_tokens {
        let output = asked.unwrap_or(1);
        if prompt_tokens + output as f64 > context as f64 {
            return out(
                Constraint::Context,
                format!(
                    "its context is {context} tokens, and the prompt (about {prompt_tokens:.0}) and the answer \
                     ({output}) need more"
                ),
            );
        }
    }
    Ok(())
}

fn price(most: &MaxPrice, offer: &Offer) -> Result<(), Why> {
    let bounds = [
        ("prompt", most.prompt_usd_per_mtok, offer.price.map(|price| price.input_usd_per_mtok)),
        ("completion", most.completion_usd_per_mtok, offer.price.map(|price| price.output_usd_per_mtok)),
        ("request", most.request_usd, offer.price.map(|price| price.request_usd)),
    ];
    for (name, bound, price) in bounds {
        let Some(bound) = bound else { continue };
        match price {
            None => {
                return out(
                    Constraint::MaxPrice,
                    "its price is unknown, and there is a max_price".to_owned(),
                );
            }
            Some(price) if price > bound => {
                return out(
                    Constraint::MaxPrice,
                    format!("its {name} price is {price}, and max_price.{name} is {bound}"),
                );
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Removes the offers that do not meet the deadlines with the probability that the policy wants. Who refuses must know:
/// where no offer is known to meet them, one stays that may yet, since the interval of its probability reaches what is
/// wanted; so does an unknown one, until enough requests are trying it, and, for one request at a time, one of which
/// nothing new was seen for a while.
pub(super) fn by_deadline(request: &PlanRequest<'_>, judged: &mut Vec<Judged>, left_out: &mut Vec<LeftOut>) {
    let (first, end) = left_ns(request);
    if first.is_none() && end.is_none() {
        return;
    }
    let wanted = request.table.policy.deadline_confidence;
    let at_once = request.table.policy.min_samples.max(1);
    let meets = |offer: &Judged| offer.in_time.is_none_or(|in_time| in_time.value * offer.success >= wanted);
    let one_does =
        judged.iter().any(|offer| !offer.cold && offer.readiness != Readiness::Resting && meets(offer));
    let none_known = judged.iter().all(|offer| offer.cold);
    let stale_ns = request.table.policy.window_ns / STALE;
    let may_try = |offer: &Judged| {
        let stale = offer.seen_ns.is_none_or(|seen_ns| request.now_ns - seen_ns > stale_ns);
        let unknown = offer.cold && (none_known || offer.in_flight < at_once);
        let unsure = offer.in_time.is_some_and(|in_time| in_time.hi * offer.success >= wanted);
        !one_does && ((!offer.cold && unsure) || unknown || (stale && offer.in_flight == 0))
    };
    let past = first.into_iter().chain(end).any(|left_ns| left_ns <= 0);
    judged.retain(|offer| {
        let why = if past {
            Some("the time is over already".to_owned())
        } else if offer.readiness == Readiness::Resting {
            Some("it is not asked at present: its breaker is open or it cools down".to_owned())
        } else {
            offer
                .in_time
                .filter(|_| !meets(offer) && !may_try(offer))
                .map(|in_time| missed(&in_time, offer, wanted))
        };
        let Some(text) = why else { return true };
        let names = match (first, end) {
            (Some(_), Some(_)) => "deadline_ms and finish_by_ms",
            (Some(_), None) => "deadline_ms",
            (None, _) if request.ask.preferences.finish_by_ns.is_none() => {
                "deadline_ms of an answer that is no stream"
            }
            (None, _) => "finish_by_ms",
        };
        let why = Why { constraint: Constraint::Deadline, text: format!("{names}: {text}") };
        left_out.push(LeftOut { offer: offer.offer, why });
        false
    });
}

fn missed(in_time: &Share, offer: &Judged, wanted: f64) -> String {
    let failing =
        if offer.success < 0.99 { format!(", success {:.2}", offer.success) } else { String::new() };
    if offer.cold {
        return format!("too little is known of it ({} samples){failing}", offer.samples);
    }
    format!(
        "met with probability {:.2} ({:.2} to {:.2}, {:.0} samples){failing}; {wanted} is wanted",
        in_time.value, in_time.lo, in_time.hi, in_time.n
    )
}

/// Says which constraint removed which offer.
pub(super) fn no_offer(request: &PlanRequest<'_>, left_out: &[LeftOut]) -> NoOffer {
    let considered = explain::considered(request, &[], left_out, "");
    if left_out.is_empty() {
        return NoOffer {
            code: "no_offer",
            status: 404,
            message: format!("There is no offer of the model {:?}.", request.model),
            retry_after_ms: None,
            considered,
        };
    }
    let mut constraints: Vec<Constraint> = left_out.iter().map(|out| out.why.constraint).collect();
    constraints.sort_unstable();
    constraints.dedup();
    let (code, status) = match constraints.as_slice() {
        [one] => one.refusal(),
        // What can still change decides, for it is what the client was a step from.
        several if several.contains(&Constraint::Deadline) => Constraint::Deadline.refusal(),
        _ => ("no_offer", 404),
    };
    let each: Vec<String> = left_out
        .iter()
        .map(|out| {
            let id = request.table.offers.get(out.offer).map_or("?", |offer| offer.id.as_str());
            format!("{id}: {}", out.why.text)
        })
        .collect();
    NoOffer {
        code,
        status,
        message: format!("No offer of {:?} can answer: {}.", request.model, each.join("; ")),
        retry_after_ms: constraints.contains(&Constraint::Deadline).then_some(DEADLINE_RETRY_MS),
        considered,
    }
}
