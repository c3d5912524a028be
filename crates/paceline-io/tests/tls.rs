//! Which servers a client with a given CA speaks to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::sync::Arc;

use paceline_io::tls::{client_config, server_config};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ClientConnection, ServerConnection};
use rustls_pki_types::ServerName;

fn params(name: &str, is_ca: bool) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params
}

/// The error that a handshake over memory ends with, if it does.
fn handshake(ca_pem: &str, cert_pem: &str, key: &KeyPair, host: &'static str) -> Result<(), rustls::Error> {
    let name = ServerName::try_from(host).unwrap();
    let mut client = ClientConnection::new(client_config(Some(ca_pem)).unwrap(), name).unwrap();
    let config = server_config(cert_pem, &key.serialize_pem()).unwrap();
    let mut server = ServerConnection::new(Arc::clone(&config)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets()?;
        wire.clear();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        client.read_tls(&mut wire.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(())
}

#[test]
fn a_self_signed_certificate_that_is_given_is_trusted_whether_or_not_it_calls_itself_a_ca() {
    for is_ca in [false, true] {
        let key = KeyPair::generate().unwrap();
        let pem = params("engine.test", is_ca).self_signed(&key).unwrap().pem();
        handshake(&pem, &pem, &key, "engine.test").unwrap();
        assert!(handshake(&pem, &pem, &key, "other.test").is_err(), "the name still has to be right");
    }
}

#[test]
fn what_the_given_ca_has_signed_is_trusted_and_nothing_else() {
    let ca = CertifiedIssuer::self_signed(params("ca.test", true), KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let signed = params("engine.test", false).signed_by(&key, &ca).unwrap().pem();
    handshake(&ca.pem(), &signed, &key, "engine.test").unwrap();
    assert!(handshake(&ca.pem(), &signed, &key, "other.test").is_err());

    let stranger_key = KeyPair::generate().unwrap();
    let stranger = params("engine.test", true).self_signed(&stranger_key).unwrap().pem();
    assert!(handshake(&ca.pem(), &stranger, &stranger_key, "engine.test").is_err());
}

#[test]
fn a_ca_that_is_no_pem_is_an_error() {
    assert!(client_config(Some("not a certificate")).is_err());
}
