//! What an upstream is sent: the client's own bytes but for a few members, or, where the upstream speaks otherwise, their
//! translation.
//!
//! Of the client's members
//! - `model` gets the upstream's name for it,
//! - [`OWN`] are the gateway's, and are taken out with their comma,
//! - `service_tier` and `speed` have chosen the offer. They go on only where they ask for nothing that costs more or less
//!   than the offer's price (`auto`, `default`, `standard_only`) and the offer does not say them itself,
//! - `stream_options.include_usage` becomes true where the answer streams in a protocol that else has no usage,
//! - `messages` loses thoughts that nobody has signed, where Anthropic's protocol is spoken on both sides,
//! - the offer's `extra_body` is put in where the client says nothing of it, or `null`.
//!
//! Every other byte stays as it came.

#[cfg(test)]
mod tests;
mod thinking;

use paceline_wire::Protocol;
use serde_json::Value;

use crate::ask::{Ask, Members, Place};
use crate::refusal::Refusal;
use crate::table::Offer;

/// Members that are for the gateway alone.
const OWN: [&str; 7] = ["provider", "models", "route", "explain", "transforms", "plugins", "usage"];

/// The body for an upstream of `offer` that is asked in `upstream`. `body`: the bytes that `ask` was read from.
///
/// # Errors
/// When what is asked cannot be said in the upstream's protocol.
pub(crate) fn upstream_body(
    ask: &Ask,
    body: &[u8],
    upstream: Protocol,
    offer: &Offer,
) -> Result<Vec<u8>, Refusal> {
    if upstream == ask.protocol {
        let change = Change {
            own: true,
            model: Some(&offer.upstream_model),
            thoughts: upstream == Protocol::AnthropicMessages,
            ..Change::for_upstream(ask, upstream, offer)
        };
        return Ok(change.apply(body, &ask.places));
    }
    let plain = Change { own: true, model: None, usage: false, tiers: true, thoughts: false, offer: None }
        .apply(body, &ask.places);
    let translated = paceline_translate::request(ask.protocol, upstream, &plain, &offer.upstream_model)
        .map_err(|error| Refusal::untranslatable(error.to_string()))?;
    let places = places_of(&translated)?;
    Ok(Change::for_upstream(ask, upstream, offer).apply(&translated, &places))
}

fn places_of(body: &[u8]) -> Result<Vec<Place>, Refusal> {
    let text = std::str::from_utf8(body).ok();
    let members = text.and_then(|text| Some(serde_json::from_str::<Members<'_>>(text).ok()?.places(text)));
    members.ok_or_else(|| Refusal::untranslatable("the translated request is no JSON object"))
}

/// What is changed in a body.
#[derive(Debug, Clone, Copy)]
struct Change<'o> {
    /// The gateway's own members are taken out.
    own: bool,
    model: Option<&'o str>,
    /// Usage is asked for at the end of the stream.
    usage: bool,
    /// Words for tiers are the client's.
    tiers: bool,
    /// Thoughts without a signature are taken out of the history.
    thoughts: bool,
    offer: Option<&'o Offer>,
}

/// What becomes of a member.
enum Fate {
    Stays,
    Goes,
    Becomes(String),
}

impl<'o> Change<'o> {
    fn for_upstream(ask: &Ask, upstream: Protocol, offer: &'o Offer) -> Self {
        let usage = ask.streaming && matches!(upstream, Protocol::OpenaiChat | Protocol::OpenaiCompletions);
        let tiers = upstream == ask.protocol;
        Self { own: false, model: None, usage, tiers, thoughts: false, offer: Some(offer) }
    }

    fn apply(&self, body: &[u8], places: &[Place]) -> Vec<u8> {
        let at = |from: usize, to: usize| body.get(from..to).unwrap_or_default();
        let head = places.first().map_or_else(|| opening(body), |place| place.start);
        let tail = places.last().map_or(head, |place| place.value.end);
        let mut out = Vec::with_capacity(body.len() + 256);
        out.extend_from_slice(at(0, head));
        let mut some = false;
        for (index, place) in places.iter().enumerate() {
            let fate = self.fate(place, at(place.value.start, place.value.end));
            if matches!(fate, Fate::Goes) {
                continue;
            }
            if some && index > 0 {
                out.extend_from_slice(at(places[index - 1].value.end, place.start));
            }
            some = true;
            match fate {
                Fate::Becomes(value) => {
                    out.extend_from_slice(at(place.start, place.value.start));
                    out.extend_from_slice(value.as_bytes());
                }
                _ => out.extend_from_slice(at(place.start, place.value.end)),
            }
        }
        for (name, value) in self.added(places) {
            if some {
                out.push(b',');
            }
            some = true;
            out.extend_from_slice(Value::String(name).to_string().as_bytes());
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.extend_from_slice(at(tail, body.len()));
        out
    }

    fn fate(&self, place: &Place, value: &[u8]) -> Fate {
        let name = place.name.as_str();
        if self.own && OWN.contains(&name) {
            return Fate::Goes;
        }
        if name == "model"
            && let Some(model) = self.model
        {
            return Fate::Becomes(Value::from(model).to_string());
        }
        let own = self.offer.and_then(|offer| offer.extra_body.get(name));
        if let Some(own) = own
            && (value == b"null" || (self.tiers && is_tier(name)))
        {
            return Fate::Becomes(own.to_string());
        }
        if self.tiers && is_tier(name) && !costs_nothing(name, value) {
            return Fate::Goes;
        }
        if self.usage && name == "stream_options" {
            return with_usage(value).map_or(Fate::Stays, Fate::Becomes);
        }
        if self.thoughts && name == "messages" {
            return thinking::without_unsigned(value).map_or(Fate::Stays, Fate::Becomes);
        }
        Fate::Stays
    }

    /// Members that the body lacks.
    fn added(&self, places: &[Place]) -> Vec<(String, String)> {
        let has = |name: &str| places.iter().any(|place| place.name == name);
        let mut added = Vec::new();
        if let Some(model) = self.model.filter(|_| !has("model")) {
            added.push(("model".to_owned(), Value::from(model).to_string()));
        }
        if self.usage && !has("stream_options") {
            added.push(("stream_options".to_owned(), r#"{"include_usage":true}"#.to_owned()));
        }
        for (name, value) in self.offer.iter().flat_map(|offer| &offer.extra_body) {
            if !has(name) && name != "model" && !added.iter().any(|(known, _)| known == name) {
                added.push((name.clone(), value.to_string()));
            }
        }
        added
    }
}

fn is_tier(name: &str) -> bool {
    matches!(name, "service_tier" | "speed")
}

fn costs_nothing(name: &str, value: &[u8]) -> bool {
    name == "service_tier" && matches!(value, b"\"auto\"" | b"\"default\"" | b"\"standard_only\"" | b"null")
}

/// Just after the brace of an object without members.
fn opening(body: &[u8]) -> usize {
    memchr::memchr(b'{', body).map_or(0, |place| place + 1)
}

/// `stream_options` with usage asked for; none: it asks already, or is no object, which the upstream may judge.
fn with_usage(options: &[u8]) -> Option<String> {
    const ASKED: &str = "\"include_usage\":true";
    if options == b"null" {
        return Some(format!("{{{ASKED}}}"));
    }
    let text = std::str::from_utf8(options).ok()?;
    let places = serde_json::from_str::<Members<'_>>(text).ok()?.places(text);
    let mut out = text.to_owned();
    if let Some(place) = places.iter().find(|place| place.name == "include_usage") {
        if text.get(place.value.clone())? == "true" {
            return None;
        }
        out.replace_range(place.value.clone(), "true");
    } else {
        let comma = if places.is_empty() { "" } else { "," };
        out.insert_str(opening(options), &format!("{ASKED}{comma}"));
    }
    Some(out)
}
