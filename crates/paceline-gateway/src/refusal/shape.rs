//! A refusal in the shape of the client's protocol.
//!
//! OpenAI's shape has the stable code as a string in `error.code`. OpenRouter documents a number there, equal to the
//! status. A string it is: OpenAI's own clients in strictly typed languages read a string, OpenRouter's provider for
//! the AI SDK reads both, and the number is the response's status anyway. The status stands in `metadata.status` too,
//! for what comes in a stream.

use paceline_wire::Protocol;
use serde_json::{Map, Value, json};

use super::Refusal;

impl Refusal {
    /// The response's body, JSON. `id`: the request's.
    pub(crate) fn body(&self, protocol: Protocol, id: &str) -> Vec<u8> {
        self.document(protocol, id).to_string().into_bytes()
    }

    /// The event that ends a stream which has begun. Official clients raise it as an error; no end marker follows.
    pub(crate) fn event(&self, protocol: Protocol, id: &str) -> Vec<u8> {
        let mut document = self.document(protocol, id);
        match protocol {
            Protocol::OpenaiChat | Protocol::OpenaiCompletions | Protocol::OpenaiEmbeddings => {
                format!("data: {document}\n\n").into_bytes()
            }
            Protocol::OpenaiResponses => {
                // The protocol's error event has code and message at the top, and typed clients look for them there;
                // the clients' stream readers raise for what has an `error`. The gateway does not count the
                // upstream's events, so the number is none of theirs.
                if let Value::Object(fields) = &mut document {
                    fields.insert("type".to_owned(), json!("error"));
                    fields.insert("code".to_owned(), json!(self.code));
                    fields.insert("message".to_owned(), json!(self.message));
                    fields.insert("param".to_owned(), self.field());
                    fields.insert("sequence_number".to_owned(), json!(0));
                }
                format!("event: error\ndata: {document}\n\n").into_bytes()
            }
            Protocol::AnthropicMessages => format!("event: error\ndata: {document}\n\n").into_bytes(),
        }
    }

    fn document(&self, protocol: Protocol, id: &str) -> Value {
        let metadata = self.details();
        match protocol {
            Protocol::AnthropicMessages => {
                let mut details = metadata;
                details.insert("error_code".to_owned(), json!(self.code));
                json!({
                    "type": "error",
                    "error": {
                        "type": anthropic_type(self.status), "message": self.message, "details": details,
                    },
                    "request_id": id,
                })
            }
            _ => json!({
                "error": {
                    "message": self.message, "type": openai_type(self.status), "param": self.field(),
                    "code": self.code, "metadata": metadata,
                },
                "request_id": id,
            }),
        }
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = match &self.metadata {
            Some(Value::Object(fields)) => fields.clone(),
            Some(other) => Map::from_iter([("details".to_owned(), other.clone())]),
            None => Map::new(),
        };
        details.insert("status".to_owned(), json!(self.status));
        if let Some(wait_ms) = self.retry_after_ms {
            details.insert("retry_after_ms".to_owned(), json!(wait_ms));
        }
        details
    }

    fn field(&self) -> Value {
        self.metadata.as_ref().and_then(|metadata| metadata.get("field")).cloned().unwrap_or(Value::Null)
    }
}

/// `error.type` as OpenAI's API has it for a status.
pub(super) const fn openai_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "insufficient_quota",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// `error.type` as Anthropic's API has it for a status.
pub(super) const fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
