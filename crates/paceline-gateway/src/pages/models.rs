//! `/v1/models` and `/v1/models/{model}`, as clients of OpenAI, OpenRouter and Anthropic read them.

use paceline_wire::Protocol;
use serde_json::{Value, json};

use super::Page;
use super::prices::pricing;
use crate::accounts::keys::may_use;
use crate::refusal::Refusal;
use crate::table::{Key, Model, Offer, Price, RouteTable};

/// What an offer supports of which it is not known: clients leave out what is not in the list.
const COMMON: [&str; 18] = [
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning",
    "response_format",
    "seed",
    "stop",
    "structured_outputs",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
];

/// All models that the key may ask for (none: all that there are).
pub(super) fn list(table: &RouteTable, key: Option<&Key>, anthropic: bool) -> Page {
    let models: Vec<&Model> = table.models.iter().filter(|model| may_use(key, &model.id)).collect();
    let entries: Vec<Value> = models.iter().map(|model| entry(table, model, anthropic)).collect();
    let id = |model: Option<&&Model>| model.map(|model| model.id.clone());
    Page::json(
        200,
        &if anthropic {
            json!({
                "data": entries, "has_more": false, "first_id": id(models.first()), "last_id": id(models.last()),
            })
        } else {
            json!({"object": "list", "data": entries})
        },
    )
}

/// One model, by its name or an alias.
///
/// # Errors
/// `unknown_model`, where there is none, or the key may not know of it.
pub(super) fn one(
    table: &RouteTable,
    key: Option<&Key>,
    name: &str,
    anthropic: bool,
) -> Result<Page, Refusal> {
    find(table, key, name).map(|model| Page::json(200, &entry(table, model, anthropic)))
}

/// The model of that name, if the key may use it.
pub(super) fn find<'t>(table: &'t RouteTable, key: Option<&Key>, name: &str) -> Result<&'t Model, Refusal> {
    table.model(name).filter(|model| may_use(key, &model.id)).ok_or_else(|| {
        let names =
            table.models.iter().filter(|model| may_use(key, &model.id)).map(|model| model.id.as_str());
        Refusal::unknown_model(name, names)
    })
}

fn entry(table: &RouteTable, model: &Model, anthropic: bool) -> Value {
    // When a model came out is not known. Anthropic's list says the epoch for that, and here it does in both shapes.
    if anthropic {
        return json!({
            "type": "model", "id": model.id, "display_name": model.id, "created_at": "1970-01-01T00:00:00Z",
        });
    }
    let offers: Vec<&Offer> = offers_of(table, model).collect();
    let most = |of: fn(&Offer) -> Option<u64>| offers.iter().filter_map(|offer| of(offer)).max();
    let context = most(|offer| offer.context_tokens);
    let embeds =
        !offers.is_empty() && offers.iter().all(|offer| offer.protocols == [Protocol::OpenaiEmbeddings]);
    let output = if embeds { "embeddings" } else { "text" };
    json!({
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": model.id.split_once('/').map_or("paceline", |(author, _)| author),
        "canonical_slug": model.id,
        "name": model.id,
        "description": model.description.clone().unwrap_or_default(),
        "aliases": model.aliases,
        "context_length": context,
        "architecture": {
            "modality": format!("text->{output}"), "input_modalities": ["text"], "output_modalities": [output],
            "tokenizer": "Other", "instruct_type": null,
        },
        "pricing": pricing(cheapest(&offers)),
        "top_provider": {
            "context_length": context, "max_completion_tokens": most(|offer| offer.max_output_tokens),
            "is_moderated": false,
        },
        "per_request_limits": null,
        "supported_parameters": parameters(offers.iter().copied()),
    })
}

/// The offers of a model.
pub(super) fn offers_of<'t>(table: &'t RouteTable, model: &Model) -> impl Iterator<Item = &'t Offer> {
    table.offers_of(&model.id).iter().filter_map(|place| table.offers.get(*place).map(AsRef::as_ref))
}

/// The least of prompt and completion together; a price that is known before one that is not.
fn cheapest<'t>(offers: &[&'t Offer]) -> Option<&'t Price> {
    let sum = |price: &Price| price.input_usd_per_mtok + price.output_usd_per_mtok;
    offers.iter().filter_map(|offer| offer.price.as_ref()).min_by(|a, b| sum(a).total_cmp(&sum(b)))
}

/// What any of the offers supports, in order.
pub(super) fn parameters<'t>(offers: impl Iterator<Item = &'t Offer>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for offer in offers {
        match &offer.parameters {
            Some(known) => all.extend(known.iter().cloned()),
            None => all.extend(COMMON.iter().map(|name| (*name).to_owned())),
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
