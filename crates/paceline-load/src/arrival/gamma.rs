//! Gamma-distributed gaps: a renewal process whose shape is its burstiness (1 is Poisson, less is burstier).
//! The coefficient of variation of the gaps is 1 / sqrt(shape).

use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;

use super::{Plan, to_ns};

#[derive(Debug)]
pub(super) struct Gamma {
    gaps: rand_distr::Gamma<f64>,
    at_s: f64,
    rng: ChaCha8Rng,
}

impl Gamma {
    /// None: rate and shape are not both positive.
    pub(super) fn new(rate_requests_s: f64, burstiness: f64, rng: ChaCha8Rng) -> Option<Self> {
        let gaps = rand_distr::Gamma::new(burstiness, 1.0 / (rate_requests_s * burstiness)).ok()?;
        Some(Self { gaps, at_s: 0.0, rng })
    }
}

impl Plan for Gamma {
    fn next_ns(&mut self) -> Option<i64> {
        self.at_s += self.gaps.sample(&mut self.rng);
        Some(to_ns(self.at_s))
    }
}
