//! Civil dates (proleptic Gregorian, UTC) from milliseconds and back. No clock, no time zones.

use unforget_core::id::Timestamp;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// A day, by year, month (1 to 12) and day of the month (1 to 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day {
    /// Year; 0 is 1 BC.
    pub year: i64,
    /// Month, from 1.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
}

impl Day {
    /// The day of a moment, in UTC.
    pub fn of(time: Timestamp) -> Self {
        Self::from_number(time.0.div_euclid(DAY_MS))
    }

    /// Days since 1970-01-01. A day past the end of its month counts on into the next.
    ///
    /// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    pub fn number(self) -> i64 {
        let year = if self.month <= 2 { self.year.saturating_sub(1) } else { self.year };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let month = (i64::from(self.month) + 9) % 12;
        let of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        era.saturating_mul(146_097) + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// The inverse of [`Day::number`].
    pub fn from_number(days: i64) -> Self {
        let days = days.saturating_add(719_468);
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month: month as u8,
            day: (of_year - (153 * shifted + 2) / 5 + 1) as u8,
        }
    }

    /// Day of the week: 0 is Monday.
    pub fn weekday(self) -> u8 {
        (self.number() + 3).rem_euclid(7) as u8
    }

    /// Midnight at the start of this day, UTC.
    pub fn start(self) -> Timestamp {
        Timestamp(self.number().saturating_mul(DAY_MS))
    }
}

/// The month (1 to 12) named by a lower-case English word, in full or by three or four letters.
pub fn month_named(word: &str) -> Option<u8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let short = (3..=4).contains(&word.len());
    (1..)
        .zip(NAMES)
        .find(|(_, name)| *name == word || (short && name.starts_with(word)))
        .map(|(month, _)| month)
}

/// The weekday (0 is Monday) named in full by a lower-case English word.
pub fn weekday_named(word: &str) -> Option<u8> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    (0..).zip(NAMES).find(|(_, name)| *name == word).map(|(day, _)| day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_table() {
        let table = [
            (0, (1970, 1, 1), 3, "the epoch was a Thursday"),
            (-1, (1969, 12, 31), 2, "before the epoch"),
            (1_683_417_600_000, (2023, 5, 7), 6, "a Sunday"),
            (951_782_400_000, (2000, 2, 29), 1, "leap day of a century"),
        ];
        for (ms, (year, month, day), weekday, why) in table {
            let got = Day::of(Timestamp(ms));
            assert_eq!(got, Day { year, month, day }, "{why}");
            assert_eq!(got.weekday(), weekday, "{why}");
        }
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        for ms in [i64::MIN, i64::MAX] {
            let day = Day::of(Timestamp(ms));
            assert_eq!(Day::from_number(day.number()), day);
        }
    }

    proptest::proptest! {
        #[test]
        fn number_round_trips(days in -1_000_000_i64..1_000_000) {
            proptest::prop_assert_eq!(Day::from_number(days).number(), days);
        }
    }
}
