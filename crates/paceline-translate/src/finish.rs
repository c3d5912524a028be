//! Why an answer ended, in either protocol's words.

/// Chat's word for a message's `stop_reason`.
pub(crate) fn to_chat(stop_reason: &str) -> &'static str {
    match stop_reason {
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        // end_turn, stop_sequence, pause_turn, and what is not known yet.
        _ => "stop",
    }
}

/// The messages protocol's word for a chat's `finish_reason`.
///
/// Servers end a forced call with `stop`; a client of the messages protocol only runs a tool where it reads `tool_use`.
pub(crate) fn to_messages(finish_reason: &str, calls_tools: bool) -> &'static str {
    match finish_reason {
        "length" => "max_tokens",
        "tool_calls" | "function_call" => "tool_use",
        "content_filter" => "refusal",
        _ if calls_tools => "tool_use",
        _ => "end_turn",
    }
}

/// Finish reasons by which servers say that they did not finish: no end of an answer, as `paceline-wire` has it.
pub(crate) fn is_error(reason: &str) -> bool {
    matches!(reason, "error" | "abort" | "aborted" | "cancelled" | "canceled" | "failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_another() {
        for (messages, chat) in [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("pause_turn", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("tool_use", "tool_calls"),
            ("refusal", "content_filter"),
            ("something_new", "stop"),
        ] {
            assert_eq!(to_chat(messages), chat);
        }
        for (chat, messages) in [
            ("stop", "end_turn"),
            ("length", "max_tokens"),
            ("tool_calls", "tool_use"),
            ("function_call", "tool_use"),
            ("content_filter", "refusal"),
            ("something_new", "end_turn"),
        ] {
            assert_eq!(to_messages(chat, false), messages);
        }
        assert_eq!(to_messages("stop", true), "tool_use");
        assert_eq!(to_messages("length", true), "max_tokens");
    }
}
