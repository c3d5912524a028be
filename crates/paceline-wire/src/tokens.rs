//! How many tokens the server says that an event carries.

/// Follows what the events of one response say. Lists (ids, log probabilities) come first, the difference of a usage
/// that is repeated on each event second.
#[derive(Debug)]
pub(crate) struct TokenCounter {
    /// Listed by events without text since the last token event: a token may hold only a part of a character.
    carried: u32,
    /// Every token event so far had a usage that did not fall.
    usage_on_each: bool,
    /// Of the usage, what earlier token events had.
    claimed: i64,
}

impl TokenCounter {
    pub(crate) fn new() -> Self {
        Self { carried: 0, usage_on_each: true, claimed: 0 }
    }

    /// An event without text.
    pub(crate) fn silent(&mut self, listed: Option<u32>) {
        self.carried = self.carried.saturating_add(listed.unwrap_or(0));
    }

    /// An event with text. -1: the server does not say.
    pub(crate) fn token_event(&mut self, listed: Option<u32>, usage: Option<i64>, other_choice: bool) -> i32 {
        let by_usage = self.by_usage(usage, other_choice);
        let carried = std::mem::take(&mut self.carried);
        let tokens = listed.map(|n| i64::from(n) + i64::from(carried)).or(by_usage);
        tokens.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1)
    }

    fn by_usage(&mut self, usage: Option<i64>, other_choice: bool) -> Option<i64> {
        // With several choices servers count some by choice, some together.
        let usage = usage.filter(|n| self.usage_on_each && !other_choice && *n >= self.claimed);
        let Some(total) = usage else {
            self.usage_on_each = false;
            return None;
        };
        Some(total - std::mem::replace(&mut self.claimed, total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_on_each_event_gives_differences() {
        let mut counter = TokenCounter::new();
        let counts = [1, 3, 3, 7].map(|usage| counter.token_event(None, Some(usage), false));
        assert_eq!(counts, [1, 2, 0, 4]);
    }

    #[test]
    fn usage_on_the_last_event_only_says_nothing_of_that_event() {
        let mut counter = TokenCounter::new();
        assert_eq!(counter.token_event(None, None, false), -1);
        assert_eq!(counter.token_event(None, Some(64), false), -1);
    }

    #[test]
    fn usage_that_falls_or_mixes_choices_is_not_used_again() {
        let mut counter = TokenCounter::new();
        let counts = [5, 4, 9].map(|usage| counter.token_event(None, Some(usage), false));
        assert_eq!(counts, [5, -1, -1]);
        let mut counter = TokenCounter::new();
        assert_eq!(counter.token_event(None, Some(1), true), -1);
        assert_eq!(counter.token_event(None, Some(2), false), -1);
    }

    #[test]
    fn listed_tokens_come_first_and_are_carried_over_events_without_text() {
        let mut counter = TokenCounter::new();
        counter.silent(Some(2));
        counter.silent(None);
        assert_eq!(counter.token_event(Some(1), Some(9), false), 3);
        assert_eq!(counter.token_event(Some(4), None, false), 4);
    }
}
