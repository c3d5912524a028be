//! What changes while the engine runs: stages, each of which holds until the next one begins.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::overrides::lay;
use super::{ExactConfig, MAX_US, Mode, RateLimit, SimConfig, at_most};
use crate::fault::Fault;

/// The most stages.
const MAX_STAGES: usize = 10_000;

/// Other values from an instant or a number of requests on. What a stage does not say is as configured, not as in the
/// stage before it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stage {
    /// It begins so long after the engine, in ms.
    pub at_ms: Option<u64>,
    /// It begins with the request after so many.
    pub after_requests: Option<u64>,
    /// Keys of `exact` that have other values.
    exact: Map<String, Value>,
    /// None: as configured. Some(None): no fault.
    #[serde(deserialize_with = "said")]
    fault: Option<Option<Fault>>,
    /// None: as configured.
    rate_limit: Option<RateLimit>,
    /// `exact` laid over the configuration.
    #[serde(skip)]
    laid: ExactConfig,
}

/// Tells null from nothing.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Fault>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Stage {
    fn has_begun(&self, elapsed_ms: u64, requests: u64) -> bool {
        self.at_ms.is_some_and(|at| elapsed_ms >= at)
            || self.after_requests.is_some_and(|after| requests >= after)
    }

    fn prepare(&mut self, base: &ExactConfig, mode: Mode) -> Result<(), String> {
        match (self.at_ms, self.after_requests) {
            (Some(at_ms), None) => at_most("at_ms", at_ms, MAX_US / 1_000)?,
            (None, Some(_)) => {}
            _ => return Err("it begins either at_ms or after_requests: one of them must be given".to_owned()),
        }
        if mode == Mode::Engine && !self.exact.is_empty() {
            return Err("in engine mode only fault and rate_limit can change".to_owned());
        }
        self.laid = lay(base, self.exact.clone())?;
        if let Some(limit) = &self.rate_limit {
            limit.check()?;
        }
        self.fault.as_ref().and_then(Option::as_ref).map_or(Ok(()), Fault::check)
    }
}

/// Lays each stage over the configuration. Says which stage is wrong.
pub(super) fn prepare(config: &mut SimConfig) -> Result<(), String> {
    if config.timeline.len() > MAX_STAGES {
        return Err(format!("timeline has {} stages, and may have {MAX_STAGES}", config.timeline.len()));
    }
    let (mut at_ms, mut requests) = (0, 0);
    for (place, stage) in config.timeline.iter_mut().enumerate() {
        let wrong = |what: String| format!("timeline[{place}]: {what}");
        stage.prepare(&config.exact, config.mode).map_err(wrong)?;
        if stage.at_ms.unwrap_or(at_ms) < at_ms || stage.after_requests.unwrap_or(requests) < requests {
            return Err(wrong("it begins before the stage that it follows".to_owned()));
        }
        at_ms = stage.at_ms.unwrap_or(at_ms);
        requests = stage.after_requests.unwrap_or(requests);
    }
    Ok(())
}

impl SimConfig {
    /// The stage that holds now: the last one of the list that has begun. None: none has.
    pub(crate) fn stage_at(&self, elapsed_ms: u64, requests: u64) -> Option<usize> {
        self.timeline.iter().rposition(|stage| stage.has_begun(elapsed_ms, requests))
    }

    fn stage(&self, stage: Option<usize>) -> Option<&Stage> {
        self.timeline.get(stage?)
    }

    pub(crate) fn exact_in(&self, stage: Option<usize>) -> &ExactConfig {
        self.stage(stage).map_or(&self.exact, |stage| &stage.laid)
    }

    pub(crate) fn fault_in(&self, stage: Option<usize>) -> Option<&Fault> {
        match self.stage(stage).and_then(|stage| stage.fault.as_ref()) {
            Some(fault) => fault.as_ref(),
            None => self.fault.as_ref(),
        }
    }

    pub(crate) fn rate_limit_in(&self, stage: Option<usize>) -> RateLimit {
        self.stage(stage).and_then(|stage| stage.rate_limit).unwrap_or(self.rate_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;

    fn config(json: &str) -> SimConfig {
        SimConfig::from_json(json).unwrap()
    }

    #[test]
    fn the_last_stage_that_has_begun_holds() {
        let config = config(
            r#"{"timeline": [{"at_ms": 100}, {"after_requests": 5}, {"at_ms": 200}, {"after_requests": 9}]}"#,
        );
        for (elapsed_ms, requests, stage) in [
            (0, 0, None),
            (99, 4, None),
            (100, 0, Some(0)),
            (0, 5, Some(1)),
            (150, 5, Some(1)),
            (200, 5, Some(2)),
            (0, 9, Some(3)),
        ] {
            assert_eq!(config.stage_at(elapsed_ms, requests), stage, "{elapsed_ms} ms, {requests} requests");
        }
    }

    #[test]
    fn what_a_stage_does_not_say_is_as_configured() {
        let config = config(
            r#"{"exact": {"ttft_us": 7, "itl_us": 3}, "fault": {"kind": "cut"}, "rate_limit": {"requests_per_min": 60},
                "timeline": [{"at_ms": 1, "exact": {"ttft_us": 900}}, {"at_ms": 2, "fault": null},
                             {"at_ms": 3, "fault": {"kind": "stall"}, "rate_limit": {"requests_per_min": 1}}]}"#,
        );
        let kind = |stage| config.fault_in(stage).map(|fault| fault.kind);
        let figures = |stage| (config.exact_in(stage).ttft_us, config.exact_in(stage).itl_us);
        assert_eq!([figures(None), figures(Some(0)), figures(Some(1))], [(7, 3), (900, 3), (7, 3)]);
        assert_eq!(
            [kind(None), kind(Some(0)), kind(Some(1))],
            [Some(FaultKind::Cut), Some(FaultKind::Cut), None]
        );
        assert_eq!(kind(Some(2)), Some(FaultKind::Stall));
        let limit = |stage| config.rate_limit_in(stage).requests_per_min;
        assert_eq!([limit(None), limit(Some(1)), limit(Some(2))], [Some(60), Some(60), Some(1)]);
    }

    #[test]
    fn a_wrong_stage_is_named() {
        for (json, names) in [
            (r#"{"timeline": [{}]}"#, "timeline[0]: it begins either"),
            (r#"{"timeline": [{"at_ms": 1, "after_requests": 1}]}"#, "timeline[0]: it begins either"),
            (r#"{"timeline": [{"at_ms": 5}, {"at_ms": 4}]}"#, "timeline[1]: it begins before"),
            (r#"{"timeline": [{"after_requests": 5}, {"at_ms": 9}, {"after_requests": 4}]}"#, "timeline[2]"),
            (r#"{"timeline": [{"at_ms": 1, "exact": {"ttft": 4}}]}"#, "ttft"),
            (r#"{"timeline": [{"at_ms": 1, "exact": {"output_tokens": 0}}]}"#, "exact.output_tokens"),
            (r#"{"timeline": [{"at_ms": 1, "fault": {"kind": "gremlin"}}]}"#, "gremlin"),
            (r#"{"timeline": [{"at_ms": 1, "fault": {"kind": "cut", "share": 2}}]}"#, "fault.share"),
            (r#"{"timeline": [{"at_ms": 1, "rate_limit": {"requests_per_min": 0}}]}"#, "requests_per_min"),
            (r#"{"mode": "engine", "timeline": [{"at_ms": 1, "exact": {"ttft_us": 4}}]}"#, "engine mode"),
            (r#"{"timeline": [{"at_ms": 99999999999999}]}"#, "at_ms"),
        ] {
            let message = SimConfig::from_json(json).unwrap_err().to_string();
            assert!(message.contains(names), "{json}: {message}");
        }
    }
}
