//! What can go wrong: for whoever starts the engine, and for whoever sends it a request.

use serde_json::json;

/// Why the reference engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The configuration is not valid; the message names the field.
    #[error("sim configuration: {0}")]
    Config(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address as it was asked for.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The truth log cannot be created.
    #[error("cannot create the truth log {path}: {source}")]
    TruthLog {
        /// Its path.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate or key is of no use.
    #[error("sim configuration: tls_cert_pem, tls_key_pem: {0}")]
    Tls(#[from] paceline_io::tls::TlsSetupError),
    /// The system refused a poller or a thread.
    #[error("cannot start the engine's thread: {0}")]
    Thread(std::io::Error),
}

/// The two forms in which errors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ErrorShape {
    /// `{"error": {"message", "type", "param", "code"}}`
    #[default]
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}}`
    Anthropic,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) code: &'static str,
    pub(crate) param: Option<&'static str>,
    pub(crate) message: String,
    /// Further headers, name and value.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) shape: ErrorShape,
}

impl ApiError {
    pub(crate) fn new(
        status: u16,
        kind: &'static str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            kind,
            code,
            param: None,
            message: message.into(),
            headers: Vec::new(),
            shape: ErrorShape::default(),
        }
    }

    pub(crate) fn invalid(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { param, ..Self::new(400, "invalid_request_error", "invalid_value", message) }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn shaped(self, shape: ErrorShape) -> Self {
        Self { shape, ..self }
    }

    /// The body of the response. `id`: the request's, which Anthropic's errors repeat.
    pub(crate) fn body(&self, id: &str) -> String {
        match self.shape {
            ErrorShape::OpenAi => json!({"error": {
                "message": self.message, "type": self.kind, "param": self.param, "code": self.code,
            }}),
            ErrorShape::Anthropic => json!({
                "type": "error",
                "error": {"type": anthropic_type(self.status), "message": self.message},
                "request_id": id,
            }),
        }
        .to_string()
    }
}

/// The type that goes with a status, as Anthropic's API has them.
fn anthropic_type(status: u16) -> &'static str {
    match status {
        400 | 405 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        _ => "api_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_openais_shape() {
        let error = ApiError::invalid(Some("messages"), "a \"quoted\" thing");
        let body: serde_json::Value = serde_json::from_str(&error.body("")).unwrap();
        assert_eq!(body["error"]["message"], "a \"quoted\" thing");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert_eq!(body["error"]["param"], "messages");
        assert_eq!(body["error"]["code"], "invalid_value");
    }

    #[test]
    fn the_body_has_anthropics_shape() {
        let error = ApiError::new(429, "requests", "queue_full", "wait").shaped(ErrorShape::Anthropic);
        let body: serde_json::Value = serde_json::from_str(&error.body("msg-sim-3")).unwrap();
        assert_eq!(
            body,
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "wait"},
                   "request_id": "msg-sim-3"})
        );
    }
}
