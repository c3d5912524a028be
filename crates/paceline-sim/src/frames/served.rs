//! What an answer says of who made it.

use crate::config::ExactConfig;
use crate::request::{Call, Protocol};

/// The value that makes an answer name what was asked.
const ECHO: &str = "echo";

/// The model, tier and speed that an answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) model: String,
    pub(crate) service_tier: Option<String>,
    /// Anthropic's API only.
    pub(crate) speed: Option<String>,
}

impl Served {
    /// What the request asked for, and no tier.
    pub(crate) fn as_asked(call: &Call) -> Self {
        Self { model: call.model.clone(), service_tier: None, speed: None }
    }

    /// What exact mode is told to name.
    pub(crate) fn of(call: &Call, exact: &ExactConfig) -> Self {
        let plain = if call.protocol == Protocol::Messages { "standard" } else { "default" };
        let echo = |asked: &Option<String>| match asked.as_deref() {
            Some("auto" | "standard_only") => Some(plain.to_owned()),
            other => other.map(str::to_owned),
        };
        let named = |configured: &Option<String>, asked: &Option<String>| match configured.as_deref() {
            Some(ECHO) => echo(asked),
            other => other.map(str::to_owned),
        };
        Self {
            model: exact.server_model.clone().unwrap_or_else(|| call.model.clone()),
            service_tier: named(&exact.service_tier, &call.service_tier),
            speed: named(&exact.speed, &call.speed).filter(|_| call.protocol == Protocol::Messages),
        }
    }

    /// `,"service_tier":"..."`, or nothing.
    pub(super) fn tier_field(&self) -> String {
        field("service_tier", self.service_tier.as_deref())
    }

    /// `,"speed":"..."`, or nothing.
    pub(super) fn speed_field(&self) -> String {
        field("speed", self.speed.as_deref())
    }
}

fn field(name: &str, value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!(r#","{name}":{}"#, serde_json::Value::from(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SimConfig;
    use crate::request::parse;

    fn served(protocol: Protocol, body: &str, exact: &ExactConfig) -> Served {
        Served::of(&parse(protocol, body.as_bytes(), &SimConfig::default()).unwrap(), exact)
    }

    const CHAT: &str = r#"{"model": "truth", "service_tier": "priority", "messages": [{"content": "a"}]}"#;
    const AUTO: &str = r#"{"model": "truth", "service_tier": "auto", "messages": [{"content": "a"}]}"#;
    const MESSAGES: &str = r#"{"model": "truth", "max_tokens": 5, "service_tier": "auto", "speed": "fast",
        "messages": [{"role": "user", "content": "a"}]}"#;

    #[test]
    fn an_answer_names_what_was_asked_or_what_it_is_told_to() {
        let none = ExactConfig::default();
        assert_eq!(served(Protocol::Chat, CHAT, &none).service_tier, None);
        let echo = ExactConfig {
            service_tier: Some("echo".to_owned()),
            speed: Some("echo".to_owned()),
            ..ExactConfig::default()
        };
        assert_eq!(served(Protocol::Chat, CHAT, &echo).tier_field(), r#","service_tier":"priority""#);
        assert_eq!(served(Protocol::Chat, AUTO, &echo).service_tier.as_deref(), Some("default"));
        let message = served(Protocol::Messages, MESSAGES, &echo);
        assert_eq!(
            (message.service_tier.as_deref(), message.speed.as_deref()),
            (Some("standard"), Some("fast"))
        );
        let other = ExactConfig {
            server_model: Some("small".to_owned()),
            service_tier: Some("default".to_owned()),
            speed: Some("standard".to_owned()),
            ..ExactConfig::default()
        };
        let chat = served(Protocol::Chat, CHAT, &other);
        assert_eq!(
            (chat.model.as_str(), chat.tier_field().as_str()),
            ("small", r#","service_tier":"default""#)
        );
        assert_eq!(chat.speed_field(), "");
    }
}
