//! TLS settings for both ends. The protocol itself is rustls, fed by hand so that stamps stay with their bytes.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// The PEM text holds no usable certificate or key.
    #[error("{0} is not valid PEM: {1}")]
    Pem(&'static str, String),
    /// The system has no certificate roots that can be read.
    #[error("no system certificate roots found ({0}); name a CA file instead")]
    NoRoots(String),
    /// The certificates do not make a configuration.
    #[error("TLS cannot be configured: {0}")]
    Config(#[from] rustls::Error),
}

fn certificates(pem: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(list) if !list.is_empty() => Ok(list),
        Ok(_) => Err(TlsSetupError::Pem(what, "it holds no certificate".into())),
        Err(error) => Err(TlsSetupError::Pem(what, error.to_string())),
    }
}

fn roots(ca_pem: Option<&str>) -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::empty();
    if let Some(pem) = ca_pem {
        for certificate in certificates(pem, "the CA file")? {
            store.add(certificate)?;
        }
        return Ok(store);
    }
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or_else(|| "the store is empty".to_owned(), ToString::to_string);
        return Err(TlsSetupError::NoRoots(why));
    }
    Ok(store)
}

/// A client's settings: the given CA alone, else the system's roots. HTTP/1.1 is asked for by ALPN.
///
/// # Errors
/// When the CA is not PEM, or the system has no roots.
pub fn client_config(ca_pem: Option<&str>) -> Result<Arc<ClientConfig>, TlsSetupError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(ca_pem)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// A server's settings from a certificate chain and its key, both PEM.
///
/// # Errors
/// When either is not PEM, or they do not belong together.
pub fn server_config(cert_pem: &str, key_pem: &str) -> Result<Arc<ServerConfig>, TlsSetupError> {
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
        .map_err(|error| TlsSetupError::Pem("the key", error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates(cert_pem, "the certificate")?, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
