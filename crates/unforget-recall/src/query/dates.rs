//! Time words of a query: `yesterday`, `last week`, `in May 2023`, `7 May 2023`, `2023-05-07`.

use std::ops::Range;

use unforget_core::id::Timestamp;

use crate::calendar::{Day, month_named, weekday_named};

/// A stretch of time named by a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// This many days from the first.
    Days(Day, i64),
    /// The month of a day.
    Month(Day),
    /// A month of any year, 1 to 12.
    MonthName(u8),
    /// A year.
    Year(i64),
}

impl Span {
    /// From its first instant to the first one behind it, in UTC.
    pub(super) fn range(self) -> Option<Range<Timestamp>> {
        let after_month = |day: Day| match day.month {
            12 => Day { year: day.year + 1, month: 1, day: 1 },
            month => Day { month: month + 1, day: 1, ..day },
        };
        let (first, end) = match self {
            Self::Days(first, count) => (first, Day::from_number(first.number().saturating_add(count))),
            Self::Month(day) => (Day { day: 1, ..day }, after_month(day)),
            Self::Year(year) => (Day { year, month: 1, day: 1 }, Day { year: year + 1, month: 1, day: 1 }),
            Self::MonthName(_) => return None,
        };
        Some(first.start()..end.start())
    }
}

/// Finds the time words of `text`, each with a certainty from 0 to 1.
///
/// * `today` - reference of relative words; without it they are ignored.
pub(super) fn spans(text: &str, today: Option<Day>) -> Vec<(Span, f32)> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .take(512)
        .collect();
    let mut found = Vec::new();
    let mut rest = words.as_slice();
    let mut previous = "";
    while let Some((first, after)) = rest.split_first() {
        let (span, used) = absolute(previous, rest)
            .or_else(|| today.and_then(|today| relative(rest, today)))
            .map_or((None, 1), |(span, used)| (Some(span), used));
        found.extend(span.map(|span| (span, 1.0)));
        previous = first;
        rest = if used > 1 { rest.get(used..).unwrap_or_default() } else { after };
    }
    found
}

/// An absolute date at the start of `words`, and its number of words.
fn absolute(previous: &str, words: &[&str]) -> Option<(Span, usize)> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    if let Some(day) = iso(word(0)) {
        return Some((Span::Days(day, 1), 1));
    }
    if let (Some(day), Some(month)) = (day_number(word(0)), month_named(word(1))) {
        return Some(match year_number(word(2)) {
            Some(year) => (Span::Days(Day { year, month, day }, 1), 3),
            None => (Span::MonthName(month), 2),
        });
    }
    if let Some(month) = month_named(word(0)) {
        if let (Some(day), Some(year)) = (day_number(word(1)), year_number(word(2))) {
            return Some((Span::Days(Day { year, month, day }, 1), 3));
        }
        if let Some(year) = year_number(word(1)) {
            return Some((Span::Month(Day { year, month, day: 1 }), 2));
        }
        // `may` and `march` are months only behind a preposition.
        let plain = !matches!(word(0), "may" | "march" | "mar" | "sept" | "jan" | "dec");
        let said =
            matches!(previous, "in" | "of" | "last" | "this" | "since" | "during" | "early" | "late" | "mid");
        return (plain || said).then_some((Span::MonthName(month), 1));
    }
    year_number(word(0)).map(|year| (Span::Year(year), 1))
}

/// A stretch relative to today at the start of `words`, and its number of words.
fn relative(words: &[&str], today: Day) -> Option<(Span, usize)> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let back = |days: i64| Day::from_number(today.number().saturating_sub(days));
    let week_start = i64::from(today.weekday());
    Some(match (word(0), word(1), word(2)) {
        ("today" | "tonight", ..) => (Span::Days(today, 1), 1),
        ("yesterday", ..) => (Span::Days(back(1), 1), 1),
        ("last", "night", _) => (Span::Days(back(1), 1), 2),
        ("this", "week", _) => (Span::Days(back(week_start), week_start + 1), 2),
        ("last" | "previous", "week", _) => (Span::Days(back(week_start + 7), 7), 2),
        ("last" | "previous", "weekend", _) => (Span::Days(back(week_start + 2), 2), 2),
        ("this", "month", _) => (Span::Month(today), 2),
        ("last" | "previous", "month", _) => (Span::Month(back(i64::from(today.day))), 2),
        ("this", "year", _) => (Span::Year(today.year), 2),
        ("last" | "previous", "year", _) => (Span::Year(today.year - 1), 2),
        ("last", name, _) => {
            let before = (i64::from(today.weekday()) - i64::from(weekday_named(name)?) + 6).rem_euclid(7) + 1;
            (Span::Days(back(before), 1), 2)
        }
        (count, unit, "ago") => {
            let count = small_number(count)?;
            match unit {
                "day" | "days" => (Span::Days(back(count), 1), 3),
                "week" | "weeks" => (Span::Days(back(7 * count + 3), 7), 3),
                "month" | "months" => {
                    let months = today.year * 12 + i64::from(today.month) - 1 - count;
                    let month = months.rem_euclid(12) as u8 + 1;
                    (Span::Month(Day { year: months.div_euclid(12), month, day: 1 }), 3)
                }
                "year" | "years" => (Span::Year(today.year - count), 3),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// `2023-05-07`.
fn iso(word: &str) -> Option<Day> {
    let mut parts = word.splitn(3, '-');
    let year = year_number(parts.next()?)?;
    let month = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let day = day_number(parts.next()?)?;
    Some(Day { year, month, day })
}

fn year_number(word: &str) -> Option<i64> {
    (word.len() == 4).then(|| word.parse().ok()).flatten().filter(|year| (1900..2200).contains(year))
}

/// `7`, `07`, `7th`.
fn day_number(word: &str) -> Option<u8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

fn small_number(word: &str) -> Option<i64> {
    const NAMES: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    match word {
        "a" | "an" => Some(1),
        "few" => Some(3),
        _ => (1..)
            .zip(NAMES)
            .find(|(_, name)| *name == word)
            .map(|(number, _)| number)
            .or_else(|| word.parse().ok().filter(|number| (1..=1000).contains(number))),
    }
}
