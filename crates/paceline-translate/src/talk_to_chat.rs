//! The turns of the messages protocol as those of a chat.

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::fields::{Fields, is_text, join, list, missing};
use crate::images;
use crate::json::{Json, object, typed};

/// Reads `system` and `messages`.
pub(crate) fn read<'a>(asked: &Fields<'a>) -> Result<Vec<Json<'a>>, Untranslatable> {
    let mut talk = Vec::new();
    if let Some(raw) = asked.get("system") {
        push_system(raw, "system", &mut talk)?;
    }
    for (i, raw) in asked.list("messages", "")?.into_iter().enumerate() {
        let at = format!("messages[{i}]");
        let message = Fields::of(raw, &at)?;
        let at_content = join(&at, "content");
        let content = message.get("content").ok_or_else(|| missing(&at_content))?;
        match &*message.needed_text("role", &at)? {
            "user" => user(content, &at_content, &mut talk)?,
            "assistant" => assistant(content, &at_content, &mut talk)?,
            "system" => push_system(content, &at_content, &mut talk)?,
            other => {
                let why = format!("a message of role `{other}` has no equivalent in chat");
                return Err(Untranslatable::at(&at, &why));
            }
        }
    }
    Ok(talk)
}

fn message<'a>(role: &'static str, content: Json<'a>) -> Json<'a> {
    object([("role", role.into()), ("content", content)])
}

fn push_system<'a>(raw: &'a RawValue, at: &str, talk: &mut Vec<Json<'a>>) -> Result<(), Untranslatable> {
    let mut parts = Vec::new();
    for (kind, block, at) in blocks(raw, at)? {
        if kind != "text" {
            return Err(no_equivalent(&kind, &at));
        }
        parts.push(text_part(&block, &at)?);
    }
    if !parts.is_empty() {
        talk.push(message("system", simple(parts)));
    }
    Ok(())
}

/// The blocks of a content: type, fields, place. A text is a block of its own.
enum Block<'a> {
    Text(&'a RawValue),
    Fields(Fields<'a>),
}

type Placed<'a> = (std::borrow::Cow<'a, str>, Block<'a>, String);

fn blocks<'a>(raw: &'a RawValue, at: &str) -> Result<Vec<Placed<'a>>, Untranslatable> {
    if is_text(raw) {
        return Ok(vec![("text".into(), Block::Text(raw), at.to_owned())]);
    }
    let mut found = Vec::new();
    for (i, raw) in list(raw, at)?.into_iter().enumerate() {
        let at = format!("{at}[{i}]");
        let block = Fields::of(raw, &at)?;
        found.push((block.needed_text("type", &at)?, Block::Fields(block), at));
    }
    Ok(found)
}

impl<'a> Block<'a> {
    /// What a block of the messages protocol has; a plain text has no fields.
    fn fields(self) -> Fields<'a> {
        match self {
            Self::Text(_) => Fields::default(),
            Self::Fields(fields) => fields,
        }
    }

    fn text(&self, at: &str) -> Result<&'a RawValue, Untranslatable> {
        match self {
            Self::Text(raw) => Ok(raw),
            Self::Fields(fields) => {
                let at = join(at, "text");
                let raw = fields.get("text").ok_or_else(|| missing(&at))?;
                if is_text(raw) { Ok(raw) } else { Err(Untranslatable::at(&at, "this is no text")) }
            }
        }
    }
}

fn text_part<'a>(block: &Block<'a>, at: &str) -> Result<Json<'a>, Untranslatable> {
    Ok(typed("text", [("text", block.text(at)?.into())]))
}

fn no_equivalent(kind: &str, at: &str) -> Untranslatable {
    Untranslatable::at(at, &format!("a block of type `{kind}` has no equivalent in chat here"))
}

/// A single text stands as itself: every server takes that.
fn simple(mut parts: Vec<Json<'_>>) -> Json<'_> {
    if let [Json::Object(fields)] = parts.as_mut_slice()
        && let [_, ("text", text)] = fields.as_mut_slice()
    {
        return std::mem::replace(text, Json::Null);
    }
    parts.into()
}

/// A user's turn: what tools answered comes first, as messages of their own.
fn user<'a>(content: &'a RawValue, at: &str, talk: &mut Vec<Json<'a>>) -> Result<(), Untranslatable> {
    let mut parts = Vec::new();
    // Chat's tools answer with text alone: what they showed follows in the user's turn, and says whose it is.
    let mut shown = Vec::new();
    for (kind, block, at) in blocks(content, at)? {
        match &*kind {
            "text" => parts.push(text_part(&block, &at)?),
            "image" => parts.push(images::part(&block.fields(), &at)?),
            "tool_result" => talk.push(tool_result(&block.fields(), &at, &mut shown)?),
            other => return Err(no_equivalent(other, &at)),
        }
    }
    shown.append(&mut parts);
    if !shown.is_empty() {
        talk.push(message("user", simple(shown)));
    }
    Ok(())
}

fn tool_result<'a>(
    block: &Fields<'a>,
    at: &str,
    shown: &mut Vec<Json<'a>>,
) -> Result<Json<'a>, Untranslatable> {
    let id = block.needed_text("tool_use_id", at)?;
    let mut parts = Vec::new();
    let mut images = Vec::new();
    if let Some(raw) = block.get("content") {
        for (kind, block, at) in blocks(raw, &join(at, "content"))? {
            match &*kind {
                "text" => parts.push(text_part(&block, &at)?),
                "image" => images.push(images::part(&block.fields(), &at)?),
                other => return Err(no_equivalent(other, &at)),
            }
        }
    }
    if !images.is_empty() {
        shown.push(typed("text", [("text", format!("Image from tool call {id}:").into())]));
        shown.append(&mut images);
    }
    let content = if parts.is_empty() { "".into() } else { simple(parts) };
    Ok(object([("role", "tool".into()), ("tool_call_id", id.into()), ("content", content)]))
}

/// A model's turn. What another protocol's model signed of its thinking is of no use here; what came from a chat (its
/// signature is empty, see `response_to_messages`) goes back as it came.
fn assistant<'a>(content: &'a RawValue, at: &str, talk: &mut Vec<Json<'a>>) -> Result<(), Untranslatable> {
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    let mut thought = String::new();
    for (kind, block, at) in blocks(content, at)? {
        match &*kind {
            "text" => parts.push(text_part(&block, &at)?),
            "thinking" => {
                let block = block.fields();
                if block.text("signature", &at)?.is_none_or(|signature| signature.is_empty()) {
                    thought.push_str(&block.text("thinking", &at)?.unwrap_or_default());
                }
            }
            "redacted_thinking" => {}
            "tool_use" => calls.push(call(&block.fields(), &at)?),
            other => return Err(no_equivalent(other, &at)),
        }
    }
    let content = if parts.is_empty() { Json::Null } else { simple(parts) };
    if matches!(content, Json::Null) && calls.is_empty() {
        return Ok(());
    }
    let mut fields = vec![("role", "assistant".into()), ("content", content)];
    if !thought.is_empty() {
        fields.push(("reasoning_content", thought.into()));
    }
    if !calls.is_empty() {
        fields.push(("tool_calls", calls.into()));
    }
    talk.push(Json::Object(fields));
    Ok(())
}

fn call<'a>(block: &Fields<'a>, at: &str) -> Result<Json<'a>, Untranslatable> {
    let arguments = block.get("input").map_or("{}", RawValue::get);
    let function = object([("name", block.needed_text("name", at)?.into()), ("arguments", arguments.into())]);
    Ok(object([
        ("id", block.needed_text("id", at)?.into()),
        ("type", "function".into()),
        ("function", function),
    ]))
}
