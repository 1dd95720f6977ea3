//! Rows that fit a terminal: columns with a width of their own, and one that takes the rest.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns between two cells.
const GAP: usize = 2;

/// Fewest columns of the cell that takes the rest.
const REST_MIN: usize = 12;

/// A cell's text and the most columns that it may take.
pub(crate) struct Cell {
    /// One line, harmless.
    pub(crate) text: String,
    /// Most columns; the text is cut to them.
    pub(crate) most: usize,
    /// Whether it stands at the right of its column.
    pub(crate) is_number: bool,
}

impl Cell {
    /// A text.
    pub(crate) const fn new(text: String, most: usize) -> Self {
        Self { text, most, is_number: false }
    }

    /// A number.
    pub(crate) const fn number(text: String) -> Self {
        Self { text, most: 12, is_number: true }
    }
}

/// Lays rows out: each row as its padded cells, and the last cell cut to what is left of `width`.
///
/// * `width` - columns of the terminal; `None` cuts nothing.
pub(crate) fn fit(rows: Vec<Vec<Cell>>, width: Option<usize>) -> Vec<Vec<String>> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0; count];
    for row in &rows {
        for (column, cell) in widths.iter_mut().zip(row) {
            let most = if width.is_some() { cell.most } else { usize::MAX };
            *column = (*column).max(cell.text.width().min(most));
        }
    }
    let Some((_, fixed)) = widths.split_last() else { return Vec::new() };
    let used: usize = fixed.iter().map(|column| column + GAP).sum();
    let rest = width.map_or(usize::MAX, |width| width.saturating_sub(used).max(REST_MIN));
    let lay = |row: Vec<Cell>| {
        let last = row.len().saturating_sub(1);
        let cells = row.into_iter().zip(&widths).enumerate();
        cells
            .map(
                |(at, (cell, column))| {
                    if at == last { cut(&cell.text, rest) } else { padded(&cell, *column) }
                },
            )
            .collect()
    };
    rows.into_iter().map(lay).collect()
}

fn padded(cell: &Cell, column: usize) -> String {
    let text = cut(&cell.text, column);
    let space = " ".repeat(column.saturating_sub(text.width()));
    let gap = " ".repeat(GAP);
    if cell.is_number { format!("{space}{text}{gap}") } else { format!("{text}{space}{gap}") }
}

/// A text cut to some columns of a terminal in its middle, so that its beginning and its end are seen.
pub(crate) fn cut_middle(text: &str, columns: usize) -> String {
    let text = text.replace(['\n', '\t'], " ");
    if text.width() <= columns {
        return text;
    }
    let beginning = cut(&text, columns.div_ceil(2));
    let end = cut_front(&text, columns + 1 - beginning.width());
    beginning + end.trim_start_matches('…')
}

/// A text cut to some columns of a terminal; an ellipsis shows the cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut out = String::new();
    for one in text.chars() {
        let width = one.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        out.push(one);
    }
    out.push('…');
    out
}

/// The end of a text that fits some columns of a terminal; an ellipsis shows the cut.
pub(crate) fn cut_front(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |one: &char| {
        let width = one.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let end: Vec<char> = text.chars().rev().take_while(fits).collect();
    std::iter::once('…').chain(end.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<Cell>> {
        let row = |name: &str, turns: &str, title: &str| {
            vec![Cell::new(name.into(), 8), Cell::number(turns.into()), Cell::new(title.into(), 9)]
        };
        vec![
            row("4a36", "7", "a title that is much longer than any terminal is wide, of 1 to 60 columns"),
            row("019a-long-name", "1,024", "修复测试修复测试修复测试修复测试修复测试修复测试"),
        ]
    }

    #[test]
    fn every_row_fits_and_columns_stand_under_each_other() {
        for width in [32, 60, 80, 120] {
            let laid = fit(rows(), Some(width));
            for row in &laid {
                assert!(row.concat().width() <= width, "{width}: {row:?}");
            }
            let starts: Vec<_> = laid.iter().map(|row| row[..2].concat().width()).collect();
            assert_eq!(starts, [17, 17]);
        }
        assert_eq!(fit(rows(), Some(60))[1][0], "019a-lo…  ");
        assert!(fit(rows(), None)[1].concat().starts_with("019a-long-name  1,024  修复"));
        assert_eq!(fit(Vec::new(), Some(60)), Vec::<Vec<String>>::new());
    }

    #[test]
    fn cuts_table() {
        let table = [
            ("abcdef", 6, "abcdef", "abcdef"),
            ("abcdef", 4, "abc…", "…def"),
            ("修复测试", 5, "修复…", "…测试"),
            ("abc", 0, "…", "…"),
        ];
        for (text, columns, want, want_front) in table {
            assert_eq!((cut(text, columns).as_str(), cut_front(text, columns).as_str()), (want, want_front));
        }
        let table = [
            ("abcdef", 6, "abcdef"),
            ("abcdefgh", 6, "ab…fgh"),
            ("abcdefgh", 5, "ab…gh"),
            ("修复测试修复", 7, "修…修复"),
            ("ab", 1, "…"),
        ];
        for (text, columns, want) in table {
            assert_eq!(cut_middle(text, columns), want, "the middle of {text}");
        }
    }
}
