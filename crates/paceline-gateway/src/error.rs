//! Why a gateway cannot start, or cannot take a table.

use serde::de::DeserializeOwned;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// A document does not say what it must.
    #[error("{0}")]
    Document(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// The ledger cannot be opened.
    #[error("the ledger {folder} cannot be opened: {source}")]
    Ledger {
        /// Its folder.
        folder: String,
        /// Why.
        source: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] paceline_io::tls::TlsSetupError),
    /// The system refuses something else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
}

/// Reads a JSON document; the error names the key, and never a value.
pub(crate) fn read_document<T: DeserializeOwned>(json: &str, what: &str) -> Result<T, GatewayError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| GatewayError::Document(format!("{what}: {}: {}", error.path(), error.inner())))
}
