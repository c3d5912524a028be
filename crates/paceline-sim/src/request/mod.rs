//! What a request asks for: the parts of each protocol's request bodies that this engine honours.

mod anthropic;
mod embeddings;
mod openai;
mod prompt;
mod responses;

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;

use crate::config::{MAX_OUTPUT_TOKENS, SimConfig};
use crate::error::{ApiError, ErrorShape};

pub(crate) use prompt::Prompt;

/// Which API is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Chat,
    Completions,
    Responses,
    Messages,
    Embeddings,
}

impl Protocol {
    pub(crate) const ALL: [Self; 5] =
        [Self::Chat, Self::Completions, Self::Responses, Self::Messages, Self::Embeddings];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::Embeddings => "/v1/embeddings",
        }
    }

    pub(crate) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.path() == path)
    }

    /// The name, as in rows and runs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Completions => "openai-completions",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic-messages",
            Self::Embeddings => "openai-embeddings",
        }
    }

    pub(crate) fn id(self, number: u64) -> String {
        let prefix = match self {
            Self::Chat => "chatcmpl",
            Self::Completions => "cmpl",
            Self::Responses => "resp",
            Self::Messages => "msg",
            Self::Embeddings => "embd",
        };
        format!("{prefix}-sim-{number}")
    }

    pub(crate) fn error_shape(self) -> ErrorShape {
        if self == Self::Messages { ErrorShape::Anthropic } else { ErrorShape::OpenAi }
    }
}

/// A request that is whole and makes sense.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) protocol: Protocol,
    pub(crate) model: String,
    pub(crate) streaming: bool,
    pub(crate) include_usage: bool,
    /// vLLM's `continuous_usage_stats`: usage in every event.
    pub(crate) usage_each: bool,
    pub(crate) max_tokens: Option<u64>,
    /// vLLM's `min_tokens`: the answer has no fewer, and no more than `max_tokens`.
    pub(crate) min_tokens: u64,
    /// vLLM's `ignore_eos`: the answer runs to the limit.
    pub(crate) ignore_eos: bool,
    /// vLLM's `return_token_ids`.
    pub(crate) token_ids: bool,
    /// The log-probability of each token is wanted.
    pub(crate) logprobs: bool,
    /// Responses: reasoning is shown as a summary, as OpenAI does, not as text, as open models do.
    pub(crate) reasoning_summary: bool,
    /// As asked, for the answer to name.
    pub(crate) service_tier: Option<String>,
    /// The same: `fast` of Anthropic's API.
    pub(crate) speed: Option<String>,
    pub(crate) prompt: Prompt,
    pub(crate) embedding: Embedding,
}

/// What is wanted of an embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Embedding {
    /// Texts in the request.
    pub(crate) inputs: usize,
    pub(crate) dimensions: usize,
    pub(crate) base64: bool,
}

impl Call {
    /// A call with nothing asked but this.
    fn plain(protocol: Protocol, model: String, prompt: Prompt) -> Self {
        Self {
            protocol,
            model,
            streaming: false,
            include_usage: false,
            usage_each: false,
            max_tokens: None,
            min_tokens: 0,
            ignore_eos: false,
            token_ids: false,
            logprobs: false,
            reasoning_summary: false,
            service_tier: None,
            speed: None,
            prompt,
            embedding: Embedding::default(),
        }
    }
}

/// Reads a request body.
pub(crate) fn parse(protocol: Protocol, body: &[u8], config: &SimConfig) -> Result<Call, ApiError> {
    match protocol {
        Protocol::Chat | Protocol::Completions => openai::parse(protocol, body, config),
        Protocol::Responses => responses::parse(body, config),
        Protocol::Messages => anthropic::parse(body, config),
        Protocol::Embeddings => embeddings::parse(body, config),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let parsed: Result<T, _> = serde_path_to_error::deserialize(&mut reader);
    let parsed = parsed.map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!(" at `{path}`") };
        ApiError::invalid(None, format!("The request body cannot be read{place}: {}", error.inner()))
    })?;
    reader.end().map_err(|error| {
        ApiError::invalid(None, format!("The request body goes on after its JSON: {error}"))
    })?;
    Ok(parsed)
}

fn missing(field: &'static str) -> ApiError {
    ApiError::invalid(Some(field), format!("Missing required parameter: '{field}'."))
}

fn known_model(asked: Option<&String>, models: &[String]) -> Result<String, ApiError> {
    let asked = asked.ok_or_else(|| missing("model"))?;
    if models.contains(asked) {
        return Ok(asked.clone());
    }
    let message = format!("The model `{asked}` does not exist. This engine has: {}.", models.join(", "));
    let mut error = ApiError::new(404, "invalid_request_error", "model_not_found", message);
    error.param = Some("model");
    Err(error)
}

fn checked_limit(field: &'static str, limit: Option<u64>) -> Result<Option<u64>, ApiError> {
    if let Some(limit) = limit.filter(|limit| !(1..=MAX_OUTPUT_TOKENS).contains(limit)) {
        return Err(ApiError::invalid(
            Some(field),
            format!("{field} is {limit}, and must be from 1 to {MAX_OUTPUT_TOKENS}."),
        ));
    }
    Ok(limit)
}

fn checked_min(min_tokens: Option<u64>, limit: Option<u64>) -> Result<u64, ApiError> {
    let min_tokens = min_tokens.unwrap_or(0);
    if min_tokens > limit.unwrap_or(MAX_OUTPUT_TOKENS) {
        let message = format!("min_tokens is {min_tokens}, and may not be more than the answer's limit.");
        return Err(ApiError::invalid(Some("min_tokens"), message));
    }
    Ok(min_tokens)
}
