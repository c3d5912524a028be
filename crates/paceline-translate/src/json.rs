//! JSON to be written: what was only passed on is its own text still, in its own order.

use std::borrow::Cow;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    /// As it was read. It may hold line feeds: not for the events of a stream.
    Raw(&'a RawValue),
    /// Read from within a string.
    Owned(Box<RawValue>),
    List(Vec<Json<'a>>),
    Object(Vec<(&'static str, Json<'a>)>),
}

/// An object of these fields, in this order.
pub(crate) fn object<'a, const N: usize>(fields: [(&'static str, Json<'a>); N]) -> Json<'a> {
    Json::Object(Vec::from(fields))
}

/// `{"type": kind, ...}`.
pub(crate) fn typed<'a, const N: usize>(
    kind: &'static str,
    fields: [(&'static str, Json<'a>); N],
) -> Json<'a> {
    let mut all = Vec::with_capacity(N + 1);
    all.push(("type", Json::from(kind)));
    all.extend(fields);
    Json::Object(all)
}

impl Json<'_> {
    /// Appends its text.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        // Writing into memory does not fail, and no key is anything but a string.
        let written = serde_json::to_writer(out, self);
        debug_assert!(written.is_ok());
    }

    /// Its text.
    pub(crate) fn into_body(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Json<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Json<'_> {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<bool> for Json<'_> {
    fn from(yes: bool) -> Self {
        Self::Bool(yes)
    }
}

impl<'a> From<&'a RawValue> for Json<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self::Raw(raw)
    }
}

impl<'a> From<Vec<Json<'a>>> for Json<'a> {
    fn from(items: Vec<Json<'a>>) -> Self {
        Self::List(items)
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(yes) => serializer.serialize_bool(*yes),
            Self::Int(n) => serializer.serialize_i64(*n),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Owned(raw) => raw.serialize(serializer),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_on_is_as_it_was() {
        let raw: &RawValue = serde_json::from_str(r#"{"z": 1.0, "a": 1e400}"#).unwrap();
        let written =
            typed("t", [("raw", raw.into()), ("list", vec![Json::Null, 7.into(), true.into()].into())]);
        assert_eq!(
            String::from_utf8(written.into_body()).unwrap(),
            r#"{"type":"t","raw":{"z": 1.0, "a": 1e400},"list":[null,7,true]}"#
        );
    }
}
