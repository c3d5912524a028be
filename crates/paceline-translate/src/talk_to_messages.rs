//! The turns of a chat as those of the messages protocol.

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::calls;
use crate::fields::{Fields, is_text, join, list, missing, text};
use crate::images;
use crate::json::{Json, object, typed};
use crate::thinking;

/// What a talk is in the messages protocol.
#[derive(Debug)]
pub(crate) struct Talk<'a> {
    /// `system`; none where no such turn has text.
    pub(crate) system: Option<Json<'a>>,
    pub(crate) messages: Json<'a>,
}

/// A turn that goes on as long as the same side speaks.
struct Turn<'a> {
    role: &'static str,
    blocks: Vec<Json<'a>>,
}

/// Reads `messages` of a chat request. System turns, wherever they stand, become the `system` of the whole talk.
pub(crate) fn read<'a>(asked: &Fields<'a>) -> Result<Talk<'a>, Untranslatable> {
    let mut system = Vec::new();
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (i, raw) in asked.list("messages", "")?.into_iter().enumerate() {
        let at = format!("messages[{i}]");
        let message = Fields::of(raw, &at)?;
        let role = message.needed_text("role", &at)?;
        let (role, blocks) = match &*role {
            "system" | "developer" => {
                system.extend(content(&message, &at, &["text"])?);
                continue;
            }
            "user" => ("user", content(&message, &at, &["text", "image_url"])?),
            "assistant" => ("assistant", assistant(&message, &at)?),
            "tool" => ("user", vec![tool_result(&message, &at)?]),
            other => {
                let why = format!("a message of role `{other}` has no equivalent in messages");
                return Err(Untranslatable::at(&at, &why));
            }
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.blocks.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push(Turn { role, blocks }),
        }
    }
    if turns.is_empty() {
        return Err(Untranslatable::at("messages", "there has to be a message of a user"));
    }
    let messages = turns.into_iter().map(Turn::write).collect::<Vec<_>>();
    let system = (!system.is_empty()).then(|| system_of(system));
    Ok(Talk { system, messages: messages.into() })
}

impl<'a> Turn<'a> {
    fn write(self) -> Json<'a> {
        object([("role", self.role.into()), ("content", simple(self.blocks))])
    }
}

/// A single plain text stands as itself: every server takes that.
fn simple(mut blocks: Vec<Json<'_>>) -> Json<'_> {
    if let [block] = blocks.as_mut_slice()
        && let Some(text) = plain_text(block)
    {
        return std::mem::replace(text, Json::Null);
    }
    blocks.into()
}

/// The text of a block that has nothing else.
fn plain_text<'j, 'a>(block: &'j mut Json<'a>) -> Option<&'j mut Json<'a>> {
    match block {
        Json::Object(fields) => match fields.as_mut_slice() {
            [("type", Json::Text(kind)), ("text", text)] if kind == "text" => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn is_blank(json: &Json<'_>) -> bool {
    matches!(json, Json::Raw(raw) if text(raw, "").is_ok_and(|text| text.trim().is_empty()))
}

/// Several system turns are one text, with an empty line between them, unless marks for caches stand between.
fn system_of(mut blocks: Vec<Json<'_>>) -> Json<'_> {
    if blocks.len() == 1 {
        return simple(blocks);
    }
    let texts: Option<Vec<String>> = blocks
        .iter_mut()
        .map(|block| match plain_text(block)? {
            Json::Raw(raw) => text(raw, "").ok().map(|text| text.into_owned()),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) => texts.join("\n\n").into(),
        None => blocks.into(),
    }
}

/// A message's content as blocks; `kinds`: types of parts that it may have.
fn content<'a>(message: &Fields<'a>, at: &str, kinds: &[&str]) -> Result<Vec<Json<'a>>, Untranslatable> {
    let at = join(at, "content");
    let Some(raw) = message.get("content") else { return Ok(Vec::new()) };
    if is_text(raw) {
        return Ok(text_block(raw, None).into_iter().collect());
    }
    let mut blocks = Vec::new();
    for (i, raw) in list(raw, &at)?.into_iter().enumerate() {
        let at = format!("{at}[{i}]");
        let part = Fields::of(raw, &at)?;
        let kind = part.needed_text("type", &at)?;
        if !kinds.contains(&&*kind) {
            let why = format!("a part of type `{kind}` has no equivalent in messages here");
            return Err(Untranslatable::at(&at, &why));
        }
        let mark = cache_mark(&part);
        match &*kind {
            "image_url" => {
                let mut fields = vec![("type", "image".into()), ("source", images::source(&part, &at)?)];
                fields.extend(mark.map(|mark| ("cache_control", mark)));
                blocks.push(Json::Object(fields));
            }
            kind => {
                // A part is named after the field that it has.
                let raw = part.get(kind).ok_or_else(|| missing(&join(&at, kind)))?;
                if !is_text(raw) {
                    return Err(Untranslatable::at(&join(&at, kind), "this is no text"));
                }
                blocks.extend(text_block(raw, mark));
            }
        }
    }
    Ok(blocks)
}

/// A block of text; none of an empty one, which the messages protocol refuses.
fn text_block<'a>(raw: &'a RawValue, mark: Option<Json<'a>>) -> Option<Json<'a>> {
    if raw.get() == "\"\"" {
        return None;
    }
    let mut fields = vec![("type", "text".into()), ("text", raw.into())];
    fields.extend(mark.map(|mark| ("cache_control", mark)));
    Some(Json::Object(fields))
}

/// Up to here the prompt is to be kept in a cache: OpenRouter's mark, or OpenAI's.
fn cache_mark<'a>(part: &Fields<'a>) -> Option<Json<'a>> {
    let own = part.get("cache_control").map(Json::from);
    own.or_else(|| part.get("prompt_cache_breakpoint").map(|_| typed("ephemeral", [])))
}

fn assistant<'a>(message: &Fields<'a>, at: &str) -> Result<Vec<Json<'a>>, Untranslatable> {
    for name in ["audio", "function_call"] {
        if message.get(name).is_some() {
            return Err(Untranslatable::at(&join(at, name), "this has no equivalent in messages"));
        }
    }
    let mut blocks = thinking::blocks(message, at)?;
    blocks.extend(content(message, at, &["text", "refusal"])?);
    blocks.extend(message.get("refusal").filter(|raw| is_text(raw)).and_then(|raw| text_block(raw, None)));
    // Models say a line feed before a call; the messages protocol refuses a block without a word.
    blocks.retain_mut(|block| !plain_text(block).is_some_and(|text| is_blank(text)));
    let calls = message.list("tool_calls", at)?;
    for (i, raw) in calls.into_iter().enumerate() {
        let at = format!("{at}.tool_calls[{i}]");
        let call = Fields::of(raw, &at)?;
        let function = call.object("function", &at)?.ok_or_else(|| missing(&join(&at, "function")))?;
        let at_function = join(&at, "function");
        let arguments = function.text("arguments", &at_function)?.unwrap_or_default();
        blocks.push(typed(
            "tool_use",
            [
                ("id", calls::messages_id(call.needed_text("id", &at)?).into()),
                ("name", function.needed_text("name", &at_function)?.into()),
                ("input", calls::input(&arguments, &join(&at_function, "arguments"))?),
            ],
        ));
    }
    Ok(blocks)
}

fn tool_result<'a>(message: &Fields<'a>, at: &str) -> Result<Json<'a>, Untranslatable> {
    let id = calls::messages_id(message.needed_text("tool_call_id", at)?);
    // Chat's own type has texts only; servers of models that see take images too.
    let blocks = content(message, at, &["text", "image_url"])?;
    let content = if blocks.is_empty() { Json::from("") } else { simple(blocks) };
    Ok(typed("tool_result", [("tool_use_id", id.into()), ("content", content)]))
}
