//! Pieces of a JSON line.

use std::fmt::Write as _;

use crate::words::put;

/// Appends text as a JSON string.
pub(crate) fn quote(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        let (clean, tail) = rest.split_at(at);
        out.push_str(clean);
        let mut tail = tail.chars();
        match tail.next() {
            Some('\n') => out.push_str("\\n"),
            Some('\t') => out.push_str("\\t"),
            Some(odd @ ('"' | '\\')) => {
                out.push('\\');
                out.push(odd);
            }
            Some(control) => {
                put!(out, "\\u{:04x}", control as u32);
            }
            None => {}
        }
        rest = tail.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Milliseconds since 1970 as ISO 8601 in UTC.
pub(crate) fn iso(ms: u64) -> String {
    let (days, in_day) = (ms / 86_400_000, ms % 86_400_000);
    // Days to year, month and day over eras of 400 years that begin on 1 March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        in_day / 3_600_000,
        in_day / 60_000 % 60,
        in_day / 1000 % 60,
        in_day % 1000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_750_000_000_123, "2025-06-15T15:06:40.123Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
        ];
        for (ms, want) in table {
            assert_eq!(iso(ms), want);
        }
    }

    #[test]
    fn quotes_are_escaped() {
        let mut out = String::new();
        quote(&mut out, "a\"b\\c\nd\te\u{1}");
        assert_eq!(out, "\"a\\\"b\\\\c\\nd\\te\\u0001\"");
    }
}
