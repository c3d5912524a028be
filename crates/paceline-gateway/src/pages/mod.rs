//! Pages that are read: models, figures, one's own key and requests, health and metrics. Pure: what they show is given.

mod context;
mod counters;
mod exposition;
mod health;
mod histogram;
mod metrics;
mod models;
mod offers;
mod paths;
mod prices;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub(crate) use context::{Asked, Context, Keys};
pub(crate) use counters::Counters;

use crate::refusal::Refusal;
use crate::table::Key;
use paths::Wanted;

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// The page that is asked for, or why there is none.
pub(crate) fn page(asked: &Asked<'_>, context: &Context<'_>, keys: &dyn Keys) -> Page {
    answer(asked, context, keys).unwrap_or_else(|refusal| Page::refused(&refusal, asked.anthropic))
}

fn answer(asked: &Asked<'_>, context: &Context<'_>, keys: &dyn Keys) -> Result<Page, Refusal> {
    let wanted = paths::wanted(asked.method, asked.path, asked.query, asked.admin)?;
    let table = context.table;
    match wanted {
        Wanted::Health => return Ok(health::alive()),
        Wanted::Ready => return Ok(health::ready(context)),
        Wanted::Metrics => return Ok(metrics::metrics(context)),
        Wanted::Figures => return Ok(offers::figures(context)),
        _ => {}
    }
    let key = keys.authenticate(table)?;
    let key = key.as_ref();
    let own: Option<&Key> = key.map(AsRef::as_ref);
    match wanted {
        Wanted::Model(name) => models::one(table, own, &name, asked.anthropic),
        Wanted::Endpoints(name) => Ok(offers::of_model(context, models::find(table, own, &name)?, own)),
        Wanted::Generation(id) => keys
            .generation(&id, own)
            .map(|data| Page::of(200, "application/json", format!("{{\"data\":{data}}}")))
            .ok_or_else(|| Refusal::unknown_generation(&id)),
        Wanted::Key => Ok(Page::json(200, &json!({"data": keys.figures(key)}))),
        _ => Ok(models::list(table, own, asked.anthropic)),
    }
}

/// All that the operator's pages know, for who runs the gateway in this process.
pub(crate) fn stats(context: &Context<'_>) -> Value {
    json!({
        "requests": context.counters.by_outcome(),
        "requests_in_flight": context.in_flight,
        "connections": context.connections,
        "draining": context.draining,
        "table_version": context.table.version,
        "ledger": context.ledger,
        "offers": offers::entries(context),
        "not_ready": health::reasons(context),
    })
}

impl Page {
    fn json(status: u16, document: &Value) -> Self {
        Self::of(status, "application/json", document.to_string())
    }

    fn of(status: u16, content_type: &'static str, body: String) -> Self {
        // Figures are of one moment, and a cache would show another.
        let headers = vec![("cache-control", "no-store".to_owned())];
        Self { status, content_type, headers, body: body.into_bytes() }
    }

    fn refused(refusal: &Refusal, anthropic: bool) -> Self {
        let protocol = if anthropic {
            paceline_wire::Protocol::AnthropicMessages
        } else {
            paceline_wire::Protocol::OpenaiChat
        };
        let mut headers = refusal.headers();
        if let Some(allow) = refusal.metadata.as_ref().and_then(|metadata| metadata.get("allow")?.as_str()) {
            headers.push(("allow", allow.to_owned()));
        }
        Self {
            status: refusal.status,
            content_type: "application/json",
            headers,
            body: refusal.body(protocol, ""),
        }
    }
}
