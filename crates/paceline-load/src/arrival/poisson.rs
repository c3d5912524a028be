//! A Poisson process: independent exponential gaps, as of many users who know nothing of each other.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::{Plan, to_ns};

#[derive(Debug)]
pub(super) struct Poisson {
    rate_requests_s: f64,
    at_s: f64,
    rng: ChaCha8Rng,
}

impl Poisson {
    pub(super) fn new(rate_requests_s: f64, rng: ChaCha8Rng) -> Self {
        Self { rate_requests_s, at_s: 0.0, rng }
    }
}

impl Plan for Poisson {
    fn next_ns(&mut self) -> Option<i64> {
        let gap: f64 = Exp1.sample(&mut self.rng);
        self.at_s += gap / self.rate_requests_s;
        Some(to_ns(self.at_s))
    }
}
