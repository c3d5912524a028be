//! What goes wrong with rows themselves, and the form of the error text that a row carries.

/// Rows cannot be put into Arrow form.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// More than the 32-bit offsets of an Arrow list or string column can address.
    #[error(
        "column {column} would hold {size} values or bytes, more than {}; take rows out more often",
        i32::MAX
    )]
    TooLarge {
        /// The column.
        column: &'static str,
        /// What it would hold.
        size: usize,
    },
    /// The columns do not fit together.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
}

/// The longest error text in a row, in characters.
const MAX_ERROR_CHARS: usize = 500;
/// The longest quotation of what the server sent, in bytes.
const MAX_EXCERPT_BYTES: usize = 300;
const MASK: &str = "***";
/// Beginnings of API keys, with the shortest rest that makes a word one.
const KEY_PREFIXES: [(&str, usize); 12] = [
    ("sk-", 3),
    ("sk_", 8),
    ("pk-", 8),
    ("gsk_", 16),
    ("xai-", 16),
    ("hf_", 16),
    ("nvapi-", 16),
    ("AIza", 16),
    ("AKIA", 12),
    ("ghp_", 16),
    ("eyJ", 16),
    ("r8_", 16),
];
/// A run of letters and digits of this length is taken for a key, whatever it begins with.
const LONG_RUN: usize = 32;

/// An error text for a row: one line, no more than 500 characters, with all that looks like a key masked.
pub(crate) fn row_error(text: &str) -> String {
    // Four bytes a character at most; what lies beyond cannot be seen.
    let head = prefix(text, 4 * MAX_ERROR_CHARS);
    let line: Vec<&str> =
        head.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    mask(&line.join(" ")).chars().take(MAX_ERROR_CHARS).collect()
}

/// The beginning of what a server sent, to be quoted in an error.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(MAX_EXCERPT_BYTES)];
    let text = String::from_utf8_lossy(head);
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER).trim();
    if head.len() < bytes.len() { format!("{text}...") } else { text.to_owned() }
}

/// The longest beginning of `text` that is at most `max_bytes` long and ends between characters.
pub(crate) fn prefix(text: &str, max_bytes: usize) -> &str {
    let mut end = text.len().min(max_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_bearer = false;
    while let Some(c) = rest.chars().next() {
        let in_word = if after_bearer { is_token_char } else { is_word_char };
        let (word, tail) = rest.split_at(rest.find(|c| !in_word(c)).unwrap_or(rest.len()));
        if word.is_empty() {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        out.push_str(if after_bearer || looks_like_key(word) { MASK } else { word });
        after_bearer = word.eq_ignore_ascii_case("bearer");
        rest = tail;
    }
    out
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.*+/=~".contains(c)
}

fn is_token_char(c: char) -> bool {
    !c.is_whitespace() && !"\"'`,;:()[]{}<>".contains(c)
}

fn looks_like_key(word: &str) -> bool {
    let prefixed = KEY_PREFIXES.iter().any(|(prefix, rest)| {
        word.match_indices(prefix).any(|(at, _)| {
            let free = !word[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            free && word.len() - at >= prefix.len() + rest
        })
    });
    prefixed
        || word.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|run| {
            run.len() >= LONG_RUN
                && run.bytes().any(|b| b.is_ascii_digit())
                && run.bytes().any(|b| b.is_ascii_alphabetic())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_masked_and_words_are_not() {
        for (text, masked) in [
            ("Incorrect API key provided: sk-abc123.", "Incorrect API key provided: ***"),
            ("key=sk-proj-0123456789 is bad", "*** is bad"),
            ("header 'Authorization: Bearer tiny' refused", "header 'Authorization: Bearer ***' refused"),
            ("bearer  \"a/b+c=\" refused", "bearer \"***\" refused"),
            ("token 0123456789abcdef0123456789abcdef", "token ***"),
            ("gsk_0123456789abcdefgh unknown", "*** unknown"),
            ("a task-force at /v1/chat/completions", "a task-force at /v1/chat/completions"),
            ("the model `gemma-3-270m` does not exist", "the model `gemma-3-270m` does not exist"),
            ("id 123e4567-e89b-12d3-a456-426614174000", "id 123e4567-e89b-12d3-a456-426614174000"),
        ] {
            assert_eq!(row_error(text), masked);
        }
    }

    #[test]
    fn an_error_is_one_bounded_line() {
        assert_eq!(row_error("a\r\n\tb\0c"), "a b c");
        assert_eq!(row_error(&"é ".repeat(2_000)).chars().count(), 500);
    }

    #[test]
    fn an_excerpt_is_cut_between_characters() {
        assert_eq!(excerpt("<html>\n".as_bytes()), "<html>");
        assert_eq!(excerpt("é".repeat(151).as_bytes()), format!("{}...", "é".repeat(150)));
        assert_eq!(excerpt(format!("a{}", "é".repeat(151)).as_bytes()), format!("a{}...", "é".repeat(149)));
    }

    proptest! {
        #[test]
        fn any_text_is_bounded(text in "\\PC*") {
            prop_assert!(row_error(&text).chars().count() <= MAX_ERROR_CHARS);
        }
    }
}
