//! Money that is added and taken away many times: whole picodollars, so that nothing drifts.

const PICO: f64 = 1e12;
/// A million million USD: more is taken to be that much, so that sums of it stay far from the largest number.
const MOST: f64 = 1e24;

/// 10^-12 USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Pico(i128);

impl Pico {
    /// Rounded up: what is charged is never less than what was meant. What is not a number, and less than nothing, is 0.
    pub(super) fn of_usd(usd: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 1e24")]
        Self((usd * PICO).ceil().clamp(0.0, MOST) as i128)
    }

    pub(super) fn usd(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "15 digits of a sum of money are enough to show")]
        let pico = self.0 as f64;
        pico / PICO
    }

    /// Not below 0.
    pub(super) fn less(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }
}

impl std::ops::Add for Pico {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Pico {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::ops::SubAssign for Pico {
    fn sub_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_sub(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_rounded_up_and_never_negative() {
        for (usd, pico) in [
            (0.0, 0),
            (1e-12, 1),
            (1e-13, 1),
            (2.5, 2_500_000_000_000),
            (-1.0, 0),
            (f64::NAN, 0),
            (f64::NEG_INFINITY, 0),
        ] {
            assert_eq!(Pico::of_usd(usd), Pico(pico), "{usd}");
        }
        assert!(Pico::of_usd(f64::INFINITY) > Pico::of_usd(1e11));
    }

    #[test]
    fn a_million_additions_and_subtractions_leave_nothing() {
        let mut sum = Pico::default();
        for _ in 0..1_000_000 {
            sum += Pico::of_usd(0.1);
        }
        assert_eq!(sum, Pico::of_usd(100_000.0));
        for _ in 0..1_000_000 {
            sum -= Pico::of_usd(0.1);
        }
        assert_eq!(sum, Pico::default());
    }
}
