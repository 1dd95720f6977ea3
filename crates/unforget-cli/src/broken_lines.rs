//! Lines broken between words, to fit some columns of a terminal.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Fewest columns of a piece.
const COLUMNS_MIN: usize = 4;

/// The pieces of a line, as byte ranges, each at most `columns` wide: broken between words, and inside a word only if it
/// is wider than that. Blanks at a break belong to no piece.
pub(crate) fn pieces(line: &str, columns: usize) -> Vec<Range<usize>> {
    let columns = columns.max(COLUMNS_MIN);
    let mut pieces = Vec::new();
    let (mut start, mut at, mut width) = (0, 0, 0);
    for word in line.split_inclusive(' ') {
        let wide = word.trim_end_matches(' ').width();
        if wide > 0 && width + wide > columns && width > 0 {
            pieces.push(start..at);
            (start, width) = (at, 0);
        }
        for one in word.chars() {
            let next = one.width().unwrap_or(0);
            // A blank may stand beyond the end: nobody sees it there.
            if width + next > columns && one != ' ' {
                pieces.push(start..at);
                (start, width) = (at, 0);
            }
            at += one.len_utf8();
            width += next;
        }
    }
    pieces.push(start..line.len());
    let trimmed = |piece: Range<usize>| {
        let text = line.get(piece.clone()).unwrap_or_default();
        piece.start..piece.start + text.trim_end_matches(' ').len()
    };
    pieces.into_iter().map(trimmed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_table() {
        let table: [(&str, usize, &[&str], &str); 8] = [
            ("one two three", 9, &["one two", "three"], "between words"),
            ("one two", 7, &["one two"], "no break where all fits"),
            ("averylongword here", 6, &["averyl", "ongwor", "d here"], "a long word is broken"),
            ("修复测试", 5, &["修复", "测试"], "by width, not by characters"),
            ("", 9, &[""], "an empty line"),
            ("    code that goes on", 12, &["    code", "that goes on"], "an indent stays"),
            ("one     two", 5, &["one", "two"], "blanks at a break"),
            ("👩\u{200d}💻 xy", 4, &["👩\u{200d}💻", "xy"], "an emoji"),
        ];
        for (line, columns, want, why) in table {
            let found: Vec<&str> =
                pieces(line, columns).into_iter().map(|piece| line.get(piece).unwrap_or("?")).collect();
            assert_eq!(found, want, "{why}");
        }
    }
}
