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
