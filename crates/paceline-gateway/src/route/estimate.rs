//! From weighted samples, some of them censored, to quantiles and probabilities with intervals.

use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

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

    /// None where nothing was seen: a share of nothing is none.
    pub(crate) fn seen(self) -> Option<Self> {
        Some(self).filter(|share| share.n > 0.0)
    }

    /// What was seen, or null.
    pub(crate) fn or_null<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.seen().serialize(serializer)
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
/// over what is later than it. A clone shares the steps.
#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    steps: Arc<Steps>,
    /// All values are times this.
    scale: f64,
    effective: f64,
}

#[derive(Debug)]
struct Steps {
    /// Value, and the function before and after it; values grow.
    steps: Vec<Step>,
    /// The largest observation, censored or not.
    largest: f64,
    /// `(sum w)^2 / sum w^2` (Kish): so many equal samples tell as much.
    effective: f64,
    mean: f64,
    mean_inverse: OnceLock<f64>,
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
    /// From samples in the order of their values, a censored one after the others of its value. None without any weight.
    pub(crate) fn new(sorted: &[Weighed]) -> Option<Self> {
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
        if any_censored {
            Self::kaplan_meier(sorted, sum, &mut steps);
        } else {
            let inverse = 1.0 / sum;
            let mut after = 0.0;
            for sample in sorted {
                let before = after;
                after += sample.weight * inverse;
                steps.push(Step { value: sample.value, before, after });
            }
            if let Some(last) = steps.last_mut() {
                last.after = 1.0;
            }
        }
        let largest = sorted.last().map_or(0.0, |last| last.value);
        let reached = steps.last().map_or(0.0, |last| last.after);
        let seen: f64 = steps.iter().map(|step| (step.after - step.before) * step.value).sum();
        let effective = sum * sum / squares;
        let mean = seen + (1.0 - reached) * largest;
        let steps = Steps { steps, largest, effective, mean, mean_inverse: OnceLock::new() };
        Some(Self { steps: Arc::new(steps), scale: 1.0, effective })
    }

    /// The same with its values times `scale`, and its effective count times `freshness`.
    pub(crate) fn scaled(&self, scale: f64, freshness: f64) -> Self {
        let effective = self.steps.effective * freshness;
        Self { steps: Arc::clone(&self.steps), scale: self.scale * scale, effective }
    }

    fn kaplan_meier(sorted: &[Weighed], sum: f64, steps: &mut Vec<Step>) {
        let mut at_risk = sum;
        let mut later = 1.0;
        for sample in sorted {
            if !sample.censored && sample.weight > 0.0 {
                let before = 1.0 - later;
                later *= (1.0 - sample.weight / at_risk).max(0.0);
                steps.push(Step { value: sample.value, before, after: 1.0 - later });
            }
            at_risk = (at_risk - sample.weight).max(sample.weight * 1e-12);
        }
    }

    /// The effective number of samples.
    pub(crate) fn effective(&self) -> f64 {
        self.effective
    }

    fn steps(&self) -> &[Step] {
        &self.steps.steps
    }

    /// The function after so many steps.
    fn after(&self, steps: usize) -> f64 {
        steps.checked_sub(1).and_then(|last| self.steps().get(last)).map_or(0.0, |step| step.after)
    }

    fn reached(&self) -> f64 {
        self.after(self.steps().len())
    }

    /// The q-quantile, linear between the middles of the steps (Hazen's positions, which take weights). True: only a
    /// lower bound is known, for what lies beyond was censored.
    pub(crate) fn quantile(&self, q: f64) -> (f64, bool) {
        let steps = self.steps();
        let place = steps.partition_point(|step| step.middle() < q);
        let (value, at_least) =
            match (place.checked_sub(1).and_then(|earlier| steps.get(earlier)), steps.get(place)) {
                (None, Some(first)) => (first.value, false),
                (Some(left), Some(right)) => {
                    let width = right.middle() - left.middle();
                    let share = if width > 0.0 { (q - left.middle()) / width } else { 0.0 };
                    (left.value + share * (right.value - left.value), false)
                }
                (_, None) => (self.steps.largest, self.reached() < 1.0 - 1e-9),
            };
        (value * self.scale, at_least)
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
        let value = value / self.scale;
        self.after(self.steps().partition_point(|step| step.value <= value))
    }

    /// Where a value stands among the samples, from 0 to 1, never quite either: the middle of the step that it meets.
    pub(crate) fn rank(&self, value: f64) -> f64 {
        let value = value / self.scale;
        let below = self.after(self.steps().partition_point(|step| step.value < value));
        let upto = self.after(self.steps().partition_point(|step| step.value <= value));
        smoothed(0.5 * (below + upto), self.effective)
    }

    /// The probability that the next one is at or below a value: the share seen, taken towards one half by as much as
    /// one sample weighs (Jeffreys' prior); the interval is Wilson's.
    pub(crate) fn probability(&self, value: f64) -> Share {
        let share = self.at(value);
        Share { value: smoothed(share, self.effective), ..Share::wilson(share, self.effective) }
    }

    /// The mean; what is censored beyond the last step counts as the largest observation, so it is then a lower bound.
    pub(crate) fn mean(&self) -> f64 {
        self.steps.mean * self.scale
    }

    /// The mean of 1 / value, as a time a token is of a rate.
    pub(crate) fn mean_inverse(&self) -> f64 {
        let of_steps = || {
            let seen: f64 =
                self.steps().iter().map(|step| (step.after - step.before) / step.value.max(1e-12)).sum();
            seen + (1.0 - self.reached()) / self.steps.largest.max(1e-12)
        };
        self.steps.mean_inverse.get_or_init(of_steps) / self.scale
    }
}

/// A share of `n` samples, taken towards one half by one more.
fn smoothed(share: f64, n: f64) -> f64 {
    (share * n + 0.5) / (n + 1.0)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn sample(value: f64, weight: f64, censored: bool) -> Weighed {
        Weighed { value, weight, censored }
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} and {b}");
    }

    #[test]
    fn equal_weights_by_hand() {
        let samples: Vec<Weighed> = (1..=4).map(|value| sample(f64::from(value), 2.0, false)).collect();
        let seen = Distribution::new(&samples).unwrap().scaled(10.0, 1.0);
        near(seen.effective(), 4.0);
        // Steps reach 1/4, 1/2, 3/4, 1; their middles are 1/8, 3/8, 5/8, 7/8.
        near(seen.quantile(0.5).0, 25.0);
        near(seen.quantile(0.375).0, 20.0);
        near(seen.quantile(0.05).0, 10.0);
        near(seen.quantile(0.99).0, 40.0);
        assert!(!seen.quantile(0.99).1);
        near(seen.at(9.0), 0.0);
        near(seen.at(20.0), 0.5);
        near(seen.mean(), 25.0);
        near(seen.mean_inverse(), (0.1 + 0.05 + 1.0 / 30.0 + 0.025) / 4.0);
        near(seen.probability(40.0).value, 4.5 / 5.0);
        near(seen.rank(20.0), (0.375 * 4.0 + 0.5) / 5.0);
    }

    #[test]
    fn weights_by_hand() {
        let samples = [sample(1.0, 1.0, false), sample(2.0, 3.0, false), sample(9.0, 0.0, false)];
        let seen = Distribution::new(&samples).unwrap().scaled(1.0, 0.5);
        // (1 + 3)^2 / (1 + 9), half of it fresh.
        near(seen.effective(), 0.8);
        near(seen.at(1.0), 0.25);
        near(seen.mean(), 1.75);
        // Middles 1/8 and 5/8.
        near(seen.quantile(0.375).0, 1.5);
        assert!(Distribution::new(&[sample(1.0, 0.0, false)]).is_none());
    }

    #[test]
    fn censored_samples_as_kaplan_and_meier_have_them() {
        // At risk 5, 4, (3 censored), 2, (1 censored): 4/5, 3/5, then 3/5 * 1/2.
        let samples = [
            sample(1.0, 1.0, false),
            sample(2.0, 1.0, false),
            sample(2.5, 1.0, true),
            sample(3.0, 1.0, false),
            sample(4.0, 1.0, true),
        ];
        let seen = Distribution::new(&samples).unwrap();
        near(seen.at(1.0), 0.2);
        near(seen.at(2.0), 0.4);
        near(seen.at(3.0), 0.7);
        near(seen.at(100.0), 0.7);
        assert_eq!(seen.quantile(0.95), (4.0, true), "only known to be later");
        assert_eq!(seen.figure(0.95).hi, None);
        near(seen.mean(), 0.2 + 0.4 + 0.3 * 3.0 + 0.3 * 4.0);
        let none_came = Distribution::new(&[sample(5.0, 1.0, true)]).unwrap();
        assert_eq!(none_came.quantile(0.5), (5.0, true));
        near(none_came.at(9.0), 0.0);
        near(none_came.mean(), 5.0);
    }

    #[test]
    fn wilson_by_hand() {
        let share = Share::wilson(0.9, 10.0);
        // Wilson's interval of 9 of 10: 0.5958 to 0.9821.
        assert!((share.lo - 0.5958).abs() < 1e-3 && (share.hi - 0.9821).abs() < 1e-3, "{share:?}");
        assert_eq!((share.seen(), Share::wilson(0.0, 0.0).seen()), (Some(share), None));
        assert_eq!((Share::wilson(0.5, 0.0).lo, Share::wilson(0.5, 0.0).hi), (0.0, 1.0));
    }

    #[test]
    fn few_samples_bound_no_tail() {
        let samples: Vec<Weighed> = (1..=20).map(|value| sample(f64::from(value), 1.0, false)).collect();
        let seen = Distribution::new(&samples).unwrap();
        assert_eq!(seen.figure(0.95).hi, None, "0.95^20 is 0.36");
        assert!(seen.figure(0.5).hi.is_some() && seen.figure(0.5).lo.is_some());
    }

    /// An exponential truth, of mean 1.
    fn draw(rng: &mut ChaCha8Rng) -> f64 {
        -(1.0 - rng.random::<f64>()).ln()
    }

    #[test]
    fn intervals_cover_the_truth() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in [10, 30, 100, 256] {
            for q in [0.5, 0.9, 0.95] {
                let truth = -(1.0_f64 - q).ln();
                let (mut covered, mut closed) = (0, 0);
                for _ in 0..1000 {
                    let mut samples: Vec<Weighed> = (0..n)
                        .map(|place: i32| {
                            sample(draw(&mut rng), (f64::from(place) / f64::from(n)).exp2(), false)
                        })
                        .collect();
                    samples.sort_by(|a, b| a.value.total_cmp(&b.value));
                    let figure = Distribution::new(&samples).unwrap().figure(q);
                    closed += i32::from(figure.lo.is_some() && figure.hi.is_some());
                    covered += i32::from(
                        figure.lo.is_none_or(|lo| lo <= truth) && figure.hi.is_none_or(|hi| hi >= truth),
                    );
                }
                assert!(covered >= 930, "n {n}, q {q}: {covered} of 1000");
                assert!(n < 100 || q > 0.9 || closed == 1000, "n {n}, q {q}: {closed} bounded");
            }
        }
    }

    #[test]
    fn probabilities_are_what_happens_and_their_intervals_cover() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for n in [12, 40, 150] {
            for truth in [0.5, 0.8, 0.95] {
                let deadline = -(1.0_f64 - truth).ln();
                let (mut predicted, mut covered) = (0.0, 0);
                for _ in 0..1000 {
                    let mut samples: Vec<Weighed> =
                        (0..n).map(|_| sample(draw(&mut rng), 1.0, false)).collect();
                    samples.sort_by(|a, b| a.value.total_cmp(&b.value));
                    let share = Distribution::new(&samples).unwrap().probability(deadline);
                    predicted += share.value / 1000.0;
                    covered += i32::from(share.lo <= truth && truth <= share.hi);
                }
                let pull = 0.5 / f64::from(n + 1);
                assert!((predicted - truth).abs() < pull + 0.01, "n {n}: {predicted} for {truth}");
                assert!(covered >= 925, "n {n}, {truth}: {covered}");
            }
        }
    }

    #[test]
    fn censoring_does_not_move_the_median() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut sum = 0.0;
        for _ in 0..300 {
            let mut samples: Vec<Weighed> = (0..200)
                .map(|_| {
                    let (value, cut) = (draw(&mut rng), 2.0 * draw(&mut rng));
                    sample(value.min(cut), 1.0, cut < value)
                })
                .collect();
            samples.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.censored.cmp(&b.censored)));
            sum += Distribution::new(&samples).unwrap().quantile(0.5).0;
        }
        let mean = sum / 300.0;
        assert!((mean - 2.0_f64.ln()).abs() < 0.02, "{mean} for {}", 2.0_f64.ln());
    }
}
