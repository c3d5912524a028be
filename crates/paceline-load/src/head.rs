//! The head of a request, made once a thread.

use crate::spec::LoadSpec;

/// The head of each request, up to the value of `content-length`.
pub(crate) fn request_head(spec: &LoadSpec) -> Vec<u8> {
    let target = &spec.target;
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
    let default_port = if target.scheme == "https" { 443 } else { 80 };
    let port = if target.port == default_port { String::new() } else { format!(":{}", target.port) };
    let accept = if target.streaming { "text/event-stream" } else { "application/json" };
    let mut head = format!("POST {} HTTP/1.1\r\nhost: {host}{port}\r\n", target.path);
    let given = |name: &str| target.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    for (name, value) in [
        ("user-agent", concat!("paceline/", env!("CARGO_PKG_VERSION"))),
        ("accept", accept),
        ("accept-encoding", "identity"),
        ("content-type", "application/json"),
    ] {
        if !given(name) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    for (name, value) in &target.headers {
        let framing = ["host", "content-length", "transfer-encoding", "connection"];
        if !framing.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if spec.new_connections {
        head.push_str("connection: close\r\n");
    }
    head.push_str("content-length: ");
    head.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::minimal;

    fn head(more: &str, headers: &str) -> String {
        let json = minimal(r#"{"kind":"closed","concurrency":1}"#, &format!(r#","max_requests":1{more}"#))
            .replace(r#""streaming":true"#, &format!(r#""streaming":true,"headers":[{headers}]"#));
        String::from_utf8(request_head(&LoadSpec::from_json(&json).unwrap())).unwrap()
    }

    #[test]
    fn a_given_header_takes_the_place_of_ours_and_framing_stays_ours() {
        let head =
            head("", r#"["User-Agent","mine"],["Content-Length","9"],["Connection","close"],["X-A","b"]"#);
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\nhost: h:1\r\n"), "{head}");
        assert!(head.contains("User-Agent: mine\r\n") && !head.contains("paceline/"), "{head}");
        assert!(head.contains("X-A: b\r\n") && !head.contains("lose") && !head.contains(": 9"), "{head}");
        assert!(head.ends_with("content-length: "), "{head}");
    }

    #[test]
    fn refused_reuse_is_said_to_the_server() {
        assert!(head(r#","new_connections":true"#, "").contains("connection: close\r\n"));
    }
}
