//! What answers say: plain English words, the same for the same seed. A token is one word with its leading space.

use std::ops::Range;
use std::sync::Arc;

const WORDS: &str = "the a and of to in is that it for on with as at by this from or an be are was were can has \
have not but all their its one two three four five first last next time day year way part place case point week \
number group problem fact hand eye water light air sun moon star river stone tree leaf bird horse road city house \
door window table chair paper book letter word name story song voice sound picture color red green blue white \
black small large long short high low new old young early late good better best great little own other same able \
public early open clear simple full free whole true sure quick slow warm cold dry wet soft hard deep wide near far \
work play walk run read write speak hear see know think find give take make come go say tell ask use try leave \
call keep let begin help show move live believe bring happen stand lose pay meet include continue set learn \
change lead understand watch follow stop create add grow spend open win offer remember love consider appear buy \
wait serve send expect build stay fall cut reach remain suggest raise pass sell require report decide pull \
because when where while after before under over between through during without within along across behind";

/// Words whose letters take two, three and four bytes in UTF-8.
const WIDE_WORDS: &str = "naïve café über façade señor jalapeño smörgåsbord crème brûlée Ελλάδα κόσμος Москва слово \
東京 言葉 한국어 مرحبا 🙂 🚀 🎉 Zürich Ångström coöperate déjà œuvre";

/// After so many tokens a text begins again.
const PERIOD: usize = 4_096;

/// A text without end, of which any run of tokens can be had without making it.
#[derive(Debug)]
pub(crate) struct Text {
    words: Arc<Words>,
    ending: Option<Ending>,
}

/// Words in place of the usual ones, from a token on.
#[derive(Debug)]
struct Ending {
    from: u64,
    /// As they are written in a JSON string, each with the space or line end before it.
    words: Vec<String>,
}

#[derive(Debug)]
struct Words {
    joined: String,
    /// Where each token begins in `joined`, and its end after the last.
    starts: Vec<usize>,
    ids: Vec<u32>,
}

/// A well-mixed 64-bit number for each pair of numbers (the finaliser of splitmix64).
pub(crate) fn mix(seed: u64, value: u64) -> u64 {
    let mut z =
        seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(value.wrapping_mul(0xD1B5_4A32_D192_ED03));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Text {
    /// Plain ASCII, with nothing that JSON would escape.
    pub(crate) fn plain(seed: u64) -> Self {
        Self::of(WORDS, seed)
    }

    /// Every word has characters of several bytes.
    pub(crate) fn wide(seed: u64) -> Self {
        Self::of(WIDE_WORDS, seed)
    }

    fn of(words: &str, seed: u64) -> Self {
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut text = Words { joined: String::new(), starts: vec![0], ids: Vec::with_capacity(PERIOD) };
        for place in 0..PERIOD as u64 {
            let id = mix(seed, place) % words.len() as u64;
            text.joined.push(' ');
            text.joined.push_str(words.get(id as usize).copied().unwrap_or("word"));
            text.starts.push(text.joined.len());
            text.ids.push(id as u32);
        }
        Self { words: Arc::new(text), ending: None }
    }

    /// The same text, in which the words of `ending` are the tokens from `from` on, on a line of their own.
    pub(crate) fn with_ending(&self, ending: &str, from: u64) -> Self {
        let words = ending.split_whitespace().enumerate().map(|(place, word)| {
            let quoted = serde_json::Value::from(word).to_string();
            let escaped = quoted.get(1..quoted.len() - 1).unwrap_or_default();
            format!("{}{escaped}", if place == 0 { "\\n" } else { " " })
        });
        Self { words: self.words.clone(), ending: Some(Ending { from, words: words.collect() }) }
    }

    /// Appends the tokens of that range, as they are written in a JSON string.
    pub(crate) fn append(&self, tokens: Range<u64>, out: &mut Vec<u8>) {
        let Some(ending) = &self.ending else { return self.words.append(tokens, out) };
        let until = ending.from + ending.words.len() as u64;
        self.words.append(tokens.start..tokens.end.min(ending.from), out);
        for token in tokens.start.max(ending.from)..tokens.end.min(until) {
            let word = ending.words.get((token - ending.from) as usize);
            out.extend_from_slice(word.map_or(&[], |word| word.as_bytes()));
        }
        self.words.append(tokens.start.max(until)..tokens.end, out);
    }

    /// The token's id: the place of its word in the vocabulary.
    pub(crate) fn id(&self, token: u64) -> u32 {
        self.words.ids[(token % PERIOD as u64) as usize]
    }
}

impl Words {
    fn append(&self, tokens: Range<u64>, out: &mut Vec<u8>) {
        let mut at = tokens.start;
        while at < tokens.end {
            let begin = (at % PERIOD as u64) as usize;
            let count = ((tokens.end - at) as usize).min(PERIOD - begin);
            let bytes = self.starts[begin]..self.starts[begin + count];
            out.extend_from_slice(&self.joined.as_bytes()[bytes]);
            at += count as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &Text, tokens: Range<u64>) -> String {
        let mut out = Vec::new();
        text.append(tokens, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_token_is_one_word_with_its_leading_space() {
        let text = Text::plain(1);
        let answer = said(&text, 0..300);
        assert!(answer.starts_with(' '));
        assert_eq!(answer.split_whitespace().count(), 300);
        assert!(answer.bytes().all(|byte| byte == b' ' || byte.is_ascii_alphabetic()));
    }

    #[test]
    fn pieces_join_to_the_whole_over_the_period() {
        let text = Text::plain(3);
        let from = PERIOD as u64 - 5;
        let pieces: String = (from..from + 10).map(|k| said(&text, k..k + 1)).collect();
        assert_eq!(pieces, said(&text, from..from + 10));
    }

    #[test]
    fn an_ending_takes_the_place_of_the_words_that_were_there() {
        let plain = Text::plain(1);
        let ending = plain.with_ending("Answer: a\"b 7", 5);
        assert_eq!(said(&ending, 0..5), said(&plain, 0..5));
        assert_eq!(said(&ending, 5..8), r#"\nAnswer: a\"b 7"#);
        assert_eq!(said(&ending, 8..12), said(&plain, 8..12));
        let pieces: String = (0..12).map(|token| said(&ending, token..token + 1)).collect();
        assert_eq!(pieces, said(&ending, 0..12));
        assert_eq!(ending.id(6), plain.id(6));
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(said(&Text::plain(1), 0..50), said(&Text::plain(1), 0..50));
        assert_ne!(said(&Text::plain(1), 0..50), said(&Text::plain(2), 0..50));
    }

    #[test]
    fn every_wide_word_has_a_multi_byte_character() {
        let text = Text::wide(1);
        for token in 0..200 {
            assert!(!said(&text, token..token + 1).is_ascii());
        }
    }

    #[test]
    fn ids_tell_words_apart() {
        let text = Text::plain(1);
        for (a, b) in (0..200u64).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let same_word = said(&text, a..a + 1) == said(&text, b..b + 1);
            if text.id(a) == text.id(b) {
                assert!(same_word);
            }
        }
    }
}
