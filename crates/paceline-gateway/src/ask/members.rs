//! Where the members of a JSON object lie in its bytes, so that some can be read and changed, and the rest left alone.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One member of an object.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    /// Its name, without escapes.
    pub(crate) name: Cow<'a, str>,
    /// The name as it is written, quotes included.
    key: &'a RawValue,
    pub(crate) value: &'a RawValue,
}

/// The members of an object, in order; names may come more than once.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(pub(crate) Vec<Member<'a>>);

/// Where a member lies in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// The first byte of its name's quotes.
    pub(crate) start: usize,
    pub(crate) value: Range<usize>,
}

impl Members<'_> {
    /// Where each lies in `text`, out of which they were read.
    pub(crate) fn places(&self, text: &str) -> Vec<Place> {
        let offset = |part: &str| (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        self.0
            .iter()
            .map(|member| {
                let start = offset(member.value.get());
                Place {
                    name: member.name.clone().into_owned(),
                    start: offset(member.key.get()),
                    value: start..start + member.value.get().len(),
                }
            })
            .collect()
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            let name = name_of(key).map_err(serde::de::Error::custom)?;
            members.push(Member { name, key, value });
        }
        Ok(Members(members))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

fn name_of(key: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    let text = key.get();
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_where_they_lie() {
        let text = "{ \"a\" : 1 ,\n\"b\\u0063\":{\"d\":[2]}, \"é\":\"x\"}";
        let members: Members<'_> = serde_json::from_str(text).unwrap();
        let places = members.places(text);
        let seen: Vec<_> = places
            .iter()
            .map(|place| {
                (place.name.as_str(), &text[place.start..place.value.start], &text[place.value.clone()])
            })
            .collect();
        assert_eq!(
            seen,
            [("a", "\"a\" : ", "1"), ("bc", "\"b\\u0063\":", "{\"d\":[2]}"), ("é", "\"é\":", "\"x\"")]
        );
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in ["[]", "1", "{\"a\":}", "{\"a\":1", "{\"a\":1} x", "{a:1}", "{\"\\ud800\":1}"] {
            assert!(serde_json::from_str::<Members<'_>>(text).is_err(), "{text}");
        }
    }
}
