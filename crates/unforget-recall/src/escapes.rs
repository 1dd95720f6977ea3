//! The effect of JSON escapes on a pattern: most matches in unescaped text are also matches in the raw bytes.

use std::fmt::Write;

use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::literals::Need;

/// The escapes that can create a match that the raw bytes do not have.
#[derive(Clone, Debug)]
pub(crate) struct Escapes {
    /// Escapes of two characters, such as `\n`: the pattern can match a character that they stand for, or looks at the
    /// surroundings of a match.
    short: bool,
    /// `\u` escapes of characters other than printable ASCII.
    wide: bool,
    /// For each required clause, finds its literals in any escaped form without a `\u00..` escape of a printable
    /// character.
    clauses: Vec<Regex>,
}

impl Escapes {
    /// The escapes relevant to `hir`.
    pub(crate) fn of(hir: &Hir, need: &Need) -> Self {
        let looks = !hir.properties().look_set().is_empty();
        let is_short = |c: char| matches!(c, '\n' | '\t' | '\r' | '\u{8}' | '\u{c}' | '"' | '\\' | '/');
        let is_wide = |c: char| !matches!(c, ' '..='~');
        let clauses = need.clauses().iter().filter_map(|clause| escaped(clause, None)).collect();
        Self { short: looks || holds(hir, &is_short), wide: holds(hir, &is_wide), clauses }
    }

    /// Whether `bytes`, which have no match in raw form, must be searched with their escapes undone.
    pub(crate) fn matter(&self, bytes: &[u8]) -> bool {
        let Some(at) = memchr::memchr(b'\\', bytes) else { return false };
        let rest = bytes.get(at..).unwrap_or_default();
        if has_ascii_unit(rest) {
            return true;
        }
        let may = self.short || (self.wide && memmem::find(rest, br"\u").is_some());
        may && self.clauses.iter().all(|clause| clause.is_match(bytes))
    }
}

/// One end of a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Its first bytes.
    Start,
    /// Its last bytes.
    End,
}

/// A pattern that finds any of some literals in any JSON form, ignoring case: anywhere, or at one edge only. `None` if
/// it is too large to compile.
pub(crate) fn escaped(literals: &[Vec<u8>], edge: Option<Edge>) -> Option<Regex> {
    let mut pattern = String::from(if edge == Some(Edge::Start) { r"\A(?:" } else { "(?:" });
    for (at, literal) in literals.iter().enumerate() {
        if at > 0 {
            pattern.push('|');
        }
        let mut rest = literal.as_slice();
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'"' | b'/' => write!(pattern, r"\\?\x{byte:02x}").ok()?,
                b'\\' => pattern.push_str(r"\\{1,2}"),
                b' '..=b'~' => write!(pattern, r"\x{byte:02x}").ok()?,
                0x80.. => {
                    let ascii = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
                    rest = rest.get(ascii..).unwrap_or_default();
                    pattern.push_str(r"(?:[\x80-\xff]|\\u[0-9a-f]{4})+");
                }
                _ => write!(pattern, r"(?:\x{byte:02x}|\\u[0-9a-f]{{4}}|\\[nrtbf])").ok()?,
            }
        }
    }
    pattern.push_str(if edge == Some(Edge::End) { r")\z" } else { ")" });
    RegexBuilder::new(&pattern).unicode(false).case_insensitive(true).size_limit(1 << 20).build().ok()
}

/// Whether a matching string can hold a character for which `is` is true. Non-ASCII bytes count as any non-ASCII
/// character. The parser's nest limit bounds the depth of `hir`.
pub(crate) fn holds(hir: &Hir, is: &impl Fn(char) -> bool) -> bool {
    let byte = |byte: u8| is(if byte.is_ascii() { char::from(byte) } else { char::REPLACEMENT_CHARACTER });
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.iter().any(|one| byte(*one)),
        HirKind::Class(Class::Unicode(class)) => class.iter().any(|range| {
            // Callers only distinguish ASCII characters.
            let ascii = range.start()..=range.end().min('\u{7f}');
            ascii.into_iter().any(is) || (range.end() > '\u{7f}' && is(char::REPLACEMENT_CHARACTER))
        }),
        HirKind::Class(Class::Bytes(class)) => {
            class.iter().any(|range| (range.start()..=range.end()).any(byte))
        }
        HirKind::Repetition(repetition) => holds(&repetition.sub, is),
        HirKind::Capture(capture) => holds(&capture.sub, is),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(|part| holds(part, is)),
    }
}

/// Whether the bytes may contain a `\u00..` escape of a printable ASCII character.
pub(crate) fn has_ascii_unit(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, br"\u00").any(|at| matches!(bytes.get(at + 4), Some(b'2'..=b'7')))
}
