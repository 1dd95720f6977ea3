//! Non-ASCII text: normalisation, scripts, words.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use crate::term::{Shape, Sink, Term};

/// A stretch of normalised text with one way of reading.
pub(crate) enum Run<'a> {
    /// ASCII, for the fast path.
    Ascii(&'a str),
    /// One word of a script with spaces, or one emoji.
    Word(&'a str),
    /// A run of a script without spaces.
    Spaceless(&'a str),
}

/// NFKC, lower case outside ASCII (ASCII keeps its capitals for `camelCase`), typographic apostrophes replaced by plain
/// ones. Writes into `out`, which is cleared first.
pub(crate) fn normalise(text: &str, out: &mut String) {
    out.clear();
    for c in text.nfkc() {
        match c {
            '\u{2019}' | '\u{2018}' | '\u{02BC}' => out.push('\''),
            '\u{2010}' | '\u{2011}' => out.push('-'),
            c if c.is_ascii() => out.push(c),
            c => out.extend(c.to_lowercase()),
        }
    }
}

/// Splits normalised text into runs, in order.
pub(crate) fn runs<'a>(text: &'a str, mut each: impl FnMut(Run<'a>)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = CharKind::of(first);
        let end = rest.find(|c| CharKind::of(c) != kind).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after;
        match kind {
            CharKind::Spaceless => each(Run::Spaceless(run)),
            CharKind::Emoji => run.split_inclusive(|_| true).for_each(|c| each(Run::Word(c))),
            CharKind::Other if run.is_ascii() => each(Run::Ascii(run)),
            CharKind::Other => run.unicode_words().for_each(|word| {
                each(if word.is_ascii() { Run::Ascii(word) } else { Run::Word(word) });
            }),
        }
    }
}

/// The word without its combining marks; `None` if it has none, or consists of them.
pub(crate) fn without_marks(word: &str) -> Option<String> {
    let plain: String = word.nfd().filter(|&c| !is_combining_mark(c)).nfc().collect();
    (plain != word && !plain.is_empty()).then_some(plain)
}

/// Emits every character and every pair of neighbours.
pub(crate) fn pairs(run: &str, sink: &mut impl Sink) {
    let mut previous: Option<(usize, usize)> = None;
    for (at, c) in run.char_indices() {
        let end = at + c.len_utf8();
        let single = run.get(at..end).unwrap_or_default().as_bytes();
        sink.term(Term::exact(single), Shape::Also, single);
        if let Some((before, _)) = previous {
            let pair = run.get(before..end).unwrap_or_default().as_bytes();
            sink.term(Term::exact(pair), Shape::Pair, pair);
        }
        previous = Some((at, end));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Spaceless,
    Emoji,
    Other,
}

impl CharKind {
    fn of(c: char) -> Self {
        match c {
            '\u{0E00}'..='\u{0EFF}' // Thai, Lao
            | '\u{1000}'..='\u{109F}' // Myanmar
            | '\u{1100}'..='\u{11FF}' // Hangul jamo
            | '\u{1780}'..='\u{17FF}' // Khmer
            | '\u{3005}'..='\u{3007}'
            | '\u{3041}'..='\u{30FA}' // kana
            | '\u{30FC}'..='\u{318F}' // kana length mark, bopomofo, jamo
            | '\u{31F0}'..='\u{31FF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7FF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}' => Self::Spaceless,
            '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}' => Self::Emoji,
            _ => Self::Other,
        }
    }
}
