//! Numbers, sizes, times and tables for people.

use comfy_table::{CellAlignment, ContentArrangement, Table};
use unforget_core::id::Timestamp;

pub(crate) use unforget_text::numbers::{bytes, count, micros, one_line, percent, plural, short};

use crate::output::visible;

/// When the policies compact that have a rule of their own.
pub(crate) const COMPACTS: &str = "one summary is made above 92 % of the budget; the peer, lossless-claw, compacts where a \
                                   turn ends above 75 %";

/// A time to the minute, in UTC: `2026-03-02 08:38`. Invalid times are left blank.
pub(crate) fn minute(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.0)
        .map_or_else(|_| String::new(), |time| time.strftime("%F %H:%M").to_string())
}

/// Text for a terminal, as it will be printed: for what is measured or cut before.
pub(crate) fn harmless(text: &str) -> String {
    visible(text).into_owned()
}

/// The key of a conversation for a person: on one line, and not longer than such a line.
pub(crate) fn key(key: &str) -> String {
    unforget_text::visible_name(key, KEY_CHARS)
}

/// A path for a person: on one line, whatever its name.
pub(crate) fn path(path: &std::path::Path) -> String {
    unforget_text::visible_name(&path.display().to_string(), PATH_CHARS)
}

/// Most characters of a path for a person: as long as a path of Linux.
const PATH_CHARS: usize = 4096;

/// Most characters of a key for a person; those of agents have 50.
const KEY_CHARS: usize = 200;

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
