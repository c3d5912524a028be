//! Objects read field by field: the values stay text until somebody needs them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Untranslatable;

/// More tokens than any context holds: a larger number is no count.
const MAX_TOKENS: i64 = 100_000_000;
/// More items than any list of messages, parts or tools has: each takes many times the room of its text.
const MAX_ITEMS: usize = 1 << 16;

/// The fields of an object, in order.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((Key(name), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
            fields.push((name, value));
        }
        Ok(Fields(fields))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl<'a> Fields<'a> {
    /// The object that a body is.
    pub(crate) fn of_body(body: &'a [u8]) -> Result<Self, Untranslatable> {
        let text =
            std::str::from_utf8(body).map_err(|_| Untranslatable("the body is not UTF-8".to_owned()))?;
        serde_json::from_str(text)
            .map_err(|why| Untranslatable(format!("the body is no JSON object ({why})")))
    }

    /// The object at this place.
    pub(crate) fn of(raw: &'a RawValue, at: &str) -> Result<Self, Untranslatable> {
        serde_json::from_str(raw.get()).map_err(|_| Untranslatable::at(at, "this is no object"))
    }

    /// All that is there and not null. Of a name that is there twice the last counts, as it does for most readers.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, raw)| *raw).filter(|raw| !is_null(raw))
    }

    /// A text; none where it is not there.
    pub(crate) fn text(&self, name: &str, at: &str) -> Result<Option<Cow<'a, str>>, Untranslatable> {
        self.get(name).map(|raw| text(raw, &join(at, name))).transpose()
    }

    /// A text that has to be there.
    pub(crate) fn needed_text(&self, name: &str, at: &str) -> Result<Cow<'a, str>, Untranslatable> {
        self.text(name, at)?.ok_or_else(|| missing(&join(at, name)))
    }

    /// A list; empty where it is not there.
    pub(crate) fn list(&self, name: &str, at: &str) -> Result<Vec<&'a RawValue>, Untranslatable> {
        self.get(name).map_or_else(|| Ok(Vec::new()), |raw| list(raw, &join(at, name)))
    }

    /// An object; none where it is not there.
    pub(crate) fn object(&self, name: &str, at: &str) -> Result<Option<Self>, Untranslatable> {
        self.get(name).map(|raw| Self::of(raw, &join(at, name))).transpose()
    }

    /// Whether it is there and true.
    pub(crate) fn is_true(&self, name: &str, at: &str) -> Result<bool, Untranslatable> {
        Ok(self.truth(name, at)? == Some(true))
    }

    /// A truth value; none where it is not there.
    pub(crate) fn truth(&self, name: &str, at: &str) -> Result<Option<bool>, Untranslatable> {
        match self.get(name).map(RawValue::get) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Untranslatable::at(&join(at, name), "this is neither true nor false")),
        }
    }

    /// A number of tokens; none where it is not there, or is no such number.
    pub(crate) fn tokens(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(tokens)
    }

    /// It has an error, unless the field says that there is none.
    pub(crate) fn reports_error(&self) -> bool {
        self.get("error").is_some_and(|raw| !matches!(raw.get(), "\"\"" | "false" | "{}" | "[]"))
    }

    /// The names that are there with a value that is not null.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().filter(|(_, raw)| !is_null(raw)).map(|(name, raw)| (&**name, *raw))
    }
}

/// The path of a field of what stands at `at`.
pub(crate) fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

/// The error that a field is not there.
pub(crate) fn missing(at: &str) -> Untranslatable {
    Untranslatable::at(at, "this is missing")
}

pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

pub(crate) fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text at this place.
pub(crate) fn text<'a>(raw: &'a RawValue, at: &str) -> Result<Cow<'a, str>, Untranslatable> {
    serde_json::from_str::<Text<'a>>(raw.get())
        .map(|Text(text)| text)
        .map_err(|_| Untranslatable::at(at, "this is no text"))
}

/// The list at this place.
pub(crate) fn list<'a>(raw: &'a RawValue, at: &str) -> Result<Vec<&'a RawValue>, Untranslatable> {
    let items: Vec<&'a RawValue> =
        serde_json::from_str(raw.get()).map_err(|_| Untranslatable::at(at, "this is no list"))?;
    if items.len() > MAX_ITEMS {
        return Err(Untranslatable::at(at, &format!("this list has more than {MAX_ITEMS} items")));
    }
    Ok(items)
}

/// The number at this place.
pub(crate) fn number(raw: &RawValue, at: &str) -> Result<f64, Untranslatable> {
    serde_json::from_str(raw.get()).map_err(|_| Untranslatable::at(at, "this is no number"))
}

/// A count of tokens, also one that is written as 3.0.
#[expect(clippy::cast_possible_truncation, reason = "a whole number of this range is exact")]
fn tokens(raw: &RawValue) -> Option<i64> {
    let n = serde_json::from_str::<i64>(raw.get()).ok().or_else(|| {
        let n = serde_json::from_str::<f64>(raw.get()).ok()?;
        (n.fract() == 0.0 && n.abs() < 9e15).then_some(n as i64)
    })?;
    (0..=MAX_TOKENS).contains(&n).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_name_counts_and_null_is_absent() {
        let fields = Fields::of_body(br#"{"a":1,"b":null,"a":2,"\u0063":"x"}"#).unwrap();
        assert_eq!(fields.get("a").unwrap().get(), "2");
        assert!(fields.get("b").is_none());
        assert_eq!(fields.needed_text("c", "").unwrap(), "x");
        assert_eq!(fields.names().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "a", "c"]);
    }

    #[test]
    fn errors_name_the_place() {
        let fields = Fields::of_body(br#"{"a":1,"b":[1],"c":"x"}"#).unwrap();
        for (error, said) in [
            (fields.text("a", "m[0]").unwrap_err(), "m[0].a: this is no text"),
            (fields.list("a", "").unwrap_err(), "a: this is no list"),
            (fields.object("b", "").unwrap_err(), "b: this is no object"),
            (fields.is_true("c", "x").unwrap_err(), "x.c: this is neither true nor false"),
            (fields.needed_text("d", "x").unwrap_err(), "x.d: this is missing"),
        ] {
            assert_eq!(error.0, said);
        }
        assert_eq!(Fields::of_body(b"\xff").unwrap_err().0, "the body is not UTF-8");
        assert!(Fields::of_body(b"[]").unwrap_err().0.starts_with("the body is no JSON object"));
    }

    #[test]
    fn counts_are_read_as_the_observer_reads_them() {
        for (json, n) in [
            ("3", Some(3)),
            ("3.0", Some(3)),
            ("-3", None),
            ("3.5", None),
            ("1e300", None),
            ("\"3\"", None),
            ("100000001", None),
        ] {
            let body = format!("{{\"n\":{json}}}");
            assert_eq!(Fields::of_body(body.as_bytes()).unwrap().tokens("n"), n, "{json}");
        }
    }
}
