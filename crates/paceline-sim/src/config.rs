//! The engine's configuration: one JSON document, every key optional, unknown keys refused.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::fault::Fault;

/// The longest duration that may be configured, a day, so that sums of durations stay far from overflow.
pub(crate) const MAX_US: u64 = 86_400_000_000;
/// The most tokens that one answer may have.
pub(crate) const MAX_OUTPUT_TOKENS: u64 = 10_000_000;

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

/// When and what usage figures are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageMode {
    /// In the body, or in the stream's last event when `stream_options.include_usage` asks for it.
    #[default]
    Final,
    /// Never, asked for or not.
    None,
    /// In every event, running, and in the last one, asked for or not.
    Each,
    /// As `final`, with a wrong number of completion tokens.
    Wrong,
}

/// A pause in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Events whose first token has this index or a later one are late.
    pub after_tokens: u64,
    /// By so much, in us.
    pub stall_us: u64,
}

/// The schedule of exact mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExactConfig {
    /// From the request's first byte to the first token, in us.
    pub ttft_us: u64,
    /// From one token to the next, in us.
    pub itl_us: u64,
    /// Tokens that one event carries.
    pub tokens_per_event: u64,
    /// Tokens of an answer, reasoning and tool call among them; the request's limit may make it fewer.
    pub output_tokens: u64,
    /// How many of them, from the first on, are reasoning.
    pub reasoning_tokens: u64,
    /// How many of them, up to the last, are the arguments of a tool call.
    pub tool_tokens: u64,
    /// The role comes in an event of its own, with the head.
    pub role_first: bool,
    /// Events with empty content before the first token, evenly spread over the TTFT.
    pub empty_first_events: u64,
    /// Pauses.
    pub stalls: Vec<Stall>,
    /// Usage figures.
    pub usage: UsageMode,
    /// Each event says its token ids.
    pub token_ids: bool,
}

impl Default for ExactConfig {
    fn default() -> Self {
        Self {
            ttft_us: 50_000,
            itl_us: 10_000,
            tokens_per_event: 1,
            output_tokens: 64,
            reasoning_tokens: 0,
            tool_tokens: 0,
            role_first: true,
            empty_first_events: 0,
            stalls: Vec::new(),
            usage: UsageMode::Final,
            token_ids: false,
        }
    }
}

impl ExactConfig {
    /// Says which field is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        at_most("exact.ttft_us", self.ttft_us, MAX_US)?;
        at_most("exact.itl_us", self.itl_us, MAX_US)?;
        at_least_one("exact.tokens_per_event", self.tokens_per_event)?;
        at_most("exact.tokens_per_event", self.tokens_per_event, 100_000)?;
        at_least_one("exact.output_tokens", self.output_tokens)?;
        at_most("exact.output_tokens", self.output_tokens, MAX_OUTPUT_TOKENS)?;
        at_most("exact.empty_first_events", self.empty_first_events, 100_000)?;
        let special = self.reasoning_tokens.saturating_add(self.tool_tokens);
        if special > self.output_tokens {
            return Err(format!(
                "exact.reasoning_tokens and exact.tool_tokens are {special} together, more than exact.output_tokens ({}), of which they are a part",
                self.output_tokens
            ));
        }
        for stall in &self.stalls {
            at_most("exact.stalls.stall_us", stall.stall_us, MAX_US)?;
        }
        Ok(())
    }
}

/// Speculative decoding: one step may yield several tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecBurst {
    /// The most tokens a step.
    pub max_tokens: u32,
    /// The chance that a drafted token is accepted, given that those before it were.
    pub acceptance: f64,
}

/// The model of engine mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// Requests that are worked on at once.
    pub slots: usize,
    /// Prompt tokens a second.
    pub prefill_tok_s: f64,
    /// What a prefill takes besides its tokens, in us.
    pub prefill_base_us: u64,
    /// What a decode step takes besides its sequences, in us.
    pub decode_step_base_us: u64,
    /// What a decode step takes for each sequence in it, in us.
    pub decode_step_per_seq_us: u64,
    /// Prompts that begin alike are computed once.
    pub prefix_cache: bool,
    /// Blocks of 16 tokens that the prefix cache keeps.
    pub prefix_cache_blocks: usize,
    /// What a cached token costs, as a share of an uncached one.
    pub cached_prefill_share: f64,
    /// Speculative decoding.
    pub spec_burst: Option<SpecBurst>,
    /// Tokens of an answer when the request sets no limit.
    pub output_tokens: u64,
    /// How many of the answer's tokens, from the first on, are reasoning.
    pub reasoning_tokens: u64,
    /// Requests that may wait for a slot; more are refused with status 429.
    pub queue_limit: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            slots: 8,
            prefill_tok_s: 8_000.0,
            prefill_base_us: 2_000,
            decode_step_base_us: 8_000,
            decode_step_per_seq_us: 300,
            prefix_cache: true,
            prefix_cache_blocks: 65_536,
            cached_prefill_share: 0.05,
            spec_burst: None,
            output_tokens: 64,
            reasoning_tokens: 0,
            queue_limit: 1_000,
        }
    }
}

impl EngineConfig {
    fn check(&self) -> Result<(), String> {
        at_least_one("engine.slots", self.slots as u64)?;
        if !(self.prefill_tok_s.is_finite() && self.prefill_tok_s >= 1.0) {
            return Err(format!("engine.prefill_tok_s is {}, and must be at least 1", self.prefill_tok_s));
        }
        at_most("engine.prefill_base_us", self.prefill_base_us, MAX_US)?;
        at_most("engine.decode_step_base_us", self.decode_step_base_us, MAX_US)?;
        at_most("engine.decode_step_per_seq_us", self.decode_step_per_seq_us, MAX_US)?;
        if self.decode_step_base_us + self.decode_step_per_seq_us == 0 {
            return Err("engine.decode_step_base_us and engine.decode_step_per_seq_us are both 0".to_owned());
        }
        share("engine.cached_prefill_share", self.cached_prefill_share)?;
        at_least_one("engine.output_tokens", self.output_tokens)?;
        at_most("engine.output_tokens", self.output_tokens, MAX_OUTPUT_TOKENS)?;
        if let Some(burst) = self.spec_burst {
            at_least_one("engine.spec_burst.max_tokens", u64::from(burst.max_tokens))?;
            at_most("engine.spec_burst.max_tokens", u64::from(burst.max_tokens), 1_000)?;
            share("engine.spec_burst.acceptance", burst.acceptance)?;
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
    /// What goes wrong.
    pub fault: Option<Fault>,
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
            fault: None,
        }
    }
}

impl SimConfig {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// [`SimError::Config`], whose message names the field that is unknown, of a wrong type or out of range.
    pub fn from_json(json: &str) -> Result<Self, SimError> {
        let config: Self = from_json(json).map_err(SimError::Config)?;
        config.check().map_err(SimError::Config)?;
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
        self.exact.check()?;
        self.engine.check()?;
        self.fault.as_ref().map_or(Ok(()), Fault::check)
    }
}

/// What header `x-paceline-sim` changes for one request: the keys of `exact`, and `fault`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Override {
    pub(crate) exact: ExactConfig,
    /// None: as configured. Some(None): no fault.
    pub(crate) fault: Option<Option<Fault>>,
}

impl Override {
    /// Lays the header's keys over `base`. The message names the key that is wrong.
    pub(crate) fn parse(header: &str, base: &ExactConfig, mode: Mode) -> Result<Self, String> {
        let serde_json::Value::Object(mut keys) = from_json(header)? else {
            return Err("not a JSON object".to_owned());
        };
        let fault = keys
            .remove("fault")
            .map(|value| {
                let fault: Option<Fault> = from_value(value).map_err(|error| format!("fault.{error}"))?;
                fault.as_ref().map_or(Ok(()), Fault::check)?;
                Ok::<_, String>(fault)
            })
            .transpose()?;
        if keys.is_empty() {
            return Ok(Self { exact: base.clone(), fault });
        }
        if mode == Mode::Engine {
            return Err("in engine mode only `fault` can be set for one request".to_owned());
        }
        let mut laid = serde_json::to_value(base).map_err(|error| error.to_string())?;
        if let Some(object) = laid.as_object_mut() {
            object.append(&mut keys);
        }
        let exact: ExactConfig = from_value(laid)?;
        exact.check()?;
        Ok(Self { exact, fault })
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
    use crate::fault::FaultKind;

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

    #[test]
    fn a_header_lays_its_keys_over_the_configuration() {
        let base = ExactConfig { itl_us: 77, ..ExactConfig::default() };
        let laid = Override::parse(
            r#"{"ttft_us": 5, "fault": {"kind": "cut", "after_events": 2}}"#,
            &base,
            Mode::Exact,
        )
        .unwrap();
        assert_eq!((laid.exact.ttft_us, laid.exact.itl_us), (5, 77));
        assert_eq!(laid.fault.unwrap().unwrap().kind, FaultKind::Cut);
        assert_eq!(Override::parse(r#"{"fault": null}"#, &base, Mode::Engine).unwrap().fault, Some(None));
        assert_eq!(Override::parse("{}", &base, Mode::Exact).unwrap().fault, None);
    }

    #[test]
    fn a_wrong_header_is_refused_by_name() {
        let base = ExactConfig::default();
        for (header, mode, names) in [
            (r#"{"ttft": 5}"#, Mode::Exact, "ttft"),
            (r#"{"ttft_us": "x"}"#, Mode::Exact, "ttft_us"),
            (r#"{"output_tokens": 0}"#, Mode::Exact, "output_tokens"),
            (r#"{"fault": {"kind": "nope"}}"#, Mode::Exact, "fault.kind"),
            (r#"{"ttft_us": 5}"#, Mode::Engine, "engine mode"),
            ("[]", Mode::Exact, "object"),
            ("{", Mode::Exact, "EOF"),
        ] {
            let message = Override::parse(header, &base, mode).unwrap_err();
            assert!(message.contains(names), "{header}: {message}");
        }
    }
}
