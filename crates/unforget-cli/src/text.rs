//! Numbers, sizes, times and tables for people.

use comfy_table::{CellAlignment, ContentArrangement, Table};
use unforget_core::id::Timestamp;

use crate::output::visible;

/// When the policies compact that have a rule of their own.
pub(crate) const COMPACTS: &str = "one summary is made above 92 % of the budget; the peer, lossless-claw, compacts where a \
                                   turn ends above 75 %";

/// A number with separated thousands: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number to three digits: `950`, `12.3k`, `4.56M`.
pub(crate) fn short(number: u64) -> String {
    let value = number as f64;
    match number {
        0..1_000 => number.to_string(),
        1_000..999_500 => format!("{}k", three(value / 1e3)),
        999_500..999_500_000 => format!("{}M", three(value / 1e6)),
        _ => format!("{}G", three(value / 1e9)),
    }
}

/// Bytes in powers of ten: `950 B`, `12.3 kB`.
pub(crate) fn bytes(number: u64) -> String {
    if number < 1_000 {
        format!("{number} B")
    } else {
        format!("{}B", short(number).replace(['k'], " k").replace('M', " M").replace('G', " G"))
    }
}

/// A time span given in microseconds: `850 µs`, `1.25 ms`, `3.4 s`.
pub(crate) fn micros(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", three(us as f64 / 1e3)),
        _ => format!("{} s", three(us as f64 / 1e6)),
    }
}

/// Three significant digits of a number from 1 to 999.
fn three(value: f64) -> String {
    let places = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share in per cent: `91.3%`; never 100% unless it is whole.
pub(crate) fn percent(share: f64) -> String {
    let share = share * 100.0;
    let shown = if share < 100.0 { share.min(99.9) } else { share };
    format!("{shown:.1}%")
}

/// A number with its unit: `1 call`, `7 calls`.
pub(crate) fn plural(number: u64, one: &str) -> String {
    let many = match one.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if one.ends_with("ch") => format!("{one}es"),
        None => format!("{one}s"),
    };
    format!("{} {}", count(number), if number == 1 { one } else { &many })
}

/// A time to the minute, in UTC: `2026-03-02 08:38`. Invalid times are left blank.
pub(crate) fn minute(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.0)
        .map_or_else(|_| String::new(), |time| time.strftime("%F %H:%M").to_string())
}

/// Text on one line without control characters, cut to `width` characters.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if line.chars().count() > width {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Text for a terminal, as it will be printed: for what is measured or cut before.
pub(crate) fn harmless(text: &str) -> String {
    visible(text).into_owned()
}

/// A word quoted for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A plain table: no frame, two spaces between columns. Long cells stay on one line, so that people can copy them.
///
/// * `right` - columns with numbers.
pub(crate) fn table(head: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    if head.iter().any(|name| !name.is_empty()) {
        table.set_header(head);
    }
    table.add_rows(rows);
    for index in 0..head.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 2));
            if right.contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_table() {
        let table = [
            (0, "0", "0", "0 B"),
            (999, "999", "999", "999 B"),
            (1_000, "1,000", "1k", "1 kB"),
            (12_345, "12,345", "12.3k", "12.3 kB"),
            (999_999, "999,999", "1M", "1 MB"),
            (1_234_567, "1,234,567", "1.23M", "1.23 MB"),
            (2_000_000_000, "2,000,000,000", "2G", "2 GB"),
        ];
        for (number, in_full, in_short, in_bytes) in table {
            assert_eq!((count(number).as_str(), short(number).as_str()), (in_full, in_short));
            assert_eq!(bytes(number), in_bytes);
        }
    }

    #[test]
    fn small_formats_table() {
        assert_eq!(percent(0.9999), "99.9%", "not whole");
        assert_eq!(percent(1.0), "100.0%");
        assert_eq!(
            (micros(850), micros(1_250), micros(3_400_000)),
            ("850 µs".into(), "1.25 ms".into(), "3.4 s".into())
        );
        assert_eq!(
            (plural(1, "entry"), plural(2, "entry"), plural(3, "branch")),
            ("1 entry".into(), "2 entries".into(), "3 branches".into())
        );
        assert_eq!(one_line("a\n\n b\u{1b}[31mc", 80), "a b [31mc");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(harmless("a\u{1b}[2Jb\rc"), "a␛[2Jb␍c", "recalled text cannot steer the terminal");
        assert_eq!(minute(Timestamp(0)), "1970-01-01 00:00");
    }
}
