//! How much a model is to think, and what it thought in earlier turns.
//!
//! Chat has efforts. The messages protocol has efforts too (`output_config.effort`), and modes of thinking; a budget of
//! tokens, which older models take, is turned into the effort of about that share of `max_tokens`: high is about 80 %,
//! medium 50 %, low 20 % (OpenRouter's documentation of `reasoning`, 2026).

use std::borrow::Cow;

use crate::Untranslatable;
use crate::fields::{Fields, join};
use crate::json::{Json, object, typed};

/// Whose signatures these are, in OpenRouter's words.
const FORMAT: &str = "anthropic-claude-v1";

/// What a request says of thinking.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinking {
    /// On or off; none: as the model has it.
    pub(crate) on: Option<bool>,
    /// One of the messages protocol's efforts.
    pub(crate) effort: Option<&'static str>,
    /// What was thought is not to be sent.
    pub(crate) hidden: bool,
}

fn effort(name: &str, at: &str) -> Result<Option<&'static str>, Untranslatable> {
    Ok(Some(match name {
        "none" => return Ok(None),
        "minimal" | "low" => "low",
        "medium" => "medium",
        "high" => "high",
        "xhigh" => "xhigh",
        "max" => "max",
        other => return Err(Untranslatable::at(at, &format!("there is no effort `{other}`"))),
    }))
}

/// The effort of a budget of tokens.
fn effort_of(budget: i64, max_tokens: i64) -> &'static str {
    let hundredths = budget.saturating_mul(100) / max_tokens.max(1);
    match hundredths {
        ..35 => "low",
        35..65 => "medium",
        _ => "high",
    }
}

/// Chat's `reasoning_effort`, and OpenRouter's `reasoning`.
pub(crate) fn of_chat(asked: &Fields<'_>, max_tokens: i64) -> Result<Thinking, Untranslatable> {
    let mut found = Thinking::default();
    let reasoning = asked.object("reasoning", "")?.unwrap_or_default();
    for (of, at, name) in [(asked, "", "reasoning_effort"), (&reasoning, "reasoning", "effort")] {
        if let Some(word) = of.text(name, at)? {
            found.effort = effort(&word, &join(at, name))?;
            found.on = Some(found.effort.is_some());
        }
    }
    if let Some(budget) = reasoning.tokens("max_tokens") {
        found.on = Some(budget > 0);
        found.effort = (budget > 0).then(|| effort_of(budget, max_tokens));
    }
    if let Some(enabled) = reasoning.truth("enabled", "reasoning")? {
        found.on = Some(enabled);
        found.effort = found.effort.filter(|_| enabled);
    }
    found.hidden =
        reasoning.is_true("exclude", "reasoning")? || asked.truth("include_reasoning", "")? == Some(false);
    Ok(found)
}

impl Thinking {
    /// The field `thinking`, if there is to be one. Where a tool has to be called there is none: the two exclude each
    /// other, and the call is what was asked for.
    pub(crate) fn field(&self, forced_call: bool) -> Option<Json<'static>> {
        match self.on {
            None => None,
            Some(false) => Some(typed("disabled", [])),
            Some(true) if forced_call => None,
            Some(true) if self.hidden => Some(typed("adaptive", [("display", "omitted".into())])),
            Some(true) => Some(typed("adaptive", [])),
        }
    }
}

/// Chat's `reasoning_effort` for what a request of the messages protocol says; none: as the model has it.
pub(crate) fn to_chat(
    asked: &Fields<'_>,
    max_tokens: i64,
) -> Result<Option<Cow<'static, str>>, Untranslatable> {
    let config = asked.object("output_config", "")?.unwrap_or_default();
    let said = config.text("effort", "output_config")?.map(|word| Cow::Owned(word.into_owned()));
    let Some(thinking) = asked.object("thinking", "")? else { return Ok(said) };
    Ok(match &*thinking.needed_text("type", "thinking")? {
        "disabled" => Some("none".into()),
        "enabled" => said
            .or_else(|| thinking.tokens("budget_tokens").map(|budget| effort_of(budget, max_tokens).into())),
        _ => said,
    })
}

/// Blocks of an assistant's earlier thinking: of `reasoning_details` what a model of the messages protocol signed, for
/// it takes nothing else. Details that came in pieces may still be in pieces.
pub(crate) fn blocks<'a>(message: &Fields<'a>, at: &str) -> Result<Vec<Json<'a>>, Untranslatable> {
    let mut blocks = Vec::new();
    let mut thought = String::new();
    let details = message.list("reasoning_details", at)?;
    let at = join(at, "reasoning_details");
    for raw in details {
        let detail = Fields::of(raw, &at)?;
        if detail.text("format", &at)?.is_some_and(|format| format != FORMAT) {
            continue;
        }
        match detail.text("type", &at)?.as_deref() {
            Some("reasoning.text") => {
                thought.push_str(&detail.text("text", &at)?.unwrap_or_default());
                if let Some(signature) = detail.text("signature", &at)?.filter(|text| !text.is_empty()) {
                    let thinking = std::mem::take(&mut thought);
                    blocks.push(typed(
                        "thinking",
                        [("thinking", thinking.into()), ("signature", signature.into())],
                    ));
                }
            }
            Some("reasoning.encrypted") if detail.get("format").is_some() => {
                if let Some(data) = detail.text("data", &at)? {
                    blocks.push(typed("redacted_thinking", [("data", data.into())]));
                }
            }
            _ => {}
        }
    }
    Ok(blocks)
}

/// An entry of `reasoning_details`: a text, a signature, or both.
pub(crate) fn detail<'a>(
    index: i64,
    text: Option<Cow<'a, str>>,
    signature: Option<Cow<'a, str>>,
) -> Json<'a> {
    let mut fields = vec![("type", "reasoning.text".into())];
    fields.extend(text.map(|text| ("text", text.into())));
    fields.extend(signature.map(|signature| ("signature", signature.into())));
    fields.extend([("format", FORMAT.into()), ("index", index.into())]);
    Json::Object(fields)
}

/// An entry of `reasoning_details` that nobody but the server can read.
pub(crate) fn encrypted(index: i64, data: Cow<'_, str>) -> Json<'_> {
    object([
        ("type", "reasoning.encrypted".into()),
        ("data", data.into()),
        ("format", FORMAT.into()),
        ("index", index.into()),
    ])
}
