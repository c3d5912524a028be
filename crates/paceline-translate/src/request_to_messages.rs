//! A chat request in the words of the messages protocol.

use crate::Untranslatable;
use crate::fields::{Fields, is_text, number};
use crate::json::{Json, object, typed};
use crate::{request_fields, talk_to_messages, thinking, tools};

/// The messages protocol demands a limit; this is asked for where a chat client asks for none.
const MAX_TOKENS: i64 = 4096;

/// Writes the request.
pub(crate) fn write(asked: &Fields<'_>, model: &str) -> Result<Vec<u8>, Untranslatable> {
    request_fields::check_chat(asked)?;
    let talk = talk_to_messages::read(asked)?;
    let max_tokens = limit(asked)?;
    let tools = tools::to_messages(asked)?;
    let thought = thinking::of_chat(asked, max_tokens)?;
    let thinking = thought.field(tools.forced);

    let mut body = vec![("model", Json::from(model)), ("max_tokens", max_tokens.into())];
    body.extend(talk.system.map(|system| ("system", system)));
    body.push(("messages", talk.messages));
    // A model that thinks takes no other sampling than its own.
    if thinking.is_none() || thought.on == Some(false) {
        body.extend(sampling(asked)?);
    }
    body.extend(stops(asked)?.map(|stops| ("stop_sequences", stops)));
    if let Some(stream) = asked.truth("stream", "")? {
        body.push(("stream", stream.into()));
    }
    if !tools.tools.is_empty() {
        body.push(("tools", tools.tools.into()));
    }
    body.extend(tools.choice.map(|choice| ("tool_choice", choice)));
    body.extend(thinking.map(|thinking| ("thinking", thinking)));
    body.extend(output_config(asked, thought.effort)?);
    let user = ["user", "safety_identifier"].into_iter().find_map(|name| asked.get(name));
    if let Some(user) = user.filter(|raw| is_text(raw)) {
        body.push(("metadata", object([("user_id", user.into())])));
    }
    Ok(Json::Object(body).into_body())
}

fn limit(asked: &Fields<'_>) -> Result<i64, Untranslatable> {
    for name in ["max_completion_tokens", "max_tokens"] {
        if asked.get(name).is_some() {
            let limit = asked.tokens(name);
            return limit.ok_or_else(|| Untranslatable::at(name, "this is no number of tokens"));
        }
    }
    Ok(MAX_TOKENS)
}

type Named<'a> = Vec<(&'static str, Json<'a>)>;

fn sampling<'a>(asked: &Fields<'a>) -> Result<Named<'a>, Untranslatable> {
    let mut found: Named<'a> = Vec::new();
    if let Some(raw) = asked.get("temperature") {
        // Chat's goes to 2, that of the messages protocol to 1.
        let value = if number(raw, "temperature")? > 1.0 { 1.into() } else { raw.into() };
        found.push(("temperature", value));
    }
    for name in ["top_p", "top_k"] {
        if let Some(raw) = asked.get(name) {
            let value = number(raw, name)?;
            // Servers that know `top_k` take -1 or 0 for none.
            if name == "top_p" || value >= 1.0 {
                found.push((name, raw.into()));
            }
        }
    }
    Ok(found)
}

fn stops<'a>(asked: &Fields<'a>) -> Result<Option<Json<'a>>, Untranslatable> {
    match asked.get("stop") {
        None => Ok(None),
        Some(raw) if is_text(raw) => Ok(Some(vec![raw.into()].into())),
        Some(_) => {
            let stops = asked.list("stop", "")?;
            if !stops.iter().all(|raw| is_text(raw)) {
                return Err(Untranslatable::at("stop", "this is neither a text nor a list of texts"));
            }
            let stops: Vec<Json<'a>> = stops.into_iter().map(Json::from).collect();
            Ok((!stops.is_empty()).then(|| stops.into()))
        }
    }
}

/// Effort and the form of the answer.
fn output_config<'a>(
    asked: &Fields<'a>,
    effort: Option<&'static str>,
) -> Result<Option<(&'static str, Json<'a>)>, Untranslatable> {
    let mut config: Named<'a> = Vec::new();
    config.extend(effort.map(|effort| ("effort", effort.into())));
    if let Some(format) = asked.object("response_format", "")? {
        match &*format.needed_text("type", "response_format")? {
            "text" => {}
            "json_schema" => {
                let schema = format.object("json_schema", "response_format")?.unwrap_or_default();
                let schema = schema.get("schema").ok_or_else(|| {
                    Untranslatable::at("response_format.json_schema.schema", "messages needs a schema")
                })?;
                config.push(("format", typed("json_schema", [("schema", schema.into())])));
            }
            other => {
                let why = format!("`{other}` has no equivalent in messages; give a json_schema");
                return Err(Untranslatable::at("response_format.type", &why));
            }
        }
    }
    Ok((!config.is_empty()).then_some(("output_config", Json::Object(config))))
}
