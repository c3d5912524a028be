//! Thoughts that nobody has signed. An upstream that was asked in another protocol signs none, so its translation has an
//! empty signature, and Anthropic refuses a history with one (400).

use serde_json::value::RawValue;

use crate::ask::Members;

const SIGNATURE: &[u8] = b"\"signature\"";

/// `messages` without the thinking blocks whose signature is empty, and without messages that had nothing else; every
/// other byte stays. None: there are no such blocks, or nothing else; or it is no list of messages, which the upstream
/// may judge.
pub(super) fn without_unsigned(messages: &[u8]) -> Option<String> {
    if !has_unsigned(messages) {
        return None;
    }
    let left = without(std::str::from_utf8(messages).ok()?, |message| {
        let members = serde_json::from_str::<Members<'_>>(message).ok()?;
        let mut out = message.to_owned();
        // From the last on, so that places before stay true.
        for place in members.places(message).iter().rev().filter(|place| place.name == "content") {
            let content =
                without(message.get(place.value.clone())?, |block| is_unsigned(block).then(String::new));
            match content {
                Some(content) if content.is_empty() => return Some(content),
                Some(content) => out.replace_range(place.value.clone(), &content),
                None => {}
            }
        }
        (out != message).then_some(out)
    });
    left.filter(|left| !left.is_empty())
}

/// Whether it is worth reading: a look at the bytes alone.
fn has_unsigned(messages: &[u8]) -> bool {
    memchr::memmem::find_iter(messages, SIGNATURE).any(|at| {
        let rest = messages[at + SIGNATURE.len()..].trim_ascii_start();
        let value = rest.strip_prefix(b":").unwrap_or_default().trim_ascii_start();
        value.starts_with(b"\"\"") || value.starts_with(b"null")
    })
}

fn is_unsigned(block: &str) -> bool {
    let Ok(Members(members)) = serde_json::from_str(block) else { return false };
    let value = |name: &str| members.iter().rev().find(|member| member.name == name).map(|it| it.value.get());
    value("type") == Some("\"thinking\"") && matches!(value("signature"), Some("\"\"" | "null"))
}

/// A list whose elements become what `change` makes of them; an empty text: the element goes, with its comma. An empty
/// text is given where none is left. None: nothing changes.
fn without(list: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let elements: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let start = |element: &RawValue| (element.get().as_ptr() as usize).saturating_sub(list.as_ptr() as usize);
    let mut end = start(elements.first()?);
    let mut out = list.get(..end)?.to_owned();
    let (mut some, mut changed) = (false, false);
    for element in elements {
        let (gap, text) = (end..start(element), element.get());
        end = gap.end + text.len();
        let then = change(text);
        changed |= then.is_some();
        let text = then.as_deref().unwrap_or(text);
        if text.is_empty() {
            continue;
        }
        if some {
            out.push_str(list.get(gap)?);
        }
        out.push_str(text);
        some = true;
    }
    if !some {
        return Some(String::new());
    }
    out.push_str(list.get(end..)?);
    changed.then_some(out)
}
