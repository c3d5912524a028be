//! How many requests an offer bears at a time: found out by what it does, within what the config says.
//!
//! Additive increase, multiplicative decrease (Chiu and Jain 1989): fair between gateways that do not know of each
//! other, and without an assumption on how the offer queues. There is no limit until the first sign of trouble.

/// A rate limit or a timeout takes the limit to this share of what was in flight.
const CUT: f64 = 0.7;
/// Inflated latency does it more gently: it may be the offer's own day, and not our load.
const GENTLE_CUT: f64 = 0.9;
/// TTFT beyond so many times the unloaded one is inflated.
const INFLATED: f64 = 3.0;
/// Inflated latency alone never takes the limit below so many.
const GENTLE_FLOOR: f64 = 4.0;
/// The limit grows only when at least so much of it is in use.
const USED: f64 = 0.8;
/// What was in flight at admission for a TTFT to count as unloaded.
const UNLOADED_IN_FLIGHT: u32 = 2;
/// Weight of the newest in the two moving averages.
const NEWEST: f64 = 0.2;

/// A limit that adapts; none: there is none yet.
#[derive(Debug, Clone, Copy, Default)]
struct Adaptive {
    places: Option<f64>,
    /// Attempts that were sent before tell nothing new.
    cut_ns: Option<i64>,
}

impl Adaptive {
    fn cut(&mut self, share: f64, floor: f64, in_flight: u32, sent_ns: i64, now_ns: i64) -> bool {
        // One cut answers for all that was in flight when it was made.
        if self.cut_ns.is_some_and(|cut_ns| sent_ns < cut_ns) {
            return false;
        }
        let now = f64::from(in_flight.max(1));
        let base = self.places.map_or(now, |limit| limit.min(now));
        let least = floor.min(self.places.unwrap_or(f64::INFINITY)).min(now).max(1.0);
        self.places = Some((base * share).max(least));
        self.cut_ns = Some(now_ns);
        true
    }

    /// True: it has grown by a whole place.
    fn grow(&mut self, in_flight: u32) -> bool {
        let Some(limit) = self.places else { return false };
        if f64::from(in_flight) < USED * limit.floor() {
            return false;
        }
        let grown = limit + 1.0 / limit;
        self.places = Some(grown);
        grown.floor() > limit.floor()
    }

    fn whole(self) -> Option<u32> {
        self.places.map(|limit| limit.floor().clamp(1.0, f64::from(u32::MAX)) as u32)
    }
}

/// One offer's adaptive limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limit {
    /// By rate limits and timeouts: beyond it, requests fail.
    told: Adaptive,
    /// By latency: beyond it, they are slow. An offer that is the only one left is asked beyond it all the same: slow is
    /// better than refused.
    felt: Adaptive,
    /// Moving averages of TTFT as a multiple of what is usual for the prompt's size: when little was in flight, and
    /// when the limit was in use.
    unloaded: Option<(f64, i64)>,
    loaded: Option<f64>,
}

impl Limit {
    /// Places at once that are good; none: without bound.
    pub(crate) fn places(&self, configured: Option<u32>) -> Option<u32> {
        [self.most(configured), self.felt.whole()].into_iter().flatten().min()
    }

    /// Places at once when no other offer is left; none: without bound.
    pub(crate) fn most(&self, configured: Option<u32>) -> Option<u32> {
        [self.told.whole(), configured].into_iter().flatten().min()
    }

    /// A rate limit or a timeout of an attempt that was sent at `sent_ns`, while `in_flight` were, itself included.
    pub(crate) fn troubled(&mut self, in_flight: u32, sent_ns: i64, now_ns: i64) {
        if self.told.cut(CUT, 1.0, in_flight, sent_ns, now_ns) {
            self.loaded = None;
        }
    }

    /// An answer to an attempt, while `in_flight` were. True: a limit has grown.
    pub(crate) fn answered(&mut self, in_flight: u32) -> bool {
        let told = self.told.grow(in_flight);
        self.felt.grow(in_flight) || told
    }

    /// A TTFT, as a multiple of what is usual for its prompt's size. `begun_with` were in flight when it was admitted.
    /// An unloaded one counts for `window_ns`.
    pub(crate) fn first_token(
        &mut self,
        multiple: f64,
        begun_with: u32,
        sent_ns: i64,
        now_ns: i64,
        window_ns: i64,
    ) {
        let blend = |old: Option<f64>| old.map_or(multiple, |old| old + NEWEST * (multiple - old));
        if begun_with <= UNLOADED_IN_FLIGHT {
            let fresh =
                self.unloaded.filter(|(_, at_ns)| now_ns - at_ns <= window_ns).map(|(value, _)| value);
            self.unloaded = Some((blend(fresh), now_ns));
            return;
        }
        let loaded = blend(self.loaded);
        self.loaded = Some(loaded);
        let Some((unloaded, at_ns)) = self.unloaded else { return };
        let inflated = now_ns - at_ns <= window_ns && loaded > INFLATED * unloaded;
        if inflated && self.felt.cut(GENTLE_CUT, GENTLE_FLOOR, begun_with, sent_ns, now_ns) {
            self.loaded = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn without_trouble_only_the_config_limits() {
        let mut limit = Limit::default();
        assert_eq!(limit.places(None), None);
        assert_eq!(limit.places(Some(7)), Some(7));
        assert!(!limit.answered(100));
        assert_eq!(limit.places(None), None);
    }

    #[test]
    fn trouble_cuts_once_for_all_that_was_in_flight() {
        let mut limit = Limit::default();
        limit.troubled(100, 0, S);
        assert_eq!(limit.places(None), Some(70));
        for sent_ns in 0..30 {
            limit.troubled(90, sent_ns, S + 1);
        }
        assert_eq!(limit.places(None), Some(70));
        limit.troubled(60, 2 * S, 3 * S);
        assert_eq!(limit.places(None), Some(42));
        assert_eq!(limit.places(Some(10)), Some(10));
    }

    #[test]
    fn the_floor_is_one() {
        let mut limit = Limit::default();
        for turn in 0..50 {
            limit.troubled(1, turn * S, turn * S);
        }
        assert_eq!(limit.places(None), Some(1));
    }

    #[test]
    fn it_grows_by_one_a_round_and_only_when_used() {
        let mut limit = Limit::default();
        limit.troubled(10, 0, 0);
        assert_eq!(limit.places(None), Some(7));
        for _ in 0..1000 {
            assert!(!limit.answered(3));
        }
        assert_eq!(limit.places(None), Some(7));
        let answers = (1..100).find(|_| limit.answered(7));
        assert_eq!(limit.places(None), Some(8));
        assert!(answers.is_some_and(|answers| (7..=8).contains(&answers)));
    }

    #[test]
    fn inflated_latency_cuts_gently_and_not_below_four() {
        let mut limit = Limit::default();
        for turn in 0..20 {
            limit.first_token(1.0, 1, turn, turn, 60 * S);
        }
        for turn in 0..40 {
            limit.first_token(2.0, 50, turn * S / 10, turn * S / 10, 60 * S);
        }
        assert_eq!(limit.places(None), None, "twice is not inflated");
        limit.first_token(20.0, 50, 5 * S, 5 * S, 60 * S);
        assert_eq!(limit.places(None), Some(45));
        for turn in 6..50 {
            limit.first_token(20.0, 50, turn * S, turn * S, 60 * S);
        }
        assert_eq!(limit.places(None), Some(4));
        assert_eq!(limit.most(None), None, "the only offer is asked all the same");
    }

    #[test]
    fn the_only_offer_is_not_asked_beyond_what_it_has_refused() {
        let mut limit = Limit::default();
        limit.troubled(10, 0, S);
        assert_eq!((limit.places(Some(20)), limit.most(Some(20))), (Some(7), Some(7)));
        assert_eq!((limit.places(Some(3)), limit.most(Some(3))), (Some(3), Some(3)));
    }

    #[test]
    fn without_a_fresh_unloaded_ttft_latency_says_nothing() {
        let mut limit = Limit::default();
        limit.first_token(9.0, 50, 0, 0, 60 * S);
        assert_eq!(limit.places(None), None);
        limit.first_token(1.0, 0, 0, 0, 60 * S);
        limit.first_token(90.0, 50, 61 * S, 61 * S, 60 * S);
        assert_eq!(limit.places(None), None);
    }
}
