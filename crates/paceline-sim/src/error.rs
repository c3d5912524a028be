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

/// A refusal, in the shape that OpenAI's API gives its errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) code: &'static str,
    pub(crate) param: Option<&'static str>,
    pub(crate) message: String,
    /// Further headers, name and value.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl ApiError {
    pub(crate) fn new(
        status: u16,
        kind: &'static str,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { status, kind, code, param: None, message: message.into(), headers: Vec::new() }
    }

    pub(crate) fn invalid(param: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { param, ..Self::new(400, "invalid_request_error", "invalid_value", message) }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(&self) -> String {
        json!({"error": {
            "message": self.message, "type": self.kind, "param": self.param, "code": self.code,
        }})
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_openais_shape() {
        let error = ApiError::invalid(Some("messages"), "a \"quoted\" thing");
        let body: serde_json::Value = serde_json::from_str(&error.body()).unwrap();
        assert_eq!(body["error"]["message"], "a \"quoted\" thing");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert_eq!(body["error"]["param"], "messages");
        assert_eq!(body["error"]["code"], "invalid_value");
    }
}
