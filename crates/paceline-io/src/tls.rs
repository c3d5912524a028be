//! TLS settings for both ends. The protocol itself is rustls, fed by hand so that stamps stay with their bytes.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

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

fn system_roots() -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::empty();
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
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let mut config = match ca_pem {
        None => builder.with_root_certificates(system_roots()?),
        Some(pem) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(GivenCertificates::from_pem(pem, provider)?)),
    }
    .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Trusts what the given certificates have signed, and those certificates themselves: a self-signed one that
/// `openssl req -x509` makes calls itself a CA, and webpki refuses a CA as a server's own certificate. Who names a
/// server's very certificate has vouched for it, so of such a one only the host name is checked.
#[derive(Debug)]
struct GivenCertificates {
    signed_by: Arc<WebPkiServerVerifier>,
    themselves: Vec<CertificateDer<'static>>,
}

impl GivenCertificates {
    fn from_pem(pem: &str, provider: Arc<CryptoProvider>) -> Result<Self, TlsSetupError> {
        let themselves = certificates(pem, "the CA file")?;
        let mut roots = RootCertStore::empty();
        for certificate in &themselves {
            roots.add(certificate.clone())?;
        }
        let signed_by = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| TlsSetupError::Pem("the CA file", error.to_string()))?;
        Ok(Self { signed_by, themselves })
    }
}

impl ServerCertVerifier for GivenCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.themselves.iter().any(|given| given == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.signed_by.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed_by.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed_by.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed_by.supported_verify_schemes()
    }
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
