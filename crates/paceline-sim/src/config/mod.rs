//! The engine's configuration: one JSON document, every key optional, unknown keys refused.

mod engine;
mod exact;
mod overrides;
mod timeline;

use std::path::PathBuf;

use serde::Deserialize;

use crate::answers::KnownAnswer;
use crate::error::SimError;
use crate::fault::Fault;
use crate::metrics::Flavour;

pub use engine::{EngineConfig, SpecBurst};
pub use exact::{ExactConfig, Stall, UsageMode};
pub(crate) use overrides::Override;
pub use timeline::Stage;

/// The longest duration that may be configured, a day, so that sums of durations stay far from overflow.
pub(crate) const MAX_US: u64 = 86_400_000_000;
/// The most tokens that one answer may have.
pub(crate) const MAX_OUTPUT_TOKENS: u64 = 10_000_000;

/// The most numbers that one embedding may have.
pub(crate) const MAX_DIMENSIONS: usize = 65_536;

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// How answers are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By a fixed schedule, the same for each request.
    #[default]
    Exact,
    /// By a model of an inference engine, in which requests contend.
    Engine,
}

/// How much a key may ask for; a limit that is null does not bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RateLimit {
    /// Requests a minute.
    pub requests_per_min: Option<u64>,
    /// Tokens a minute, of prompts and answers.
    pub tokens_per_min: Option<u64>,
}

impl RateLimit {
    fn check(&self) -> Result<(), String> {
        for (field, limit) in [
            ("rate_limit.requests_per_min", self.requests_per_min),
            ("rate_limit.tokens_per_min", self.tokens_per_min),
        ] {
            if let Some(limit) = limit {
                at_least_one(field, limit)?;
                at_most(field, limit, 1_000_000_000_000)?;
            }
        }
        Ok(())
    }
}

/// All that the reference engine can be told.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SimConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: String,
    /// The models that requests may name; the first is the engine's own.
    pub models: Vec<String>,
    /// The bearer key that requests must carry.
    pub api_key: Option<Secret>,
    /// Where the truth log goes.
    pub truth_log: Option<PathBuf>,
    /// A certificate chain in PEM; with the key it turns TLS on.
    pub tls_cert_pem: Option<String>,
    /// Its key in PEM.
    pub tls_key_pem: Option<Secret>,
    /// The seed of texts, faults and bursts.
    pub seed: u64,
    /// Connections that may be open at once; more are turned away with status 503.
    pub max_connections: usize,
    /// How answers are timed.
    pub mode: Mode,
    /// The schedule of exact mode.
    pub exact: ExactConfig,
    /// The model of engine mode.
    pub engine: EngineConfig,
    /// Prompts that the engine knows the answer of.
    pub answers: Vec<KnownAnswer>,
    /// The share of them that it answers rightly.
    pub quality: f64,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// What changes while the engine runs.
    pub timeline: Vec<Stage>,
    /// Which engine's metrics are shown.
    pub metrics: Flavour,
    /// Requests and tokens a minute.
    pub rate_limit: RateLimit,
    /// How long an answer goes on after its client was seen to go, in us.
    pub cancel_delay_us: u64,
    /// A client that closes its sending half has not gone.
    pub ignore_half_close: bool,
    /// Prompt tokens of one image.
    pub image_tokens: u64,
    /// Numbers of an embedding whose request does not say how many.
    pub embedding_dimensions: usize,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            models: vec!["truth".to_owned()],
            api_key: None,
            truth_log: None,
            tls_cert_pem: None,
            tls_key_pem: None,
            seed: 1,
            max_connections: 10_000,
            mode: Mode::Exact,
            exact: ExactConfig::default(),
            engine: EngineConfig::default(),
            answers: Vec::new(),
            quality: 1.0,
            fault: None,
            timeline: Vec::new(),
            metrics: Flavour::default(),
            rate_limit: RateLimit::default(),
            cancel_delay_us: 0,
            ignore_half_close: false,
            image_tokens: 256,
            embedding_dimensions: 64,
        }
    }
}

impl SimConfig {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// [`SimError::Config`], whose message names the field that is unknown, of a wrong type or out of range.
    pub fn from_json(json: &str) -> Result<Self, SimError> {
        let mut config: Self = from_json(json).map_err(SimError::Config)?;
        config.check().and_then(|()| timeline::prepare(&mut config)).map_err(SimError::Config)?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.models.is_empty() || self.models.iter().any(String::is_empty) {
            return Err("models must hold at least one name, and no empty one".to_owned());
        }
        if self.api_key.as_ref().is_some_and(|key| key.reveal().is_empty()) {
            return Err("api_key is empty; leave it out to take any key".to_owned());
        }
        if self.tls_cert_pem.is_some() != self.tls_key_pem.is_some() {
            return Err("tls_cert_pem and tls_key_pem go together: both or neither".to_owned());
        }
        at_least_one("max_connections", self.max_connections as u64)?;
        at_most("max_connections", self.max_connections as u64, 1_000_000)?;
        at_most("cancel_delay_us", self.cancel_delay_us, MAX_US)?;
        at_most("image_tokens", self.image_tokens, 1_000_000)?;
        at_least_one("embedding_dimensions", self.embedding_dimensions as u64)?;
        at_most("embedding_dimensions", self.embedding_dimensions as u64, MAX_DIMENSIONS as u64)?;
        self.rate_limit.check()?;
        self.exact.check()?;
        self.engine.check()?;
        share("quality", self.quality)?;
        let room = match self.mode {
            Mode::Exact => self.exact.content_tokens(),
            Mode::Engine => self.engine.content_tokens(),
        };
        self.answers.iter().try_for_each(|answer| answer.check(room))?;
        self.fault.as_ref().map_or(Ok(()), Fault::check)
    }
}

fn from_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| explain(&error))?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

fn from_value<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| explain(&error))
}

fn explain(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    }
}

fn at_most(field: &str, value: u64, limit: u64) -> Result<(), String> {
    if value > limit { Err(format!("{field} is {value}, and may be {limit} at most")) } else { Ok(()) }
}

fn at_least_one(field: &str, value: u64) -> Result<(), String> {
    if value == 0 { Err(format!("{field} is 0, and must be at least 1")) } else { Ok(()) }
}

fn share(field: &str, value: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(format!("{field} is {value}, and must be from 0 to 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_document_is_the_default() {
        assert_eq!(SimConfig::from_json("{}").unwrap(), SimConfig::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, names) in [
            (r#"{"lisen": "x"}"#, "lisen"),
            (r#"{"exact": {"ttft_ms": 1}}"#, "ttft_ms"),
            (r#"{"exact": {"itl_us": "fast"}}"#, "exact.itl_us"),
            (r#"{"exact": {"itl_us": -1}}"#, "exact.itl_us"),
            (r#"{"exact": {"tokens_per_event": 0}}"#, "exact.tokens_per_event"),
            (r#"{"exact": {"output_tokens": 4, "reasoning_tokens": 5}}"#, "exact.reasoning_tokens"),
            (r#"{"exact": {"stalls": [{"after_tokens": 1, "stall_us": 1e99}]}}"#, "exact.stalls[0].stall_us"),
            (r#"{"engine": {"slots": 0}}"#, "engine.slots"),
            (r#"{"engine": {"prefill_tok_s": 0}}"#, "engine.prefill_tok_s"),
            (
                r#"{"engine": {"spec_burst": {"max_tokens": 2, "acceptance": 2}}}"#,
                "engine.spec_burst.acceptance",
            ),
            (r#"{"engine": {"decode_step_base_us": 0, "decode_step_per_seq_us": 0}}"#, "decode_step_base_us"),
            (r#"{"fault": {"kind": "gremlin"}}"#, "fault.kind"),
            (r#"{"fault": {"kind": "cut", "share": 2}}"#, "fault.share"),
            (r#"{"models": []}"#, "models"),
            (r#"{"api_key": ""}"#, "api_key"),
            (r#"{"tls_cert_pem": "x"}"#, "tls_key_pem"),
            (r#"{"max_connections": 0}"#, "max_connections"),
            (r#"{"mode": "turbo"}"#, "mode"),
            (r#"{"metrics": "triton"}"#, "metrics"),
            (r#"{"rate_limit": {"requests_per_min": 0}}"#, "rate_limit.requests_per_min"),
            (r#"{"exact": {"prefix_cache": true, "cached_tokens": 5}}"#, "exact.cached_tokens"),
            (r#"{"embedding_dimensions": 0}"#, "embedding_dimensions"),
            (r#"{"cancel_delay_us": 99999999999999}"#, "cancel_delay_us"),
            (r#"{"quality": 1.5}"#, "quality"),
            (r#"{"answers": [{"prompt": "a", "anser": "b"}]}"#, "answers[0].anser"),
            (r#"{"answers": [{"answer": "b"}]}"#, "prompt_sha256"),
            (r#"{"exact": {"output_tokens": 1}, "answers": [{"prompt": "a", "answer": "b c"}]}"#, "2 words"),
            (r#"{} trailing"#, "trailing"),
        ] {
            let message = SimConfig::from_json(json).unwrap_err().to_string();
            assert!(message.contains(names), "{json}: {message}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let config = SimConfig::from_json(r#"{"api_key": "sk-very-secret"}"#).unwrap();
        assert!(!format!("{config:?}").contains("very-secret"));
    }
}
