//! Images: a URL in chat, a source in the messages protocol.

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::fields::{Fields, join, missing, text};
use crate::json::{Json, object, typed};

/// An `image_url` part as an image block, without its `type` and marks.
pub(crate) fn source<'a>(part: &Fields<'a>, at: &str) -> Result<Json<'a>, Untranslatable> {
    let at = join(at, "image_url");
    let raw: &'a RawValue = part.get("image_url").ok_or_else(|| missing(&at))?;
    // Some clients give the URL itself.
    let (url, at) = if raw.get().starts_with('"') {
        (text(raw, &at)?, at)
    } else {
        (Fields::of(raw, &at)?.needed_text("url", &at)?, join(&at, "url"))
    };
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(typed("url", [("url", url.into())]));
    }
    let parts = url.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    let Some((media_type, data)) = parts.and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data)))
    else {
        return Err(Untranslatable::at(&at, "an image is an http(s) URL or data:image/...;base64,..."));
    };
    let media_type = media_type.split(';').next().unwrap_or_default().to_owned();
    Ok(typed("base64", [("media_type", media_type.into()), ("data", data.to_owned().into())]))
}

/// An image block as an `image_url` part.
pub(crate) fn part<'a>(block: &Fields<'a>, at: &str) -> Result<Json<'a>, Untranslatable> {
    let at = join(at, "source");
    let source = Fields::of(block.get("source").ok_or_else(|| missing(&at))?, &at)?;
    let url = match &*source.needed_text("type", &at)? {
        "url" => source.needed_text("url", &at)?,
        "base64" => {
            let media_type = source.needed_text("media_type", &at)?;
            let data = source.needed_text("data", &at)?;
            format!("data:{media_type};base64,{data}").into()
        }
        other => {
            let why = format!("an image of source `{other}` has no equivalent in chat");
            return Err(Untranslatable::at(&at, &why));
        }
    };
    Ok(typed("image_url", [("image_url", object([("url", url.into())]))]))
}
