//! The head of a request, made once a thread.

use paceline_io::request::{RequestTarget, post_head};

use crate::spec::LoadSpec;

/// The head of each request, up to the value of `content-length`.
pub(crate) fn request_head(spec: &LoadSpec) -> Vec<u8> {
    let target = &spec.target;
    let place =
        RequestTarget { scheme: &target.scheme, host: &target.host, port: target.port, path: &target.path };
    let given = target.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    post_head(place, target.streaming, given, !spec.new_connections).into_bytes()
}
