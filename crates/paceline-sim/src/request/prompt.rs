//! What a request says: texts, of which each word is a token, token ids and images.

use crate::answers::{PromptHash, hash_of};
use crate::text::mix;

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Ids(Vec<u64>),
    Image { hash: u64 },
}

/// A prompt, in the order in which it is said.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Prompt {
    parts: Vec<Part>,
    /// Tokens of one image.
    image_tokens: u64,
}

impl Prompt {
    /// An empty one, in which an image counts so many tokens.
    pub(super) fn new(image_tokens: u64) -> Self {
        Self { parts: Vec::new(), image_tokens }
    }

    pub(crate) fn text(&mut self, text: String) {
        self.parts.push(Part::Text(text));
    }

    pub(super) fn ids(&mut self, ids: Vec<u64>) {
        self.parts.push(Part::Ids(ids));
    }

    /// An image, known by its URL or its data.
    pub(super) fn image(&mut self, source: &str) {
        self.parts.push(Part::Image { hash: hash_word(source) });
    }

    /// The hash of its texts, one after the other.
    pub(crate) fn hash(&self) -> PromptHash {
        hash_of(self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Ids(_) | Part::Image { .. } => None,
        }))
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.split_whitespace().count() as u64,
                Part::Ids(ids) => ids.len() as u64,
                Part::Image { .. } => self.image_tokens,
            })
            .sum()
    }

    /// One hash for each whole block of `block` tokens, of all the prompt up to the block's end.
    pub(crate) fn prefix_hashes(&self, block: usize) -> Vec<u64> {
        let mut chain = Chain { block, ..Chain::default() };
        for part in &self.parts {
            match part {
                Part::Text(text) => text.split_whitespace().for_each(|word| chain.push(hash_word(word))),
                Part::Ids(ids) => ids.iter().for_each(|id| chain.push(mix(1, *id))),
                Part::Image { hash } => {
                    (0..self.image_tokens).for_each(|place| chain.push(mix(*hash, place)))
                }
            }
        }
        chain.hashes
    }
}

#[derive(Default)]
struct Chain {
    block: usize,
    place: usize,
    hash: u64,
    hashes: Vec<u64>,
}

impl Chain {
    fn push(&mut self, token: u64) {
        self.hash = mix(self.hash, token);
        self.place += 1;
        if self.place.is_multiple_of(self.block) {
            self.hashes.push(self.hash);
        }
    }
}

/// FNV-1a, 64 bits.
fn hash_word(word: &str) -> u64 {
    word.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> Prompt {
        let mut prompt = Prompt::new(3);
        prompt.text(text.to_owned());
        prompt
    }

    #[test]
    fn prompts_share_the_hashes_of_the_blocks_that_they_share() {
        let one = prompt("a b c d e f g h i").prefix_hashes(4);
        let two = prompt("a b c d e f X h i j k l m").prefix_hashes(4);
        assert_eq!((one.len(), two.len()), (2, 3));
        assert_eq!(one[0], two[0]);
        assert_ne!(one[1], two[1]);
        assert_ne!(prompt("b b c d").prefix_hashes(4)[0], one[0]);
    }

    #[test]
    fn how_a_text_is_cut_into_messages_changes_no_hash() {
        let mut cut = prompt("a b c");
        cut.text("d e f g h i".to_owned());
        assert_eq!(cut.prefix_hashes(4), prompt("a b c d e f g h i").prefix_hashes(4));
    }

    #[test]
    fn an_image_counts_its_tokens_and_is_told_from_another() {
        let with = |source: &str| {
            let mut prompt = prompt("a");
            prompt.image(source);
            prompt
        };
        assert_eq!(with("data:x").tokens(), 4);
        assert_eq!(with("data:x").prefix_hashes(4), with("data:x").prefix_hashes(4));
        assert_ne!(with("data:x").prefix_hashes(4), with("data:y").prefix_hashes(4));
    }
}
