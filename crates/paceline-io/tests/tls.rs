//! Which servers a client with a given CA speaks to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::net::TcpListener;
use std::sync::Arc;

use paceline_io::clock::StampClock;
use paceline_io::poller::Poller;
use paceline_io::stream::{ReadEnd, Scratch, Stream};
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

/// Speaks TLS over a socket until as many bytes have come as were sent; returns them.
fn echo(mut stream: Stream, says: &[u8], hears: usize) -> Vec<u8> {
    let mut poller = Poller::new(4).unwrap();
    poller.add(&stream, 1).unwrap();
    let (mut scratch, clock, mut got) = (Scratch::bounded(100_000), StampClock::new(), Vec::new());
    let mut said = false;
    while got.len() < hears || !said || stream.has_pending() {
        let end =
            stream.read(&mut scratch, &clock, true, &mut |bytes, _| got.extend_from_slice(bytes)).unwrap();
        if !said && !stream.is_handshaking() {
            stream.send(says).unwrap();
            said = true;
        }
        stream.flush().unwrap();
        assert!(end != ReadEnd::Eof || got.len() == hears, "{} of {hears}", got.len());
        if end == ReadEnd::Drained && got.len() < hears {
            poller.wait(Some(20_000_000), &mut Vec::new()).unwrap();
        }
    }
    got
}

#[test]
fn what_is_larger_than_any_buffer_goes_both_ways() {
    let key = KeyPair::generate().unwrap();
    let pem = params("engine.test", true).self_signed(&key).unwrap().pem();
    let sent: Vec<u8> = (0..9_000_000_u32).map(|i| (i % 251) as u8).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server_config = server_config(&pem, &key.serialize_pem()).unwrap();
    let says = sent.clone();
    let server = std::thread::spawn(move || {
        let mut stream = Stream::accepted(listener.accept().unwrap().0, false).unwrap();
        stream.start_tls_server(server_config).unwrap();
        echo(stream, &says, says.len())
    });
    let mut stream = Stream::connect(address, false).unwrap();
    while !stream.is_connected() {
        std::thread::yield_now();
    }
    stream.start_tls_client(client_config(Some(&pem)).unwrap(), "engine.test").unwrap();
    stream.flush().unwrap();
    let heard = echo(stream, &sent, sent.len());
    assert!(heard == sent && server.join().unwrap() == sent);
}
