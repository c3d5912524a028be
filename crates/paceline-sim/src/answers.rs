//! Answers that are known to be right, and how often the engine gives them: an engine whose quality is known.

use std::collections::HashMap;

use ring::digest::{Context, SHA256};
use serde::Deserialize;

use crate::request::Prompt;
use crate::text::mix;

/// SHA-256 of what a prompt says.
pub(crate) type PromptHash = [u8; 32];

/// What a prompt is to be answered with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnownAnswer {
    /// The texts of its messages, one after the other.
    pub prompt: Option<String>,
    /// Their SHA-256 in hex, in place of the texts.
    pub prompt_sha256: Option<String>,
    /// What a right answer ends with, on a line of its own.
    pub answer: String,
    /// What a wrong one ends with.
    pub wrong: String,
}

impl Default for KnownAnswer {
    fn default() -> Self {
        Self { prompt: None, prompt_sha256: None, answer: String::new(), wrong: "Answer: unknown".to_owned() }
    }
}

impl KnownAnswer {
    fn hash(&self) -> Option<PromptHash> {
        match (&self.prompt, &self.prompt_sha256) {
            (Some(text), None) => Some(hash_of([text.as_str()])),
            (None, Some(hex)) => from_hex(hex),
            _ => None,
        }
    }

    /// Says what is wrong with it; `room`: the words that an answer has room for.
    pub(crate) fn check(&self, room: u64) -> Result<(), String> {
        if self.hash().is_none() {
            return Err("answers: each has either prompt or prompt_sha256, of 64 hex digits".to_owned());
        }
        for (field, text) in [("answer", &self.answer), ("wrong", &self.wrong)] {
            let words = text.split_whitespace().count() as u64;
            if words == 0 {
                return Err(format!("answers.{field} is empty"));
            }
            if words > room {
                return Err(format!(
                    "answers.{field} has {words} words, and output_tokens leaves room for {room} of content"
                ));
            }
        }
        if self.answer == self.wrong {
            return Err("answers.answer and answers.wrong are the same".to_owned());
        }
        Ok(())
    }
}

/// All known answers.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: HashMap<PromptHash, KnownAnswer>,
    quality: f64,
    seed: u64,
}

impl Answers {
    pub(crate) fn new(known: &[KnownAnswer], quality: f64, seed: u64) -> Self {
        let known = known.iter().filter_map(|one| Some((one.hash()?, one.clone()))).collect();
        Self { known, quality, seed }
    }

    /// What the answer to a prompt ends with: right in `quality` of all prompts, and for one prompt always the same.
    pub(crate) fn ending(&self, prompt: &Prompt) -> Option<&str> {
        if self.known.is_empty() {
            return None;
        }
        let hash = prompt.hash();
        let known = self.known.get(&hash)?;
        let head = hash.iter().take(8).fold(0u64, |head, byte| head << 8 | u64::from(*byte));
        // 53 bits, evenly over 0 to 1.
        let drawn = (mix(self.seed, head) >> 11) as f64 / (1u64 << 53) as f64;
        Some(if drawn < self.quality { &known.answer } else { &known.wrong })
    }
}

/// The hash of texts, one after the other.
pub(crate) fn hash_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> PromptHash {
    let mut context = Context::new(&SHA256);
    texts.into_iter().for_each(|text| context.update(text.as_bytes()));
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

fn from_hex(hex: &str) -> Option<PromptHash> {
    if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; 32];
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(prompt: &str) -> KnownAnswer {
        KnownAnswer {
            prompt: Some(prompt.to_owned()),
            answer: "Answer: 7".to_owned(),
            ..KnownAnswer::default()
        }
    }

    fn said(text: &str) -> Prompt {
        let mut prompt = Prompt::default();
        prompt.text(text.to_owned());
        prompt
    }

    #[test]
    fn the_hash_is_that_of_the_texts_together() {
        // SHA-256 of `abc`, from FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_of(["a", "bc"]), from_hex(abc).unwrap());
        let by_hash = KnownAnswer { prompt_sha256: Some(abc.to_uppercase()), ..known("") };
        let by_hash = KnownAnswer { prompt: None, ..by_hash };
        let answers = Answers::new(&[by_hash], 1.0, 1);
        assert_eq!(answers.ending(&said("abc")), Some("Answer: 7"));
        assert_eq!(answers.ending(&said("abd")), None);
    }

    #[test]
    fn as_many_are_right_as_was_asked_and_always_the_same_ones() {
        let prompts: Vec<String> = (0..2_000).map(|number| format!("question {number}")).collect();
        let all: Vec<KnownAnswer> = prompts.iter().map(|prompt| known(prompt)).collect();
        let right = |quality: f64, seed: u64| -> Vec<bool> {
            let answers = Answers::new(&all, quality, seed);
            prompts.iter().map(|prompt| answers.ending(&said(prompt)) == Some("Answer: 7")).collect()
        };
        let share = |found: &[bool]| found.iter().filter(|right| **right).count();
        assert_eq!((share(&right(1.0, 1)), share(&right(0.0, 1))), (2_000, 0));
        // Six standard deviations of a binomial with n = 2,000.
        assert!((1_493..=1_707).contains(&share(&right(0.8, 1))), "{}", share(&right(0.8, 1)));
        assert_eq!(right(0.8, 1), right(0.8, 1));
        assert_ne!(right(0.8, 1), right(0.8, 2));
        // A better engine has solved all that a worse one of the same seed has.
        assert!(right(0.8, 1).iter().zip(right(0.6, 1)).all(|(better, worse)| *better || !worse));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let none = KnownAnswer { prompt: None, ..known("a") };
        let both = KnownAnswer { prompt_sha256: Some("ab".to_owned()), ..known("a") };
        let short = KnownAnswer { prompt: None, prompt_sha256: Some("ab".to_owned()), ..known("a") };
        for one in [none, both, short] {
            assert!(one.check(9).unwrap_err().contains("prompt_sha256"));
        }
        assert!(known("a").check(1).unwrap_err().contains("has 2 words"));
        assert!(KnownAnswer { answer: " ".to_owned(), ..known("a") }.check(9).unwrap_err().contains("empty"));
        let same = KnownAnswer { wrong: "Answer: 7".to_owned(), ..known("a") };
        assert!(same.check(9).unwrap_err().contains("the same"));
        assert_eq!(known("a").check(2), Ok(()));
    }
}
