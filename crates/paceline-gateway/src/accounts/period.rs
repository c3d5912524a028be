//! Days, weeks and months of UTC.

use crate::table::Period;

const DAY_S: i64 = 86_400;
/// The first Monday of the count: 1970-01-05.
const FIRST_MONDAY: i64 = 4;

/// Which of its kind the period is that the instant lies in; grows with time.
pub(super) fn number(period: Period, unix_s: i64) -> i64 {
    let day = unix_s.div_euclid(DAY_S);
    match period {
        Period::Day => day,
        Period::Week => (day - FIRST_MONDAY).div_euclid(7),
        Period::Month => month_of(day),
        Period::Total => 0,
    }
}

/// When the period after that of this number begins, seconds since 1970; none: never.
pub(super) fn end_unix_s(period: Period, number: i64) -> Option<i64> {
    match period {
        Period::Day => Some((number + 1) * DAY_S),
        Period::Week => Some(((number + 1) * 7 + FIRST_MONDAY) * DAY_S),
        Period::Month => Some(first_day_of(number + 1) * DAY_S),
        Period::Total => None,
    }
}

/// Months since the year 0 (Howard Hinnant's `civil_from_days`: years that begin in March, in eras of 400 years).
fn month_of(day: i64) -> i64 {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    (year + era * 400) * 12 + march_month + 2
}

/// The inverse: the day that a month begins with (his `days_from_civil`).
fn first_day_of(month: i64) -> i64 {
    let march = month - 2;
    let (year, march_month) = (march.div_euclid(12), march.rem_euclid(12));
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * march_month + 2) / 5 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_io::calendar::rfc3339;

    #[test]
    fn periods_end_where_the_calendar_says() {
        // Saturday, 2026-02-28, 23:59:59, and the same second of a leap year (a Wednesday).
        for (unix_s, now, day, week, month) in [
            (1_772_323_199, "2026-02-28T23:59:59Z", "2026-03-01", "2026-03-02", "2026-03-01"),
            (1_835_395_199, "2028-02-28T23:59:59Z", "2028-02-29", "2028-03-06", "2028-03-01"),
            (1_798_761_599, "2026-12-31T23:59:59Z", "2027-01-01", "2027-01-04", "2027-01-01"),
            (1_796_007_600, "2026-11-30T03:00:00Z", "2026-12-01", "2026-12-07", "2026-12-01"),
            (0, "1970-01-01T00:00:00Z", "1970-01-02", "1970-01-05", "1970-02-01"),
        ] {
            assert_eq!(rfc3339(unix_s), now);
            for (period, expected) in [(Period::Day, day), (Period::Week, week), (Period::Month, month)] {
                let end = end_unix_s(period, number(period, unix_s)).unwrap();
                assert_eq!(rfc3339(end), format!("{expected}T00:00:00Z"), "{period:?} of {now}");
            }
        }
        assert_eq!(end_unix_s(Period::Total, number(Period::Total, 0)), None);
    }

    #[test]
    fn each_second_lies_in_one_period_and_its_end_in_the_next() {
        for period in [Period::Day, Period::Week, Period::Month] {
            let mut unix_s = -5_000_000_000;
            while unix_s < 8_000_000_000 {
                let this = number(period, unix_s);
                let end = end_unix_s(period, this).unwrap();
                assert!(unix_s < end);
                assert_eq!(number(period, end - 1), this);
                assert_eq!(number(period, end), this + 1);
                unix_s = end;
            }
        }
    }
}
