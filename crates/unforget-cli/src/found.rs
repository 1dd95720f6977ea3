//! The shown lines of a hit, with the found words marked.

use std::ops::Range;

use anstyle::Style;

use crate::broken_lines::pieces;
use crate::output::{paint, visible};

/// Most characters of a shown line.
const LINE_CHARS: usize = 300;

/// What stands for a tab where columns are counted.
const TAB: &str = "    ";

/// Characters shown before the first match of a line that is cut.
const BEFORE_CHARS: usize = 60;

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundLine {
    /// Number of the line, from 0; blank lines do not count.
    pub(crate) number: usize,
    /// Number of the line in the whole text, from 1; 0 if it is unknown.
    pub(crate) at: usize,
    /// The line.
    pub(crate) text: String,
    /// Byte ranges of what was found, ascending.
    pub(crate) matches: Vec<Range<usize>>,
}

/// The lines with something found, and some around them; blank ones are left out.
///
/// * `find` - byte ranges in a line, ascending.
/// * `most` - most lines with something found.
pub(crate) fn lines(
    text: &str,
    context: usize,
    most: usize,
    find: &dyn Fn(&str) -> Vec<Range<usize>>,
) -> Vec<FoundLine> {
    let written = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let all: Vec<(usize, &str)> = written.collect();
    let found: Vec<Vec<Range<usize>>> = all.iter().map(|(_, line)| find(line)).collect();
    let hits: Vec<usize> = found
        .iter()
        .enumerate()
        .filter(|(_, found)| !found.is_empty())
        .map(|(at, _)| at)
        .take(most)
        .collect();
    let mut shown = Vec::new();
    let mut next = 0;
    for hit in hits {
        let from = hit.saturating_sub(context).max(next);
        let to = hit.saturating_add(context).saturating_add(1).min(all.len());
        for number in from..to {
            if let (Some((at, text)), Some(matches)) = (all.get(number), found.get(number)) {
                shown.push(FoundLine { number, at: *at, text: (*text).to_owned(), matches: matches.clone() });
            }
        }
        next = next.max(to);
    }
    shown
}

/// Places of words in a line, in any case; inflected forms count by their first five letters.
pub(crate) fn words_in(line: &str, words: &[String]) -> Vec<Range<usize>> {
    let folded = line.to_lowercase();
    // Other case can have another length, which would make the places wrong.
    if folded.len() != line.len() {
        return Vec::new();
    }
    let mut places: Vec<Range<usize>> = Vec::new();
    for word in words {
        for (at, _) in folded.match_indices(word.as_str()) {
            let before = folded.get(..at).and_then(|before| before.chars().next_back());
            if before.is_some_and(char::is_alphanumeric) {
                continue;
            }
            let rest = folded.get(at..).unwrap_or_default();
            let length = rest.find(|one: char| !one.is_alphanumeric()).unwrap_or(rest.len()).max(word.len());
            places.push(at..at + length);
        }
    }
    joined(places)
}

/// The words of a query that are looked for in lines.
pub(crate) fn words_of(query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let words = query.split(|one: char| !one.is_alphanumeric()).filter(|word| word.chars().count() >= 2);
    let stem = |word: &str| {
        word.char_indices().nth(5).map_or(word, |(at, _)| word.get(..at).unwrap_or(word)).to_owned()
    };
    words.map(stem).collect()
}

/// Ranges without overlaps, ascending.
fn joined(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for place in places {
        match out.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => out.push(place),
        }
    }
    out
}

/// A line with what was found painted; a long line is cut around its first match.
///
/// * `columns` - most columns of a piece of the result, broken between words; `None` gives one piece.
pub(crate) fn painted(line: &FoundLine, ink: Style, columns: Option<usize>) -> Vec<String> {
    let ShownLine { text, matches } = shown(line, columns.is_some());
    let paint_piece = |piece: Range<usize>| {
        let (mut out, mut at) = (String::new(), piece.start);
        for found in &matches {
            let (start, end) = (found.start.clamp(at, piece.end), found.end.clamp(at, piece.end));
            if start < end {
                out.push_str(text.get(at..start).unwrap_or_default());
                out.push_str(&paint(ink, text.get(start..end).unwrap_or_default()));
                at = end;
            }
        }
        out.push_str(text.get(at..piece.end).unwrap_or_default());
        out
    };
    let Some(columns) = columns else { return vec![paint_piece(0..text.len())] };
    pieces(&text, columns).into_iter().map(paint_piece).collect()
}

/// The shown part of a line, made visible, and what was found in it.
struct ShownLine {
    text: String,
    matches: Vec<Range<usize>>,
}

/// * `is_fitted` - whether columns are counted: then blanks stand for a tab, which has no width of its own.
fn shown(line: &FoundLine, is_fitted: bool) -> ShownLine {
    let (text, window) = (line.text.as_str(), window(line));
    let mut out = ShownLine { text: String::new(), matches: Vec::new() };
    if window.start > 0 {
        out.text.push('…');
    }
    let part = |range: Range<usize>| {
        let part = visible(text.get(range).unwrap_or_default());
        if is_fitted { part.replace('\t', TAB) } else { part.into_owned() }
    };
    let mut at = window.start;
    for found in &line.matches {
        let (start, end) = (found.start.clamp(at, window.end), found.end.clamp(at, window.end));
        out.text.push_str(&part(at..start));
        let first = out.text.len();
        out.text.push_str(&part(start..end));
        out.matches.push(first..out.text.len());
        at = end;
    }
    out.text.push_str(&part(at..window.end));
    if window.end < text.len() {
        out.text.push('…');
    }
    out
}

/// The part of a line that is shown, in bytes between characters.
fn window(line: &FoundLine) -> Range<usize> {
    let text = line.text.as_str();
    let first = line.matches.first().map_or(0, |found| found.start);
    let before = text.get(..first).map_or(0, |before| before.chars().count());
    let count = text.chars().count();
    if count <= LINE_CHARS {
        return 0..text.len();
    }
    let skip = before.saturating_sub(BEFORE_CHARS).min(count - LINE_CHARS);
    let byte = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    byte(skip)..byte(skip + LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str, context: usize, most: usize) -> Vec<usize> {
        let find = |line: &str| words_in(line, &["heron".to_owned()]);
        lines(text, context, most, &find).iter().map(|line| line.number).collect()
    }

    #[test]
    fn lines_table() {
        let text = "a\nheron\n\n \nb\nherons\nc\nd\nHERON";
        let table = [
            (0, 9, vec![1, 3, 6], "the lines themselves, each once"),
            (1, 9, vec![0, 1, 2, 3, 4, 5, 6], "around them, without a line twice"),
            (0, 1, vec![1], "no more than wanted"),
            (9, 1, vec![0, 1, 2, 3, 4, 5, 6], "no further than the text"),
        ];
        for (context, most, want, why) in table {
            assert_eq!(numbers(text, context, most), want, "{why}");
        }
    }

    #[test]
    fn blank_lines_count_in_the_text() {
        let find = |line: &str| words_in(line, &["heron".to_owned()]);
        let found = lines("a\nheron\n\n \nherons", 0, 9, &find);
        assert_eq!(found.iter().map(|line| line.at).collect::<Vec<_>>(), [2, 5]);
    }

    #[test]
    fn what_was_found_stands_out() {
        let words = words_of("Where do the herons nest?");
        assert_eq!(words_in("The HERON nested in a telnest", &words), [0..3, 4..9, 10..16]);
        let long = format!("{}heron{}", "x ".repeat(400), " y".repeat(400));
        let line = FoundLine { number: 0, at: 1, matches: words_in(&long, &words), text: long };
        let plain = painted(&line, Style::new(), None).concat();
        assert!(plain.starts_with('…') && plain.ends_with('…') && plain.contains("heron"), "{plain}");
        assert!(plain.chars().count() <= LINE_CHARS + 2, "{plain}");
    }

    #[test]
    fn a_line_is_broken_between_words_to_fit() {
        let words = words_of("heron nest");
        let text = "a\theron that nests in \u{1b}a very tall tree";
        let line = FoundLine { number: 0, at: 1, matches: words_in(text, &words), text: text.to_owned() };
        for columns in [12, 20, 60] {
            let pieces = painted(&line, Style::new(), Some(columns));
            assert!(pieces.iter().all(|piece| piece.chars().count() <= columns), "{columns}: {pieces:?}");
            assert_eq!(pieces.join(" "), "a    heron that nests in ␛a very tall tree", "{columns}");
        }
        let colours = crate::output::Palette::colours();
        let painted = crate::output::rendered(&painted(&line, colours.bad, Some(12)).join("\n"));
        assert_eq!(painted.matches("heron\u{1b}[0m").count(), 1, "{painted:?}");
        assert_eq!(painted.matches("nests\u{1b}[0m").count(), 1, "{painted:?}");
    }
}
