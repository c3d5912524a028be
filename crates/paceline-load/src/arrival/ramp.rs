//! A rate that changes linearly. The instants of a process of rate 1 are carried through the inverse of the
//! cumulated rate L(t) = a t + (b - a) t^2 / (2 T) (time change of an inhomogeneous Poisson process; Çinlar 1975).

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::{NS_PER_S, Plan, to_ns};
use crate::spec::Shape;

#[derive(Debug)]
pub(super) struct Ramp {
    from_requests_s: f64,
    to_requests_s: f64,
    over_s: f64,
    shape: Shape,
    area: f64,
    started: bool,
    rng: ChaCha8Rng,
}

impl Ramp {
    #[allow(clippy::cast_precision_loss)] // 2^53 ns are 104 days
    pub(super) fn new(
        from_requests_s: f64,
        to_requests_s: f64,
        over_ns: i64,
        shape: Shape,
        rng: ChaCha8Rng,
    ) -> Self {
        let over_s = over_ns as f64 / NS_PER_S;
        Self { from_requests_s, to_requests_s, over_s, shape, area: 0.0, started: false, rng }
    }

    /// The instant at which `area` arrivals are due; none: the ramp ends before.
    fn instant_s(&self, area: f64) -> Option<f64> {
        let slope = (self.to_requests_s - self.from_requests_s) / self.over_s;
        if area > (self.from_requests_s + self.to_requests_s) * self.over_s / 2.0 {
            return None;
        }
        // 2 area / (a + sqrt(a^2 + 2 slope area)) is the root without cancellation, and holds for slope 0 too.
        let root = (self.from_requests_s.powi(2) + 2.0 * slope * area).max(0.0).sqrt();
        let denominator = self.from_requests_s + root;
        Some(if denominator > 0.0 { 2.0 * area / denominator } else { 0.0 })
    }
}

impl Plan for Ramp {
    fn next_ns(&mut self) -> Option<i64> {
        self.area += match self.shape {
            Shape::Poisson => Exp1.sample(&mut self.rng),
            Shape::Constant if self.started => 1.0,
            Shape::Constant => 0.0,
        };
        self.started = true;
        self.instant_s(self.area).map(to_ns)
    }
}
