//! The head of a request.

/// Headers that frame a message: ours alone.
const FRAMING: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];

/// Where a request goes.
#[derive(Debug, Clone, Copy)]
pub struct RequestTarget<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// For the `host` header.
    pub host: &'a str,
    /// The port; the scheme's own is left out of the `host` header.
    pub port: u16,
    /// The path, with its query.
    pub path: &'a str,
}

/// The head of a `POST` of JSON, up to the value of `content-length`. A header that is given takes the place of ours,
/// the first of a name that of the others; those that frame the message are ours.
#[must_use]
pub fn post_head<'a>(
    target: RequestTarget<'_>,
    streaming: bool,
    given: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    keep_alive: bool,
) -> String {
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.to_owned() };
    let default_port = if target.scheme == "https" { 443 } else { 80 };
    let port = if target.port == default_port { String::new() } else { format!(":{}", target.port) };
    let accept = if streaming { "text/event-stream" } else { "application/json" };
    let mut head = format!("POST {} HTTP/1.1\r\nhost: {host}{port}\r\n", target.path);
    for (name, value) in [
        ("user-agent", concat!("paceline/", env!("CARGO_PKG_VERSION"))),
        ("accept", accept),
        ("accept-encoding", "identity"),
        ("content-type", "application/json"),
    ] {
        if !given.clone().any(|(key, _)| key.eq_ignore_ascii_case(name)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    for (name, value) in given.filter(|(name, _)| !FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own))) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !keep_alive {
        head.push_str("connection: close\r\n");
    }
    head.push_str("content-length: ");
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(target: RequestTarget<'_>, given: &[(&str, &str)]) -> String {
        post_head(target, true, given.iter().copied(), true)
    }

    #[test]
    fn a_given_header_takes_the_place_of_ours_and_framing_stays_ours() {
        let target = RequestTarget { scheme: "http", host: "h", port: 1, path: "/v1/chat/completions" };
        let given = [("User-Agent", "mine"), ("Content-Length", "9"), ("Connection", "close"), ("X-A", "b")];
        let head = head(target, &given);
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\nhost: h:1\r\n"), "{head}");
        assert!(head.contains("User-Agent: mine\r\n") && !head.contains("paceline/"), "{head}");
        assert!(head.contains("X-A: b\r\n") && !head.contains("lose") && !head.contains(": 9"), "{head}");
        assert!(head.ends_with("content-length: "), "{head}");
    }

    #[test]
    fn hosts_are_written_as_http_has_them() {
        for (scheme, host, port, written) in [
            ("https", "a.b", 443, "host: a.b\r\n"),
            ("https", "a.b", 80, "host: a.b:80\r\n"),
            ("http", "::1", 80, "host: [::1]\r\n"),
            ("http", "::1", 8000, "host: [::1]:8000\r\n"),
        ] {
            let head = head(RequestTarget { scheme, host, port, path: "/" }, &[]);
            assert!(head.contains(written), "{head}");
        }
    }

    #[test]
    fn refused_reuse_is_said_to_the_server() {
        let target = RequestTarget { scheme: "http", host: "h", port: 1, path: "/" };
        assert!(post_head(target, false, [].into_iter(), false).contains("connection: close\r\n"));
    }
}
