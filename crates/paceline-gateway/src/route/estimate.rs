//! From weighted samples, some of them censored, to quantiles and probabilities with intervals.

use serde::Serialize;

/// Two-sided 95 %.
const Z: f64 = 1.96;

/// A figure and its 95 % interval. An open end: too few samples bound it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) lo: Option<f64>,
    pub(crate) hi: Option<f64>,
    /// The truth is this or more: the samples beyond were cut short.
    pub(crate) at_least: bool,
}

impl Figure {
    /// The same figure in another unit; `factor` is positive.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            lo: self.lo.map(|lo| lo * factor),
            hi: self.hi.map(|hi| hi * factor),
            at_least: self.at_least,
        }
    }
}

/// A share and its Wilson interval on `n` samples (which may be an effective count, and no whole number).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Share {
    pub(crate) value: f64,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) n: f64,
}

impl Share {
    /// `value` as seen in `n` samples. Wilson (1927); with no sample it is 0 to 1.
    pub(crate) fn wilson(value: f64, n: f64) -> Self {
        if n <= 0.0 {
            return Self { value, lo: 0.0, hi: 1.0, n: 0.0 };
        }
        let middle = (value + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt();
        Self { value, lo: (middle - half).max(0.0), hi: (middle + half).min(1.0), n }
    }
}

/// One weighted observation; censored: the truth is later than `value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) value: f64,
    pub(crate) weight: f64,
    pub(crate) censored: bool,
}

/// A distribution function, estimated by Kaplan and Meier (1958) with weights: a censored sample is taken to be spread
/// over what is later than it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Distribution {
    /// Value, and the function before and after it; values grow.
    steps: Vec<Step>,
    /// The largest observation, censored or not.
    largest: f64,
    /// `(sum w)^2 / sum w^2` (Kish): so many equal samples tell as much.
    effective: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    value: f64,
    before: f64,
    after: f64,
}

impl Step {
    fn middle(&self) -> f64 {
        0.5 * (self.before + self.after)
    }
}

impl Distribution {
    /// From samples in the order of their values, a censored one after the others of its value; values are multiplied
    /// by `scale`, the effective count by `freshness`. None without any weight.
    pub(crate) fn new(sorted: &[Weighed], scale: f64, freshness: f64) -> Option<Self> {
        let (mut sum, mut squares, mut any_censored) = (0.0, 0.0, false);
        for sample in sorted {
            sum += sample.weight;
            squares += sample.weight * sample.weight;
            any_censored |= sample.censored;
        }
        if sum <= 0.0 {
            return None;
        }
        let mut steps = Vec::with_capacity(sorted.len());
        let largest = sorted.last().map_or(0.0, |last| last.value) * scale;
        if any_censored {
            Self::kaplan_meier(sorted, scale, sum, &mut steps);
        } else {
            let inverse = 1.0 / sum;
            let mut after = 0.0;
            for sample in sorted {
                let before = after;
                after += sample.weight * inverse;
                steps.push(Step { value: sample.value * scale, before, after });
            }
            if let Some(last) = steps.last_mut() {
                last.after = 1.0;
            }
        }
        Some(Self { steps, largest, effective: sum * sum / squares * freshness })
    }

    fn kaplan_meier(sorted: &[Weighed], scale: f64, sum: f64, steps: &mut Vec<Step>) {
        let mut at_risk = sum;
        let mut later = 1.0;
        for sample in sorted {
            if !sample.censored && sample.weight > 0.0 {
                let before = 1.0 - later;
                later *= (1.0 - sample.weight / at_risk).max(0.0);
                steps.push(Step { value: sample.value * scale, before, after: 1.0 - later });
            }
            at_risk = (at_risk - sample.weight).max(sample.weight * 1e-12);
        }
    }

    /// The effective number of samples.
    pub(crate) fn effective(&self) -> f64 {
        self.effective
    }

    fn reached(&self) -> f64 {
        self.steps.last().map_or(0.0, |last| last.after)
    }

    /// The q-quantile, linear between the middles of the steps (Hazen's positions, which take weights). True: only a
    /// lower bound is known, for what lies beyond was censored.
    pub(crate) fn quantile(&self, q: f64) -> (f64, bool) {
        let place = self.steps.partition_point(|step| step.middle() < q);
        match (place.checked_sub(1).and_then(|earlier| self.steps.get(earlier)), self.steps.get(place)) {
            (None, Some(first)) => (first.value, false),
            (Some(left), Some(right)) => {
                let width = right.middle() - left.middle();
                let share = if width > 0.0 { (q - left.middle()) / width } else { 0.0 };
                (left.value + share * (right.value - left.value), false)
            }
            (_, None) => (self.largest, self.reached() < 1.0 - 1e-9),
        }
    }

    /// The q-quantile with its interval: the quantiles at the ranks that bound a binomial of the effective count. An
    /// end is open where the ranks go beyond the samples.
    pub(crate) fn figure(&self, q: f64) -> Figure {
        let (value, at_least) = self.quantile(q);
        let n = self.effective.max(1e-9);
        let half = Z * (q * (1.0 - q) / n).sqrt() + 0.5 / n;
        // The smallest of n samples lies below the q-quantile with all but (1 - q)^n: 2.5 % is what an end may miss by.
        let lo = if (1.0 - q).powf(n) > 0.025 { None } else { Some(self.quantile((q - half).max(0.0)).0) };
        let hi = if q.powf(n) > 0.025 { None } else { Some(self.quantile((q + half).min(1.0))) };
        let hi = hi.and_then(|(hi, open)| if open { None } else { Some(hi) });
        Figure { value, lo, hi, at_least }
    }

    /// The share of samples at or below a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let place = self.steps.partition_point(|step| step.value <= value);
        place.checked_sub(1).and_then(|last| self.steps.get(last)).map_or(0.0, |step| step.after)
    }

    /// Where a value stands among the samples, from 0 to 1, never quite either: the middle of the step that it meets.
    pub(crate) fn rank(&self, value: f64) -> f64 {
        let below = self.steps.partition_point(|step| step.value < value);
        let upto = self.steps.partition_point(|step| step.value <= value);
        let after = |place: usize| {
            place.checked_sub(1).and_then(|last| self.steps.get(last)).map_or(0.0, |step| step.after)
        };
        smoothed(0.5 * (after(below) + after(upto)), self.effective)
    }

    /// The probability that the next one is at or below a value: the share seen, taken towards one half by as much as
    /// one sample weighs (Jeffreys' prior); the interval is Wilson's.
    pub(crate) fn probability(&self, value: f64) -> Share {
        let share = self.at(value);
        Share { value: smoothed(share, self.effective), ..Share::wilson(share, self.effective) }
    }

    /// The mean; what is censored beyond the last step counts as the largest observation, so it is then a lower bound.
    pub(crate) fn mean(&self) -> f64 {
        let seen: f64 = self.steps.iter().map(|step| (step.after - step.before) * step.value).sum();
        seen + (1.0 - self.reached()) * self.largest
    }

    /// The mean of 1 / value, as a time a token is of a rate.
    pub(crate) fn mean_inverse(&self) -> f64 {
        let seen: f64 = self.steps.iter().map(|step| (step.after - step.before) / step.value.max(1e-9)).sum();
        seen + (1.0 - self.reached()) / self.largest.max(1e-9)
    }
}

/// A share of `n` samples, taken towards one half by one more.
fn smoothed(share: f64, n: f64) -> f64 {
    (share * n + 0.5) / (n + 1.0)
}
