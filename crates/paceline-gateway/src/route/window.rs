//! What was lately seen of one quantity of one offer (TTFT, or decode rate), and what it makes of the next one.

use super::change::{Change, LEAST_SAMPLES};
use super::estimate::{Distribution, Weighed};
use super::line::Line;

/// Samples kept.
pub(crate) const SAMPLES: usize = 256;
/// The half-life of a sample's weight, as a share of the window.
const HALF_LIFE: f64 = 0.25;
/// Weights are kept relative to an epoch; it moves on after so many half-lives, long before an f64 ends.
const EPOCH_HALF_LIVES: f64 = 400.0;
/// Added to both sizes before their distance is taken: 10 and 20 tokens are no octave apart.
const SAME_TOKENS: f64 = 64.0;
/// Distributions kept, each for sizes within an eighth of an octave; and how long: a share of the window.
const CACHED: usize = 6;
const SIZES_AN_OCTAVE: f64 = 8.0;
const CACHED_SHARE: i64 = 200;
/// So many of the longest waiting requests are asked whether the offer has become slow.
const WAITING_ASKED: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Sample {
    ticket: u64,
    at_ns: i64,
    tokens: f64,
    value: f64,
    /// `value` as a multiple of the line at its size: what the samples are sorted by.
    multiple: f64,
    censored: bool,
    /// 2^(half-lives since the epoch), less what a change has taken.
    weight: f64,
    octaves: f64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    ticket: u64,
    asked_ns: i64,
    tokens: f64,
}

/// Samples in the order of their multiples.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    samples: Vec<Sample>,
    waiting: Vec<Waiting>,
    line: Line,
    fitted_at: usize,
    since_fit: usize,
    change: Change,
    epoch_ns: i64,
    newest_ns: Option<i64>,
    window_ns: i64,
    changes: u64,
    scratch: Vec<Weighed>,
    cache: Cache,
}

/// What `settled` made of the samples, for the sizes asked of late; gone with the next sample, or after a while.
#[derive(Debug, Clone, Default)]
struct Cache {
    /// Size in steps of an eighth of an octave, and the distribution of the multiples.
    by_size: Vec<(i64, Distribution)>,
    count: Option<usize>,
    until_ns: i64,
}

impl Window {
    /// An empty one; samples count for `window_ns`.
    pub(crate) fn new(window_ns: i64) -> Self {
        Self {
            samples: Vec::new(),
            waiting: Vec::new(),
            line: Line::flat(1.0, 0.0),
            fitted_at: 0,
            since_fit: 0,
            change: Change::default(),
            epoch_ns: 0,
            newest_ns: None,
            window_ns: window_ns.max(1),
            changes: 0,
            scratch: Vec::with_capacity(SAMPLES),
            cache: Cache::default(),
        }
    }

    /// Another length; weights are taken anew.
    pub(crate) fn set_window(&mut self, window_ns: i64) {
        if self.window_ns == window_ns.max(1) {
            return;
        }
        self.window_ns = window_ns.max(1);
        self.cache = Cache::default();
        let half_ns = self.half_ns();
        for sample in &mut self.samples {
            sample.weight = ((sample.at_ns - self.epoch_ns) as f64 / half_ns).clamp(-900.0, 900.0).exp2();
        }
    }

    fn half_ns(&self) -> f64 {
        self.window_ns as f64 * HALF_LIFE
    }

    /// Samples not older than the window.
    pub(crate) fn count(&mut self, now_ns: i64) -> usize {
        self.expire(now_ns);
        let oldest_ns = now_ns - self.window_ns;
        let samples = &self.samples;
        *self.cache.count.get_or_insert_with(|| samples.iter().filter(|s| s.at_ns >= oldest_ns).count())
    }

    fn expire(&mut self, now_ns: i64) {
        if now_ns > self.cache.until_ns {
            self.cache =
                Cache { until_ns: now_ns.saturating_add(self.window_ns / CACHED_SHARE), ..Cache::default() };
        }
    }

    /// Changes of speed that were found.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The median size of prompts seen.
    pub(crate) fn median_tokens(&self) -> f64 {
        let mut sizes: Vec<f64> = self.samples.iter().map(|sample| sample.tokens).collect();
        if sizes.is_empty() {
            return 0.0;
        }
        let middle = sizes.len() / 2;
        *sizes.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    /// Values and sizes of what is in the window, uncensored.
    pub(crate) fn seen(&self, now_ns: i64) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.samples
            .iter()
            .filter(move |sample| !sample.censored && now_ns - sample.at_ns <= self.window_ns)
            .map(|sample| (sample.tokens, sample.value))
    }

    /// `value` as a multiple of what the line says of its size.
    pub(crate) fn multiple(&self, tokens: f64, value: f64) -> f64 {
        value / self.line.at(tokens)
    }

    /// A request of that size waits from `asked_ns` on.
    pub(crate) fn waits(&mut self, ticket: u64, tokens: f64, asked_ns: i64) {
        self.waiting.push(Waiting { ticket, asked_ns, tokens });
    }

    /// It waits no more.
    pub(crate) fn waits_no_more(&mut self, ticket: u64) {
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.ticket == ticket) {
            self.waiting.remove(place);
        }
    }

    /// A sample; censored: the truth is later than `value`. Tickets other than 0 can be corrected.
    pub(crate) fn add(&mut self, ticket: u64, tokens: f64, value: f64, censored: bool, now_ns: i64) {
        if !value.is_finite() || value <= 0.0 {
            return;
        }
        self.forget_old(now_ns);
        self.move_epoch(now_ns);
        let began_ns = self.stands_out(tokens, value, censored, now_ns);
        self.newest_ns = Some(now_ns.max(self.newest_ns.unwrap_or(now_ns)));
        self.insert(Sample {
            ticket,
            at_ns: now_ns,
            tokens,
            value,
            multiple: 0.0,
            censored,
            weight: ((now_ns - self.epoch_ns) as f64 / self.half_ns()).exp2(),
            octaves: 0.0,
        });
        if let Some(began_ns) = began_ns {
            self.forget_before(began_ns, now_ns);
        }
        self.since_fit += 1;
        self.refit();
    }

    /// The sample of that ticket was of another size. True: it is there.
    pub(crate) fn correct(&mut self, ticket: u64, tokens: f64) -> bool {
        let Some(place) = self.samples.iter().position(|sample| sample.ticket == ticket) else {
            return false;
        };
        let mut sample = self.samples.remove(place);
        sample.tokens = tokens;
        self.insert(sample);
        true
    }

    fn stands_out(&mut self, tokens: f64, value: f64, censored: bool, now_ns: i64) -> Option<i64> {
        self.weigh(octaves(tokens), now_ns, self.change.compare_before_ns());
        let before = Distribution::new(&self.scratch)?.scaled(self.line.at(tokens), 1.0);
        if before.effective() < LEAST_SAMPLES {
            return None;
        }
        let rank = before.rank(value);
        // A censored one stands somewhere beyond.
        let rank = if censored { 0.5 * (rank + 1.0) } else { rank };
        if censored && rank < 0.9 {
            return None;
        }
        let began_ns = self.change.note(rank, now_ns);
        self.changes += u64::from(began_ns.is_some());
        began_ns
    }

    fn insert(&mut self, mut sample: Sample) {
        self.cache = Cache::default();
        sample.multiple = self.multiple(sample.tokens, sample.value);
        sample.octaves = octaves(sample.tokens);
        let place = self.samples.partition_point(|other| before(other, &sample));
        self.samples.insert(place, sample);
    }

    fn forget_old(&mut self, now_ns: i64) {
        let oldest_ns = now_ns - self.window_ns;
        self.samples.retain(|sample| sample.at_ns >= oldest_ns);
        if self.samples.len() >= SAMPLES {
            let oldest = self
                .samples
                .iter()
                .enumerate()
                .min_by_key(|(_, sample)| sample.at_ns)
                .map(|(place, _)| place);
            if let Some(oldest) = oldest {
                self.samples.remove(oldest);
            }
        }
    }

    fn move_epoch(&mut self, now_ns: i64) {
        if self.samples.is_empty() {
            self.epoch_ns = now_ns;
            return;
        }
        let half_lives = (now_ns - self.epoch_ns) as f64 / self.half_ns();
        if half_lives.abs() > EPOCH_HALF_LIVES {
            let factor = (-half_lives).exp2();
            for sample in &mut self.samples {
                sample.weight *= factor;
            }
            self.epoch_ns = now_ns;
        }
    }

    /// A change: all that is older counts together for no more than one new sample.
    fn forget_before(&mut self, began_ns: i64, now_ns: i64) {
        let one = ((now_ns - self.epoch_ns) as f64 / self.half_ns()).exp2();
        let old: f64 = self.samples.iter().filter(|s| s.at_ns < began_ns).map(|s| s.weight).sum();
        if old > one {
            let factor = one / old;
            for sample in self.samples.iter_mut().filter(|sample| sample.at_ns < began_ns) {
                sample.weight *= factor;
            }
        }
    }

    fn refit(&mut self) {
        let count = self.samples.len();
        let due = self.since_fit * 4 >= count.min(4 * 16) || self.fitted_at == 0 || count < 12;
        if !due {
            return;
        }
        (self.fitted_at, self.since_fit) = (count, 0);
        let mut points: Vec<(f64, f64)> =
            self.samples.iter().filter(|sample| !sample.censored).map(|s| (s.tokens, s.value)).collect();
        if points.is_empty() {
            points = self.samples.iter().map(|sample| (sample.tokens, sample.value)).collect();
        }
        let Some(line) = Line::fit(&mut points).or_else(|| flat(&mut points)) else { return };
        self.line = line;
        for sample in &mut self.samples {
            sample.multiple = sample.value / line.at(sample.tokens);
        }
        self.samples.sort_unstable_by(|a, b| {
            a.multiple.total_cmp(&b.multiple).then(a.censored.cmp(&b.censored)).then(a.at_ns.cmp(&b.at_ns))
        });
    }

    fn weigh(&mut self, asked: f64, now_ns: i64, before_ns: i64) {
        let oldest_ns = now_ns - self.window_ns;
        self.scratch.clear();
        self.scratch.extend(self.samples.iter().filter(|s| s.at_ns >= oldest_ns && s.at_ns < before_ns).map(
            |sample| {
                let distance = sample.octaves - asked;
                Weighed {
                    value: sample.multiple,
                    weight: sample.weight / (1.0 + distance * distance),
                    censored: sample.censored,
                }
            },
        ));
    }

    /// Information ages: with no newer sample, the same count tells less by half each half-life.
    fn freshness(&self, now_ns: i64) -> f64 {
        let age_ns = self.newest_ns.map_or(0, |newest_ns| (now_ns - newest_ns).max(0));
        (-(age_ns as f64) / self.half_ns()).exp2()
    }

    /// By the samples alone.
    fn settled(&mut self, tokens: f64, now_ns: i64) -> Option<Distribution> {
        self.expire(now_ns);
        let size = (octaves(tokens) * SIZES_AN_OCTAVE).round();
        let (scale, freshness) = (self.line.at(tokens), self.freshness(now_ns));
        if let Some((_, known)) = self.cache.by_size.iter().find(|(known, _)| *known == size as i64) {
            return Some(known.scaled(scale, freshness));
        }
        self.weigh(size / SIZES_AN_OCTAVE, now_ns, i64::MAX);
        let made = Distribution::new(&self.scratch)?;
        if self.cache.by_size.len() >= CACHED {
            self.cache.by_size.remove(0);
        }
        let scaled = made.scaled(scale, freshness);
        self.cache.by_size.push((size as i64, made));
        Some(scaled)
    }

    /// The next value at that size, as far as it is known. None: nothing is.
    ///
    /// Requests that wait now count once they are together too late to be chance: then the offer has become slow, all
    /// older samples count for one, and each that waits is a sample that is censored at its age.
    pub(crate) fn next(&mut self, tokens: f64, now_ns: i64) -> Option<Distribution> {
        let settled = self.settled(tokens, now_ns)?;
        if self.waiting.is_empty() || settled.effective() < LEAST_SAMPLES {
            return Some(settled);
        }
        let at = self.line.at(tokens);
        let late = self.waiting.iter().take(WAITING_ASKED).map(|waiting| {
            let multiple = (now_ns - waiting.asked_ns).max(0) as f64 / self.line.at(waiting.tokens);
            settled.rank(multiple * at)
        });
        if !self.change.would_be_slower(late) {
            return Some(settled);
        }
        self.weigh(octaves(tokens), now_ns, i64::MAX);
        let all: f64 = self.scratch.iter().map(|sample| sample.weight).sum();
        for sample in &mut self.scratch {
            sample.weight /= all;
        }
        for waiting in &self.waiting {
            let value = (now_ns - waiting.asked_ns).max(0) as f64 / self.line.at(waiting.tokens);
            self.scratch.push(Weighed { value, weight: 1.0, censored: true });
        }
        self.scratch.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.censored.cmp(&b.censored)));
        Distribution::new(&self.scratch).map(|made| made.scaled(at, 1.0))
    }
}

fn octaves(tokens: f64) -> f64 {
    (tokens.max(0.0) + SAME_TOKENS).log2()
}

fn before(a: &Sample, b: &Sample) -> bool {
    a.multiple.total_cmp(&b.multiple).then(a.censored.cmp(&b.censored)).is_le()
}

fn flat(points: &mut [(f64, f64)]) -> Option<Line> {
    let largest = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let middle = points.len() / 2;
    if points.is_empty() {
        return None;
    }
    let (_, at, _) = points.select_nth_unstable_by(middle, |a, b| a.1.total_cmp(&b.1));
    Some(Line::flat(at.1, largest))
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
