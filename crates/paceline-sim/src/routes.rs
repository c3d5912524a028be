//! Which request gets what: paths, methods, the key, and the faults that are a status.

use paceline_io::http1::Head;
use serde_json::json;

use crate::config::SimConfig;
use crate::error::{ApiError, ErrorShape};
use crate::fault::Fault;
use crate::inbox::{InboxError, Received};
use crate::request::{self, Call, Protocol};

/// What a request is.
#[derive(Debug)]
pub(crate) enum Route {
    /// It is answered with this JSON at once.
    Json(String),
    /// It is answered with the metrics of the instant.
    Metrics,
    /// It wants tokens.
    Call(Box<Call>),
}

/// Finds out what a request wants, or why it is refused.
pub(crate) fn route(config: &SimConfig, request: &Received) -> Result<Route, ApiError> {
    let path = request.head.target.split(['?', '#']).next().unwrap_or("");
    find(config, request, path).map_err(|error| error.shaped(error_shape(path)))
}

/// How errors are written at a path.
fn error_shape(path: &str) -> ErrorShape {
    if path.starts_with(Protocol::Messages.path()) { ErrorShape::Anthropic } else { ErrorShape::OpenAi }
}

fn find(config: &SimConfig, request: &Received, path: &str) -> Result<Route, ApiError> {
    let Received { head, body, .. } = request;
    if let Some(protocol) = Protocol::at(path) {
        allow(head, "POST")?;
        authorise(config, head, protocol)?;
        return request::parse(protocol, body, config).map(|call| Route::Call(Box::new(call)));
    }
    if path == config.metrics.path() {
        allow(head, "GET")?;
        return Ok(Route::Metrics);
    }
    match path {
        "/health" => {
            allow(head, "GET")?;
            Ok(Route::Json(json!({"status": "ok"}).to_string()))
        }
        "/v1/models" => {
            allow(head, "GET")?;
            authorise(config, head, Protocol::Chat)?;
            Ok(Route::Json(models(config)))
        }
        // Here trtllm-serve lists its iterations, which this engine does not keep.
        "/metrics" => {
            allow(head, "GET")?;
            Ok(Route::Json("[]".to_owned()))
        }
        _ => {
            let posts = Protocol::ALL.map(|protocol| format!("POST {}", protocol.path())).join(", ");
            let metrics = config.metrics.path();
            let message = format!(
                "Unknown path {path}. This engine has: GET /health, GET /v1/models, GET {metrics}, {posts}."
            );
            Err(ApiError::new(404, "invalid_request_error", "unknown_url", message))
        }
    }
}

/// A request that could not be read.
pub(crate) fn unreadable(error: &InboxError) -> ApiError {
    match error {
        InboxError::Http(error) => ApiError::new(
            400,
            "invalid_request_error",
            "bad_http",
            format!("The request cannot be read: {error}"),
        ),
        InboxError::TooLarge => ApiError::new(
            413,
            "invalid_request_error",
            "body_too_large",
            format!("The request's body is larger than {} bytes.", crate::inbox::MAX_BODY_BYTES),
        ),
    }
}

/// A request that came before the last one was answered.
pub(crate) fn pipelined() -> ApiError {
    let message = "The last request was not answered yet: this engine takes one request at a time on a connection (no pipelining).";
    ApiError::new(400, "invalid_request_error", "pipelining", message)
}

/// Too many connections are open.
pub(crate) fn crowded(limit: usize) -> ApiError {
    let message = format!("{limit} connections are open, which is this engine's limit (max_connections).");
    ApiError::new(503, "server_error", "too_many_connections", message)
}

/// Too many requests wait.
pub(crate) fn queue_full(limit: usize) -> ApiError {
    let message =
        format!("{limit} requests wait for a slot, which is this engine's limit (engine.queue_limit).");
    ApiError::new(429, "requests", "queue_full", message).with_header("retry-after", "1")
}

/// More was asked for than the configured limit allows.
pub(crate) fn rate_limited(retry_after_s: u64) -> ApiError {
    let message = format!("Rate limit reached (rate_limit). Please try again in {retry_after_s}s.");
    ApiError::new(429, "requests", "rate_limit_exceeded", message)
        .with_header("retry-after", retry_after_s.to_string())
}

/// The refusal that a fault asks for, when it is a status.
pub(crate) fn refusal(fault: &Fault) -> Option<ApiError> {
    let status = fault.kind.status()?;
    let (kind, code) = match status {
        400 => ("invalid_request_error", "sim_fault"),
        401 => ("invalid_request_error", "invalid_api_key"),
        404 => ("invalid_request_error", "model_not_found"),
        429 => ("requests", "rate_limit_exceeded"),
        _ => ("server_error", "sim_fault"),
    };
    let error = ApiError::new(
        status,
        kind,
        code,
        format!("The reference engine was told to answer with status {status}."),
    );
    Some(if status == 429 {
        error.with_header("retry-after", fault.retry_after_s.to_string())
    } else {
        error
    })
}

fn allow(head: &Head, method: &str) -> Result<(), ApiError> {
    if head.method == method {
        return Ok(());
    }
    let message = format!("{} is not allowed here; use {method}.", head.method);
    Err(ApiError::new(405, "invalid_request_error", "method_not_allowed", message)
        .with_header("allow", method))
}

/// The key may come as Anthropic's clients send it, whatever the path: servers of several protocols take both.
fn authorise(config: &SimConfig, head: &Head, protocol: Protocol) -> Result<(), ApiError> {
    let Some(key) = &config.api_key else { return Ok(()) };
    let bearer = head.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let given = bearer.or_else(|| head.header("x-api-key"));
    if given == Some(key.reveal()) {
        return Ok(());
    }
    let message = match given {
        Some(_) => "The API key is not the one that this engine takes.",
        None if protocol == Protocol::Messages => "x-api-key header is required",
        None => "No API key came with the request. Send it as `Authorization: Bearer KEY`.",
    };
    Err(ApiError::new(401, "invalid_request_error", "invalid_api_key", message))
}

fn models(config: &SimConfig) -> String {
    let data: Vec<_> = config
        .models
        .iter()
        .map(|model| json!({"id": model, "object": "model", "created": 0, "owned_by": "paceline-sim"}))
        .collect();
    json!({"object": "list", "data": data}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(
        config: &str,
        method: &str,
        target: &str,
        key: Option<&str>,
        body: &str,
    ) -> Result<Route, ApiError> {
        ask_with(config, method, target, key.map(|key| ("authorization", key)), body)
    }

    fn ask_with(
        config: &str,
        method: &str,
        target: &str,
        header: Option<(&str, &str)>,
        body: &str,
    ) -> Result<Route, ApiError> {
        let mut head = Head { method: method.to_owned(), target: target.to_owned(), ..Head::default() };
        head.headers.extend(header.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let config = SimConfig::from_json(config).unwrap();
        route(&config, &Received { head, body: body.as_bytes().to_vec(), first_ns: 0 })
    }

    #[test]
    fn paths_and_methods_lead_where_they_should() {
        let chat = r#"{"model": "truth", "messages": [{"role": "user", "content": "hi"}]}"#;
        assert!(matches!(ask("{}", "GET", "/health", None, ""), Ok(Route::Json(_))));
        let Ok(Route::Json(models)) = ask(r#"{"models": ["a", "b"]}"#, "GET", "/v1/models?x=1", None, "")
        else {
            panic!("no models")
        };
        let models: serde_json::Value = serde_json::from_str(&models).unwrap();
        assert_eq!(
            (models["data"][0]["id"].clone(), models["data"][1]["id"].clone()),
            (json!("a"), json!("b"))
        );
        assert!(matches!(ask("{}", "POST", "/v1/chat/completions", None, chat), Ok(Route::Call(_))));
        let error = ask("{}", "POST", "/v2/chat", None, chat).unwrap_err();
        assert_eq!(error.status, 404);
        assert!(error.message.contains("/v1/chat/completions") && error.message.contains("/v1/models"));
        let error = ask("{}", "GET", "/v1/completions", None, "").unwrap_err();
        assert_eq!((error.status, error.headers), (405, vec![("allow", "POST".to_owned())]));
    }

    #[test]
    fn the_key_must_be_the_configured_one_and_is_never_said() {
        let config = r#"{"api_key": "sk-right"}"#;
        assert!(ask(config, "GET", "/v1/models", Some("Bearer sk-right"), "").is_ok());
        for key in [None, Some("Bearer sk-wrong"), Some("sk-right"), Some("Bearer sk-right2")] {
            let error = ask(config, "GET", "/v1/models", key, "").unwrap_err();
            assert_eq!((error.status, error.code), (401, "invalid_api_key"));
            assert!(!error.message.contains("sk-"));
        }
        assert!(ask(config, "GET", "/health", None, "").is_ok());
    }

    #[test]
    fn the_key_may_come_as_anthropics_clients_send_it() {
        let config = r#"{"api_key": "sk-right"}"#;
        let status = |header| match ask_with(config, "POST", "/v1/messages", header, "{}") {
            Ok(_) => 200,
            Err(error) => {
                assert_eq!(error.shape, ErrorShape::Anthropic);
                error.status
            }
        };
        assert_eq!(status(Some(("x-api-key", "sk-wrong"))), 401);
        assert_eq!(status(None), 401);
        // Let in, and then refused for its body.
        assert_eq!(status(Some(("x-api-key", "sk-right"))), 400);
        assert_eq!(status(Some(("authorization", "Bearer sk-right"))), 400);
    }

    #[test]
    fn metrics_are_where_each_engine_has_them() {
        assert!(matches!(ask("{}", "GET", "/metrics", None, ""), Ok(Route::Metrics)));
        assert_eq!(ask("{}", "GET", "/prometheus/metrics", None, "").unwrap_err().status, 404);
        let trtllm = r#"{"metrics": "trtllm"}"#;
        assert!(matches!(ask(trtllm, "GET", "/prometheus/metrics", None, ""), Ok(Route::Metrics)));
        assert!(matches!(ask(trtllm, "GET", "/metrics", None, ""), Ok(Route::Json(_))));
        assert_eq!(ask("{}", "POST", "/metrics", None, "").unwrap_err().status, 405);
    }

    #[test]
    fn a_fault_that_is_a_status_is_a_refusal() {
        let refused = |json: &str| refusal(&serde_json::from_str(json).unwrap());
        let limited = refused(r#"{"kind": "http_429", "retry_after_s": 9}"#).unwrap();
        assert_eq!((limited.status, limited.headers), (429, vec![("retry-after", "9".to_owned())]));
        assert_eq!(refused(r#"{"kind": "http_500"}"#).unwrap().status, 500);
        assert!(refused(r#"{"kind": "cut"}"#).is_none());
    }
}
