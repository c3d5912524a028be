//! Response heads.

use paceline_io::calendar::http_date;
use paceline_io::clock::unix_ns;

use crate::error::{ApiError, ErrorShape};

/// What follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Chunked,
    Length(usize),
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Error",
    }
}

/// Appends a head. `keep_alive` is what the client asked for.
pub(crate) fn push_head(
    out: &mut Vec<u8>,
    status: u16,
    content_type: &str,
    framing: BodyFraming,
    keep_alive: bool,
    headers: &[(&str, &str)],
) {
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\nserver: paceline-sim\r\ndate: {}\r\ncontent-type: {content_type}\r\n",
        reason(status),
        http_date(unix_ns() / 1_000_000_000)
    );
    match framing {
        BodyFraming::Chunked => head.push_str("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n"),
        BodyFraming::Length(bytes) => head.push_str(&format!("content-length: {bytes}\r\n")),
    }
    if !keep_alive {
        head.push_str("connection: close\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    out.extend_from_slice(head.as_bytes());
}

/// Appends a whole JSON response.
pub(crate) fn push_json(
    out: &mut Vec<u8>,
    status: u16,
    body: &[u8],
    keep_alive: bool,
    headers: &[(&str, &str)],
) {
    push_head(out, status, "application/json", BodyFraming::Length(body.len()), keep_alive, headers);
    out.extend_from_slice(body);
}

/// Appends a refusal. `id` names the request.
pub(crate) fn push_error(
    out: &mut Vec<u8>,
    error: &ApiError,
    keep_alive: bool,
    id: &str,
    more: &[(&'static str, String)],
) {
    let headers: Vec<(&str, &str)> =
        error.headers.iter().chain(more).map(|(name, value)| (*name, value.as_str())).collect();
    let headers = [&id_headers(error.shape, id)[..], &headers].concat();
    push_json(out, error.status, error.body(id).as_bytes(), keep_alive, &headers);
}

/// The headers that name the request.
pub(crate) fn id_headers(shape: ErrorShape, id: &str) -> Vec<(&str, &str)> {
    let mut headers = vec![("x-request-id", id)];
    if shape == ErrorShape::Anthropic {
        headers.push(("request-id", id));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_whole_response() {
        let mut out = Vec::new();
        let error =
            ApiError::new(429, "requests", "rate_limit_exceeded", "wait").with_header("retry-after", "7");
        push_error(
            &mut out,
            &error,
            false,
            "chatcmpl-sim-1",
            &[("x-ratelimit-limit-requests", "5".to_owned())],
        );
        let text = String::from_utf8(out).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
        for line in [
            "retry-after: 7".to_owned(),
            "connection: close".to_owned(),
            "x-ratelimit-limit-requests: 5".to_owned(),
            "x-request-id: chatcmpl-sim-1".to_owned(),
            format!("content-length: {}", body.len()),
        ] {
            assert!(head.lines().any(|had| had == line), "{line}");
        }
        let date = head.lines().find_map(|line| line.strip_prefix("date: ")).unwrap();
        assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
    }

    #[test]
    fn a_chunked_head_has_no_length() {
        let mut out = Vec::new();
        push_head(&mut out, 200, "text/event-stream", BodyFraming::Chunked, true, &[]);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("transfer-encoding: chunked") && !text.contains("content-length"));
        assert!(!text.contains("connection: close") && text.ends_with("\r\n\r\n"));
    }
}
