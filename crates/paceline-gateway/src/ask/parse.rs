//! A client's request is read: once, and only what the gateway has to know.

use std::collections::HashSet;

use paceline_io::http1::Head;
use paceline_wire::Protocol;

use super::app::app;
use super::field::Field;
use super::members::Members;
use super::preferences::{deadline_ns, preferences};
use super::prompt::Prompt;
use super::{Ask, Preferences, Sort};
use crate::refusal::Refusal;
use crate::table::Tier;

/// Members that say what is asked and how the gateway serves it. All others are parameters that an offer may support
/// or not; the bound on tokens is none, since any server has one under some name.
const NO_PARAMETERS: [&str; 28] = [
    "model",
    "models",
    "messages",
    "prompt",
    "input",
    "system",
    "instructions",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "n",
    "provider",
    "route",
    "transforms",
    "plugins",
    "explain",
    "usage",
    "service_tier",
    "speed",
    "user",
    "metadata",
    "store",
    "session_id",
    "trace",
    "safety_identifier",
    "prompt_cache_key",
];

/// The most answers to one request, and the most bytes of a model's name.
const MAX_ANSWERS: u64 = 128;
const MAX_MODEL_BYTES: usize = 256;

impl Ask {
    /// Reads a request with its body.
    ///
    /// # Errors
    /// When the body is no JSON object, or a member that the gateway reads is not what it must be.
    pub(crate) fn read(protocol: Protocol, head: &Head, body: &[u8]) -> Result<Self, Refusal> {
        let text = text_of(body)?;
        let members = members_of(text)?;
        let mut body = Body::default();
        for member in &members.0 {
            body.take(&member.name, Field::new(member.name.as_ref(), member.value))?;
        }
        let mut preferences =
            body.provider.as_ref().map_or_else(|| Ok(Preferences::default()), preferences)?;
        preferences.deadline_ns =
            preferences.deadline_ns.or(header_deadline(head, "x-paceline-deadline-ms")?);
        preferences.finish_by_ns =
            preferences.finish_by_ns.or(header_deadline(head, "x-paceline-finish-by-ms")?);
        let (model, sort, fallbacks) = models(body.model, body.models)?;
        preferences.sort = preferences.sort.or(sort);
        let (prompt_bytes, prefix, images) = prompt(protocol, &members)?;
        if body.streaming && !protocol.streams() {
            return Err(Refusal::invalid_request("stream", "cannot be true: embeddings have no streams"));
        }
        let (app_title, app_referer) = app(head);
        Ok(Self {
            protocol,
            model,
            fallbacks,
            streaming: body.streaming,
            usage_asked: body.usage_asked
                || !matches!(protocol, Protocol::OpenaiChat | Protocol::OpenaiCompletions),
            max_tokens: body.max_tokens,
            answers: body.answers,
            parameters: body.parameters,
            preferences,
            tier: body.tier,
            explain: body.explain || header_true(head, "x-paceline-explain"),
            prompt_bytes,
            images,
            prefix,
            app_title,
            app_referer,
            places: members.places(text),
        })
    }
}

fn text_of(body: &[u8]) -> Result<&str, Refusal> {
    if body.is_empty() {
        return Err(Refusal::invalid_json("it is empty", 1, 1));
    }
    std::str::from_utf8(body).map_err(|error| {
        let before = &body[..error.valid_up_to()];
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        let column = 1 + before.len() - memchr::memrchr(b'\n', before).map_or(0, |place| place + 1);
        Refusal::invalid_json("it is not UTF-8", line, column)
    })
}

fn members_of(text: &str) -> Result<Members<'_>, Refusal> {
    serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            return Refusal::invalid_request("body", "must be a JSON object");
        }
        Refusal::invalid_json(&words(&error), error.line(), error.column())
    })
}

/// The error without its place.
fn words(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_owned()
}

/// The members that the gateway reads, as they come.
#[derive(Debug)]
struct Body<'a> {
    seen: HashSet<&'static str>,
    model: Option<String>,
    models: Vec<String>,
    streaming: bool,
    usage_asked: bool,
    max_tokens: Option<u64>,
    answers: u32,
    parameters: Vec<String>,
    provider: Option<Field<'a>>,
    tier: Option<Tier>,
    explain: bool,
}

impl Default for Body<'_> {
    fn default() -> Self {
        Self {
            seen: HashSet::new(),
            model: None,
            models: Vec::new(),
            streaming: false,
            usage_asked: false,
            max_tokens: None,
            answers: 1,
            parameters: Vec::new(),
            provider: None,
            tier: None,
            explain: false,
        }
    }
}

impl<'a> Body<'a> {
    fn take(&mut self, name: &str, field: Field<'a>) -> Result<(), Refusal> {
        let Some(known) = NO_PARAMETERS.iter().find(|known| **known == name) else {
            if name == "best_of" {
                self.answers(&field)?;
            }
            if !field.is_null() {
                self.parameters.push(name.to_owned());
            }
            return Ok(());
        };
        // Servers differ in which of two they heed, so what the gateway allows might not be what is then done.
        if !self.seen.insert(known) {
            return Err(field.wrong("is given twice"));
        }
        match name {
            "model" => self.model = field.string()?,
            "models" => self.models = field.names()?,
            "stream" => self.streaming = field.boolean()?.unwrap_or(false),
            "stream_options" => self.usage_asked |= included(&field, "include_usage")?,
            "usage" => self.usage_asked |= included(&field, "include")?,
            "max_tokens" | "max_completion_tokens" | "max_output_tokens" => {
                // With two of them the larger one is what the request may cost.
                self.max_tokens = self.max_tokens.max(field.whole(0)?);
            }
            "n" => self.answers(&field)?,
            "provider" => self.provider = Some(field),
            "service_tier" | "speed" => self.tier(&field)?,
            "explain" => self.explain = field.boolean()?.unwrap_or(false),
            "plugins" => no_plugins(&field)?,
            _ => {}
        }
        Ok(())
    }

    fn answers(&mut self, field: &Field<'_>) -> Result<(), Refusal> {
        let answers = field.whole(1)?.unwrap_or(1);
        let most = u32::try_from(answers).ok().filter(|_| answers <= MAX_ANSWERS);
        let most = most.ok_or_else(|| field.wrong(&format!("may be at most {MAX_ANSWERS}")))?;
        self.answers = self.answers.max(most);
        Ok(())
    }

    fn tier(&mut self, field: &Field<'_>) -> Result<(), Refusal> {
        let tier = match field.string()?.as_deref() {
            None | Some("auto") => None,
            Some("default" | "standard" | "standard_only") => Some(Tier::Standard),
            Some("priority" | "fast") => Some(Tier::Fast),
            Some("ultra") => Some(Tier::Ultra),
            Some("flex") => Some(Tier::Flex),
            Some(_) => {
                return Err(field.wrong(
                    "must be \"auto\", \"standard\" (or \"default\"), \"fast\" (or \"priority\"), \"ultra\" or \
                     \"flex\"",
                ));
            }
        };
        if self.tier.is_some() && tier.is_some() && self.tier != tier {
            return Err(field
                .wrong("asks for another tier: `service_tier` and `speed` must not contradict each other"));
        }
        self.tier = self.tier.or(tier);
        Ok(())
    }
}

fn included(field: &Field<'_>, member: &str) -> Result<bool, Refusal> {
    for (name, inner) in field.fields()? {
        if name == member {
            return Ok(inner.boolean()?.unwrap_or(false));
        }
    }
    Ok(false)
}

/// They change what is answered, so to leave them out in silence would be wrong.
fn no_plugins(field: &Field<'_>) -> Result<(), Refusal> {
    if field.is_empty_list() {
        Ok(())
    } else {
        Err(field.wrong("cannot be honoured: the gateway has no plugins"))
    }
}

/// The first model, what its name asks to sort by, and the others.
fn models(
    model: Option<String>,
    others: Vec<String>,
) -> Result<(String, Option<Sort>, Vec<String>), Refusal> {
    let mut others = others.into_iter();
    let first = model.or_else(|| others.next());
    let first = first.ok_or_else(|| Refusal::invalid_request("model", "is missing"))?;
    if first.is_empty() || first.len() > MAX_MODEL_BYTES {
        return Err(Refusal::invalid_request(
            "model",
            &format!("must be a name of 1 to {MAX_MODEL_BYTES} bytes"),
        ));
    }
    let (name, sort) = without_suffix(&first);
    let mut fallbacks: Vec<String> = Vec::new();
    for other in others {
        let other = without_suffix(&other).0;
        if other != name && !fallbacks.iter().any(|known| known == other) {
            fallbacks.push(other.to_owned());
        }
    }
    Ok((name.to_owned(), sort, fallbacks))
}

fn without_suffix(model: &str) -> (&str, Option<Sort>) {
    for (suffix, sort) in [(":nitro", Sort::Throughput), (":floor", Sort::Price)] {
        if let Some(name) = model.strip_suffix(suffix).filter(|name| !name.is_empty()) {
            return (name, Some(sort));
        }
    }
    (model, None)
}

fn prompt(protocol: Protocol, members: &Members<'_>) -> Result<(u64, Vec<u64>, u32), Refusal> {
    let order: &[&str] = match protocol {
        Protocol::OpenaiChat => &["tools", "functions", "messages"],
        Protocol::OpenaiCompletions => &["prompt"],
        Protocol::OpenaiEmbeddings => &["input"],
        Protocol::OpenaiResponses => &["instructions", "tools", "input"],
        Protocol::AnthropicMessages => &["system", "tools", "messages"],
    };
    let mut prompt = Prompt::new();
    for name in order {
        for member in members.0.iter().filter(|member| member.name == *name) {
            if matches!(*name, "tools" | "functions") {
                prompt.json(member.value);
            } else {
                // What is left to be wrong: nesting too deep, half a surrogate pair, a number that no float can hold.
                prompt.text(member.value).map_err(|error| {
                    Refusal::invalid_request(name, &format!("cannot be read: {}", words(&error)))
                })?;
            }
        }
    }
    Ok(prompt.finish())
}

fn header_deadline(head: &Head, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(value) = head.header(name) else { return Ok(None) };
    let read = value.trim().parse::<f64>().map_err(|_| "must be a number (ms)").and_then(deadline_ns);
    read.map(Some).map_err(|what| Refusal::invalid_request(name, what))
}

fn header_true(head: &Head, name: &str) -> bool {
    head.header(name).is_some_and(|value| matches!(value.trim(), "1" | "true" | "yes"))
}
