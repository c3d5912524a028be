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
        }
    }

    /// Another length; weights are taken anew.
    pub(crate) fn set_window(&mut self, window_ns: i64) {
        if self.window_ns == window_ns.max(1) {
            return;
        }
        self.window_ns = window_ns.max(1);
        let half_ns = self.half_ns();
        for sample in &mut self.samples {
            sample.weight = ((sample.at_ns - self.epoch_ns) as f64 / half_ns).clamp(-900.0, 900.0).exp2();
        }
    }

    fn half_ns(&self) -> f64 {
        self.window_ns as f64 * HALF_LIFE
    }

    /// Samples not older than the window.
    pub(crate) fn count(&self, now_ns: i64) -> usize {
        self.samples.iter().filter(|sample| now_ns - sample.at_ns <= self.window_ns).count()
    }

    /// Changes of speed that were found.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// When the newest sample came.
    pub(crate) fn newest_ns(&self) -> Option<i64> {
        self.newest_ns
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
        self.weigh(tokens, now_ns, 1.0, self.change.compare_before_ns());
        let before = Distribution::new(&self.scratch, self.line.at(tokens), 1.0)?;
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

    fn weigh(&mut self, tokens: f64, now_ns: i64, old_times: f64, before_ns: i64) {
        let oldest_ns = now_ns - self.window_ns;
        let asked = octaves(tokens);
        self.scratch.clear();
        self.scratch.extend(self.samples.iter().filter(|s| s.at_ns >= oldest_ns && s.at_ns < before_ns).map(
            |sample| {
                let distance = sample.octaves - asked;
                Weighed {
                    value: sample.multiple,
                    weight: old_times * sample.weight / (1.0 + distance * distance),
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
        self.weigh(tokens, now_ns, 1.0, i64::MAX);
        Distribution::new(&self.scratch, self.line.at(tokens), self.freshness(now_ns))
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
        let all: f64 = self.scratch.iter().map(|sample| sample.weight).sum();
        self.weigh(tokens, now_ns, 1.0 / all, i64::MAX);
        for waiting in &self.waiting {
            let value = (now_ns - waiting.asked_ns).max(0) as f64 / self.line.at(waiting.tokens);
            self.scratch.push(Weighed { value, weight: 1.0, censored: true });
        }
        self.scratch.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.censored.cmp(&b.censored)));
        Distribution::new(&self.scratch, at, 1.0)
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
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const S: i64 = 1_000_000_000;
    const MS: f64 = 1e6;
    const WINDOW_NS: i64 = 600 * S;

    /// Log-normal around `median`, a factor of 1.3 either way (a sum of uniforms stands for the normal).
    fn draw(rng: &mut ChaCha8Rng, median: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        median * (0.26 * normal).exp()
    }

    fn median(window: &mut Window, tokens: f64, now_ns: i64) -> f64 {
        window.next(tokens, now_ns).unwrap().quantile(0.5).0
    }

    #[test]
    fn age_and_size_weigh_by_hand() {
        let mut window = Window::new(400 * S);
        window.add(0, 1000.0, 10.0, false, 0);
        window.add(0, 1000.0, 20.0, false, 100 * S);
        // The half-life is 100 s: weights 1/2 and 1.
        let seen = window.next(1000.0, 100 * S).unwrap();
        assert!((seen.at(10.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!((seen.effective() - 2.25 / 1.25).abs() < 1e-9);
        // Another half-life without a sample: the same shares, and half the count.
        let later = window.next(1000.0, 200 * S).unwrap();
        assert!((later.at(10.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!((later.effective() - 0.9).abs() < 1e-9);
        // One octave away (with 64 tokens on either side): half the weight for the far one.
        let mut window = Window::new(400 * S);
        window.add(0, 936.0, 10.0, false, 0);
        window.add(0, 1936.0, 20.0, false, 0);
        let seen = window.next(1936.0, 0).unwrap();
        assert!((seen.at(seen.quantile(0.0).0) - 1.0 / 3.0).abs() < 1e-9, "{seen:?}");
    }

    #[test]
    fn the_ring_is_bounded_and_old_samples_go() {
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..1000 {
            window.add(0, 100.0, 1.0 + turn as f64, false, turn);
        }
        assert_eq!(window.samples.len(), SAMPLES);
        assert!(window.samples.iter().all(|sample| sample.at_ns >= 744), "the oldest go first");
        assert_eq!(window.count(WINDOW_NS + 2000), 0);
        assert!(window.next(100.0, WINDOW_NS + 2000).is_none());
        window.add(0, 100.0, 5.0, false, WINDOW_NS + 2000);
        assert_eq!(window.samples.len(), 1);
    }

    #[test]
    fn a_tripled_ttft_shows_within_five_samples_and_so_does_recovery() {
        let (mut soon, mut changes) = (0, 0);
        for seed in 0..50 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut window = Window::new(WINDOW_NS);
            let mut now_ns = 0;
            for level in [300.0, 900.0, 300.0] {
                let before = window.newest_ns().is_some();
                changes += i32::from(before);
                for turn in 0..200 {
                    now_ns += S / 2;
                    window.add(0, 500.0, draw(&mut rng, level * MS), false, now_ns);
                    let off = median(&mut window, 500.0, now_ns) / (level * MS);
                    soon += i32::from(before && turn == 4 && (0.6..1.6).contains(&off));
                    let settled = before && turn >= 9;
                    assert!(
                        !settled || (0.55..1.8).contains(&off),
                        "seed {seed}, {level}, sample {turn}: {off}"
                    );
                }
            }
        }
        assert!(soon * 100 >= changes * 95, "{soon} of {changes} after five samples");
    }

    #[test]
    fn without_a_change_the_window_is_kept() {
        let mut alarms = 0;
        for seed in 0..50 {
            let mut rng = ChaCha8Rng::seed_from_u64(100 + seed);
            let mut window = Window::new(WINDOW_NS);
            for turn in 0..400 {
                window.add(0, 500.0, draw(&mut rng, 300.0 * MS), false, turn * S);
            }
            alarms += window.changes();
        }
        assert!(alarms <= 25, "{alarms} false alarms in 20,000 samples");
    }

    #[test]
    fn ttft_is_predicted_for_the_size() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..256 {
            let tokens = (6.0 + 9.0 * rng.random::<f64>()).exp2();
            window.add(0, tokens, draw(&mut rng, (100.0 + 0.1 * tokens) * MS), false, turn * S / 10);
        }
        for tokens in [64.0, 500.0, 4000.0, 30_000.0, 100_000.0] {
            let off = median(&mut window, tokens, 26 * S) / ((100.0 + 0.1 * tokens) * MS);
            assert!((0.8..1.3).contains(&off), "{tokens}: {off}");
        }
    }

    #[test]
    fn sizes_beyond_what_was_seen_are_never_faster() {
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..50 {
            window.add(0, 1000.0, 200.0 * MS, false, turn * S);
        }
        let at = |window: &mut Window, tokens| median(window, tokens, 50 * S);
        assert_eq!(at(&mut window, 10.0), 200.0 * MS);
        assert_eq!(at(&mut window, 11_000.0), 1200.0 * MS);
        assert!(window.next(11_000.0, 50 * S).unwrap().effective() <= 50.0);
    }

    #[test]
    fn intervals_and_probabilities_hold_with_sizes_and_ages() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let (mut covered, mut predicted, mut met) = (0, 0.0, 0);
        for _ in 0..400 {
            let mut window = Window::new(WINDOW_NS);
            for turn in 0..150 {
                let tokens = (6.0 + 6.0 * rng.random::<f64>()).exp2();
                window.add(0, tokens, draw(&mut rng, (100.0 + 0.1 * tokens) * MS), false, turn * S);
            }
            let tokens = (6.0 + 6.0 * rng.random::<f64>()).exp2();
            let truth = (100.0 + 0.1 * tokens) * MS;
            let seen = window.next(tokens, 150 * S).unwrap();
            let figure = seen.figure(0.5);
            covered +=
                i32::from(figure.lo.is_some_and(|lo| lo <= truth) && figure.hi.is_some_and(|hi| hi >= truth));
            predicted += seen.probability(1.25 * truth).value;
            met += i32::from(draw(&mut rng, truth) <= 1.25 * truth);
        }
        assert!(covered >= 360, "{covered} of 400");
        assert!((predicted - f64::from(met)).abs() < 28.0, "{predicted} predicted, {met} met");
    }

    #[test]
    fn requests_that_wait_show_a_stall_before_any_has_ended() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..100 {
            window.add(0, 500.0, draw(&mut rng, 300.0 * MS), false, turn * S);
        }
        for ticket in 1..=5 {
            window.waits(ticket, 500.0, 100 * S);
        }
        assert!(median(&mut window, 500.0, 100 * S + S / 10) < 400.0 * MS, "not late yet");
        let stalled = window.next(500.0, 105 * S).unwrap();
        assert!(stalled.mean() > 3000.0 * MS, "{}", stalled.mean());
        assert!(stalled.probability(1000.0 * MS).value < 0.4);
        for ticket in 1..=5 {
            window.waits_no_more(ticket);
        }
        assert!(
            median(&mut window, 500.0, 105 * S) < 400.0 * MS,
            "and it was nothing, if they come after all"
        );
    }

    #[test]
    fn a_censored_sample_is_at_least_that_late() {
        let mut window = Window::new(WINDOW_NS);
        for turn in 0..20 {
            window.add(0, 500.0, 100.0 + f64::from(turn), false, i64::from(turn));
        }
        for turn in 20..40 {
            window.add(0, 500.0, 5000.0, true, turn);
        }
        let (value, at_least) = window.next(500.0, 40).unwrap().quantile(0.9);
        assert_eq!((value, at_least), (5000.0, true));
    }

    #[test]
    fn a_sample_is_corrected_by_its_ticket() {
        let mut window = Window::new(WINDOW_NS);
        window.add(7, 5000.0, 100.0, false, 0);
        assert!(window.correct(7, 20.0));
        assert!(!window.correct(8, 20.0));
        assert_eq!(window.median_tokens(), 20.0);
        assert_eq!(window.samples.len(), 1);
    }

    #[test]
    fn the_epoch_moves_on() {
        let mut window = Window::new(4 * S);
        for turn in 0..3000 {
            window.add(0, 500.0, 100.0 + turn as f64, false, turn * S);
        }
        let seen = window.next(500.0, 2999 * S).unwrap();
        assert!(seen.quantile(0.5).0 > 3000.0 && seen.effective().is_finite());
    }
}
