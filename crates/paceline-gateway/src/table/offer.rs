//! An offer: one model of one provider at one tier.

use std::net::SocketAddr;

use paceline_wire::{Protocol, Secrets};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::GatewayError;

/// How fast, and how dear, an offer is meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The ordinary one.
    Standard,
    /// Faster for more money.
    Fast,
    /// As fast as can be, with limits.
    Ultra,
    /// Cheaper, and without promise of speed.
    Flex,
}

impl Tier {
    /// The name in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Fast => "fast",
            Self::Ultra => "ultra",
            Self::Flex => "flex",
        }
    }
}

/// Where an offer's requests go.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `http` or `https`.
    pub scheme: String,
    /// For the `host` header and the certificate.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What comes before `/chat/completions` and the like: `/v1`, or nothing.
    pub path: String,
    /// Resolved addresses, tried in turn.
    pub addresses: Vec<SocketAddr>,
    /// Headers of each request, the key's among them.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// A CA to trust in place of the system's roots.
    #[serde(default)]
    pub ca_pem: Option<String>,
}

impl Target {
    /// The base URL, without what its headers hold.
    pub(crate) fn endpoint(&self) -> String {
        format!("{}://{}:{}{}", self.scheme, self.host, self.port, self.path)
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers hold keys.
        f.write_str(&self.endpoint())
    }
}

/// Prices in USD per million tokens, the tier's multiplier already in them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens that no cache had.
    pub input_usd_per_mtok: f64,
    /// Generated tokens.
    pub output_usd_per_mtok: f64,
    /// Prompt tokens from a cache; none: as input.
    #[serde(default)]
    pub cache_read_usd_per_mtok: Option<f64>,
    /// Prompt tokens written to a cache; none: as input.
    #[serde(default)]
    pub cache_write_usd_per_mtok: Option<f64>,
    /// Each request.
    #[serde(default)]
    pub request_usd: f64,
}

/// Bounds on an offer's use. None: there is none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferLimits {
    /// Requests in flight; the limit that adapts never goes beyond.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Requests that may wait for one of them to end; 0: none.
    #[serde(default)]
    pub queue: u32,
    /// How long one may wait, in ns.
    #[serde(default)]
    pub queue_ns: Option<i64>,
    /// Keys that may use the offer at a time: each holds a session.
    #[serde(default)]
    pub sessions: Option<u32>,
    /// How long a session may last, in ns.
    #[serde(default)]
    pub session_ns: Option<i64>,
    /// A session ends when nothing was asked for so long, in ns.
    #[serde(default)]
    pub idle_ns: Option<i64>,
}

/// How long an offer may take, in ns.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferTimeouts {
    /// To connect, TLS included.
    pub connect_ns: i64,
    /// From the request to the first token (of an answer that is no stream: to its end).
    pub first_token_ns: i64,
    /// Between two reads of an answer.
    pub gap_ns: i64,
    /// From the request to the end.
    pub total_ns: i64,
}

/// An offer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Unique in the table.
    pub id: String,
    /// The model that it is an offer of.
    pub model: String,
    /// Who serves it.
    pub provider: String,
    /// What the upstream calls the model.
    pub upstream_model: String,
    /// Its tier.
    pub tier: Tier,
    /// What the upstream speaks.
    #[serde(deserialize_with = "protocols")]
    pub protocols: Vec<Protocol>,
    /// Where it is.
    pub target: Target,
    /// What it costs; none: unknown.
    #[serde(default)]
    pub price: Option<Price>,
    /// Where the price is from, in words for people: the package, its version and the day; none: unsaid.
    #[serde(default)]
    pub price_source: Option<String>,
    /// Tokens of prompt and answer together; none: unknown.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// Tokens of an answer at most; none: unknown.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// Request parameters that it supports; none: unknown, which counts as all of them.
    #[serde(default)]
    pub parameters: Option<Vec<String>>,
    /// Ids of the keys that may use it; none: all.
    #[serde(default)]
    pub allow_keys: Option<Vec<String>>,
    /// Fields of each request's body that the tier needs, as `{"service_tier": "priority"}`: put in where the client
    /// says nothing of them.
    #[serde(default)]
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// Bounds on its use.
    #[serde(default)]
    pub limits: OfferLimits,
    /// How long it may take.
    pub timeouts: OfferTimeouts,
    /// What its server may echo, and nobody may see.
    #[serde(skip)]
    pub secrets: Secrets,
}

impl Offer {
    /// What it is asked in for a client's protocol; none: it cannot be.
    #[must_use]
    pub fn protocol_for(&self, client: Protocol) -> Option<Protocol> {
        if self.protocols.contains(&client) {
            return Some(client);
        }
        self.protocols.iter().copied().find(|own| paceline_translate::can_translate(client, *own))
    }

    pub(super) fn check(&self) -> Result<(), GatewayError> {
        let wrong = |what: &str| GatewayError::Document(format!("route table: offer {:?}: {what}", self.id));
        if self.target.addresses.is_empty() {
            return Err(wrong("it has no address"));
        }
        if !matches!(self.target.scheme.as_str(), "http" | "https") {
            return Err(wrong("the scheme must be http or https"));
        }
        if self.protocols.is_empty() {
            return Err(wrong("it speaks no protocol"));
        }
        Ok(())
    }
}

fn protocols<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Protocol>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names
        .iter()
        .map(|name| {
            Protocol::from_name(name)
                .ok_or_else(|| serde::de::Error::custom(format!("there is no protocol {name:?}")))
        })
        .collect()
}
