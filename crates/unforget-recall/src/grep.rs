//! Regular expressions over stored bytes, in linear time, escaped and unescaped.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::literals::Need;
use crate::unescape::{self, Unescaped};

/// Longest pattern, in characters.
pub const PATTERN_CHARS_MAX: usize = 1000;

/// Largest compiled program and largest cache of states, in bytes.
const PROGRAM_BYTES_MAX: usize = 1 << 20;
const STATES_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting of groups.
const NEST_MAX: u32 = 64;

/// A pattern that is safe to run on anything.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    need: Need,
    /// Whether it is only words of ASCII: then a match without escapes is a match in the raw bytes too.
    plain: bool,
    /// Whether a match can hold a double quote.
    quotes: bool,
    /// Whether it looks at what is around a match, such as `^` and `\b` do.
    looks: bool,
}

/// Why a pattern was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It has more than [`PATTERN_CHARS_MAX`] characters.
    #[error("the pattern has {chars} characters, more than {PATTERN_CHARS_MAX}")]
    Long {
        /// Its length.
        chars: usize,
    },
    /// It is not a regular expression.
    #[error("the pattern is not a regular expression")]
    Syntax(#[source] Box<regex_syntax::Error>),
    /// It matches the empty string, so it is everywhere. Finding what else it matches could take
    /// quadratic time.
    #[error("the pattern matches the empty string, which is everywhere")]
    Empty,
    /// It would need too much memory, such as `(a{1000}){1000}`.
    #[error("the pattern is too large to compile")]
    Large,
}

impl PatternError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Long { .. } => "search for a shorter part of it",
            Self::Syntax(_) => {
                "to find the text as it stands, search for it as a literal; look-around and \
                                back-references do not exist here"
            }
            Self::Empty => "require at least one character, such as `x+` for `x*`",
            Self::Large => "use smaller repetition counts, such as `a*` for `a{1,1000}`",
        }
    }
}

/// One match in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Bytes of the body as stored; escapes are in whole.
    pub bytes: Range<usize>,
    /// The match with context, escapes undone, cut between characters, control characters as spaces.
    pub snippet: String,
    /// Range of the match in `snippet`.
    pub shown: Range<usize>,
}

impl Pattern {
    /// Compiles a regular expression (the syntax of the `regex` crate).
    ///
    /// # Errors
    /// [`PatternError`]; never takes more than a few milliseconds and megabytes.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let chars = pattern.chars().count();
        if chars > PATTERN_CHARS_MAX {
            return Err(PatternError::Long { chars });
        }
        Self::compile(pattern, is_plain(pattern))
    }

    fn compile(pattern: &str, plain: bool) -> Result<Self, PatternError> {
        let hir = ParserBuilder::new()
            .utf8(false)
            .nest_limit(NEST_MAX)
            .build()
            .parse(pattern)
            .map_err(|error| PatternError::Syntax(Box::new(error)))?;
        if hir.properties().minimum_len() == Some(0) {
            return Err(PatternError::Empty);
        }
        let regex = RegexBuilder::new(pattern)
            .size_limit(PROGRAM_BYTES_MAX)
            .dfa_size_limit(STATES_BYTES_MAX)
            .nest_limit(NEST_MAX)
            .build()
            .map_err(|_| PatternError::Large)?;
        let looks = !hir.properties().look_set().is_empty();
        Ok(Self { regex, need: Need::of(&hir), plain, quotes: holds_quote(&hir), looks })
    }

    /// A pattern that finds `text` as it stands.
    ///
    /// # Errors
    /// [`PatternError::Long`], and [`PatternError::Empty`] if there is no text.
    pub fn literal(text: &str, ignore_case: bool) -> Result<Self, PatternError> {
        let chars = text.chars().count();
        if chars > PATTERN_CHARS_MAX {
            return Err(PatternError::Long { chars });
        }
        let escaped = regex_syntax::escape(text);
        let case = if ignore_case { "(?i)" } else { "" };
        Self::compile(&format!("{case}{escaped}"), !ignore_case && is_plain(text))
    }

    /// What a chunk must hold: see [`crate::filter::matches`].
    pub fn need(&self) -> &Need {
        &self.need
    }

    /// Whether a match can hold a double quote, and so begin inside a JSON string and end outside of it.
    pub fn holds_quote(&self) -> bool {
        self.quotes
    }

    /// Whether the pattern matches anywhere in `body`, as it is or with its escapes undone.
    pub fn is_match(&self, body: &[u8]) -> bool {
        self.is_in(body) || (self.reads_escapes(body) && self.is_in(&Unescaped::new(body).bytes))
    }

    /// Whether one of a run of entries may match: a test before [`Pattern::is_match`] of each. Reads them
    /// at once, which is much faster than one by one.
    ///
    /// * `bodies` - ranges of `bytes`; what is beyond its end counts as empty.
    pub fn may_match(&self, bytes: &[u8], bodies: impl Iterator<Item = Range<usize>>) -> bool {
        // At its edges a pattern can match in an entry alone and not among others.
        if self.looks || self.is_in(bytes) {
            return true;
        }
        if !self.reads_escapes(bytes) {
            return false;
        }
        // Each by itself: an entry that is cut off may end inside an escape.
        let mut text = Vec::with_capacity(bytes.len());
        for body in bodies {
            unescape::append(bytes.get(body).unwrap_or_default(), &mut text);
            text.push(b'\n');
        }
        self.is_in(&text)
    }

    /// Whether the pattern matches anywhere in bytes as they are.
    ///
    /// Not `Regex::is_match`: where its first idea is quadratic, it goes on with the slowest engine, ten
    /// times slower for `[0-9a-f]{39}z`; `find` goes on with the usual one.
    fn is_in(&self, bytes: &[u8]) -> bool {
        self.regex.find(bytes).is_some()
    }

    /// Finds the matches in the body of an entry, by place, none twice.
    ///
    /// * `context` - characters to show before and after a match.
    /// * `most` - number of matches to return at most; ask for one more to know whether there are more.
    ///
    /// Cost: O(body × matches returned) at worst, O(body) for all but strange patterns.
    pub fn find(&self, body: &[u8], context: usize, most: usize) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        if self.reads_escapes(body) {
            let text = Unescaped::new(body);
            for hit in self.regex.find_iter(&text.bytes).take(most) {
                let (snippet, shown) = snippet(&text.bytes, hit.range(), context);
                found.push(Match { bytes: text.source(hit.range()), snippet, shown });
            }
        }
        let mut raw = Vec::new();
        let mut known = found.iter().peekable();
        for hit in self.regex.find_iter(body).take(most) {
            while known.peek().is_some_and(|one| one.bytes.end <= hit.start()) {
                known.next();
            }
            if known.peek().is_none_or(|one| one.bytes.start >= hit.end()) {
                let (snippet, shown) = snippet(body, hit.range(), context);
                raw.push(Match { bytes: hit.range(), snippet, shown });
            }
        }
        found.extend(raw);
        found.sort_by_key(|one| (one.bytes.start, one.bytes.end));
        found.truncate(most);
        found
    }

    /// Whether `body` has to be read without its escapes too.
    fn reads_escapes(&self, body: &[u8]) -> bool {
        match memchr::memchr(b'\\', body) {
            None => false,
            // Words of ASCII are the same in both, unless their letters themselves are escaped.
            Some(at) => !self.plain || has_ascii_unit(body.get(at..).unwrap_or_default()),
        }
    }
}

/// Whether `pattern` is only letters, digits and spaces, which JSON writers do not escape.
fn is_plain(pattern: &str) -> bool {
    !pattern.is_empty()
        && pattern.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'_')
}

/// Whether a string that matches can hold a double quote. The depth of `hir` is bounded by [`NEST_MAX`].
fn holds_quote(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'"'),
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().any(|range| (range.start()..=range.end()).contains(&'"'))
        }
        HirKind::Class(Class::Bytes(class)) => {
            class.iter().any(|range| (range.start()..=range.end()).contains(&b'"'))
        }
        HirKind::Repetition(repetition) => holds_quote(&repetition.sub),
        HirKind::Capture(capture) => holds_quote(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(holds_quote),
    }
}

/// Whether there may be a `\u00..` escape of a printable ASCII character.
fn has_ascii_unit(bytes: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, br"\u00").any(|at| matches!(bytes.get(at + 4), Some(b'2'..=b'7')))
}

/// Cuts `range` of `bytes` out with `context` characters on both sides.
fn snippet(bytes: &[u8], range: Range<usize>, context: usize) -> (String, Range<usize>) {
    const SHOWN_MAX: usize = 2000;
    let reach = context.saturating_mul(4);
    let left = bytes.get(range.start.saturating_sub(reach)..range.start).unwrap_or_default();
    // A cut inside a character leaves up to three of its bytes at the front.
    let torn = if left.len() == reach {
        left.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count()
    } else {
        0
    };
    let left = String::from_utf8_lossy(left.get(torn..).unwrap_or_default());
    let skip = left.chars().count().saturating_sub(context);
    let end = range.end.min(range.start.saturating_add(SHOWN_MAX));
    let middle = String::from_utf8_lossy(bytes.get(range.start..end).unwrap_or_default());
    let right = bytes.get(end..bytes.len().min(end.saturating_add(reach))).unwrap_or_default();
    let right = String::from_utf8_lossy(right);
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut out: String = left.chars().skip(skip).map(clean).collect();
    let start = out.len();
    out.extend(middle.chars().map(clean));
    let shown = start..out.len();
    out.extend(right.chars().take(context).map(clean));
    (out, shown)
}

#[cfg(test)]
mod tests;
