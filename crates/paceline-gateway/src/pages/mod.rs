//! Pages that are read: models, figures, one's own key and requests, health and metrics. Pure: what they show is given.

mod counters;
mod histogram;

pub(crate) use counters::Counters;

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Page {
    fn json(status: u16, document: &serde_json::Value) -> Self {
        Self { status, content_type: "application/json", body: document.to_string().into_bytes() }
    }
}
