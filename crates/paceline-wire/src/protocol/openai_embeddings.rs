//! OpenAI embeddings: a list of vectors, as numbers or as base64. They are no tokens, and there is no stream of them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::errors::{foreign_error, message, reported, unnamed};
use super::json::Text;
use super::usage::{self, Usage};
use super::{Document, Generated};

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    object: Text<'a>,
    #[serde(default)]
    data: Vectors,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// The text of an `object: error`.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Reads an answer. It is one event, of no text.
pub(super) fn read<'a>(json: &'a str, out: &mut Generated<'_>) -> Result<Document<'a>, serde_json::Error> {
    let answer = serde_json::from_str::<Answer<'a>>(json)?;
    let mut document = Document { error: answer.error(json), ..Document::default() };
    if document.error.is_none() && answer.data.0 > 0 {
        out.embeddings();
        document.finish_reason = Text(Cow::Borrowed("completed"));
    }
    // Some servers count zero generated tokens; there is nothing to count.
    document.usage = answer.usage.and_then(usage::openai).map(Usage::without_output);
    document.id = answer.id;
    document.model = answer.model;
    Ok(document)
}

impl Answer<'_> {
    fn error(&self, json: &str) -> Option<String> {
        if let Some(error) = reported(self.error) {
            return Some(error);
        }
        if self.object.0 == "error" {
            return Some(self.message.map_or_else(unnamed, message));
        }
        if self.data.0 == 0 { foreign_error(json) } else { None }
    }
}

/// How many vectors of a list have anything in them.
#[derive(Default)]
struct Vectors(u64);

struct VectorsVisitor;

impl<'de> Visitor<'de> for VectorsVisitor {
    type Value = Vectors;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of embeddings or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Vectors(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut count = 0;
        while let Some(item) = items.next_element::<Item>()? {
            count += u64::from(item.embedding.0);
        }
        Ok(Vectors(count))
    }
}

impl<'de> Deserialize<'de> for Vectors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorsVisitor)
    }
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    embedding: Filled,
}

/// A vector has numbers, or base64.
#[derive(Default)]
struct Filled(bool);

struct FilledVisitor;

impl<'de> Visitor<'de> for FilledVisitor {
    type Value = Filled;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, base64 or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Filled(false))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Filled(!text.is_empty()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut filled = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Filled(filled))
    }
}

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FilledVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_vectors_with_something_in_them_count() {
        for (json, count) in [
            (r#"[{"index":0,"embedding":[0.1,-2]},{"embedding":"AAAA","object":"embedding"}]"#, Some(2)),
            (r#"[{"embedding":[]},{"embedding":""},{"embedding":null},{}]"#, Some(0)),
            ("[]", Some(0)),
            ("null", Some(0)),
            ("[7]", None),
            (r#"[{"embedding":7}]"#, None),
        ] {
            assert_eq!(serde_json::from_str::<Vectors>(json).ok().map(|vectors| vectors.0), count, "{json}");
        }
    }
}
