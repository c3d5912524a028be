//! Tool calls: their ids, and their arguments, a text in chat and an object in the messages protocol.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::json::Json;

/// An id that the messages protocol takes: letters, digits, `_` and `-`. The same id always becomes the same one, so
/// that a call and its result stay together.
pub(crate) fn messages_id(id: Cow<'_, str>) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(fits) {
        return id;
    }
    Cow::Owned(id.chars().map(|c| if fits(c) { c } else { '_' }).collect())
}

/// Arguments as an object. No arguments at all are an empty one.
pub(crate) fn input(arguments: &str, at: &str) -> Result<Json<'static>, Untranslatable> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return Ok(Json::Object(Vec::new()));
    }
    RawValue::from_string(arguments.to_owned())
        .ok()
        .filter(|raw| raw.get().starts_with('{'))
        .map(Json::Owned)
        .ok_or_else(|| Untranslatable::at(at, "the arguments of a call are no JSON object"))
}

/// Follows arguments that come in pieces to the end of their object.
#[derive(Debug, Default)]
pub(crate) struct Completeness {
    depth: u32,
    in_text: bool,
    after_backslash: bool,
    complete: bool,
}

impl Completeness {
    /// The next piece.
    pub(crate) fn feed(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.in_text {
                match byte {
                    _ if self.after_backslash => self.after_backslash = false,
                    b'\\' => self.after_backslash = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.complete |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    /// The object has ended.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_and_stay_the_same() {
        assert_eq!(messages_id("call_1-A".into()), "call_1-A");
        assert_eq!(messages_id("functions.f:0".into()), "functions_f_0");
    }

    #[test]
    fn arguments_are_an_object() {
        let text = |json: Json<'_>| String::from_utf8(json.into_body()).unwrap();
        assert_eq!(text(input("", "a").unwrap()), "{}");
        assert_eq!(text(input(" {\"b\": 1, \"a\": 2.0}\n", "a").unwrap()), "{\"b\": 1, \"a\": 2.0}");
        for wrong in ["{", "[]", "1", "{} {}", "{\"a\":}"] {
            assert_eq!(
                input(wrong, "calls[0]").unwrap_err().0,
                "calls[0]: the arguments of a call are no JSON object"
            );
        }
    }

    #[test]
    fn the_end_of_an_object_is_found_at_any_split() {
        let whole = r#"{"a": "}\"{", "b": {"c": [1]}}"#;
        for at in 0..whole.len() {
            let mut seen = Completeness::default();
            seen.feed(&whole[..at]);
            assert!(!seen.is_complete(), "{at}");
            seen.feed(&whole[at..]);
            assert!(seen.is_complete());
        }
    }
}
