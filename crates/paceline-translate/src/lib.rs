//! One protocol's requests, answers and streams in the words of another: OpenAI chat and Anthropic messages, both ways.
//! No sockets: bytes in, bytes out.

use paceline_wire::Protocol;

/// A request of a `client` protocol can be put to an upstream that speaks another one.
#[must_use]
pub const fn can_translate(client: Protocol, upstream: Protocol) -> bool {
    matches!(
        (client, upstream),
        (Protocol::OpenaiChat, Protocol::AnthropicMessages)
            | (Protocol::AnthropicMessages, Protocol::OpenaiChat)
    )
}

/// What cannot be said in the other protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Untranslatable(pub String);
