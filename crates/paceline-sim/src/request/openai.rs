//! Bodies of OpenAI's chat completions and completions.

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
    messages: Option<Vec<Message>>,
    prompt: Option<PromptField>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    return_token_ids: Option<bool>,
    logprobs: Option<Logprobs>,
    n: Option<u64>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// Chat asks by a yes, completions by how many alternatives are wanted.
#[derive(Deserialize)]
#[serde(untagged)]
enum Logprobs {
    Asked(bool),
    #[expect(dead_code, reason = "alternatives are never given, whatever their number")]
    Alternatives(u64),
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
struct ContentPart {
    text: Option<String>,
    image_url: Option<ImageUrl>,
}

#[derive(Deserialize)]
struct ImageUrl {
    url: String,
}

#[derive(Deserialize)]
struct ToolCall {
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    arguments: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PromptField {
    Text(String),
    Ids(Vec<u64>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u64>>),
}

pub(super) fn parse(protocol: Protocol, body: &[u8], config: &SimConfig) -> Result<Call, ApiError> {
    let body: Body = read(body)?;
    let model = known_model(body.model.as_ref(), &config.models)?;
    let limit = match body.max_completion_tokens {
        Some(limit) => checked_limit("max_completion_tokens", Some(limit))?,
        None => checked_limit("max_tokens", body.max_tokens)?,
    };
    if body.n.is_some_and(|n| n != 1) {
        return Err(ApiError::invalid(Some("n"), "This engine gives one answer a request: n must be 1."));
    }
    let mut prompt = Prompt::new(config.image_tokens);
    if protocol == Protocol::Chat {
        chat_prompt(&mut prompt, body.messages)?;
    } else {
        completions_prompt(&mut prompt, body.prompt)?;
    }
    let options = body.stream_options;
    Ok(Call {
        include_usage: options.as_ref().and_then(|options| options.include_usage).unwrap_or(false),
        usage_each: options.and_then(|options| options.continuous_usage_stats).unwrap_or(false),
        max_tokens: limit,
        min_tokens: checked_min(body.min_tokens, limit)?,
        ignore_eos: body.ignore_eos.unwrap_or(false),
        streaming: body.stream.unwrap_or(false),
        token_ids: body.return_token_ids.unwrap_or(false),
        logprobs: !matches!(body.logprobs, None | Some(Logprobs::Asked(false))),
        service_tier: body.service_tier,
        ..Call::plain(protocol, model, prompt)
    })
}

fn chat_prompt(prompt: &mut Prompt, messages: Option<Vec<Message>>) -> Result<(), ApiError> {
    let messages = messages.ok_or_else(|| missing("messages"))?;
    if messages.is_empty() {
        return Err(ApiError::invalid(Some("messages"), "messages must hold at least one message."));
    }
    for message in messages {
        match message.content {
            Some(Content::Text(text)) => prompt.text(text),
            Some(Content::Parts(parts)) => parts.into_iter().for_each(|part| take_part(prompt, part)),
            None => {}
        }
        let calls = message.tool_calls.into_iter().flatten().filter_map(|call| call.function?.arguments);
        calls.for_each(|arguments| prompt.text(arguments));
    }
    Ok(())
}

fn take_part(prompt: &mut Prompt, part: ContentPart) {
    if let Some(text) = part.text {
        prompt.text(text);
    }
    if let Some(image) = part.image_url {
        prompt.image(&image.url);
    }
}

fn completions_prompt(prompt: &mut Prompt, field: Option<PromptField>) -> Result<(), ApiError> {
    match field.ok_or_else(|| missing("prompt"))? {
        PromptField::Text(text) => prompt.text(text),
        PromptField::Ids(ids) => prompt.ids(ids),
        PromptField::Texts(texts) if texts.len() == 1 => {
            texts.into_iter().for_each(|text| prompt.text(text));
        }
        PromptField::IdLists(lists) if lists.len() == 1 => {
            lists.into_iter().for_each(|ids| prompt.ids(ids));
        }
        PromptField::Texts(_) | PromptField::IdLists(_) => {
            return Err(ApiError::invalid(Some("prompt"), "This engine takes one prompt a request."));
        }
    }
    Ok(())
}
