//! Response heads, and the framing of bodies.

use paceline_io::calendar::http_date;
use paceline_io::clock::unix_ns;

use crate::ledger::entry::Role;
use crate::table::Offer;

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

/// How a client knows the end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Chunked,
    /// By the close: a client of HTTP/1.0 knows no chunks.
    UntilClose,
}

impl Framing {
    /// Frames bytes of a stream; no bytes: nothing, since an empty chunk would be the end.
    pub(super) fn push(self, frame: &mut Vec<u8>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self == Self::UntilClose {
            return frame.extend_from_slice(bytes);
        }
        frame.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        frame.extend_from_slice(bytes);
        frame.extend_from_slice(b"\r\n");
    }

    /// Frames the end of a stream.
    pub(super) fn push_end(self, frame: &mut Vec<u8>) {
        if self == Self::Chunked {
            frame.extend_from_slice(b"0\r\n\r\n");
        }
    }
}

/// The head of a stream.
pub(super) fn stream_head(
    id: &str,
    headers: &[(&str, String)],
    framing: Framing,
    keep_alive: bool,
) -> Vec<u8> {
    let mut head = begin(200, "text/event-stream; charset=utf-8", Some(id));
    head.push_str("cache-control: no-cache\r\nx-accel-buffering: no\r\n");
    if framing == Framing::Chunked {
        head.push_str("transfer-encoding: chunked\r\n");
    }
    end(&mut head, headers, keep_alive && framing == Framing::Chunked);
    head.into_bytes()
}

/// Of a whole response what answers HEAD: its head, which tells of the body that GET would bring.
pub(super) fn without_body(mut response: Vec<u8>) -> Vec<u8> {
    let end = memchr::memmem::find(&response, b"\r\n\r\n").map_or(response.len(), |at| at + 4);
    response.truncate(end);
    response
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
        Framing::Chunked.push(&mut frame, b"");
        Framing::Chunked.push(&mut frame, &[b'x'; 17]);
        Framing::Chunked.push_end(&mut frame);
        assert_eq!(frame, [b"11\r\n".as_slice(), &[b'x'; 17], b"\r\n0\r\n\r\n"].concat());
    }

    #[test]
    fn without_chunks_the_close_is_the_end() {
        let mut frame = stream_head("gen-1", &[], Framing::UntilClose, true);
        assert!(memchr::memmem::find(&frame, b"connection: close\r\n").is_some());
        assert!(memchr::memmem::find(&frame, b"transfer-encoding").is_none());
        frame.clear();
        Framing::UntilClose.push(&mut frame, b"data");
        Framing::UntilClose.push_end(&mut frame);
        assert_eq!(frame, b"data");
    }

    #[test]
    fn head_is_answered_by_a_head() {
        let response = whole_response(200, "text/plain", None, &[], true, b"a\r\n\r\nb");
        let head = String::from_utf8(without_body(response)).unwrap();
        assert!(head.ends_with("\r\n\r\n") && head.contains("content-length: 6"));
    }
}
