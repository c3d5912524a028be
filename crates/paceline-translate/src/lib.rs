//! One protocol's requests, answers and streams in the words of another: OpenAI chat and Anthropic messages, both ways.
//! No sockets: bytes in, bytes out. `docs/reference/translation.md` says of each field what becomes of it.

mod calls;
mod fields;
mod finish;
mod images;
mod json;
mod request_fields;
mod request_to_chat;
mod request_to_messages;
mod response_to_chat;
mod response_to_messages;
mod sse;
mod stream;
mod stream_to_chat;
mod stream_to_messages;
mod talk_to_chat;
mod talk_to_messages;
mod thinking;
mod tools;
mod usage;

use paceline_wire::Protocol;

use fields::Fields;
pub use stream::StreamTranslator;

/// A request of a `client` protocol can be put to an upstream that speaks another one.
#[must_use]
pub const fn can_translate(client: Protocol, upstream: Protocol) -> bool {
    matches!(
        (client, upstream),
        (Protocol::OpenaiChat, Protocol::AnthropicMessages)
            | (Protocol::AnthropicMessages, Protocol::OpenaiChat)
    )
}

/// What cannot be said in the other protocol. The text is for whoever asked, and names the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Untranslatable(pub String);

impl Untranslatable {
    /// `at` is a field, by its path; `why` is what is the matter with it.
    pub(crate) fn at(at: &str, why: &str) -> Self {
        Self(if at.is_empty() { why.to_owned() } else { format!("{at}: {why}") })
    }

    fn no_pair(client: Protocol, upstream: Protocol) -> Self {
        Self(format!("{} is not translated into {}", client.name(), upstream.name()))
    }
}

/// A request: the whole body of a `client` protocol in the `upstream`'s, for the model of that name. The gateway's own
/// fields are left out.
///
/// # Errors
/// The body is not what its protocol says, or asks for something that the upstream's has no word for.
pub fn request(
    client: Protocol,
    upstream: Protocol,
    body: &[u8],
    upstream_model: &str,
) -> Result<Vec<u8>, Untranslatable> {
    let asked = Fields::of_body(body)?;
    match (client, upstream) {
        (Protocol::OpenaiChat, Protocol::AnthropicMessages) => {
            request_to_messages::write(&asked, upstream_model)
        }
        (Protocol::AnthropicMessages, Protocol::OpenaiChat) => request_to_chat::write(&asked, upstream_model),
        _ => Err(Untranslatable::no_pair(client, upstream)),
    }
}

/// A whole answer of an `upstream` protocol in the `client`'s.
///
/// # Errors
/// The body is no answer of its protocol.
pub fn response(client: Protocol, upstream: Protocol, body: &[u8]) -> Result<Vec<u8>, Untranslatable> {
    let answer = Fields::of_body(body)?;
    match (client, upstream) {
        (Protocol::OpenaiChat, Protocol::AnthropicMessages) => response_to_chat::write(&answer),
        (Protocol::AnthropicMessages, Protocol::OpenaiChat) => response_to_messages::write(&answer),
        _ => Err(Untranslatable::no_pair(client, upstream)),
    }
}
