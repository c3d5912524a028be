//! How TTFT grows with the prompt: `a + b * tokens`. The line's shape is slow to change (it is the model's and the
//! engine's), so it is fitted over the whole window; its level is not, so samples are kept as multiples of it.

/// Where prompts were all of one size: so many ns a further token (prefill of 10,000 tokens a second).
const UNSEEN_NS_A_TOKEN: f64 = 100_000.0;
/// A fit needs so many samples, and upper sizes at least twice the lower ones.
const LEAST_SAMPLES: usize = 12;
const LEAST_SPREAD: f64 = 2.0;

/// A line, and what it was fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    base: f64,
    a_token: f64,
    /// Below this the line is flat: nothing is known to be faster than the smallest prompt seen.
    smallest: f64,
    /// A fit: the slope holds everywhere. Else it holds beyond the sizes that were seen.
    flat_to: f64,
}

impl Line {
    /// Without spread: flat over what was seen, and then as `UNSEEN_NS_A_TOKEN` or in proportion, whichever is less.
    pub(crate) fn flat(level: f64, largest: f64) -> Self {
        let level = level.max(1.0);
        let a_token = UNSEEN_NS_A_TOKEN.min(level / largest.max(1.0));
        Self { base: level, a_token, smallest: 0.0, flat_to: largest }
    }

    /// Tukey's resistant line: through the medians of the lower and the upper third by size, so that no stall bends it.
    /// `points` are (tokens, ns) and get sorted. None: too few, or sizes too much alike.
    pub(crate) fn fit(points: &mut [(f64, f64)]) -> Option<Self> {
        if points.len() < LEAST_SAMPLES {
            return None;
        }
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let third = points.len() / 3;
        let smallest = points.first()?.0;
        let rest = points.len() - third;
        let (low_x, low_y) = medians(points.get_mut(..third)?);
        let (high_x, high_y) = medians(points.get_mut(rest..)?);
        if high_x < LEAST_SPREAD * low_x.max(1.0) {
            return None;
        }
        let a_token = ((high_y - low_y) / (high_x - low_x)).max(0.0);
        let base = low_y - a_token * low_x;
        let line = if base > 0.0 {
            Self { base, a_token, smallest, flat_to: 0.0 }
        } else {
            Self { base: 1.0, a_token: high_y / high_x, smallest: smallest.max(1.0), flat_to: 0.0 }
        };
        Some(line)
    }

    /// Its height at a size; positive.
    pub(crate) fn at(&self, tokens: f64) -> f64 {
        self.base + self.a_token * (tokens.max(self.smallest) - self.flat_to).max(0.0)
    }
}

/// Median of each coordinate by itself.
fn medians(points: &mut [(f64, f64)]) -> (f64, f64) {
    let middle = points.len() / 2;
    let x = points.get(middle).map_or(0.0, |point| point.0);
    let (_, at, _) = points.select_nth_unstable_by(middle, |a, b| a.1.total_cmp(&b.1));
    (x, at.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_through_stalls() {
        let mut points: Vec<(f64, f64)> = (1..=60)
            .map(|step| (f64::from(step) * 100.0, 2e8 + 50_000.0 * f64::from(step) * 100.0))
            .collect();
        for stall in [3, 30, 55] {
            points[stall].1 *= 50.0;
        }
        let line = Line::fit(&mut points).unwrap();
        assert!((line.at(1000.0) / 2.5e8 - 1.0).abs() < 0.1, "{line:?}");
        assert!((line.at(20_000.0) / 1.2e9 - 1.0).abs() < 0.1, "{line:?}");
        assert_eq!(line.at(1.0), line.at(100.0), "no faster than the smallest that was seen");
    }

    #[test]
    fn larger_is_never_faster() {
        let mut points: Vec<(f64, f64)> =
            (1..=30).map(|step| (f64::from(step) * 100.0, 1e9 / f64::from(step))).collect();
        let line = Line::fit(&mut points).unwrap();
        assert!(line.at(5000.0) >= line.at(100.0));
    }

    #[test]
    fn without_spread_it_is_flat_and_then_careful() {
        let mut alike: Vec<(f64, f64)> = (0..30).map(|step| (100.0 + f64::from(step), 3e8)).collect();
        assert_eq!(Line::fit(&mut alike), None);
        let line = Line::flat(3e8, 130.0);
        assert_eq!(line.at(1.0), 3e8);
        assert_eq!(line.at(130.0), 3e8);
        assert_eq!(line.at(10_130.0), 3e8 + 10_000.0 * UNSEEN_NS_A_TOKEN);
        // 1 ms for 1,000 tokens: no more than in proportion.
        assert_eq!(Line::flat(1e6, 1000.0).at(2000.0), 2e6);
    }

    #[test]
    fn a_line_through_zero_stays_positive() {
        let mut points: Vec<(f64, f64)> =
            (1..=30).map(|step| (f64::from(step) * 100.0, 1e3 * f64::from(step * step))).collect();
        let line = Line::fit(&mut points).unwrap();
        assert!(line.at(0.0) > 0.0);
        assert!(line.at(3000.0) > line.at(300.0));
    }
}
