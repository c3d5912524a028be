//! A request of the messages protocol in chat's words.

use crate::Untranslatable;
use crate::fields::{Fields, is_text, missing, number};
use crate::json::{Json, object, typed};
use crate::{request_fields, talk_to_chat, thinking, tools};

/// Writes the request.
pub(crate) fn write(asked: &Fields<'_>, model: &str) -> Result<Vec<u8>, Untranslatable> {
    request_fields::check_messages(asked)?;
    let max_tokens = limit(asked)?;
    let tools = tools::to_chat(asked)?;

    let mut body = vec![
        ("model", Json::from(model)),
        ("messages", talk_to_chat::read(asked)?.into()),
        (limit_name(model), max_tokens.into()),
    ];
    for name in ["temperature", "top_p"] {
        if let Some(raw) = asked.get(name) {
            number(raw, name)?;
            body.push((name, raw.into()));
        }
    }
    body.extend(stops(asked)?.map(|stops| ("stop", stops)));
    if let Some(stream) = asked.truth("stream", "")? {
        body.push(("stream", stream.into()));
        if stream {
            body.push(("stream_options", object([("include_usage", true.into())])));
        }
    }
    if !tools.tools.is_empty() {
        body.push(("tools", tools.tools.into()));
        if tools::is_serial(asked)? {
            body.push(("parallel_tool_calls", false.into()));
        }
    }
    body.extend(tools.choice.map(|choice| ("tool_choice", choice)));
    body.extend(thinking::to_chat(asked, max_tokens)?.map(|effort| ("reasoning_effort", effort.into())));
    body.extend(response_format(asked)?.map(|format| ("response_format", format)));
    if let Some(metadata) = asked.object("metadata", "")?
        && let Some(user) = metadata.get("user_id").filter(|raw| is_text(raw))
    {
        body.push(("user", user.into()));
    }
    Ok(Json::Object(body).into_body())
}

/// OpenAI's models that reason refuse `max_tokens`; some other servers know no other name.
fn limit_name(model: &str) -> &'static str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let generation = |prefix: &str| {
        let rest = name.strip_prefix(prefix)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
        digits.parse::<u32>().ok()
    };
    if generation("gpt-").is_some_and(|n| n >= 5) || generation("o").is_some() {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

fn limit(asked: &Fields<'_>) -> Result<i64, Untranslatable> {
    let limit = asked.get("max_tokens").map(|_| asked.tokens("max_tokens"));
    match limit {
        None => Err(missing("max_tokens")),
        Some(None) => Err(Untranslatable::at("max_tokens", "this is no number of tokens")),
        Some(Some(0)) => Err(Untranslatable::at("max_tokens", "chat cannot be asked for no tokens")),
        Some(Some(limit)) => Ok(limit),
    }
}

fn stops<'a>(asked: &Fields<'a>) -> Result<Option<Json<'a>>, Untranslatable> {
    let stops = asked.list("stop_sequences", "")?;
    if !stops.iter().all(|raw| is_text(raw)) {
        return Err(Untranslatable::at("stop_sequences", "this is no list of texts"));
    }
    let stops: Vec<Json<'a>> = stops.into_iter().map(Json::from).collect();
    Ok((!stops.is_empty()).then(|| stops.into()))
}

/// A schema for the answer. Chat wants a name for it.
fn response_format<'a>(asked: &Fields<'a>) -> Result<Option<Json<'a>>, Untranslatable> {
    let config = asked.object("output_config", "")?.unwrap_or_default();
    let Some(format) = config.object("format", "output_config")? else { return Ok(None) };
    let at = "output_config.format";
    match &*format.needed_text("type", at)? {
        "json_schema" => {
            let schema = format.get("schema").ok_or_else(|| missing("output_config.format.schema"))?;
            let named = [("name", "answer".into()), ("schema", schema.into()), ("strict", true.into())];
            Ok(Some(typed("json_schema", [("json_schema", object(named))])))
        }
        other => Err(Untranslatable::at(at, &format!("`{other}` has no equivalent in chat"))),
    }
}

#[cfg(test)]
mod tests {
    use super::limit_name;

    #[test]
    fn only_openais_models_that_reason_have_the_newer_name() {
        for model in ["gpt-5", "gpt-5.1-mini", "openai/gpt-6", "o1", "o3-mini", "gpt-10"] {
            assert_eq!(limit_name(model), "max_completion_tokens", "{model}");
        }
        for model in ["gpt-4o", "gpt-3.5-turbo", "gpt-oss-120b", "olmo", "openai/o", "qwen3", "", "up/", "é"]
        {
            assert_eq!(limit_name(model), "max_tokens", "{model}");
        }
    }
}
