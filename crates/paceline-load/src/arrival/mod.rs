//! Open-loop arrival processes: one file each. A plan is a sequence of instants, fixed by its seed before the
//! first request leaves.

mod constant;
mod gamma;
mod poisson;
mod ramp;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::spec::{Arrival, LoadSpec};

const NS_PER_S: f64 = 1e9;

/// Yields the planned instants, in ns after the run's origin, never decreasing. None: no more arrivals.
pub(crate) trait Plan: Send + std::fmt::Debug {
    fn next_ns(&mut self) -> Option<i64>;
}

/// The plan of an open loop; none for a closed loop, which has no plan but its slots, and for a replay, whose jobs
/// bring their instants.
pub(crate) fn plan(spec: &LoadSpec) -> Option<Box<dyn Plan>> {
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
    // A resumed run must not repeat the gaps of its first part.
    rng.set_stream(u64::from(spec.segment));
    Some(match spec.arrival {
        Arrival::Closed { .. } | Arrival::Replay {} => return None,
        Arrival::Constant { rate_requests_s } => Box::new(constant::Constant::new(rate_requests_s)),
        Arrival::Poisson { rate_requests_s } => Box::new(poisson::Poisson::new(rate_requests_s, rng)),
        Arrival::Gamma { rate_requests_s, burstiness } => {
            Box::new(gamma::Gamma::new(rate_requests_s, burstiness, rng)?)
        }
        Arrival::Ramp { from_requests_s, to_requests_s, over_ns, shape } => {
            Box::new(ramp::Ramp::new(from_requests_s, to_requests_s, over_ns, shape, rng))
        }
    })
}

/// Seconds to whole ns; far beyond any run it stays at the largest instant.
#[allow(clippy::cast_possible_truncation)] // float-to-int casts saturate
fn to_ns(seconds: f64) -> i64 {
    (seconds * NS_PER_S).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::minimal;

    fn instants(arrival: &str, n: usize) -> Vec<f64> {
        let spec = LoadSpec::from_json(&minimal(arrival, r#","max_requests":1"#)).unwrap();
        let mut plan = plan(&spec).unwrap();
        (0..n).map_while(|_| plan.next_ns()).map(|ns| ns as f64 / 1e9).collect()
    }

    fn gaps(at: &[f64]) -> Vec<f64> {
        at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn mean_and_cv(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance.sqrt() / mean)
    }

    /// Variance over mean of the counts in windows: 1 for a Poisson process.
    fn dispersion(at: &[f64], window_s: f64) -> f64 {
        let windows = (at[at.len() - 1] / window_s) as usize;
        let mut counts = vec![0.0; windows];
        for t in at {
            if let Some(count) = counts.get_mut((t / window_s) as usize) {
                *count += 1.0;
            }
        }
        let (mean, cv) = mean_and_cv(&counts);
        cv * cv * mean
    }

    #[test]
    fn constant_is_even_and_does_not_drift() {
        let at = instants(r#"{"kind":"constant","rate_requests_s":3}"#, 300_001);
        assert_eq!(at[0], 0.0);
        assert!((at[300_000] - 100_000.0).abs() < 1e-6);
        assert!(gaps(&at).iter().all(|gap| (gap - 1.0 / 3.0).abs() < 2e-9));
    }

    #[test]
    fn poisson_has_its_rate_and_a_dispersion_of_one_at_every_scale() {
        let at = instants(r#"{"kind":"poisson","rate_requests_s":50}"#, 200_000);
        let (mean, cv) = mean_and_cv(&gaps(&at));
        assert!((mean * 50.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((cv - 1.0).abs() < 0.01, "{cv}");
        for window_s in [0.02, 0.1, 1.0] {
            let d = dispersion(&at, window_s);
            assert!((d - 1.0).abs() < 0.1, "{window_s}: {d}");
        }
    }

    #[test]
    fn gamma_has_its_rate_and_its_burstiness() {
        for shape in [0.25_f64, 1.0, 4.0] {
            let at = instants(
                &format!(r#"{{"kind":"gamma","rate_requests_s":50,"burstiness":{shape}}}"#),
                200_000,
            );
            let (mean, cv) = mean_and_cv(&gaps(&at));
            assert!((mean * 50.0 - 1.0).abs() < 0.02, "{shape}: {mean}");
            assert!((cv * shape.sqrt() - 1.0).abs() < 0.02, "{shape}: {cv}");
        }
    }

    #[test]
    fn a_ramp_delivers_the_area_under_its_rate() {
        for shape in ["constant", "poisson"] {
            let at = instants(
                &format!(
                    r#"{{"kind":"ramp","from_requests_s":10,"to_requests_s":190,"over_ns":100000000000,"shape":"{shape}"}}"#
                ),
                usize::MAX,
            );
            assert!((at.len() as f64 / 10_000.0 - 1.0).abs() < 0.03, "{shape}: {}", at.len());
            let first_half = at.iter().filter(|t| **t < 50.0).count() as f64;
            assert!((first_half / 2_750.0 - 1.0).abs() < 0.06, "{shape}: {first_half}");
            assert!(at.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(at[at.len() - 1] <= 100.0);
        }
    }

    #[test]
    fn a_ramp_may_fall_to_nothing() {
        let at = instants(
            r#"{"kind":"ramp","from_requests_s":20,"to_requests_s":0,"over_ns":10000000000,"shape":"constant"}"#,
            1_000,
        );
        assert!((99..=101).contains(&at.len()), "{}", at.len());
    }

    #[test]
    fn a_seed_fixes_the_plan_and_a_segment_changes_it() {
        let with = |more: &str| {
            let json = minimal(r#"{"kind":"poisson","rate_requests_s":50}"#, more);
            let mut plan = plan(&LoadSpec::from_json(&json).unwrap()).unwrap();
            (0..50).map_while(move |_| plan.next_ns()).collect::<Vec<_>>()
        };
        let first = with(r#","max_requests":1"#);
        assert_eq!(first, with(r#","max_requests":1"#));
        assert_ne!(first, with(r#","max_requests":1,"segment":1"#));
    }
}
