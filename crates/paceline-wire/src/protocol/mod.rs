//! The protocols: what one JSON document of a response says.

mod anthropic_messages;
mod errors;
mod json;
mod openai;
mod openai_chat;
mod openai_completions;
mod openai_embeddings;
mod openai_responses;
mod usage;

pub use errors::server_message;
pub(crate) use json::Text;
pub(crate) use openai_responses::Pieces;
pub(crate) use usage::Usage;

use serde_json::value::RawValue;

use openai::Envelope;

use crate::record::KIND_EMBEDDING;
use crate::stretches::Stretches;

/// A protocol that an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `/v1/chat/completions`.
    OpenaiChat,
    /// `/v1/completions`.
    OpenaiCompletions,
    /// `/v1/responses`.
    OpenaiResponses,
    /// `/v1/embeddings`, which has no streams.
    OpenaiEmbeddings,
    /// `/v1/messages`.
    AnthropicMessages,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 5] = [
        Self::OpenaiChat,
        Self::OpenaiCompletions,
        Self::OpenaiResponses,
        Self::OpenaiEmbeddings,
        Self::AnthropicMessages,
    ];

    /// The protocol of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// The name in specifications and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiCompletions => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiEmbeddings => "openai-embeddings",
            Self::AnthropicMessages => "anthropic-messages",
        }
    }

    /// The end of its path, after a base URL such as `https://host/v1`.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::OpenaiChat => "/chat/completions",
            Self::OpenaiCompletions => "/completions",
            Self::OpenaiResponses => "/responses",
            Self::OpenaiEmbeddings => "/embeddings",
            Self::AnthropicMessages => "/messages",
        }
    }

    /// A response can be a stream.
    #[must_use]
    pub const fn streams(self) -> bool {
        !matches!(self, Self::OpenaiEmbeddings)
    }

    /// Reads one document, and hands what was generated to `generated`, unless the document reports an error.
    pub(crate) fn read<'a>(
        self,
        json: &'a str,
        form: Form,
        generated: &mut Generated<'_>,
    ) -> Result<Document<'a>, serde_json::Error> {
        match self {
            Self::OpenaiChat => serde_json::from_str::<Envelope<'a, openai_chat::Choice<'a>>>(json)?
                .read(json, form, generated),
            Self::OpenaiCompletions => {
                serde_json::from_str::<Envelope<'a, openai_completions::Choice<'a>>>(json)?
                    .read(json, form, generated)
            }
            Self::OpenaiResponses => openai_responses::read(json, form, generated),
            Self::OpenaiEmbeddings => openai_embeddings::read(json, generated),
            Self::AnthropicMessages => anthropic_messages::read(json, form, generated),
        }
    }
}

/// Which kind of document it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One event of a stream.
    Event,
    /// A whole response.
    Whole,
}

/// What one document says, but for the text.
#[derive(Debug, Default)]
pub(crate) struct Document<'a> {
    pub(crate) id: Text<'a>,
    pub(crate) model: Text<'a>,
    pub(crate) finish_reason: Text<'a>,
    /// Boxed, since it is rare and documents are moved about.
    pub(crate) usage: Option<Box<Usage>>,
    pub(crate) timings: Option<&'a RawValue>,
    /// An error that the document reports.
    pub(crate) error: Option<String>,
    /// Tokens that it lists, as ids or as log probabilities.
    pub(crate) listed_tokens: Option<u32>,
    /// It has part in another choice than the first.
    pub(crate) other_choice: bool,
    /// It is the protocol's end marker.
    pub(crate) end: bool,
}

/// Takes the generated text of one document.
#[derive(Debug)]
pub(crate) struct Generated<'t> {
    /// Where the text is kept, if it is.
    keep: Option<(&'t mut String, &'t mut Stretches)>,
    /// Bytes taken.
    pub(crate) bytes: usize,
    /// What was taken, `KIND_*` bits; none: nothing.
    pub(crate) kinds: u8,
    /// What has come in pieces so far, of this document and of those before it.
    pieces: &'t mut Pieces,
}

impl<'t> Generated<'t> {
    /// `keep`: where to append the text. `pieces`: of the same response.
    pub(crate) fn new(keep: Option<(&'t mut String, &'t mut Stretches)>, pieces: &'t mut Pieces) -> Self {
        Self { keep, bytes: 0, kinds: 0, pieces }
    }

    /// There are embeddings.
    fn embeddings(&mut self) {
        self.kinds |= KIND_EMBEDDING;
    }

    #[inline]
    fn add(&mut self, kind: u8, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.kinds |= kind;
        self.bytes += piece.len();
        if let Some((text, stretches)) = &mut self.keep {
            text.push_str(piece);
            stretches.extend(kind, text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::from_name(protocol.name()), Some(protocol));
        }
        assert_eq!(Protocol::from_name("openai"), None);
    }
}
