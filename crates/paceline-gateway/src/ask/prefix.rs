//! A running hash of the prompt's text.
//!
//! Wanted: 64 bits that differ for different beginnings, at a byte or more a cycle, with a value at each KiB. What is at
//! stake is where a request is sent, not what is answered, so no defence against who looks for collisions is needed, and
//! SipHash's cost is not paid. Eight bytes a step are mixed by a 64 to 128 bit product, folded; that is what wyhash is
//! built on.

const BLOCK_BYTES: usize = 1024;
const MAX_HASHES: usize = 512;
/// The first 128 bits of pi's fraction: odd, and nothing up the sleeve.
const START: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u64 = 0x1319_8a2e_0370_7345;

/// Takes text piece by piece.
#[derive(Debug)]
pub(super) struct Prefix {
    state: u64,
    /// The bytes that do not yet fill a word.
    word: [u8; 8],
    in_word: usize,
    in_block: usize,
    bytes: u64,
    hashes: Vec<u64>,
}

impl Prefix {
    pub(super) const fn new() -> Self {
        Self { state: START, word: [0; 8], in_word: 0, in_block: 0, bytes: 0, hashes: Vec::new() }
    }

    /// Takes the next piece of the text. How the text is cut into pieces makes no difference.
    pub(super) fn text(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let mut rest = piece;
        while !rest.is_empty() && self.hashes.len() < MAX_HASHES {
            if self.in_word == 0 && rest.len() >= 8 {
                let (words, tail) = rest.as_chunks::<8>();
                let room = (BLOCK_BYTES - self.in_block) / 8;
                let taken = words.len().min(room);
                for word in &words[..taken] {
                    self.state = mixed(self.state, u64::from_le_bytes(*word));
                }
                self.in_block += 8 * taken;
                rest = if taken == words.len() { tail } else { &rest[8 * taken..] };
            } else {
                self.word[self.in_word] = rest[0];
                self.in_word += 1;
                rest = &rest[1..];
                if self.in_word == 8 {
                    self.state = mixed(self.state, u64::from_le_bytes(self.word));
                    self.in_word = 0;
                    self.in_block += 8;
                }
            }
            if self.in_block == BLOCK_BYTES {
                self.hashes.push(self.state);
                self.in_block = 0;
            }
        }
    }

    /// Takes what is part of the prompt but not text, as an image: its length and both of its ends tell it from others.
    pub(super) fn other(&mut self, what: &[u8]) {
        self.state = mixed(self.state, what.len() as u64);
        for end in [&what[..what.len().min(64)], &what[what.len().saturating_sub(64)..]] {
            for chunk in end.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                self.state = mixed(self.state, u64::from_le_bytes(word));
            }
        }
    }

    /// A token of the prompt, by its id. Four bytes are what a token of text has in the mean.
    pub(super) fn token(&mut self, id: u32) {
        self.text(&id.to_le_bytes());
    }

    /// Bytes of text, and the hash at each KiB.
    pub(super) fn finish(self) -> (u64, Vec<u64>) {
        (self.bytes, self.hashes)
    }
}

fn mixed(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word).wrapping_mul(u128::from(FACTOR));
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let folded = (product as u64) ^ ((product >> 64) as u64);
    // A state that meets its own value as a word would be lost for good.
    folded.wrapping_add(START) ^ word.rotate_left(32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hashes(pieces: &[&[u8]]) -> (u64, Vec<u64>) {
        let mut prefix = Prefix::new();
        for piece in pieces {
            prefix.text(piece);
        }
        prefix.finish()
    }

    fn text(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|place| u8::try_from(place * 7 % 251).unwrap()).collect()
    }

    #[test]
    fn what_grows_keeps_its_beginning() {
        let long = text(10 * BLOCK_BYTES + 5);
        let (bytes, whole) = hashes(&[&long]);
        assert_eq!((bytes, whole.len()), (10 * 1024 + 5, 10));
        let (_, part) = hashes(&[&long[..4 * BLOCK_BYTES + 900]]);
        assert_eq!(part, whole[..4]);
        assert!(hashes(&[&long[..BLOCK_BYTES - 1]]).1.is_empty());
    }

    #[test]
    fn a_byte_changes_all_that_follows() {
        let mut long = text(6 * BLOCK_BYTES);
        let (_, before) = hashes(&[&long]);
        long[2 * BLOCK_BYTES + 17] ^= 1;
        let (_, after) = hashes(&[&long]);
        assert_eq!(before[..2], after[..2]);
        assert!(before[2..].iter().zip(&after[2..]).all(|(a, b)| a != b));
        let zeros = hashes(&[&[0; 4 * BLOCK_BYTES]]).1;
        assert!(zeros.iter().enumerate().all(|(place, hash)| !zeros[..place].contains(hash)));
    }

    #[test]
    fn there_are_at_most_512() {
        let (bytes, whole) = hashes(&[&text(600 * BLOCK_BYTES)]);
        assert_eq!((bytes, whole.len()), (600 * 1024, 512));
    }

    #[test]
    fn images_count_for_the_hash_and_not_for_the_bytes() {
        let with = |image: &[u8]| {
            let mut prefix = Prefix::new();
            prefix.other(image);
            prefix.text(&text(BLOCK_BYTES));
            prefix.finish()
        };
        assert_eq!(with(b"one").0, 1024);
        assert_ne!(with(b"one").1, with(b"two").1);
        assert_ne!(with(b"").1, with(b"\0").1);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(cuts in prop::collection::vec(0usize..5000, 0..20)) {
            let long = text(5000);
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut pieces: Vec<&[u8]> = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&long[from..cut]);
                from = cut;
            }
            pieces.push(&long[from..]);
            prop_assert_eq!(hashes(&pieces), hashes(&[&long]));
        }
    }
}
