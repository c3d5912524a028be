//! Response heads, and the framing of bodies.

use paceline_io::calendar::http_date;
use paceline_io::clock::unix_ns;

use crate::ledger::entry::Role;
use crate::table::Offer;

/// The end of a chunked body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

fn begin(status: u16, content_type: &str, id: Option<&str>) -> String {
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\nserver: paceline\r\ndate: {}\r\ncontent-type: {content_type}\r\n",
        reason(status),
        http_date(unix_ns() / 1_000_000_000)
    );
    if let Some(id) = id {
        // Each under the name that the official clients look for.
        head.push_str(&format!("x-request-id: {id}\r\nrequest-id: {id}\r\nx-generation-id: {id}\r\n"));
    }
    head
}

fn end(head: &mut String, headers: &[(&str, String)], keep_alive: bool) {
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !keep_alive {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
}

/// The head of a stream.
pub(super) fn stream_head(id: &str, headers: &[(&str, String)], keep_alive: bool) -> Vec<u8> {
    let mut head = begin(200, "text/event-stream; charset=utf-8", Some(id));
    head.push_str("cache-control: no-cache\r\nx-accel-buffering: no\r\ntransfer-encoding: chunked\r\n");
    end(&mut head, headers, keep_alive);
    head.into_bytes()
}

/// A whole response.
pub(super) fn whole_response(
    status: u16,
    content_type: &str,
    id: Option<&str>,
    headers: &[(&str, String)],
    keep_alive: bool,
    body: &[u8],
) -> Vec<u8> {
    let mut head = begin(status, content_type, id);
    head.push_str(&format!("content-length: {}\r\n", body.len()));
    end(&mut head, headers, keep_alive);
    let mut response = head.into_bytes();
    response.extend_from_slice(body);
    response
}

/// Who answers.
pub(super) fn offer_headers(offer: &Offer, role: Role) -> Vec<(&'static str, String)> {
    let role = match role {
        Role::First => "first",
        Role::Retry => "retry",
        Role::Hedge => "hedge",
        Role::Probe => "probe",
    };
    vec![
        ("x-paceline-offer", offer.id.clone()),
        ("x-paceline-provider", offer.provider.clone()),
        ("x-paceline-model", offer.model.clone()),
        ("x-paceline-tier", offer.tier.as_str().to_owned()),
        ("x-paceline-role", role.to_owned()),
    ]
}

/// Puts bytes into a chunk; no bytes: nothing, since an empty chunk would be the end.
pub(super) fn push_chunk(frame: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    frame.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
    frame.extend_from_slice(bytes);
    frame.extend_from_slice(b"\r\n");
}

/// For a client that is one too many.
pub(super) fn crowded() -> Vec<u8> {
    let body = br#"{"error":{"message":"The gateway has too many connections.","type":"server_error","code":"overloaded","param":null}}"#;
    whole_response(503, "application/json", None, &[("retry-after", "1".to_owned())], false, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_whole() {
        let bytes = whole_response(
            429,
            "application/json",
            Some("gen-1"),
            &[("retry-after", "7".into())],
            false,
            b"{}",
        );
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
        for line in ["x-request-id: gen-1", "retry-after: 7", "connection: close", "content-length: 2"] {
            assert!(head.lines().any(|had| had == line), "{line}");
        }
        assert_eq!(body, "{}");
    }

    #[test]
    fn chunks_are_framed_and_never_empty() {
        let mut frame = Vec::new();
        push_chunk(&mut frame, b"");
        push_chunk(&mut frame, &[b'x'; 17]);
        assert_eq!(frame, [b"11\r\n".as_slice(), &[b'x'; 17], b"\r\n"].concat());
    }
}
