//! How long answers are. It is the clients that decide that, so it is learned for the model and not for an offer.

const KEPT: usize = 64;
/// Levels at which the lengths are read: the middles of eighths.
const LEVELS: usize = 8;
/// Until eight answers are known.
const UNKNOWN_TOKENS: f64 = 256.0;
const KNOWN: usize = 8;

/// Lengths of a model's recent answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outputs {
    recent: Vec<f64>,
    next: usize,
    levels: Option<[f64; LEVELS]>,
}

impl Outputs {
    pub(crate) fn add(&mut self, tokens: u64) {
        let tokens = tokens as f64;
        if self.recent.len() < KEPT {
            self.recent.push(tokens);
        } else if let Some(place) = self.recent.get_mut(self.next) {
            *place = tokens;
        }
        self.next = (self.next + 1) % KEPT;
        self.levels = None;
    }

    /// Lengths that are equally likely, none beyond `most`.
    pub(crate) fn levels(&mut self, most: Option<u64>) -> [f64; LEVELS] {
        let recent = &self.recent;
        let levels = self.levels.get_or_insert_with(|| {
            let mut sorted = recent.clone();
            sorted.resize(sorted.len().max(KNOWN), UNKNOWN_TOKENS);
            sorted.sort_unstable_by(f64::total_cmp);
            std::array::from_fn(|level| {
                let place = (level as f64 + 0.5) / LEVELS as f64 * sorted.len() as f64;
                sorted.get((place as usize).min(sorted.len() - 1)).copied().unwrap_or(UNKNOWN_TOKENS)
            })
        });
        let most = most.map_or(f64::INFINITY, |most| most as f64);
        levels.map(|tokens| tokens.min(most))
    }
}

/// Their mean.
pub(crate) fn mean(levels: &[f64; LEVELS]) -> f64 {
    levels.iter().sum::<f64>() / LEVELS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_lengths_are_256_or_what_the_client_allows() {
        let mut outputs = Outputs::default();
        assert_eq!(mean(&outputs.levels(None)), 256.0);
        assert_eq!(mean(&outputs.levels(Some(10))), 10.0);
    }

    #[test]
    fn levels_are_those_of_recent_answers() {
        let mut outputs = Outputs::default();
        for tokens in 0..1000 {
            outputs.add(tokens);
        }
        // The last 64: 936 to 999.
        let levels = outputs.levels(None);
        assert_eq!(levels.first(), Some(&940.0));
        assert_eq!(levels.last(), Some(&996.0));
        assert!((mean(&levels) - 968.0).abs() < 1.0);
        assert_eq!(outputs.levels(Some(950)).iter().filter(|level| **level == 950.0).count(), 6);
    }
}
