//! Ids of requests: `gen-` and 26 characters, 48 bits of the time in ms and 80 random ones in Crockford's base 32 (as a
//! ULID has them). They sort by time, and cannot be guessed.

use std::sync::{Mutex, PoisonError};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::rand::{SecureRandom, SystemRandom};

const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const RANDOM_BITS: u32 = 80;
const MS_NS: i64 = 1_000_000;

/// Makes ids.
pub(super) struct Ids {
    state: Mutex<(u128, ChaCha20Rng)>,
}

impl Ids {
    /// Seeded by the system.
    pub(super) fn new() -> std::io::Result<Self> {
        let mut seed = [0; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| std::io::Error::other("the system has no random numbers"))?;
        Ok(Self { state: Mutex::new((0, ChaCha20Rng::from_seed(seed))) })
    }

    /// Greater than all before it in this process, whatever the clock does.
    pub(super) fn next(&self, unix_ns: i64) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, rng) = &mut *state;
        let ms = u128::from((unix_ns / MS_NS).max(0).unsigned_abs()) & ((1 << 48) - 1);
        let random = u128::from(rng.next_u64()) << 16 | u128::from(rng.next_u32() >> 16);
        let drawn = ms << RANDOM_BITS | random;
        // In one ms ids go on from the last by a random step: in order, and still not to be guessed.
        *last = if drawn > *last { drawn } else { *last + 1 + u128::from(rng.next_u64()) };
        written(*last)
    }
}

fn written(id: u128) -> String {
    let mut text = String::with_capacity(30);
    text.push_str("gen-");
    for digit in (0..26).rev() {
        text.push(char::from(DIGITS[(id >> (5 * digit)) as usize & 31]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_sort_by_time_even_when_the_clock_is_set_back() {
        let ids = Ids::new().unwrap();
        let mut last = String::new();
        for place in 0..20_000_i64 {
            let unix_ns = 1_796_007_600_000_000_000 + (place % 7_000) * 100_000;
            let id = ids.next(unix_ns);
            assert_eq!(id.len(), 30);
            assert!(id.starts_with("gen-") && id > last, "{id} after {last}");
            last = id;
        }
        assert_ne!(Ids::new().unwrap().next(0), Ids::new().unwrap().next(0));
    }

    #[test]
    fn the_time_stands_in_the_first_ten_characters() {
        // 1469918176385 ms, the ULID specification's example: 01ARYZ6S41...
        assert_eq!(&Ids::new().unwrap().next(1_469_918_176_385 * MS_NS)[4..14], "01ARYZ6S41");
        assert_eq!(written(u128::MAX), "gen-7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    }
}
