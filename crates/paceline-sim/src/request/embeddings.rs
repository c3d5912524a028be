//! Bodies of OpenAI's embeddings.

use serde::Deserialize;

use super::{Call, Embedding, Prompt, Protocol, known_model, missing, read};
use crate::config::{MAX_DIMENSIONS, SimConfig};
use crate::error::ApiError;

/// The most texts that one request may have, as in OpenAI's API.
const MAX_INPUTS: usize = 2_048;

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    input: Option<Input>,
    dimensions: Option<usize>,
    encoding_format: Option<Encoding>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Ids(Vec<u64>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u64>>),
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    Float,
    Base64,
}

pub(super) fn parse(body: &[u8], config: &SimConfig) -> Result<Call, ApiError> {
    let body: Body = read(body)?;
    let model = known_model(body.model.as_ref(), &config.models)?;
    let dimensions = body.dimensions.unwrap_or(config.embedding_dimensions);
    if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
        let message = format!("dimensions is {dimensions}, and must be from 1 to {MAX_DIMENSIONS}.");
        return Err(ApiError::invalid(Some("dimensions"), message));
    }
    let mut prompt = Prompt::new(config.image_tokens);
    let inputs = match body.input.ok_or_else(|| missing("input"))? {
        Input::Text(text) => {
            prompt.text(text);
            1
        }
        Input::Ids(ids) => {
            let inputs = usize::from(!ids.is_empty());
            prompt.ids(ids);
            inputs
        }
        Input::Texts(texts) => {
            let inputs = texts.len();
            texts.into_iter().for_each(|text| prompt.text(text));
            inputs
        }
        Input::IdLists(lists) => {
            let inputs = lists.len();
            lists.into_iter().for_each(|ids| prompt.ids(ids));
            inputs
        }
    };
    if !(1..=MAX_INPUTS).contains(&inputs) {
        let message = format!("input holds {inputs} texts, and must hold from 1 to {MAX_INPUTS}.");
        return Err(ApiError::invalid(Some("input"), message));
    }
    let base64 = body.encoding_format == Some(Encoding::Base64);
    Ok(Call {
        embedding: Embedding { inputs, dimensions, base64 },
        ..Call::plain(Protocol::Embeddings, model, prompt)
    })
}
