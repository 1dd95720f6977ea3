//! Which lines and sentences of entries say something by themselves.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Cut;
use crate::clip::one_line;
use crate::sentences::split_line;

/// Longest line quoted whole, and longest sentence of a longer one, in bytes.
const WHOLE_MAX: usize = 160;
const SENTENCE_MAX: usize = 260;

/// Bytes quoted on either side of a piece of an even longer one.
const AROUND: usize = 60;

/// Longest line read for sentences, in bytes.
const LINE_MAX: usize = 2_000;

/// Fewest words with letters in a statement, and letters in a script without blanks.
const WORDS_MIN: usize = 3;
const LETTERS_MIN: usize = 6;

/// Entries in which a shape may occur, until it counts as a frame.
const ENTRIES_MAX: usize = 2;

/// Most lines of an entry whose shapes are compared.
const SHAPES_MAX: usize = 400;

/// The line around a piece; of a long line the sentence, and of a long sentence the words around the piece.
pub(super) fn statement(text: &str, piece: &Range<usize>) -> Range<usize> {
    let (before, behind) =
        (text.get(..piece.start).unwrap_or_default(), text.get(piece.end..).unwrap_or_default());
    let start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |at| at + 1);
    let end = memchr::memchr(b'\n', behind.as_bytes()).map_or(text.len(), |at| piece.end + at);
    if end - start <= WHOLE_MAX {
        return start..end;
    }
    let mut sentences = Vec::new();
    if end - start <= LINE_MAX {
        split_line(text.get(start..end).unwrap_or_default(), &mut sentences);
    }
    let ranges = sentences.into_iter().map(|sentence| {
        let start = sentence.as_ptr() as usize - text.as_ptr() as usize;
        start..start + sentence.len()
    });
    let is_around = |range: &Range<usize>| range.contains(&piece.start) && range.len() <= SENTENCE_MAX;
    ranges.into_iter().find(is_around).unwrap_or_else(|| words_around(text, &(start..end), piece))
}

/// The words of a line within some bytes of a piece.
fn words_around(text: &str, line: &Range<usize>, piece: &Range<usize>) -> Range<usize> {
    let mut start = piece.start.saturating_sub(AROUND).max(line.start);
    let mut end = piece.end.saturating_add(AROUND).min(line.end);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = text.get(start..piece.start).unwrap_or_default();
    let behind = text.get(piece.end..end).unwrap_or_default();
    if start > line.start {
        start = before.find(char::is_whitespace).map_or(piece.start, |at| start + at);
    }
    if end < line.end {
        end = behind.rfind(char::is_whitespace).map_or(piece.end, |at| piece.end + at);
    }
    start..end
}

/// Whether a line says something by itself: several words, or a name with a value. Bare numbers, identifiers, marks and
/// exclamations do not, nor lines whose content follows them.
pub(super) fn is_telling(text: &str) -> bool {
    let is_whole_in = |open: char, close: char| text.starts_with(open) && text.ends_with(close);
    // Hosts put notes about an output in brackets or tags.
    if text.ends_with(['{', '(', '[', ':']) || is_whole_in('(', ')') || is_whole_in('<', '>') {
        return false;
    }
    let is_word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() > 1;
    let words = text.split_whitespace().filter(is_word).count();
    let has_value = text.split_once([':', '=']).is_some_and(|(name, value)| {
        name.chars().any(char::is_alphabetic) && value.chars().any(char::is_alphanumeric)
    });
    let unspaced = text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count();
    words >= WORDS_MIN || has_value || (words > 0 && unspaced >= LETTERS_MIN)
}

/// A line with its identifiers and numbers replaced: equal for the receipts of one tool.
pub(super) fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        let word = word.trim_end_matches([',', '.', ':', ';', '!', '?']);
        let is_plain = word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'));
        shape.extend([" ", if is_plain { word } else { "#" }]);
    }
    shape
}

/// The shapes of lines that occur in more than two entries: receipts, frames, prompts that were sent several times.
pub(super) fn recurring(cuts: &[Cut]) -> HashSet<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for cut in cuts {
        let lines = cut.text.lines().filter(|line| line.len() <= LINE_MAX).take(SHAPES_MAX);
        let shapes: HashSet<String> = lines.map(|line| shape(&one_line(line))).collect();
        for shape in shapes {
            *counts.entry(shape).or_default() += 1;
        }
    }
    counts.retain(|shape, count| *count > ENTRIES_MAX && !shape.is_empty());
    counts.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use unforget_core::entry::Origin;
    use unforget_core::id::Seq;

    use super::*;
    use crate::outline::excerpts;

    #[test]
    fn telling_table() {
        let table = [
            ("12000", false, "a number"),
            ("src/a.rs", false, "an identifier"),
            ("7 in_progress", false, "values of arguments"),
            ("Perfect!", false, "an exclamation"),
            ("Great question!", false, "an exclamation"),
            ("import (", false, "a piece of code"),
            ("The changes to the reader are:", false, "an announcement"),
            ("if err := read(path); err != nil {", false, "a piece of code"),
            ("(The command ended with no output)", false, "a note of the host"),
            ("<usage>tokens: 33946</usage>", false, "a tag"),
            ("port: 48213", true, "a name with a value"),
            ("PORT=48213", true, "an assignment"),
            ("compiled 48213 lines today", true, "words around a number"),
            ("The lock is held twice.", true, "a sentence"),
            ("锁被持有了两次。", true, "a script without blanks"),
        ];
        for (text, want, why) in table {
            assert_eq!(is_telling(text), want, "{why}: {text}");
        }
    }

    #[test]
    fn statement_table() {
        let long = "word ".repeat(60);
        let row = format!("{long}needle-7 {long}");
        let said = format!("{long}. The lock needle-7 is held twice. {long}");
        let table = [
            ("a\nport is needle-7 here\nb", "port is needle-7 here", "the line"),
            (said.as_str(), "The lock needle-7 is held twice.", "the sentence of a long line"),
        ];
        for (text, want, why) in table {
            let at = text.find("needle-7").unwrap();
            assert_eq!(text.get(statement(text, &(at..at + 8))).unwrap(), want, "{why}");
        }
        let at = row.find("needle-7").unwrap();
        let around = row.get(statement(&row, &(at..at + 8))).unwrap();
        assert!(around.contains("word needle-7 word") && around.len() < 2 * AROUND + 20, "{around}");
    }

    #[test]
    fn receipts_and_repetitions_are_no_excerpts() {
        let result = |seq: u64, text: &str| {
            Cut::new(Seq(seq), Origin::Tool, format!("{text}\n{}", "entry 12 of the log\n".repeat(40)))
        };
        let cuts = [
            result(
                1,
                "The file /srv/a.rs has been updated successfully.\nThe reader keeps its lock too long.",
            ),
            result(
                2,
                "The file /srv/b.rs has been updated successfully.\nThe reader keeps its lock too long.",
            ),
            result(3, "The file /srv/c.rs has been updated successfully.\nA writer waits for the reader."),
        ];
        let texts: Vec<String> = excerpts(&cuts, 500).into_iter().map(|item| item.text).collect();
        assert_eq!(texts.iter().filter(|text| text.contains("updated")).count(), 0, "{texts:?}");
        assert_eq!(texts.iter().filter(|text| text.contains("too long")).count(), 1, "{texts:?}");
        assert_eq!(texts.iter().filter(|text| text.contains("writer waits")).count(), 1, "{texts:?}");
    }
}
