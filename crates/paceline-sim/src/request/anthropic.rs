//! Bodies of Anthropic's messages.

use serde::Deserialize;
use serde_json::Value;

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
    speed: Option<String>,
    max_tokens: Option<u64>,
    system: Option<Content>,
    messages: Option<Vec<Message>>,
}

#[derive(Deserialize)]
struct Message {
    role: Option<String>,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

/// A block of any kind; what it has not got is nothing.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    source: Option<Source>,
    /// The arguments of a tool call.
    input: Option<Value>,
    /// What a tool said.
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Source {
    data: Option<String>,
    url: Option<String>,
    file_id: Option<String>,
}

pub(super) fn parse(body: &[u8], config: &SimConfig) -> Result<Call, ApiError> {
    let body: Body = read(body)?;
    let model = known_model(body.model.as_ref(), &config.models)?;
    let limit = body.max_tokens.ok_or_else(|| field_required("max_tokens"))?;
    let limit = checked_limit("max_tokens", Some(limit))?;
    let messages = body.messages.ok_or_else(|| field_required("messages"))?;
    if messages.is_empty() {
        return Err(ApiError::invalid(Some("messages"), "messages: at least one message is required"));
    }
    let mut prompt = Prompt::new(config.image_tokens);
    if let Some(system) = body.system {
        take(&mut prompt, system);
    }
    for (place, message) in messages.into_iter().enumerate() {
        match message.role.as_deref() {
            Some("user" | "assistant") => {}
            Some(_) => {
                let message = format!(
                    "messages.{place}.role: must be user or assistant; a system prompt is the field `system`"
                );
                return Err(ApiError::invalid(Some("messages"), message));
            }
            None => return Err(missing("messages.role")),
        }
        take(&mut prompt, message.content.ok_or_else(|| missing("messages.content"))?);
    }
    Ok(Call {
        include_usage: true,
        max_tokens: limit,
        min_tokens: checked_min(body.min_tokens, limit)?,
        ignore_eos: body.ignore_eos.unwrap_or(false),
        streaming: body.stream.unwrap_or(false),
        service_tier: body.service_tier,
        speed: body.speed,
        ..Call::plain(Protocol::Messages, model, prompt)
    })
}

/// As Anthropic's API says it.
fn field_required(field: &'static str) -> ApiError {
    ApiError::invalid(Some(field), format!("{field}: Field required"))
}

fn take(prompt: &mut Prompt, content: Content) {
    let blocks = match content {
        Content::Text(text) => return prompt.text(text),
        Content::Blocks(blocks) => blocks,
    };
    // Earlier reasoning is no part of what the model reads again.
    for block in blocks.into_iter().filter(|block| block.kind != "thinking") {
        if let Some(text) = block.text {
            prompt.text(text);
        }
        if let Some(input) = block.input {
            prompt.text(input.to_string());
        }
        if let Some(content) = block.content {
            take(prompt, content);
        }
        let source = block.source.and_then(|source| source.data.or(source.url).or(source.file_id));
        if let Some(source) = source {
            prompt.image(&source);
        }
    }
}
