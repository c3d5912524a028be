//! What the engine tells of itself.

use serde::Serialize;

/// Counters since the start; all instants and durations in ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SimStats {
    /// Requests answered, or refused, in any way.
    pub requests: u64,
    /// Connections that are open now.
    pub connections: u64,
    /// Connections turned away because there were too many.
    pub connections_refused: u64,
    /// Answers that are on their way now.
    pub in_flight: u64,
    /// Engine mode: requests that wait for a slot now.
    pub queued: u64,
    /// Events sent that carried tokens.
    pub events: u64,
    /// Clients that went away before the end of their answer.
    pub client_gone: u64,
    /// CPU time of the engine's thread (not of the thread that writes the truth log).
    pub cpu_ns: u64,
    /// How late token events left against their own schedule: median.
    pub late_p50_ns: u64,
    /// The same: 99th percentile.
    pub late_p99_ns: u64,
    /// The same: the largest.
    pub late_max_ns: u64,
    /// Records that the truth log has lost.
    pub truth_lost: u64,
}

/// Each power of two is divided in so many buckets, so that a bucket is 6 % wide at most.
const STEPS: u64 = 16;
const BUCKETS: usize = 61 * STEPS as usize;

/// Counts durations in buckets whose width grows with the duration.
#[derive(Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let shift = value.ilog2() - STEPS.ilog2();
    ((u64::from(shift) + 1) * STEPS + (value >> shift) - STEPS) as usize
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let (power, step) = (bucket as u64 / STEPS, bucket as u64 % STEPS);
    if power == 0 {
        return step;
    }
    let shift = power - 1;
    ((STEPS + step) << shift).saturating_add((1 << shift) - 1)
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, max: 0 }
    }

    pub(crate) fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.max = self.max.max(value);
    }

    /// The `q` quantile, at most 6 % too large; 0 without values.
    pub(crate) fn quantile(&self, q: f64) -> u64 {
        let rank = (self.total as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen >= rank {
                return upper(place).min(self.max);
            }
        }
        self.max
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in
            (0..5_000).chain((0..63).flat_map(|power| [1 << power, (1 << power) + 1])).chain([u64::MAX])
        {
            let place = bucket(value);
            assert!(place < BUCKETS, "{value}");
            assert!(upper(place) >= value);
            assert!(place == 0 || upper(place - 1) < value, "{value}");
            assert!(upper(place) as f64 <= value as f64 * 1.07 + 1.0, "{value}");
        }
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.99), 0);
        (1..=1_000).for_each(|value| histogram.record(value * 1_000));
        let close = |got: u64, wanted: f64| got as f64 >= wanted && got as f64 <= wanted * 1.07;
        assert!(close(histogram.quantile(0.5), 500_000.0));
        assert!(close(histogram.quantile(0.99), 990_000.0));
        assert_eq!((histogram.quantile(1.0), histogram.max()), (1_000_000, 1_000_000));
    }
}
