//! JSON types that read what servers really send without building values of what is not needed.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string, borrowed where it has no escapes; `null` reads as empty.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or null")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A message's content: a string, `null`, or parts of which some are reasoning, as Mistral's endpoints send them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    /// The answer.
    Plain(Text<'a>),
    /// Boxed, since it is rare and contents are moved about.
    Parts(Box<Parts>),
}

/// The parts of a content, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) thinking: String,
    pub(crate) answer: String,
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Plain(Text::default())
    }
}

impl Content<'_> {
    fn answer(&self) -> &str {
        match self {
            Self::Plain(text) => &text.0,
            Self::Parts(parts) => &parts.answer,
        }
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Content<'a>,
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, null or a list of parts")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        TextVisitor.visit_borrowed_str(text).map(Content::Plain)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        TextVisitor.visit_str(text).map(Content::Plain)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut sum = Box::<Parts>::default();
        while let Some(part) = parts.next_element::<Part<'de>>()? {
            sum.answer.push_str(&part.text.0);
            // A thinking part holds text parts of its own.
            sum.thinking.push_str(part.thinking.answer());
        }
        Ok(Content::Parts(sum))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// More items than any list of choices, calls or blocks has. An item may be a hundred times as large as its text.
const MAX_ITEMS: usize = 1 << 16;

/// A list of which almost always no more than one item is there: that one needs no allocation. `null` reads as empty.
#[derive(Debug)]
pub(crate) struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> Few<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Few::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut few = Few { first: items.next_element()?, rest: Vec::new() };
        if few.first.is_some() {
            while let Some(item) = items.next_element()? {
                if few.rest.len() + 1 == MAX_ITEMS {
                    return Err(Error::custom(format!("a list of more than {MAX_ITEMS} items")));
                }
                few.rest.push(item);
            }
        }
        Ok(few)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor(PhantomData))
    }
}

/// The length of a list, none for `null`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u32>);

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Count(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut count = 0_u32;
        while items.next_element::<IgnoredAny>()?.is_some() {
            count = count.saturating_add(1);
        }
        Ok(Count(Some(count)))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

/// More tokens than any context holds: a larger number is no count.
const MAX_TOKENS: i64 = 100_000_000;

/// A number of tokens: an integer, also one written as a float; none for `null`, for what is out of range, and for
/// what is no number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tokens(pub(crate) Option<i64>);

struct TokensVisitor;

impl<'de> Visitor<'de> for TokensVisitor {
    type Value = Tokens;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens or null")
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<Self::Value, E> {
        Ok(Tokens(Some(n).filter(|n| (0..=MAX_TOKENS).contains(n))))
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<Self::Value, E> {
        i64::try_from(n).map_or(Ok(Tokens(None)), |n| self.visit_i64(n))
    }

    #[expect(clippy::cast_possible_truncation, reason = "a whole number of this range is exact")]
    fn visit_f64<E: Error>(self, n: f64) -> Result<Self::Value, E> {
        if n.fract() == 0.0 && n.abs() < 9e15 { self.visit_i64(n as i64) } else { Ok(Tokens(None)) }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Tokens(None))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Tokens(None))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Tokens(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Tokens(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Tokens(None))
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokensVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_borrowed_unless_escaped() {
        assert!(matches!(serde_json::from_str("\"ab\"").unwrap(), Text(Cow::Borrowed("ab"))));
        assert!(
            matches!(serde_json::from_str::<Text>("\"a\\nb\"").unwrap(), Text(Cow::Owned(s)) if s == "a\nb")
        );
        assert_eq!(serde_json::from_str::<Text>("null").unwrap(), Text::default());
        assert!(serde_json::from_str::<Text>("1").is_err());
    }

    #[test]
    fn content_parts_are_told_apart() {
        let json =
            r#"[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]"#;
        let parts = Parts { thinking: "hm".into(), answer: "yes".into() };
        assert_eq!(serde_json::from_str::<Content>(json).unwrap(), Content::Parts(Box::new(parts)));
        assert_eq!(serde_json::from_str::<Content>("null").unwrap(), Content::default());
    }

    #[test]
    fn few_keeps_the_order() {
        let few: Few<u8> = serde_json::from_str("[1,2,3]").unwrap();
        assert_eq!(few.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(serde_json::from_str::<Few<u8>>("null").unwrap().iter().count(), 0);
        assert_eq!(serde_json::from_str::<Few<u8>>("[]").unwrap().iter().count(), 0);
        let list = |items: usize| format!("[{}0]", "0,".repeat(items));
        assert_eq!(serde_json::from_str::<Few<u8>>(&list(MAX_ITEMS - 1)).unwrap().iter().count(), MAX_ITEMS);
        assert!(serde_json::from_str::<Few<u8>>(&list(MAX_ITEMS)).unwrap_err().is_data());
    }

    #[test]
    fn counts_and_numbers() {
        assert_eq!(serde_json::from_str::<Count>("[1,{},[2]]").unwrap(), Count(Some(3)));
        assert_eq!(serde_json::from_str::<Count>("null").unwrap(), Count(None));
        for (json, n) in [
            ("3", Some(3)),
            ("-3", None),
            ("100000001", None),
            ("\"3\"", None),
            ("true", None),
            ("[3]", None),
            ("{\"n\":3}", None),
            ("3.0", Some(3)),
            ("3.5", None),
            ("1e300", None),
            ("null", None),
        ] {
            assert_eq!(serde_json::from_str::<Tokens>(json).unwrap(), Tokens(n), "{json}");
        }
        assert_eq!(serde_json::from_str::<Tokens>("18446744073709551615").unwrap(), Tokens(None));
    }
}
