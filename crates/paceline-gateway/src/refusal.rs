//! What the gateway itself refuses, and how it says so. One code a reason (docs/reference/gateway-errors.md): clients
//! may rely on codes, and not on messages.

mod closest;
mod shape;
#[cfg(test)]
mod tests;
mod upstream;

use serde_json::{Value, json};

pub(crate) use closest::closest;
pub(crate) use upstream::upstream_error;

/// The most characters of a client's own words that a message repeats.
const MAX_QUOTED: usize = 80;

/// A request that is not served.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// One of docs/reference/gateway-errors.md.
    pub(crate) code: &'static str,
    /// What is wrong, and what to do.
    pub(crate) message: String,
    pub(crate) retry_after_ms: Option<i64>,
    /// An object of what a program may want to know; `field` in it names the part of the request that is wrong.
    pub(crate) metadata: Option<Value>,
}

impl Refusal {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after_ms: None, metadata: None }
    }

    fn with(mut self, metadata: Value) -> Self {
        self.metadata = Some(metadata);
        self
    }

    fn later(mut self, retry_after_ms: Option<i64>) -> Self {
        self.retry_after_ms = retry_after_ms;
        self
    }

    /// The bytes are not HTTP/1.1.
    pub(crate) fn invalid_http(what: &str) -> Self {
        Self::new(400, "invalid_http", format!("The request cannot be read: {what}."))
    }

    /// The body is not JSON. Line and column count from 1.
    pub(crate) fn invalid_json(what: &str, line: usize, column: usize) -> Self {
        let message = format!("The body is not valid JSON: {what} at line {line}, column {column}.");
        Self::new(400, "invalid_json", message).with(json!({"line": line, "column": column}))
    }

    /// A field is wrong; `what` goes on after its name, as `must be a number`.
    pub(crate) fn invalid_request(field: &str, what: &str) -> Self {
        Self::new(400, "invalid_request", format!("`{}` {what}.", quoted(field)))
            .with(json!({"field": quoted(field)}))
    }

    /// The body is larger than the gateway takes.
    pub(crate) fn body_too_large(limit_bytes: usize) -> Self {
        Self::new(413, "body_too_large", format!("The body is larger than {limit_bytes} bytes."))
            .with(json!({"limit_bytes": limit_bytes}))
    }

    /// The head is larger than the gateway takes.
    pub(crate) fn head_too_large(limit_bytes: usize) -> Self {
        let message = format!("The request's headers are larger than {limit_bytes} bytes, or too many.");
        Self::new(431, "head_too_large", message).with(json!({"limit_bytes": limit_bytes}))
    }

    /// The request did not come whole in time.
    pub(crate) fn request_timeout(what: &str, limit_ms: i64) -> Self {
        Self::new(
            408,
            "request_timeout",
            format!("The request's {what} did not come whole in {limit_ms} ms."),
        )
        .with(json!({"limit_ms": limit_ms}))
    }

    /// There is no such path; `paths` are those that there are.
    pub(crate) fn unknown_path(path: &str, paths: &[&str]) -> Self {
        let message = format!("There is no path {:?}. There are: {}.", quoted(path), paths.join(", "));
        Self::new(404, "unknown_path", message).with(json!({"paths": paths}))
    }

    /// The path is there, but not for that method.
    pub(crate) fn method_not_allowed(method: &str, path: &str, allowed: &str) -> Self {
        let message = format!("{} is not for {:?}: use {allowed}.", quoted(method), quoted(path));
        Self::new(405, "method_not_allowed", message).with(json!({"allow": allowed}))
    }

    /// No such model; the closest of `names` are offered.
    pub(crate) fn unknown_model<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let near = closest(asked, names, 3);
        let hint = if near.is_empty() {
            "GET /v1/models lists those that there are".to_owned()
        } else {
            format!(
                "Did you mean {}",
                near.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
            )
        };
        let end = if near.is_empty() { "." } else { "?" };
        Self::new(404, "unknown_model", format!("There is no model {:?}. {hint}{end}", quoted(asked)))
            .with(json!({"field": "model", "closest": near}))
    }

    /// No generation of that id is remembered.
    pub(crate) fn unknown_generation(id: &str) -> Self {
        let message = format!(
            "No request {:?} is known. Only the last requests are kept at hand; `paceline usage` has them all.",
            quoted(id)
        );
        Self::new(404, "unknown_generation", message).with(json!({"field": "id"}))
    }

    /// The key is missing, unknown, revoked or expired: `what` says which, as a whole sentence.
    pub(crate) fn invalid_api_key(what: &str) -> Self {
        Self::new(401, "invalid_api_key", what)
    }

    /// The key may not ask for that model.
    pub(crate) fn model_not_allowed(model: &str, key_name: &str) -> Self {
        let message = format!("The key {key_name:?} may not use the model {:?}.", quoted(model));
        Self::new(403, "model_not_allowed", message).with(json!({"field": "model"}))
    }

    /// A rate limit of the key is used up.
    pub(crate) fn rate_limit_exceeded(message: impl Into<String>, retry_after_ms: Option<i64>) -> Self {
        Self::new(429, "rate_limit_exceeded", message).later(retry_after_ms)
    }

    /// A budget of the key does not cover the request. `metadata`: period, limit, what is left.
    pub(crate) fn budget_exhausted(message: impl Into<String>, metadata: Value) -> Self {
        Self::new(402, "budget_exhausted", message).with(metadata)
    }

    /// No offer can answer; `considered`: why not, offer by offer.
    pub(crate) fn no_offer(
        status: u16,
        code: &'static str,
        message: impl Into<String>,
        retry_after_ms: Option<i64>,
        considered: Value,
    ) -> Self {
        Self::new(status, code, message).later(retry_after_ms).with(json!({"considered": considered}))
    }

    /// The deadline ran out before the first token.
    pub(crate) fn deadline_missed(deadline_ms: i64) -> Self {
        Self::new(504, "deadline_missed", format!("No token came before the deadline of {deadline_ms} ms."))
            .with(json!({"deadline_ms": deadline_ms}))
    }

    /// All places of the offers are taken, and so are those to wait in.
    pub(crate) fn queue_full(message: impl Into<String>, retry_after_ms: Option<i64>) -> Self {
        Self::new(429, "queue_full", message).later(retry_after_ms)
    }

    /// All sessions of the offers are taken, or this one has lasted for as long as it may.
    pub(crate) fn session_limit(message: impl Into<String>, retry_after_ms: Option<i64>) -> Self {
        Self::new(429, "session_limit", message).later(retry_after_ms)
    }

    /// Each offer that was asked failed; `message` says how the last one did.
    pub(crate) fn upstream_failed(message: impl Into<String>) -> Self {
        Self::new(502, "upstream_failed", message)
    }

    /// The answer broke off after its beginning.
    pub(crate) fn upstream_cut(message: impl Into<String>) -> Self {
        Self::new(502, "upstream_cut", message)
    }

    /// Each offer that was asked has too many requests.
    pub(crate) fn upstream_rate_limited(message: impl Into<String>, retry_after_ms: Option<i64>) -> Self {
        Self::new(429, "upstream_rate_limited", message).later(retry_after_ms)
    }

    /// The upstream took longer than its offer allows.
    pub(crate) fn upstream_timeout(message: impl Into<String>) -> Self {
        Self::new(504, "upstream_timeout", message)
    }

    /// The upstream found fault with the client's request: its status, and its message.
    pub(crate) fn upstream_rejected(status: u16, message: impl Into<String>) -> Self {
        Self::new(status, "upstream_rejected", message)
    }

    /// The ledger cannot be written, and no traffic flows without it.
    pub(crate) fn ledger_unavailable() -> Self {
        Self::new(
            503,
            "ledger_unavailable",
            "The gateway cannot write its ledger, and is set to serve nothing without it.",
        )
        .later(Some(5_000))
    }

    /// Too many requests are in flight at the gateway.
    pub(crate) fn overloaded(limit_requests: usize) -> Self {
        let message = format!("The gateway has {limit_requests} requests in flight, and takes no more.");
        Self::new(503, "overloaded", message)
            .later(Some(1_000))
            .with(json!({"limit_requests": limit_requests}))
    }

    /// The gateway is about to end.
    pub(crate) fn draining() -> Self {
        Self::new(503, "draining", "The gateway is shutting down, and takes no new requests.")
            .later(Some(1_000))
    }

    /// What is asked cannot be said in the protocol of the only offers.
    pub(crate) fn untranslatable(what: impl Into<String>) -> Self {
        Self::new(400, "untranslatable", what)
    }

    /// Headers that say when, and whether, to try again: official clients heed all three.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Some(wait_ms) = self.retry_after_ms.map(|wait_ms| wait_ms.max(0)) {
            headers.push(("retry-after", ((wait_ms + 999) / 1_000).max(1).to_string()));
            headers.push(("retry-after-ms", wait_ms.to_string()));
        }
        // Official clients try a 5xx again by themselves, and a deadline is not met by beginning anew.
        if self.code == "deadline_missed" {
            headers.push(("x-should-retry", "false".to_owned()));
        }
        headers
    }
}

/// A client's own words, short and on one line.
fn quoted(text: &str) -> String {
    let mut short: String = text.chars().filter(|letter| !letter.is_control()).take(MAX_QUOTED).collect();
    if text.chars().count() > MAX_QUOTED {
        short.push('…');
    }
    short
}
