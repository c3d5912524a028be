//! What the protocols' JSON has in common.

use std::io::Write;
use std::ops::Range;

use crate::shape::Shape;
use crate::text::Text;

/// The name of the one tool that is ever called.
pub(super) const TOOL_NAME: &str = "look_up";

/// Appends what `format_args!` says; writing to a Vec does not fail.
pub(super) fn push(json: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    let _ = json.write_fmt(what);
}

/// Appends a field with padding, where there is to be any.
pub(super) fn push_padding(json: &mut Vec<u8>, padding: usize) {
    if padding > 0 {
        json.extend_from_slice(br#","padding":""#);
        json.resize(json.len() + padding, b'x');
        json.push(b'"');
    }
}

/// Appends a tool call's arguments, which are one JSON object, `{"q":"word word ..."}`, written inside a JSON string.
pub(super) fn push_arguments(json: &mut Vec<u8>, text: &Text, shape: &Shape, tokens: &Range<u64>) {
    if tokens.start == shape.tools_from() {
        json.extend_from_slice(br#"{\"q\":\""#);
        push_trimmed(json, text, tokens);
    } else {
        text.append(tokens.clone(), json);
    }
    if tokens.end == shape.total {
        json.extend_from_slice(br#"\"}"#);
    }
}

/// Appends all of a tool call's arguments as a JSON object.
pub(super) fn push_arguments_object(json: &mut Vec<u8>, text: &Text, tokens: &Range<u64>) {
    json.extend_from_slice(br#"{"q":""#);
    push_trimmed(json, text, tokens);
    json.extend_from_slice(br#""}"#);
}

/// The first word goes without its space, so that it and what stands before it are one token.
fn push_trimmed(json: &mut Vec<u8>, text: &Text, tokens: &Range<u64>) {
    let before = json.len();
    text.append(tokens.clone(), json);
    json.remove(before);
}
