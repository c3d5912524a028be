//! The last requests, found by the gateway's id or the upstream's. Only where their lines are is kept: about 200 bytes a
//! request, whatever its line is long.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A line of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u64,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

impl Place {
    pub(super) fn new(segment: u64, offset: u64, bytes: usize) -> Self {
        Self { segment, offset, bytes: u32::try_from(bytes).unwrap_or(u32::MAX) }
    }
}

/// Ids to places; the oldest make room.
#[derive(Debug)]
pub(super) struct Recent {
    most: usize,
    /// By hash: a line that is found is asked for its id anyway.
    places: HashMap<u64, Place>,
    /// The hashes of each request, oldest first: its own id, and the upstream's.
    order: VecDeque<(u64, Option<u64>, Place)>,
}

impl Recent {
    pub(super) fn new(most: usize) -> Self {
        Self { most, places: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn push(&mut self, id: &str, response_id: Option<&str>, place: Place) {
        if self.most == 0 {
            return;
        }
        if self.order.len() >= self.most
            && let Some((id, response_id, old)) = self.order.pop_front()
        {
            for hash in [Some(id), response_id].into_iter().flatten() {
                // An upstream may use an id twice: the newer request keeps it.
                if self.places.get(&hash) == Some(&old) {
                    self.places.remove(&hash);
                }
            }
        }
        let hashes = (hash(id), response_id.map(hash));
        self.places.insert(hashes.0, place);
        if let Some(hash) = hashes.1 {
            self.places.insert(hash, place);
        }
        self.order.push_back((hashes.0, hashes.1, place));
    }

    pub(super) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    pub(super) fn place(&self, id: &str) -> Option<Place> {
        self.places.get(&hash(id)).copied()
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
