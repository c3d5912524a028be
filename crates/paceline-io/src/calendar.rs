//! Instants as HTTP and JSON write them, in UTC.

const DAY_S: i64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

struct Civil {
    year: i64,
    /// From 1.
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

/// Seconds since 1970 as a date of the Gregorian calendar (Howard Hinnant's `civil_from_days`:
/// years that begin in March, in eras of 400 years).
fn civil(unix_s: i64) -> Civil {
    let (days, rest) = (unix_s.div_euclid(DAY_S), unix_s.rem_euclid(DAY_S));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    Civil {
        year: year_of_era + era * 400 + i64::from(month <= 2),
        month,
        day: of_year - (153 * march_month + 2) / 5 + 1,
        hour: rest / 3_600,
        minute: rest / 60 % 60,
        second: rest % 60,
    }
}

/// For header `date`: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
pub fn http_date(unix_s: i64) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(unix_s);
    let weekday = WEEKDAYS[unix_s.div_euclid(DAY_S).rem_euclid(7) as usize];
    let month = MONTHS[(month - 1) as usize];
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// `1994-11-06T08:49:37Z` (RFC 3339).
pub fn rfc3339(unix_s: i64) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(unix_s);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants_are_written_as_they_should() {
        for (unix_s, http, json) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
            (951_825_600, "Tue, 29 Feb 2000 12:00:00 GMT", "2000-02-29T12:00:00Z"),
            (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT", "2026-12-31T23:59:59Z"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT", "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!((http_date(unix_s).as_str(), rfc3339(unix_s).as_str()), (http, json));
        }
    }
}
