//! What we send and must never keep: a hostile or clumsy server may echo our headers in anything that it says.

use crate::record::Observation;

/// A shorter value of an ordinary header is a word like any other; masking it would harm texts and hide nothing.
const SHORTEST_PLAIN_BYTES: usize = 8;
const SHORTEST_SECRET_BYTES: usize = 4;
const SHORTEST_PASSED_ON_BYTES: usize = 16;

/// The values of the headers that the user gave.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Of these headers.
    #[must_use]
    pub fn of(headers: &[(String, String)]) -> Self {
        let mut values: Vec<String> = headers
            .iter()
            .flat_map(|(name, value)| {
                let shortest = if is_credential(name) { SHORTEST_SECRET_BYTES } else { SHORTEST_PLAIN_BYTES };
                // `Bearer KEY`: a server that echoes the key may leave the scheme out.
                let parts = value.split_ascii_whitespace().chain(std::iter::once(value.as_str()));
                parts.filter(move |part| part.len() >= shortest).map(str::to_owned)
            })
            .filter(|value| !value.eq_ignore_ascii_case("bearer") && !value.eq_ignore_ascii_case("basic"))
            .collect();
        // The longest first, so that a value is masked before its own part.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self(values)
    }

    /// Masks every string that comes from the server. Lengths stay, so that `event_bytes` still fits `text`.
    pub fn mask(&self, row: &mut Observation) {
        if self.0.is_empty() {
            return;
        }
        self.mask_text(&mut row.text);
        let named = [
            &mut row.error,
            &mut row.response_id,
            &mut row.server_model,
            &mut row.finish_reason,
            &mut row.server_timings,
        ];
        for text in named.into_iter().flatten() {
            self.mask_text(text);
            self.mask_end(text);
        }
    }

    /// Masks what goes on to somebody else as it came; lengths stay. Shorter values than 16 bytes are left: keys are
    /// longer, and a placeholder (`none`, `password`) is a word of many answers.
    pub fn mask_bytes(&self, bytes: &mut [u8]) {
        for secret in self.0.iter().filter(|secret| secret.len() >= SHORTEST_PASSED_ON_BYTES) {
            let mut from = 0;
            while let Some(at) = memchr::memmem::find(&bytes[from..], secret.as_bytes()) {
                bytes[from + at..from + at + secret.len()].fill(b'*');
                from += at + secret.len();
            }
        }
    }

    fn mask_text(&self, text: &mut String) {
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), &"*".repeat(secret.len()));
            }
        }
    }

    /// These texts are cut at a bound, which may fall within a secret.
    fn mask_end(&self, text: &mut String) {
        for secret in &self.0 {
            let cuts =
                secret.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST_SECRET_BYTES).rev();
            for at in cuts {
                if text.ends_with(&secret[..at]) {
                    text.truncate(text.len() - at);
                    text.push_str(&"*".repeat(at));
                    break;
                }
            }
        }
    }
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(headers: &[(&str, &str)]) -> Secrets {
        let headers: Vec<_> = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Secrets::of(&headers)
    }

    fn masked(secrets: &Secrets, text: &str) -> String {
        let mut text = text.to_owned();
        secrets.mask_text(&mut text);
        secrets.mask_end(&mut text);
        text
    }

    #[test]
    fn what_is_passed_on_loses_keys_and_no_words() {
        let secrets = secrets(&[("Authorization", "Bearer sk-0123456789abcdef"), ("X-Api-Key", "password")]);
        let mut bytes = b"the password of sk-0123456789abcdefsk-0123456789abcdef.".to_vec();
        secrets.mask_bytes(&mut bytes);
        assert_eq!(bytes, [b"the password of ".as_slice(), &[b'*'; 38], b"."].concat());
    }

    #[test]
    fn values_are_masked_whole_in_parts_and_cut_and_lengths_stay() {
        let secrets =
            secrets(&[("Authorization", "Bearer hunter2-Zq9"), ("X-Env", "test"), ("X-Secret", "fish")]);
        for (text, expected) in [
            ("got Bearer hunter2-Zq9!", "got ******************!"),
            ("got hunter2-Zq9 twice hunter2-Zq9", "got *********** twice ***********"),
            ("cut at hunter2", "cut at *******"),
            ("a test of fish", "a test of ****"),
            ("Bearer of news", "Bearer of news"),
        ] {
            assert_eq!(masked(&secrets, text), expected);
        }
    }
}
