//! Prompt blocks that were computed before, the least recently used of which is forgotten first.

use std::collections::{BTreeMap, HashMap};

/// Tokens of one block.
pub(crate) const BLOCK_TOKENS: usize = 16;

/// What the cache had of a prompt, and what it keeps of it from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hit {
    pub(crate) cached_tokens: u64,
    pub(crate) written_tokens: u64,
}

/// The cache knows blocks by the hash of the prompt up to their end.
#[derive(Debug)]
pub(crate) struct PrefixCache {
    limit: usize,
    used_at: HashMap<u64, u64>,
    by_use: BTreeMap<u64, u64>,
    uses: u64,
}

impl PrefixCache {
    /// A cache of at most `limit` blocks; 0 keeps none.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, used_at: HashMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// How many tokens at the prompt's beginning are known.
    fn hit_tokens(&self, hashes: &[u64]) -> u64 {
        let blocks = hashes.iter().take_while(|hash| self.used_at.contains_key(hash)).count();
        (blocks * BLOCK_TOKENS) as u64
    }

    /// Looks a prompt of so many tokens up, and keeps it. The last token is always computed, since it yields the first
    /// token of the answer.
    pub(crate) fn take(&mut self, hashes: &[u64], prompt_tokens: u64) -> Hit {
        let known = self.hit_tokens(hashes);
        self.insert(hashes);
        let kept = (hashes.len().min(self.limit) * BLOCK_TOKENS) as u64;
        Hit {
            cached_tokens: known.min(prompt_tokens.saturating_sub(1)),
            written_tokens: kept.saturating_sub(known),
        }
    }

    /// Keeps the prompt's blocks. The first is used last, so that a chain is forgotten from its end.
    fn insert(&mut self, hashes: &[u64]) {
        let kept = &hashes[..hashes.len().min(self.limit)];
        for hash in kept.iter().rev() {
            self.uses += 1;
            if let Some(before) = self.used_at.insert(*hash, self.uses) {
                self.by_use.remove(&before);
            }
            self.by_use.insert(self.uses, *hash);
        }
        while self.used_at.len() > self.limit
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.used_at.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unbroken_beginning_is_a_hit() {
        let mut cache = PrefixCache::new(10);
        cache.insert(&[1, 2, 3]);
        assert_eq!(cache.hit_tokens(&[1, 2, 9, 3]), 32);
        assert_eq!(cache.hit_tokens(&[9, 2, 3]), 0);
        assert_eq!(cache.hit_tokens(&[]), 0);
    }

    #[test]
    fn the_least_recently_used_chain_goes_from_its_end() {
        let mut cache = PrefixCache::new(4);
        cache.insert(&[1, 2]);
        cache.insert(&[3, 4]);
        cache.insert(&[1, 2]);
        cache.insert(&[5]);
        assert_eq!(cache.hit_tokens(&[1, 2]), 32);
        assert_eq!(cache.hit_tokens(&[3, 4]), 16);
        assert_eq!(cache.hit_tokens(&[5]), 16);
    }

    #[test]
    fn a_prompt_is_looked_up_and_kept() {
        let mut cache = PrefixCache::new(10);
        assert_eq!(cache.take(&[1, 2], 40), Hit { cached_tokens: 0, written_tokens: 32 });
        assert_eq!(cache.take(&[1, 2, 3], 50), Hit { cached_tokens: 32, written_tokens: 16 });
        assert_eq!(cache.take(&[1, 2], 32), Hit { cached_tokens: 31, written_tokens: 0 });
        assert_eq!(cache.take(&[], 7), Hit::default());
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let mut cache = PrefixCache::new(3);
        for first in 0..50 {
            cache.insert(&(first * 10..first * 10 + 7).collect::<Vec<_>>());
            assert!(cache.used_at.len() <= 3 && cache.by_use.len() == cache.used_at.len());
        }
        let mut none = PrefixCache::new(0);
        none.insert(&[1]);
        assert_eq!(none.hit_tokens(&[1]), 0);
    }
}
