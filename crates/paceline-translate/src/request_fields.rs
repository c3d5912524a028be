//! What becomes of the fields of a request that the other protocol has no word for.
//!
//! A field that is only advice, or only for the gateway, is dropped. One that would change what is answered is refused,
//! unless its value asks for nothing.

use serde_json::value::RawValue;

use crate::Untranslatable;
use crate::fields::Fields;

/// Fields of chat requests that the messages protocol has no word for.
const CHAT_REFUSED: [&str; 21] = [
    "audio",
    "best_of",
    "function_call",
    "functions",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "ignore_eos",
    "logit_bias",
    "logprobs",
    "min_tokens",
    "modalities",
    "moderation",
    "n",
    "prompt_logprobs",
    "structured_outputs",
    "top_logprobs",
    "use_beam_search",
    "web_search_options",
];

/// Fields of messages requests that chat has no word for.
const MESSAGES_REFUSED: [&str; 3] = ["container", "inference_geo", "mcp_servers"];

/// Refuses what of a chat request cannot be asked of the messages protocol.
pub(crate) fn check_chat(asked: &Fields<'_>) -> Result<(), Untranslatable> {
    check(asked, &CHAT_REFUSED, "messages")
}

/// Refuses what of a messages request cannot be asked of chat.
pub(crate) fn check_messages(asked: &Fields<'_>) -> Result<(), Untranslatable> {
    check(asked, &MESSAGES_REFUSED, "chat")
}

fn check(asked: &Fields<'_>, refused: &[&str], upstream: &str) -> Result<(), Untranslatable> {
    for (name, value) in asked.names() {
        if refused.contains(&name) && !asks_for_nothing(name, value) {
            return Err(Untranslatable::at(name, &format!("this has no equivalent in {upstream}")));
        }
    }
    Ok(())
}

fn asks_for_nothing(name: &str, value: &RawValue) -> bool {
    let bare: String = value.get().chars().filter(|c| !c.is_ascii_whitespace()).collect();
    match name {
        "n" | "best_of" => bare == "1",
        "modalities" => bare == r#"["text"]"#,
        _ => matches!(&*bare, "false" | "0" | "{}" | "[]" | "\"\""),
    }
}
