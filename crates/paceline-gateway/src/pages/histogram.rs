//! Counts in fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};

/// Upper ends in seconds: OpenTelemetry's for `gen_ai.server.time_to_first_token`, and beyond, since prompts are long.
pub(super) const TTFT_S: [f64; 19] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0,
];

/// OpenTelemetry's for `gen_ai.server.time_per_output_token`, and finer at the fast end.
pub(super) const PER_TOKEN_S: [f64; 15] =
    [0.001, 0.0025, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75];

/// OpenTelemetry's for `gen_ai.server.request.duration`, and beyond.
pub(super) const DURATION_S: [f64; 16] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68];

/// A histogram of durations.
#[derive(Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// One a bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "buckets are coarser than that")]
    pub(super) fn add_ns(&self, duration_ns: i64) {
        let duration_ns = duration_ns.max(0);
        let seconds = duration_ns as f64 / 1e9;
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(duration_ns.unsigned_abs(), Ordering::Relaxed);
    }

    /// Each bound with the count of what is at most that, and then the sum (s) and the count of all.
    #[expect(clippy::cast_precision_loss, reason = "sums are shown as floats")]
    pub(super) fn cumulative(&self) -> (Vec<(f64, u64)>, f64, u64) {
        let mut total = 0;
        let mut bounds = Vec::with_capacity(self.bounds.len());
        for (place, count) in self.counts.iter().enumerate() {
            total += count.load(Ordering::Relaxed);
            if let Some(bound) = self.bounds.get(place) {
                bounds.push((*bound, total));
            }
        }
        (bounds, self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_a_bound_is_within_it() {
        let histogram = Histogram::new(&[0.1, 0.2]);
        for duration_ns in [0, 100_000_000, 100_000_001, 200_000_000, 5_000_000_000, -3] {
            histogram.add_ns(duration_ns);
        }
        let (bounds, sum, count) = histogram.cumulative();
        assert_eq!(bounds, [(0.1, 3), (0.2, 5)]);
        assert_eq!(count, 6);
        assert!((sum - 5.400_000_001).abs() < 1e-9);
    }

    #[test]
    fn bounds_rise() {
        for bounds in [&TTFT_S[..], &PER_TOKEN_S[..], &DURATION_S[..]] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
