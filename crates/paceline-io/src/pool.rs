//! A place for each connection, and tokens that never name the wrong one.

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

/// Values under tokens. A token is of no more use once its value was removed, even when its place is taken again.
#[derive(Debug)]
pub struct Pool<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

fn token(generation: u32, place: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(place)
}

impl<T> Pool<T> {
    /// Puts a value in, and returns its token: below 2^63.
    pub fn insert(&mut self, value: T) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, value: None });
            (self.places.len() - 1) as u32
        });
        let entry = &mut self.places[place as usize];
        entry.value = Some(value);
        token(entry.generation, place)
    }

    /// The value of a token, unless it was removed.
    pub fn get_mut(&mut self, token: u64) -> Option<&mut T> {
        let entry = self.places.get_mut((token & 0xFFFF_FFFF) as usize)?;
        if u64::from(entry.generation) == token >> 32 { entry.value.as_mut() } else { None }
    }

    /// The value of a token, unless it was removed.
    #[must_use]
    pub fn get(&self, token: u64) -> Option<&T> {
        let entry = self.places.get((token & 0xFFFF_FFFF) as usize)?;
        if u64::from(entry.generation) == token >> 32 { entry.value.as_ref() } else { None }
    }

    /// The tokens of all values.
    pub fn tokens(&self) -> impl Iterator<Item = u64> {
        self.places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.value.is_some())
            .map(|(number, place)| token(place.generation, number as u32))
    }

    /// Takes a value out.
    pub fn remove(&mut self, token: u64) -> Option<T> {
        let place = (token & 0xFFFF_FFFF) as u32;
        let entry = self.places.get_mut(place as usize)?;
        if u64::from(entry.generation) != token >> 32 {
            return None;
        }
        let value = entry.value.take()?;
        // The poller's own tokens are the largest numbers there are: stay far below.
        entry.generation = (entry.generation + 1) & 0x7FFF_FFFF;
        self.free.push(place);
        Some(value)
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }

    /// Takes all values out.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.free.clear();
        std::mem::take(&mut self.places).into_iter().filter_map(|place| place.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_token_does_not_name_the_new_value() {
        let mut pool = Pool::default();
        let first = pool.insert("first");
        assert_eq!(pool.remove(first), Some("first"));
        let second = pool.insert("second");
        assert_ne!(first, second);
        assert!(pool.get_mut(first).is_none() && pool.remove(first).is_none());
        assert_eq!((pool.get_mut(second).copied(), pool.len()), (Some("second"), 1));
    }

    #[test]
    fn places_are_used_again() {
        let mut pool = Pool::default();
        for round in 0..100 {
            let tokens: Vec<u64> = (0..5).map(|value| pool.insert(value + round)).collect();
            assert!(pool.places.len() <= 5);
            for token in tokens {
                pool.remove(token);
            }
        }
        assert_eq!((pool.len(), pool.drain().count()), (0, 0));
    }
}
