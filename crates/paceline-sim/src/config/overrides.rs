//! What one request changes of the configuration.

use super::{ExactConfig, Mode, from_json, from_value};
use crate::fault::Fault;

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
        Ok(Self { exact: lay(base, keys)?, fault })
    }
}

/// Lays keys of `exact` over `base`. The message names the key that is wrong.
pub(super) fn lay(
    base: &ExactConfig,
    mut keys: serde_json::Map<String, serde_json::Value>,
) -> Result<ExactConfig, String> {
    let mut laid = serde_json::to_value(base).map_err(|error| error.to_string())?;
    if let Some(object) = laid.as_object_mut() {
        object.append(&mut keys);
    }
    let exact: ExactConfig = from_value(laid)?;
    exact.check()?;
    Ok(exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;

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
