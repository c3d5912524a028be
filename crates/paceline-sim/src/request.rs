//! What a request asks for: the parts of OpenAI's request bodies that this engine honours.

use serde::Deserialize;

use crate::config::MAX_OUTPUT_TOKENS;
use crate::error::ApiError;
use crate::text::mix;

/// Which of the two APIs is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Chat,
    Completions,
}

impl Protocol {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }

    pub(crate) fn id(self, number: u64) -> String {
        match self {
            Self::Chat => format!("chatcmpl-sim-{number}"),
            Self::Completions => format!("cmpl-sim-{number}"),
        }
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
    /// vLLM's `ignore_eos`: the answer runs to the limit.
    pub(crate) ignore_eos: bool,
    /// vLLM's `return_token_ids`.
    pub(crate) token_ids: bool,
    pub(crate) prompt: Prompt,
}

/// A prompt: texts, of which each word is a token, or token ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Prompt {
    texts: Vec<String>,
    ids: Vec<u64>,
}

impl Prompt {
    pub(crate) fn tokens(&self) -> u64 {
        let words: usize = self.texts.iter().map(|text| text.split_whitespace().count()).sum();
        (words + self.ids.len()) as u64
    }

    /// One hash for each whole block of `block` tokens, of all the prompt up to the block's end.
    pub(crate) fn prefix_hashes(&self, block: usize) -> Vec<u64> {
        let words = self.texts.iter().flat_map(|text| text.split_whitespace()).map(hash_word);
        let mut hashes = Vec::new();
        let mut hash = 0;
        for (place, token) in words.chain(self.ids.iter().map(|id| mix(1, *id))).enumerate() {
            hash = mix(hash, token);
            if (place + 1) % block == 0 {
                hashes.push(hash);
            }
        }
        hashes
    }
}

/// FNV-1a, 64 bits.
fn hash_word(word: &str) -> u64 {
    word.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    messages: Option<Vec<Message>>,
    prompt: Option<PromptField>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    ignore_eos: Option<bool>,
    return_token_ids: Option<bool>,
    n: Option<u64>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
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
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PromptField {
    Text(String),
    Ids(Vec<u64>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u64>>),
}

/// Reads a request body.
pub(crate) fn parse(protocol: Protocol, body: &[u8], models: &[String]) -> Result<Call, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let parsed: Result<Body, _> = serde_path_to_error::deserialize(&mut reader);
    let body = parsed.map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!(" at `{path}`") };
        ApiError::invalid(None, format!("The request body cannot be read{place}: {}", error.inner()))
    })?;
    reader.end().map_err(|error| {
        ApiError::invalid(None, format!("The request body goes on after its JSON: {error}"))
    })?;
    let model = model(body.model, models)?;
    let (field, limit) = match body.max_completion_tokens {
        Some(limit) => ("max_completion_tokens", Some(limit)),
        None => ("max_tokens", body.max_tokens),
    };
    if let Some(limit) = limit.filter(|limit| !(1..=MAX_OUTPUT_TOKENS).contains(limit)) {
        return Err(ApiError::invalid(
            Some(field),
            format!("{field} is {limit}, and must be from 1 to {MAX_OUTPUT_TOKENS}."),
        ));
    }
    if body.n.is_some_and(|n| n != 1) {
        return Err(ApiError::invalid(Some("n"), "This engine gives one answer a request: n must be 1."));
    }
    let prompt = match protocol {
        Protocol::Chat => chat_prompt(body.messages)?,
        Protocol::Completions => completions_prompt(body.prompt)?,
    };
    let options = body.stream_options;
    Ok(Call {
        protocol,
        model,
        streaming: body.stream.unwrap_or(false),
        include_usage: options.as_ref().and_then(|options| options.include_usage).unwrap_or(false),
        usage_each: options.and_then(|options| options.continuous_usage_stats).unwrap_or(false),
        max_tokens: limit,
        ignore_eos: body.ignore_eos.unwrap_or(false),
        token_ids: body.return_token_ids.unwrap_or(false),
        prompt,
    })
}

fn missing(field: &'static str) -> ApiError {
    ApiError::invalid(Some(field), format!("Missing required parameter: '{field}'."))
}

fn model(asked: Option<String>, models: &[String]) -> Result<String, ApiError> {
    let asked = asked.ok_or_else(|| missing("model"))?;
    if models.contains(&asked) {
        return Ok(asked);
    }
    let message = format!("The model `{asked}` does not exist. This engine has: {}.", models.join(", "));
    let mut error = ApiError::new(404, "invalid_request_error", "model_not_found", message);
    error.param = Some("model");
    Err(error)
}

fn chat_prompt(messages: Option<Vec<Message>>) -> Result<Prompt, ApiError> {
    let messages = messages.ok_or_else(|| missing("messages"))?;
    if messages.is_empty() {
        return Err(ApiError::invalid(Some("messages"), "messages must hold at least one message."));
    }
    let mut texts = Vec::with_capacity(messages.len());
    for message in messages {
        match message.content {
            Some(Content::Text(text)) => texts.push(text),
            Some(Content::Parts(parts)) => texts.extend(parts.into_iter().filter_map(|part| part.text)),
            None => {}
        }
    }
    Ok(Prompt { texts, ids: Vec::new() })
}

fn completions_prompt(prompt: Option<PromptField>) -> Result<Prompt, ApiError> {
    let several = || ApiError::invalid(Some("prompt"), "This engine takes one prompt a request.");
    match prompt.ok_or_else(|| missing("prompt"))? {
        PromptField::Text(text) => Ok(Prompt { texts: vec![text], ids: Vec::new() }),
        PromptField::Ids(ids) => Ok(Prompt { texts: Vec::new(), ids }),
        PromptField::Texts(texts) if texts.len() == 1 => Ok(Prompt { texts, ids: Vec::new() }),
        PromptField::IdLists(lists) if lists.len() == 1 => {
            Ok(Prompt { texts: Vec::new(), ids: lists.into_iter().flatten().collect() })
        }
        PromptField::Texts(_) | PromptField::IdLists(_) => Err(several()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(body: &str) -> Result<Call, ApiError> {
        parse(Protocol::Chat, body.as_bytes(), &["truth".to_owned(), "other".to_owned()])
    }

    fn completions(body: &str) -> Result<Call, ApiError> {
        parse(Protocol::Completions, body.as_bytes(), &["truth".to_owned()])
    }

    #[test]
    fn what_is_asked_is_read() {
        let call = chat(
            r#"{"model": "other", "stream": true, "max_tokens": 9, "max_completion_tokens": 5, "temperature": 0,
                "stream_options": {"include_usage": true, "continuous_usage_stats": true}, "ignore_eos": true,
                "messages": [{"role": "system", "content": "Be  brief."}, {"role": "assistant", "content": null},
                             {"role": "user", "content": [{"type": "text", "text": "one two"}, {"type": "image_url"}]}]}"#,
        )
        .unwrap();
        assert_eq!((call.model.as_str(), call.streaming, call.max_tokens), ("other", true, Some(5)));
        assert!(call.include_usage && call.usage_each && call.ignore_eos && !call.token_ids);
        assert_eq!(call.prompt.tokens(), 4);
    }

    #[test]
    fn each_form_of_a_prompt_is_counted() {
        for (prompt, tokens) in
            [(r#""a b c""#, 3), (r#"["a b"]"#, 2), ("[1, 2, 3, 4]", 4), ("[[5, 6]]", 2), ("[]", 0)]
        {
            let call = completions(&format!(r#"{{"model": "truth", "prompt": {prompt}}}"#)).unwrap();
            assert_eq!(call.prompt.tokens(), tokens, "{prompt}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, status, names) in [
            ("", 400, "EOF"),
            ("[1", 400, "cannot be read"),
            (r#"{"model": "truth", "messages": [{"content": "x"}]} {}"#, 400, "goes on"),
            (r#"{"messages": [{"content": "x"}]}"#, 400, "'model'"),
            (r#"{"model": "gone", "messages": [{"content": "x"}]}"#, 404, "truth, other"),
            (r#"{"model": "truth"}"#, 400, "'messages'"),
            (r#"{"model": "truth", "messages": []}"#, 400, "messages"),
            (r#"{"model": "truth", "messages": "x"}"#, 400, "messages"),
            (r#"{"model": "truth", "messages": [{"content": 7}]}"#, 400, "messages[0].content"),
            (r#"{"model": "truth", "messages": [{"content": "x"}], "max_tokens": 0}"#, 400, "max_tokens"),
            (r#"{"model": "truth", "messages": [{"content": "x"}], "max_tokens": -1}"#, 400, "max_tokens"),
            (r#"{"model": "truth", "messages": [{"content": "x"}], "stream": "yes"}"#, 400, "stream"),
            (r#"{"model": "truth", "messages": [{"content": "x"}], "n": 2}"#, 400, "n must be 1"),
        ] {
            let error = chat(body).unwrap_err();
            assert_eq!(error.status, status, "{body}");
            assert!(error.message.contains(names), "{body}: {}", error.message);
        }
        for prompt in [r#"["a", "b"]"#, "[[1], [2]]"] {
            let error = completions(&format!(r#"{{"model": "truth", "prompt": {prompt}}}"#)).unwrap_err();
            assert_eq!((error.status, error.param), (400, Some("prompt")));
        }
        assert_eq!(completions(r#"{"model": "truth"}"#).unwrap_err().param, Some("prompt"));
    }

    #[test]
    fn prompts_share_the_hashes_of_the_blocks_that_they_share() {
        let prompt = |text: &str| Prompt { texts: vec![text.to_owned()], ids: Vec::new() };
        let one = prompt("a b c d e f g h i").prefix_hashes(4);
        let two = prompt("a b c d e f X h i j k l m").prefix_hashes(4);
        assert_eq!((one.len(), two.len()), (2, 3));
        assert_eq!(one[0], two[0]);
        assert_ne!(one[1], two[1]);
        assert_ne!(prompt("b b c d").prefix_hashes(4)[0], one[0]);
    }
}
