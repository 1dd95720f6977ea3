//! The analyser: turns text into terms. Entries and queries are read by one set of rules.

use crate::stem::Stems;
use crate::term::{
    APOSTROPHE, DIGIT, HASH_SEED, INSIDE, JOINER, LOWER, UNDERSCORE, UPPER, class, finish, fold, folded, step,
};
use crate::unicode;

pub use crate::term::{Shape, Sink, TERM_BITS, Term};

/// Longest run of letters and digits that is split at its capitals, in bytes. Longer runs are hashes and base64, whose
/// pieces mean nothing.
const SPLIT_MAX: usize = 40;

/// Longest path or dotted name that is also indexed whole, in bytes.
const WHOLE_MAX: usize = 256;

/// Longest word that is stemmed, in bytes.
const STEM_MAX: usize = 24;

/// Turns text into terms. Holds a bounded cache of stems (1 MiB), so keep one per thread.
#[derive(Debug, Default)]
pub struct Analyser {
    stems: Stems,
    buffer: String,
}

impl Analyser {
    /// A new analyser with an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Analyses `text`.
    ///
    /// Words are folded to lower case and NFKC; English words are stemmed. `snake_case`, `camelCase`, `a/b/c.rs`,
    /// `POL-358` and dotted names give the whole and the pieces. Scripts without spaces give every character and every
    /// pair. Everything else follows the word rules of UAX#29.
    ///
    /// Cost: O(text); ASCII needs no allocation.
    pub fn text(&mut self, text: &str, sink: &mut impl Sink) {
        let mut rest = text;
        while let Some((ascii, odd, after)) = split_odd(rest) {
            self.ascii(ascii.as_bytes(), sink);
            unicode::normalise(odd, &mut self.buffer);
            let buffer = std::mem::take(&mut self.buffer);
            unicode::runs(&buffer, |run| match run {
                unicode::Run::Ascii(text) => self.ascii(text.as_bytes(), sink),
                unicode::Run::Word(word) => self.word(word, sink),
                unicode::Run::Spaceless(run) => unicode::pairs(run, sink),
            });
            self.buffer = buffer;
            rest = after;
        }
        self.ascii(rest.as_bytes(), sink);
    }

    /// A non-ASCII word, verbatim, and without its marks if it has any (`café` and `cafe`).
    fn word(&mut self, word: &str, sink: &mut impl Sink) {
        let lower = word.to_ascii_lowercase();
        let word = lower.strip_suffix("'s").unwrap_or(&lower);
        sink.term(Term::exact(word.as_bytes()), Shape::Word, word.as_bytes());
        let Some(plain) = unicode::without_marks(word) else { return };
        let letters = plain.bytes().all(|byte| byte.is_ascii_lowercase()) && plain.len() <= STEM_MAX;
        let term = if letters && plain.len() >= 3 {
            self.stems.stem(scan(plain.as_bytes()).hash, plain.as_bytes())
        } else {
            Term::exact(plain.as_bytes())
        };
        sink.term(term, Shape::Also, plain.as_bytes());
    }

    /// Analyses ASCII text.
    fn ascii(&mut self, mut rest: &[u8], sink: &mut impl Sink) {
        while let Some(start) = rest.iter().position(|&byte| class(byte) & INSIDE != 0) {
            rest = rest.get(start..).unwrap_or_default();
            let scan = scan(rest);
            let (token, after) = rest.split_at_checked(scan.len).unwrap_or((rest, &[]));
            rest = after;
            if scan.seen & (JOINER | UNDERSCORE | APOSTROPHE) != 0 {
                self.compound(token, sink);
            } else {
                self.leaf(token, &scan, sink);
            }
        }
    }

    /// A run with joiners: the whole, each component of a path, then the leaves without numbers of one or two digits,
    /// which mean something only in the whole.
    fn compound(&mut self, token: &[u8], sink: &mut impl Sink) {
        let joined = |part: &[u8]| part.iter().any(|&byte| class(byte) & (JOINER | UNDERSCORE) != 0);
        let whole = token.len() <= WHOLE_MAX && joined(token);
        // A date with a time behind it is searched for as a date: `2025-04-28T20:53`.
        if let Some(&[_, _, _, _, b'-', _, _, b'-', _, _, b'T']) = token.get(..11)
            && let Some(date) = token.get(..10)
        {
            sink.term(folded(date), Shape::Whole, date);
        } else if whole {
            sink.term(folded(token), Shape::Whole, token);
            if token.contains(&b'/') {
                for part in token.split(|&byte| byte == b'/').filter(|part| joined(part)) {
                    sink.term(folded(part), Shape::Whole, part);
                }
            }
        }
        for part in token.split(|&byte| class(byte) & (JOINER | UNDERSCORE) != 0) {
            let small = part.len() <= 2 && part.iter().all(u8::is_ascii_digit);
            if part.contains(&b'\'') {
                self.contraction(part, sink);
            } else if !small || !whole {
                self.leaf(part, &scan(part), sink);
            }
        }
    }

    /// A word with apostrophes: a possessive loses its ending, others lose the apostrophe.
    fn contraction(&mut self, part: &[u8], sink: &mut impl Sink) {
        let word = part.strip_suffix(b"'s").or_else(|| part.strip_suffix(b"'S")).unwrap_or(part);
        let mut plain = [0; 64];
        let mut len = 0;
        for (slot, &byte) in plain.iter_mut().zip(word.iter().filter(|&&byte| byte != b'\'')) {
            *slot = byte;
            len += 1;
        }
        let plain = plain.get(..len).unwrap_or_default();
        if !plain.is_empty() {
            self.leaf(plain, &scan(plain), sink);
        }
    }

    /// A run of letters and digits.
    #[inline]
    fn leaf(&mut self, token: &[u8], scan: &Scan, sink: &mut impl Sink) {
        if scan.seen & DIGIT == 0 {
            let term = if (3..=STEM_MAX).contains(&token.len()) {
                self.stems.stem(scan.hash, token)
            } else {
                finish(scan.hash)
            };
            sink.term(term, Shape::Word, token);
        } else {
            sink.term(finish(scan.hash), Shape::Number, token);
        }
        // A capital after the first letter beside lower-case letters: `camelCase`, `HTTPServer`.
        if scan.later & UPPER != 0 && scan.seen & LOWER != 0 && token.len() <= SPLIT_MAX {
            self.camel(token, sink);
        }
    }

    /// The pieces of a name with inner capitals.
    fn camel(&mut self, token: &[u8], sink: &mut impl Sink) {
        let mut start = 0;
        let mut pieces = 0;
        for (index, pair) in token.windows(3).enumerate() {
            let &[a, b, c] = pair else { continue };
            let (a, b, c) = (class(a), class(b), class(c));
            let cut = if index == 0 && a & UPPER == 0 && b & UPPER != 0 {
                1
            } else if b & UPPER == 0 && c & UPPER != 0 {
                index + 2
            } else if a & UPPER != 0 && b & UPPER != 0 && c & LOWER != 0 {
                index + 1
            } else {
                continue;
            };
            if cut > start {
                self.piece(token.get(start..cut).unwrap_or_default(), sink);
                start = cut;
                pieces += 1;
            }
        }
        if pieces > 0 {
            self.piece(token.get(start..).unwrap_or_default(), sink);
        }
    }

    fn piece(&mut self, piece: &[u8], sink: &mut impl Sink) {
        let scan = scan(piece);
        let stemmed = scan.seen & DIGIT == 0 && (3..=STEM_MAX).contains(&piece.len());
        let term = if stemmed { self.stems.stem(scan.hash, piece) } else { finish(scan.hash) };
        sink.term(term, Shape::Piece, piece);
    }
}

/// Splits at the first space-separated piece that is not all ASCII: before, the piece, after.
fn split_odd(text: &str) -> Option<(&str, &str, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    for chunk in bytes.chunks(64) {
        if !chunk.is_ascii() {
            break;
        }
        at += chunk.len();
    }
    at += bytes.get(at..)?.iter().position(|byte| !byte.is_ascii())?;
    let space = |byte: &u8| byte.is_ascii_whitespace();
    let start = bytes.get(..at)?.iter().rposition(space).map_or(0, |index| index + 1);
    let end = bytes.get(at..)?.iter().position(space).map_or(bytes.len(), |index| at + index);
    Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?))
}

/// The result of one pass over a run.
struct Scan {
    len: usize,
    /// Classes of all bytes, and of all but the first.
    seen: u8,
    later: u8,
    /// Unfinished hash of the folded bytes.
    hash: u64,
}

/// Reads the run at the start of `bytes`, whose first byte is inside a word. A joiner belongs to the run only between
/// two word bytes, an apostrophe only between two letters.
#[inline]
fn scan(bytes: &[u8]) -> Scan {
    let Some((&first, rest)) = bytes.split_first() else {
        return Scan { len: 0, seen: 0, later: 0, hash: HASH_SEED };
    };
    let (mut later, mut hash, mut len) = (0, step(HASH_SEED, fold(first)), 1);
    for (index, &byte) in rest.iter().enumerate() {
        let kind = class(byte);
        if kind & INSIDE == 0 {
            if kind == 0 {
                break;
            }
            let next = rest.get(index + 1).map_or(0, |&byte| class(byte));
            let joins = if kind & APOSTROPHE != 0 { LOWER | UPPER } else { INSIDE };
            if next & joins == 0 {
                break;
            }
        }
        later |= kind;
        hash = step(hash, byte | (kind & UPPER) << 4);
        len = index + 2;
    }
    Scan { len, seen: later | class(first), later, hash }
}

#[cfg(test)]
mod tests;
