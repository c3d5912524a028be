//! Lags in bounded memory: a histogram of two significant digits.

use hdrhistogram::Histogram;

use crate::progress::LagSummary;

/// One hour; a longer lag counts as this.
const MAX_NS: u64 = 3_600_000_000_000;

/// A distribution of lags in ns.
#[derive(Debug, Clone)]
pub(crate) struct Lags(Option<Histogram<u32>>);

impl Default for Lags {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, MAX_NS, 2).ok())
    }
}

impl Lags {
    pub(crate) fn record(&mut self, lag_ns: i64) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(u64::try_from(lag_ns).unwrap_or(0));
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if let (Some(mine), Some(theirs)) = (&mut self.0, &other.0) {
            // Both have the same bounds, so nothing can fall outside.
            let _ = mine.add(theirs);
        }
    }

    pub(crate) fn summary(&self) -> LagSummary {
        let Some(histogram) = self.0.as_ref().filter(|histogram| !histogram.is_empty()) else {
            return LagSummary::default();
        };
        let at = |q| i64::try_from(histogram.value_at_quantile(q)).unwrap_or(i64::MAX);
        LagSummary { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_percent_and_negative_lags_are_none() {
        let mut lags = Lags::default();
        for i in 1..=1_000 {
            lags.record(i * 1_000);
        }
        let summary = lags.summary();
        assert!((summary.p50 - 500_000).abs() <= 5_000, "{summary:?}");
        assert!((summary.p99 - 990_000).abs() <= 9_900, "{summary:?}");
        lags.record(-5);
        let mut sum = Lags::default();
        sum.add(&lags);
        assert_eq!(sum.summary().max, lags.summary().max);
    }
}
