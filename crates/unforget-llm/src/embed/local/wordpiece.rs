//! Text to the numbers of word pieces, as BERT's uncased models were trained.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};
use unicode_normalization::UnicodeNormalization as _;

/// Longest word that is cut into pieces, in characters.
const WORD_CHARS_MAX: usize = 100;

/// The pieces of a vocabulary.
pub(super) struct WordPieces {
    pieces: HashMap<String, u32>,
    marks: Marks,
    /// Longest piece, in bytes.
    longest: usize,
    is_lower: bool,
}

/// Numbers of pieces that are no words.
#[derive(Clone, Copy, Debug)]
struct Marks {
    unknown: u32,
    start: u32,
    end: u32,
}

/// Ranges of characters, ascending.
struct Ranges(Vec<(char, char)>);

impl Ranges {
    /// The characters of a class of Unicode, such as `\p{P}`.
    fn of(class: &str) -> Self {
        let parsed = regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind);
        match parsed {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Self(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            // The classes below are all of this kind.
            _ => Self(Vec::new()),
        }
    }

    fn has(&self, c: char) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < c);
        self.0.get(at).is_some_and(|(first, _)| *first <= c)
    }
}

static PUNCTUATION: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(r"\p{P}"));
static ACCENTS: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(r"\p{Mn}"));
static INVISIBLE: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(r"[\p{Cc}\p{Cf}\p{Co}\p{Cn}]"));

impl WordPieces {
    /// A vocabulary: one piece a line; the number of a piece is that of its line, from 0. `None` without the pieces that
    /// begin and end a text and stand for what is unknown.
    pub(super) fn new(vocabulary: &str, is_lower: bool) -> Option<Self> {
        let lines = vocabulary.lines().map(|line| line.trim_end_matches('\r'));
        let pieces: HashMap<String, u32> =
            lines.zip(0..).map(|(piece, number)| (piece.to_owned(), number)).collect();
        let mark = |name: &str| pieces.get(name).copied();
        let marks = Marks { unknown: mark("[UNK]")?, start: mark("[CLS]")?, end: mark("[SEP]")? };
        let longest = pieces.keys().map(String::len).max().unwrap_or_default();
        Some(Self { pieces, marks, longest, is_lower })
    }

    /// Number of pieces.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The pieces of a text between the marks for start and end, at most `most` with them; what is longer is cut off.
    pub(super) fn numbers(&self, text: &str, most: usize) -> Vec<u32> {
        let mut out = vec![self.marks.start];
        let room = most.saturating_sub(1).max(1);
        for word in self.words(text) {
            if out.len() >= room {
                break;
            }
            self.word(&word, &mut out);
        }
        out.truncate(room);
        out.push(self.marks.end);
        out
    }

    /// Words and single signs.
    fn words<'a>(&'a self, text: &'a str) -> impl Iterator<Item = String> + 'a {
        text.split(char::is_whitespace).filter(|word| !word.is_empty()).flat_map(|word| self.signs(word))
    }

    fn signs(&self, word: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut current = String::new();
        for c in self.plain(word).chars() {
            let stands_alone = is_sign(c) || is_ideograph(c);
            if (stands_alone || c.is_whitespace()) && !current.is_empty() {
                words.push(std::mem::take(&mut current));
            }
            if stands_alone {
                words.push(c.to_string());
            } else if !c.is_whitespace() {
                current.push(c);
            }
        }
        if !current.is_empty() {
            words.push(current);
        }
        words
    }

    /// Without what is invisible; in small letters without accents, if the model knows only these.
    fn plain(&self, word: &str) -> String {
        if word.is_ascii() {
            let visible = word.chars().filter(|c| !c.is_ascii_control());
            return if self.is_lower {
                visible.map(|c| c.to_ascii_lowercase()).collect()
            } else {
                visible.collect()
            };
        }
        let visible = word.chars().filter(|c| *c != '\u{fffd}' && !INVISIBLE.has(*c));
        if self.is_lower {
            let lower: String = visible.collect::<String>().to_lowercase();
            lower.nfd().filter(|c| !ACCENTS.has(*c)).collect()
        } else {
            visible.collect()
        }
    }

    /// Appends the pieces of a word: each the longest that fits.
    fn word(&self, word: &str, out: &mut Vec<u32>) {
        let start = out.len();
        if word.chars().count() > WORD_CHARS_MAX {
            out.push(self.marks.unknown);
            return;
        }
        let mut rest = word;
        let mut piece = String::new();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            let ends: Vec<usize> = ends.take_while(|end| *end <= self.longest).collect();
            let found = ends.into_iter().rev().find_map(|end| {
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str("##");
                }
                piece.push_str(rest.get(..end)?);
                self.pieces.get(&piece).map(|number| (*number, end))
            });
            let Some((number, end)) = found else {
                out.truncate(start);
                out.push(self.marks.unknown);
                return;
            };
            out.push(number);
            rest = rest.get(end..).unwrap_or_default();
        }
    }
}

/// Whether a character is punctuation, as BERT sees it: all signs of ASCII, too.
fn is_sign(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { PUNCTUATION.has(c) }
}

/// Whether a character is an ideograph, which stands for a word of its own.
fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_CEAF | 0xF900..=0xFAFF | 0x2_F800..=0x2_FA1F
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn pieces_table() {
        let names = [
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##for", "##get", "cafe", "!", "中", "get", "a", "##a",
        ];
        let pieces = WordPieces::new(&names.join("\n"), true).unwrap();
        let long = "a".repeat(101);
        let table: [(&str, &[&str], &str); 10] = [
            ("", &[], "nothing"),
            ("Unforget", &["un", "##for", "##get"], "the longest pieces, in small letters"),
            ("get!Get", &["get", "!", "get"], "signs stand alone"),
            ("Café", &["cafe"], "without accents"),
            ("cafe\u{301}", &["cafe"], "composed or not"),
            ("a中a", &["a", "中", "a"], "ideographs stand alone"),
            ("unfit", &["[UNK]"], "one piece is missing"),
            ("g\u{200b}e\u{0}t", &["get"], "invisible"),
            (&long, &["[UNK]"], "too long a word"),
            ("a\u{a0}a\n\ta", &["a", "a", "a"], "all kinds of space"),
        ];
        for (text, want, why) in table {
            let numbers = pieces.numbers(text, 64);
            let found: Vec<&str> = numbers.iter().map(|number| names[*number as usize]).collect();
            let want: Vec<&str> = ["[CLS]"].iter().chain(want).chain(&["[SEP]"]).copied().collect();
            assert_eq!(found, want, "{why}");
        }
        assert_eq!(pieces.numbers("a a a a", 4), [2, 11, 11, 3], "cut off");
        assert!(WordPieces::new("a\nb", true).is_none(), "no marks");
    }
}
