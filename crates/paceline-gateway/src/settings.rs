//! `paceline.gateway/1`: what a gateway is from its start to its end. What may change while it runs is the route table.

use std::path::PathBuf;

use serde::Deserialize;

use crate::error::GatewayError;

const SCHEMA: &str = "paceline.gateway/1";

/// What happens to traffic when the ledger cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLedgerFailure {
    /// New requests are refused until it can be written again.
    Stop,
    /// Traffic flows, and what is lost is counted.
    Flow,
}

/// Where and how each request is written down.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerSettings {
    /// The folder of its segments.
    pub folder: PathBuf,
    /// A segment that has grown so large is followed by another.
    pub segment_bytes: u64,
    /// How often what was written is brought to the disk (`fdatasync`), in ns; 0: never. A killed process loses
    /// nothing in any case; a machine that loses power loses at most this.
    pub sync_every_ns: i64,
    /// What happens when it cannot be written.
    pub on_failure: OnLedgerFailure,
    /// So many of the last requests can be asked for by id.
    pub recent_requests: usize,
}

/// Certificate chain and key, PEM.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// The chain.
    pub cert_pem: String,
    /// The key.
    pub key_pem: String,
}

impl std::fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsSettings")
    }
}

/// Bounds on clients. Durations in ns.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLimits {
    /// Connections open at once; more are turned away.
    pub connections: usize,
    /// Requests in flight at once, waiting ones included; more get status 503.
    pub requests: usize,
    /// The largest request head.
    pub head_bytes: usize,
    /// The largest request body.
    pub body_bytes: usize,
    /// From the first byte of a request to the end of its head.
    pub head_ns: i64,
    /// From the end of the head to the end of the body.
    pub body_ns: i64,
    /// An idle connection is closed after so long.
    pub idle_ns: i64,
    /// A client that takes no byte for so long has gone.
    pub write_ns: i64,
    /// Bytes that may wait for a slow client; beyond, its upstream is not read.
    pub pending_bytes: usize,
    /// The largest body of an answer that is no stream.
    pub answer_bytes: usize,
    /// The largest event of a stream.
    pub event_bytes: usize,
}

/// The whole of `paceline.gateway/1`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewaySettings {
    schema: String,
    /// `host:port` that clients use; port 0 takes a free one.
    pub listen: String,
    /// `host:port` of metrics, figures and pages for operators; none: there are none.
    pub admin_listen: Option<String>,
    /// TLS for clients.
    #[serde(default)]
    pub tls: Option<TlsSettings>,
    /// Event loops, each a thread.
    pub threads: usize,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Bounds on clients.
    pub clients: ClientLimits,
    /// The ledger.
    pub ledger: LedgerSettings,
    /// While a client waits for its first token: after so long its stream is begun, and a comment keeps it alive,
    /// again each such time. 0: never.
    pub keep_alive_ns: i64,
    /// Once told to end, requests in flight have so long.
    pub drain_ns: i64,
    /// Keep the generated text in the ledger.
    #[serde(default)]
    pub keep_text: bool,
}

impl GatewaySettings {
    /// Reads and checks the document.
    ///
    /// # Errors
    /// When it is not what this page says; the message names the key.
    pub fn from_json(json: &str) -> Result<Self, GatewayError> {
        let settings: Self = crate::error::read_document(json, "settings")?;
        if settings.schema != SCHEMA {
            return Err(GatewayError::Document(format!(
                "settings: schema is {:?}, expected {SCHEMA:?}",
                settings.schema
            )));
        }
        if settings.threads == 0 || settings.threads > 256 {
            return Err(GatewayError::Document("settings: threads must be from 1 to 256".to_owned()));
        }
        Ok(settings)
    }
}
