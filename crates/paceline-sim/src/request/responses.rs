//! Bodies of OpenAI's Responses.

use serde::Deserialize;

use super::{Call, Prompt, Protocol, checked_limit, checked_min, known_model, missing, read};
use crate::config::SimConfig;
use crate::error::ApiError;

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    stream: Option<bool>,
    min_tokens: Option<u64>,
    ignore_eos: Option<bool>,
    service_tier: Option<String>,
    input: Option<Input>,
    instructions: Option<String>,
    max_output_tokens: Option<u64>,
    previous_response_id: Option<String>,
    reasoning: Option<Reasoning>,
    background: Option<bool>,
}

#[derive(Deserialize)]
struct Reasoning {
    summary: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Items(Vec<Item>),
}

/// A message, a tool call or what a tool said; what an item has not got is nothing.
#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    content: Option<Content>,
    arguments: Option<String>,
    output: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    image_url: Option<String>,
    file_id: Option<String>,
}

pub(super) fn parse(body: &[u8], config: &SimConfig) -> Result<Call, ApiError> {
    let body: Body = read(body)?;
    let model = known_model(body.model.as_ref(), &config.models)?;
    let limit = checked_limit("max_output_tokens", body.max_output_tokens)?;
    if body.previous_response_id.is_some() {
        let message = "This engine keeps no responses: send the whole conversation as input.";
        return Err(ApiError::invalid(Some("previous_response_id"), message));
    }
    if body.background == Some(true) {
        return Err(ApiError::invalid(Some("background"), "This engine answers in the foreground only."));
    }
    let mut prompt = Prompt::new(config.image_tokens);
    if let Some(instructions) = body.instructions {
        prompt.text(instructions);
    }
    match body.input.ok_or_else(|| missing("input"))? {
        Input::Text(text) => prompt.text(text),
        Input::Items(items) => items.into_iter().for_each(|item| take_item(&mut prompt, item)),
    }
    Ok(Call {
        include_usage: true,
        max_tokens: limit,
        min_tokens: checked_min(body.min_tokens, limit)?,
        ignore_eos: body.ignore_eos.unwrap_or(false),
        streaming: body.stream.unwrap_or(false),
        reasoning_summary: body.reasoning.is_some_and(|reasoning| reasoning.summary.is_some()),
        service_tier: body.service_tier,
        ..Call::plain(Protocol::Responses, model, prompt)
    })
}

fn take_item(prompt: &mut Prompt, item: Item) {
    if item.kind.as_deref() == Some("reasoning") {
        // Earlier reasoning is no part of what the model reads again.
        return;
    }
    if let Some(arguments) = item.arguments {
        prompt.text(arguments);
    }
    for content in item.content.into_iter().chain(item.output) {
        match content {
            Content::Text(text) => prompt.text(text),
            Content::Parts(parts) => {
                for part in parts {
                    if let Some(text) = part.text {
                        prompt.text(text);
                    }
                    if let Some(image) = part.image_url.or(part.file_id) {
                        prompt.image(&image);
                    }
                }
            }
        }
    }
}
