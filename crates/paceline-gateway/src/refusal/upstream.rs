//! An upstream's own refusal, handed on to the client.

use paceline_wire::{Protocol, server_message};

use super::Refusal;

/// The most characters of an upstream's message.
const MAX_MESSAGE: usize = 2_000;

/// A word of at least so many letters after one of [`PREFIXES`] looks like a key.
const KEY_LETTERS: usize = 12;

/// How keys begin.
const PREFIXES: [&str; 12] =
    ["sk-", "sk_", "pk-", "rk-", "gsk_", "xai-", "AIza", "hf_", "nvapi-", "fw_", "r8_", "key-"];

/// The body that goes to the client: where the upstream speaks as the client does, its own bytes; else its message in
/// the client's shape. What looks like a key is masked, and so is whatever the offer's headers hold.
pub(crate) fn upstream_error(
    status: u16,
    body: &[u8],
    upstream: Protocol,
    client: Protocol,
    headers: &[(String, String)],
    id: &str,
) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let masked = mask(text.trim(), headers);
    let same = is_anthropic(upstream) == is_anthropic(client);
    if same && serde_json::from_str::<serde::de::IgnoredAny>(&masked).is_ok() && masked.starts_with('{') {
        return masked.into_bytes();
    }
    let message = server_message(masked.as_bytes()).unwrap_or_else(|| {
        if masked.is_empty() {
            format!("The upstream answered with status {status}, and no words.")
        } else {
            masked
        }
    });
    let message = message.chars().take(MAX_MESSAGE).collect::<String>();
    Refusal::upstream_rejected(status, message).body(client, id)
}

const fn is_anthropic(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::AnthropicMessages)
}

/// The text without what looks like a key, and without the values of `headers` (and their parts after a space, as
/// in `Bearer KEY`).
fn mask(text: &str, headers: &[(String, String)]) -> String {
    let mut masked = text.to_owned();
    for secret in
        headers.iter().flat_map(|(_, value)| [Some(value.as_str()), value.split(' ').nth(1)]).flatten()
    {
        // Short values are ordinary words, as a version's number.
        if secret.len() >= 8 {
            masked = masked.replace(secret, "***");
        }
    }
    mask_keys(&masked)
}

fn mask_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_key_letter) {
        out.push_str(&rest[..start]);
        let word_end =
            rest[start..].find(|letter| !is_key_letter(letter)).map_or(rest.len(), |end| start + end);
        let word = &rest[start..word_end];
        match PREFIXES.iter().find(|prefix| word.starts_with(*prefix)) {
            Some(prefix) if word.len() >= prefix.len() + KEY_LETTERS => {
                out.push_str(prefix);
                out.push_str("***");
            }
            _ => out.push_str(word),
        }
        rest = &rest[word_end..];
    }
    out.push_str(rest);
    out
}

fn is_key_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '*' | '.')
}
