//! Tools, and which of them is to be called.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::fields::{Fields, is_text, join, missing, text};
use crate::json::{Json, object, typed};

/// `tools` and `tool_choice`, in the words of either protocol.
#[derive(Debug, Default)]
pub(crate) struct Tools<'a> {
    pub(crate) tools: Vec<Json<'a>>,
    pub(crate) choice: Option<Json<'a>>,
    /// Some tool has to be called.
    pub(crate) forced: bool,
}

/// Chat's tools in the words of the messages protocol.
pub(crate) fn to_messages<'a>(asked: &Fields<'a>) -> Result<Tools<'a>, Untranslatable> {
    let choice = read_choice(asked)?;
    let mut tools = Vec::new();
    for (i, raw) in asked.list("tools", "")?.into_iter().enumerate() {
        let at = format!("tools[{i}]");
        let tool = Fields::of(raw, &at)?;
        if let Some(kind) = tool.text("type", &at)?.filter(|kind| kind != "function") {
            return Err(Untranslatable::at(
                &at,
                &format!("a tool of type `{kind}` has no equivalent in messages"),
            ));
        }
        let function = tool.object("function", &at)?.ok_or_else(|| missing(&join(&at, "function")))?;
        let name = function.needed_text("name", &join(&at, "function"))?;
        if !choice.allows(&name) {
            continue;
        }
        let mut fields = vec![("name", name.into())];
        fields.extend(function.get("description").map(|raw| ("description", raw.into())));
        let schema = function.get("parameters").map_or_else(no_parameters, Json::from);
        fields.push(("input_schema", schema));
        fields.extend(function.get("strict").map(|raw| ("strict", raw.into())));
        fields.extend(tool.get("cache_control").map(|raw| ("cache_control", raw.into())));
        tools.push(Json::Object(fields));
    }
    if tools.is_empty() {
        return match choice.mode {
            Mode::Any | Mode::Named(_) => Err(Untranslatable::at("tool_choice", "there is no such tool")),
            Mode::Auto | Mode::None => Ok(Tools::default()),
        };
    }
    let serial = asked.truth("parallel_tool_calls", "")? == Some(false);
    let forced = matches!(choice.mode, Mode::Any | Mode::Named(_));
    Ok(Tools { tools, choice: choice.write(serial), forced })
}

fn no_parameters<'a>() -> Json<'a> {
    typed("object", [("properties", Json::Object(Vec::new()))])
}

#[derive(Debug)]
enum Mode<'a> {
    Auto,
    None,
    Any,
    Named(Json<'a>),
}

/// Chat's `tool_choice`.
struct Choice<'a> {
    mode: Mode<'a>,
    /// It was said, so it is said again.
    said: bool,
    /// No other tools than these.
    only: Option<BTreeSet<String>>,
}

impl<'a> Choice<'a> {
    fn allows(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }

    fn write(self, serial: bool) -> Option<Json<'a>> {
        let mut fields = match self.mode {
            Mode::Auto if !self.said && !serial => return None,
            Mode::None => return Some(typed("none", [])),
            Mode::Auto => vec![("type", "auto".into())],
            Mode::Any => vec![("type", "any".into())],
            Mode::Named(name) => vec![("type", "tool".into()), ("name", name)],
        };
        if serial {
            fields.push(("disable_parallel_tool_use", true.into()));
        }
        Some(Json::Object(fields))
    }
}

fn read_choice<'a>(asked: &Fields<'a>) -> Result<Choice<'a>, Untranslatable> {
    let at = "tool_choice";
    let Some(raw) = asked.get(at) else { return Ok(Choice { mode: Mode::Auto, said: false, only: None }) };
    if is_text(raw) {
        return Ok(Choice { mode: mode(&text(raw, at)?, at)?, said: true, only: None });
    }
    let choice = Fields::of(raw, at)?;
    match &*choice.needed_text("type", at)? {
        "function" => {
            let function = choice.object("function", at)?.unwrap_or_default();
            let name = function.needed_text("name", "tool_choice.function")?;
            Ok(Choice { mode: Mode::Named(name.into()), said: true, only: None })
        }
        "allowed_tools" => allowed(&choice),
        other => {
            Err(Untranslatable::at(at, &format!("a choice of type `{other}` has no equivalent in messages")))
        }
    }
}

fn mode(word: &str, at: &str) -> Result<Mode<'static>, Untranslatable> {
    match word {
        "auto" => Ok(Mode::Auto),
        "none" => Ok(Mode::None),
        "required" => Ok(Mode::Any),
        other => Err(Untranslatable::at(at, &format!("there is no choice `{other}`"))),
    }
}

/// Only some of the tools may be called: the others are left out.
fn allowed<'a>(choice: &Fields<'a>) -> Result<Choice<'a>, Untranslatable> {
    let at = "tool_choice.allowed_tools";
    let allowed = choice.object("allowed_tools", "tool_choice")?.ok_or_else(|| missing(at))?;
    let mut only = BTreeSet::new();
    for raw in allowed.list("tools", at)? {
        let tool = Fields::of(raw, at)?;
        let function = tool.object("function", at)?.ok_or_else(|| missing(&join(at, "tools.function")))?;
        only.insert(function.needed_text("name", at)?.into_owned());
    }
    let mode = mode(&allowed.needed_text("mode", at)?, at)?;
    Ok(Choice { mode, said: true, only: Some(only) })
}

/// Tools of the messages protocol in chat's words.
pub(crate) fn to_chat<'a>(asked: &Fields<'a>) -> Result<Tools<'a>, Untranslatable> {
    let mut tools = Vec::new();
    for (i, raw) in asked.list("tools", "")?.into_iter().enumerate() {
        let at = format!("tools[{i}]");
        let tool = Fields::of(raw, &at)?;
        if let Some(kind) = tool.text("type", &at)?.filter(|kind| kind != "custom") {
            return Err(Untranslatable::at(
                &at,
                &format!("a tool of type `{kind}` has no equivalent in chat"),
            ));
        }
        let mut function = vec![("name", tool.needed_text("name", &at)?.into())];
        function.extend(tool.get("description").map(|raw| ("description", raw.into())));
        let schema: &'a RawValue =
            tool.get("input_schema").ok_or_else(|| missing(&join(&at, "input_schema")))?;
        function.push(("parameters", schema.into()));
        function.extend(tool.get("strict").map(|raw| ("strict", raw.into())));
        tools.push(typed("function", [("function", Json::Object(function))]));
    }
    let Some(choice) = asked.object("tool_choice", "")? else {
        return Ok(Tools { tools, choice: None, forced: false });
    };
    let (choice, forced) = match &*choice.needed_text("type", "tool_choice")? {
        "auto" => (Json::from("auto"), false),
        "none" => (Json::from("none"), false),
        "any" => (Json::from("required"), true),
        "tool" => {
            let name = choice.needed_text("name", "tool_choice")?;
            (typed("function", [("function", object([("name", name.into())]))]), true)
        }
        other => {
            let why = format!("a choice of type `{other}` has no equivalent in chat");
            return Err(Untranslatable::at("tool_choice", &why));
        }
    };
    // Chat knows no choice where there are no tools.
    let choice = (!tools.is_empty()).then_some(choice);
    Ok(Tools { tools, choice, forced })
}

/// Of a request of the messages protocol: one call at a time.
pub(crate) fn is_serial(asked: &Fields<'_>) -> Result<bool, Untranslatable> {
    match asked.object("tool_choice", "")? {
        Some(choice) => choice.is_true("disable_parallel_tool_use", "tool_choice"),
        None => Ok(false),
    }
}
