//! The prompt's text, in the order in which engines put it: system, tools, messages.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::prefix::Prefix;

/// What is known of a prompt.
#[derive(Debug)]
pub(super) struct Prompt {
    prefix: Prefix,
    images: u32,
    /// Sources that the present one lies in.
    inside: u32,
}

/// Sources lie in each other at most so deep; deeper, they count as images. Each begins a reading of its own, so the
/// reader's bound on depth does not see them.
const MAX_INSIDE: u32 = 2;

/// What a member of a message, or of a part of one, is to the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Text, or what holds some.
    Text,
    /// Arguments of a tool, which are text as JSON.
    Json,
    Image,
    /// Anthropic's: an image, a file, or a text document.
    Source,
    /// Sound or a file.
    Other,
    /// Names, ids and marks that are no text of the prompt.
    Apart,
}

impl Part {
    fn of(name: &str) -> Self {
        match name {
            "type" | "id" | "call_id" | "tool_call_id" | "tool_use_id" | "cache_control" | "signature"
            | "encrypted_content" | "status" | "detail" | "media_type" | "format" | "annotations" => {
                Self::Apart
            }
            "input" | "parameters" | "input_schema" => Self::Json,
            "image_url" => Self::Image,
            "source" => Self::Source,
            "input_audio" | "audio" | "file" | "file_data" | "file_id" | "file_url" | "video_url" => {
                Self::Other
            }
            _ => Self::Text,
        }
    }
}

impl Prompt {
    pub(super) const fn new() -> Self {
        Self { prefix: Prefix::new(), images: 0, inside: 0 }
    }

    /// Takes what holds text: a string, a message, a list of either.
    ///
    /// # Errors
    /// When it is nested too deeply.
    pub(super) fn text(&mut self, value: &RawValue) -> Result<(), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(value.get());
        Walk(self).deserialize(&mut reader)
    }

    /// Takes what goes into the prompt as JSON: the tools' definitions.
    pub(super) fn json(&mut self, value: &RawValue) {
        self.prefix.text(value.get().as_bytes());
    }

    /// Bytes of text, the hashes of its beginnings, and the count of images.
    pub(super) fn finish(self) -> (u64, Vec<u64>, u32) {
        let (bytes, hashes) = self.prefix.finish();
        (bytes, hashes, self.images)
    }

    fn image(&mut self, value: &RawValue) {
        if value.get() == "null" {
            return;
        }
        self.images = self.images.saturating_add(1);
        self.prefix.other(value.get().as_bytes());
    }

    fn source(&mut self, value: &RawValue) -> Result<(), serde_json::Error> {
        #[derive(serde::Deserialize)]
        struct Source<'a> {
            #[serde(borrow, default, rename = "type")]
            kind: Option<&'a RawValue>,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
            #[serde(borrow, default)]
            content: Option<&'a RawValue>,
        }
        let source =
            serde_json::from_str::<Source<'_>>(value.get()).ok().filter(|_| self.inside < MAX_INSIDE);
        self.inside += 1;
        let read =
            match source.as_ref().map(|source| (source.kind.map(RawValue::get), source.data, source.content))
            {
                Some((Some("\"text\""), Some(data), _)) => self.text(data),
                Some((Some("\"content\""), _, Some(content))) => self.text(content),
                _ => {
                    self.image(value);
                    Ok(())
                }
            };
        self.inside -= 1;
        read
    }
}

struct Walk<'p>(&'p mut Prompt);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.prefix.text(text.as_bytes());
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        // Completions and embeddings take tokens' ids in place of text.
        self.0.prefix.token(u32::try_from(number).unwrap_or(u32::MAX));
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(part) = members.next_key_seed(Name)? {
            match part {
                Part::Text => members.next_value_seed(Walk(&mut *self.0))?,
                Part::Json => self.0.json(members.next_value()?),
                Part::Image => self.0.image(members.next_value()?),
                Part::Source => self.0.source(members.next_value()?).map_err(Error::custom)?,
                Part::Other => self.0.prefix.other(members.next_value::<&RawValue>()?.get().as_bytes()),
                Part::Apart => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Part;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Part, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Part, E> {
        Ok(Part::of(name))
    }
}
