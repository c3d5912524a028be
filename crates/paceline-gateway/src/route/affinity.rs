//! Which beginnings of prompts an offer has lately seen, and what that is worth there.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A hash in `Ask::prefix` stands for so many further bytes.
const BLOCK_BYTES: u64 = 1024;
/// Blocks kept an offer: 16 MiB of prompts.
const BLOCKS: usize = 16_384;
/// Providers keep what they cached for about five minutes after its last use (Anthropic's default; OpenAI: 5 to 10).
const KEPT_NS: i64 = 300_000_000_000;
/// The credit that a prediction gets before anything is known of it, and the requests that this weighs as much as.
const UNKNOWN_YIELD: f64 = 0.5;
const UNKNOWN_WEIGHT: f64 = 2.0;
/// Older evidence of the yield loses so much with each newer one.
const FADE: f64 = 0.95;

/// The keys are hashes already; they are spread once more since a table reads the low and the high bits.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

/// One offer's memory of beginnings.
#[derive(Debug, Clone)]
pub(crate) struct Affinity {
    blocks: HashMap<u64, i64, BuildHasherDefault<Spread>>,
    /// Tokens that were predicted to be cached, and of these the tokens that were.
    predicted: f64,
    cached: f64,
}

impl Default for Affinity {
    fn default() -> Self {
        Self { blocks: HashMap::default(), predicted: 0.0, cached: 0.0 }
    }
}

impl Affinity {
    /// Bytes of the longest beginning that was lately seen.
    pub(crate) fn warm_bytes(&self, prefix: &[u64], now_ns: i64) -> u64 {
        // Who has the longer beginning has the shorter ones too, so the end can be searched for.
        let warm = |hash: &u64| self.blocks.get(hash).is_some_and(|at_ns| now_ns - at_ns <= KEPT_NS);
        prefix.partition_point(warm) as u64 * BLOCK_BYTES
    }

    /// How much of what is predicted to be cached is: what usage reports have shown.
    pub(crate) fn yields(&self, tokens_a_request: f64) -> f64 {
        let unknown = UNKNOWN_WEIGHT * tokens_a_request.max(1.0);
        (self.cached + UNKNOWN_YIELD * unknown) / (self.predicted + unknown)
    }

    /// Tokens of a prompt that the offer is expected to have cached.
    pub(crate) fn cached_tokens(&self, prefix: &[u64], bytes_a_token: f64, now_ns: i64) -> f64 {
        let tokens = self.warm_bytes(prefix, now_ns) as f64 / bytes_a_token;
        if tokens <= 0.0 { 0.0 } else { tokens * self.yields(tokens) }
    }

    /// The offer answered to a prompt of these beginnings, and said (or did not) how much of it was cached.
    pub(crate) fn learn(&mut self, prefix: &[u64], bytes_a_token: f64, cached: Option<u64>, now_ns: i64) {
        let predicted = self.warm_bytes(prefix, now_ns) as f64 / bytes_a_token;
        if predicted > 0.0 {
            self.predicted = FADE * self.predicted + predicted;
            self.cached = FADE * self.cached + (cached.unwrap_or(0) as f64).min(predicted);
        }
        for hash in prefix {
            self.blocks.insert(*hash, now_ns);
        }
        if self.blocks.len() > BLOCKS {
            self.forget_older_half();
        }
    }

    fn forget_older_half(&mut self) {
        let mut times: Vec<i64> = self.blocks.values().copied().collect();
        let middle = times.len() / 2;
        let (_, median_ns, _) = times.select_nth_unstable(middle);
        let median_ns = *median_ns;
        self.blocks.retain(|_, at_ns| *at_ns > median_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn the_longest_common_beginning_is_found() {
        let mut affinity = Affinity::default();
        assert_eq!(affinity.warm_bytes(&[1, 2, 3], 0), 0);
        affinity.learn(&[1, 2, 3], 4.0, None, 0);
        assert_eq!(affinity.warm_bytes(&[1, 2, 3, 4, 5], S), 3 * 1024);
        assert_eq!(affinity.warm_bytes(&[1, 2, 9, 10], S), 2 * 1024);
        assert_eq!(affinity.warm_bytes(&[9, 10, 11], S), 0);
        assert_eq!(affinity.warm_bytes(&[1, 2, 3], KEPT_NS + 1), 0, "caches are not for ever");
        assert_eq!(affinity.warm_bytes(&[], S), 0);
    }

    #[test]
    fn what_usage_reports_is_the_credit_that_warmth_gets() {
        let prefix: Vec<u64> = (1..=8).collect();
        let mut never = Affinity::default();
        let mut always = Affinity::default();
        never.learn(&prefix, 4.0, None, 0);
        always.learn(&prefix, 4.0, None, 0);
        assert_eq!(never.cached_tokens(&prefix, 4.0, S), 1024.0, "half of 2,048 at first");
        for _ in 0..60 {
            never.learn(&prefix, 4.0, None, S);
            always.learn(&prefix, 4.0, Some(2048), S);
        }
        assert!(never.cached_tokens(&prefix, 4.0, S) < 100.0);
        assert!(always.cached_tokens(&prefix, 4.0, S) > 1950.0);
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stays() {
        let mut affinity = Affinity::default();
        for turn in 0..200_u64 {
            let prefix: Vec<u64> = (0..512).map(|block| 1 + turn * 1000 + block).collect();
            affinity.learn(&prefix, 4.0, None, turn as i64);
            assert!(affinity.blocks.len() <= BLOCKS);
            assert_eq!(affinity.warm_bytes(&prefix, turn as i64), 512 * 1024);
        }
    }
}
