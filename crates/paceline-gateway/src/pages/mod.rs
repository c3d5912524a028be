//! Pages that are read: models, figures, one's own key and requests, health and metrics. Pure: what they show is given.

mod counters;
mod histogram;
mod models;
mod paths;
mod prices;

pub(crate) use counters::Counters;

use crate::refusal::Refusal;

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Page {
    fn json(status: u16, document: &serde_json::Value) -> Self {
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
