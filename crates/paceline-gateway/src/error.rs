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
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let said = without_value(&error.inner().to_string());
        GatewayError::Document(format!("{what}: {}: {said}", error.path()))
    })
}

/// `invalid type: string "x", expected a map` without the `x`, which may be a key in the wrong place.
fn without_value(said: &str) -> String {
    let kind =
        ["invalid type", "invalid value", "invalid length"].into_iter().find(|kind| said.starts_with(kind));
    match (kind, said.rfind(", expected")) {
        (Some(kind), Some(at)) => format!("{kind}{}", &said[at..]),
        _ => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_repeated() {
        let wrong = [r#"{"key": "sk-1, expected x"}"#, r#"["sk-1"]"#, r#""sk-1""#];
        for json in wrong {
            let error = read_document::<std::collections::HashMap<String, u32>>(json, "table").unwrap_err();
            let said = error.to_string();
            assert!(said.starts_with("table: "), "{said}");
            assert!(said.contains(", expected "), "{said}");
            assert!(!said.contains("sk-1"), "{said}");
        }
    }
}
