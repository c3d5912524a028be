//! A stream, event by event.

use paceline_wire::Protocol;

use crate::Untranslatable;
use crate::fields::Fields;
use crate::stream_to_chat::ToChat;
use crate::stream_to_messages::ToMessages;

/// Puts the events of one upstream's stream into the client's words.
#[derive(Debug)]
pub struct StreamTranslator {
    to: To,
}

#[derive(Debug)]
enum To {
    Chat(ToChat),
    Messages(ToMessages),
    Nothing(Protocol, Protocol),
}

impl StreamTranslator {
    /// A translator of a stream that has not begun. `usage_asked`: a chat client asked for a chunk with the usage; the
    /// messages protocol always has it.
    #[must_use]
    pub fn new(client: Protocol, upstream: Protocol, usage_asked: bool) -> Self {
        let to = match (client, upstream) {
            (Protocol::OpenaiChat, Protocol::AnthropicMessages) => To::Chat(ToChat::new(usage_asked)),
            (Protocol::AnthropicMessages, Protocol::OpenaiChat) => To::Messages(ToMessages::default()),
            _ => To::Nothing(client, upstream),
        };
        Self { to }
    }

    /// Takes the data of one event, and appends what the client is to get for it: no event, or some whole ones.
    ///
    /// Pings, errors and events of unknown types give none: whoever reads the stream sees an error in it, and ends the
    /// client's. What comes after the end is passed over.
    ///
    /// # Errors
    /// The event is not what its protocol says, or the two protocols are no pair.
    pub fn event(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Untranslatable> {
        let data = data.trim_ascii();
        if data.is_empty() || self.ended() {
            return Ok(());
        }
        if data == b"[DONE]" {
            match &mut self.to {
                To::Chat(to) => to.end(out),
                To::Messages(to) => to.end(out),
                To::Nothing(..) => {}
            }
            return Ok(());
        }
        let event = Fields::of_body(data).map_err(|why| Untranslatable(format!("event: {why}")))?;
        match &mut self.to {
            To::Chat(to) => to.event(&event, out),
            To::Messages(to) => to.event(&event, out),
            To::Nothing(client, upstream) => Err(Untranslatable::no_pair(*client, *upstream)),
        }
    }

    /// The upstream has said why the answer ended: all that it had to say has come.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        match &self.to {
            To::Chat(to) => to.has_stopped(),
            To::Messages(to) => to.has_stopped(),
            To::Nothing(..) => false,
        }
    }

    /// The client's end marker was written.
    #[must_use]
    pub fn ended(&self) -> bool {
        match &self.to {
            To::Chat(to) => to.ended(),
            To::Messages(to) => to.ended(),
            To::Nothing(..) => false,
        }
    }
}
