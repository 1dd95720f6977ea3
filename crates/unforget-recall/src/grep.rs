//! Regular expressions over stored bytes, in linear time, escaped and unescaped.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind, Repetition};

use crate::escapes::{Escapes, has_ascii_unit, holds};
use crate::literals::Need;
use crate::unescape::{self, Unescaped};

/// Longest pattern, in characters.
pub const PATTERN_CHARS_MAX: usize = 1000;

/// Largest compiled program and largest cache of states, in bytes.
const PROGRAM_BYTES_MAX: usize = 1 << 20;
const STATES_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting of groups.
const NEST_MAX: u32 = 64;

/// A pattern that is safe to run on any bytes.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    need: Need,
    /// Whether it consists of ASCII words: then every match in unescaped text is also one in the raw bytes.
    plain: bool,
    /// Whether a match can hold a double quote.
    quotes: bool,
    /// The escapes that can create a match.
    escapes: Escapes,
    /// A pattern for a run of entries: it matches wherever the original does, in any surroundings. `None` if it cannot
    /// be compiled; then anything may match.
    run: Option<Regex>,
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
    /// It matches the empty string, and so everywhere. Finding its other matches could take quadratic time.
    #[error("the pattern matches the empty string, which is everywhere")]
    Empty,
    /// It would need too much memory, such as `(a{1000}){1000}`.
    #[error("the pattern is too large to compile")]
    Large,
}

impl PatternError {
    /// Advice for the user.
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
    /// Its bytes in the stored body, with whole escapes.
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
    /// [`PatternError`]. Never takes more than a few milliseconds and megabytes.
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
        let regex = build(pattern, NEST_MAX).ok_or(PatternError::Large)?;
        let need = Need::of(&hir);
        let escapes = Escapes::of(&hir, &need);
        let run = if hir.properties().look_set().is_empty() {
            Some(regex.clone())
        } else {
            // Printed patterns have more groups.
            build(&blind(&hir).to_string(), 4 * NEST_MAX)
        };
        Ok(Self { regex, quotes: holds(&hir, &|c| c == '"'), need, plain, escapes, run })
    }

    /// A pattern that finds `text` literally.
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

    /// The literals that a chunk must hold. See [`crate::filter::matches`].
    pub fn need(&self) -> &Need {
        &self.need
    }

    /// Whether a match can hold a double quote, and so begin inside a JSON string and end outside.
    pub fn holds_quote(&self) -> bool {
        self.quotes
    }

    /// Whether the pattern matches anywhere in `body`, raw or with its escapes undone.
    pub fn is_match(&self, body: &[u8]) -> bool {
        if is_in(&self.regex, body) {
            return true;
        }
        if !self.escapes.matter(body) {
            return false;
        }
        let mut text = Vec::with_capacity(body.len());
        unescape::append(body, &mut text);
        is_in(&self.regex, &text)
    }

    /// Whether any entry of a run may match: a test before [`Pattern::is_match`] of each. Reads the entries at once,
    /// which is much faster than one by one. `None` if the answer depends on where they begin and end.
    ///
    /// * `places` - ranges of `bytes` that hold all the entries; bytes beyond the end count as empty.
    pub fn may_match(&self, bytes: &[u8], places: Option<&[Range<usize>]>) -> Option<bool> {
        let Some(run) = &self.run else { return Some(true) };
        if is_in(run, bytes) {
            return Some(true);
        }
        if !self.escapes.matter(bytes) {
            return Some(false);
        }
        // Each on its own: a cut-off entry may end inside an escape.
        let mut text = Vec::with_capacity(bytes.len());
        for place in places? {
            unescape::append(bytes.get(place.clone()).unwrap_or_default(), &mut text);
            text.push(b'\n');
        }
        Some(is_in(run, &text))
    }

    /// Finds the matches in the body of an entry, by place, without duplicates.
    ///
    /// * `context` - characters to show before and after a match.
    /// * `most` - maximum number of matches to return; ask for one more to learn whether there are more.
    ///
    /// Cost: O(body × matches returned) at worst, O(body) for all but unusual patterns.
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

    /// Whether the matches in `body` depend on its escapes too.
    fn reads_escapes(&self, body: &[u8]) -> bool {
        match memchr::memchr(b'\\', body) {
            None => false,
            // ASCII words are equal in both forms, unless their letters themselves are escaped.
            Some(at) => !self.plain || has_ascii_unit(body.get(at..).unwrap_or_default()),
        }
    }
}

/// Whether `pattern` has only letters, digits and spaces, which JSON writers do not escape.
fn is_plain(pattern: &str) -> bool {
    !pattern.is_empty()
        && pattern.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ' || byte == b'_')
}

/// Compiles a pattern within the limits; `None` if it is too large.
fn build(pattern: &str, nest: u32) -> Option<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(PROGRAM_BYTES_MAX).dfa_size_limit(STATES_BYTES_MAX).nest_limit(nest).build().ok()
}

/// Whether the pattern matches anywhere in the raw bytes.
///
/// Avoids `Regex::is_match`: when its first strategy turns quadratic, it continues with the slowest engine, which is
/// ten times slower for `[0-9a-f]{39}z`; `find` continues with the usual one.
fn is_in(regex: &Regex, bytes: &[u8]) -> bool {
    regex.find(bytes).is_some()
}

/// The pattern without assertions about the surrounding text. [`NEST_MAX`] bounds the depth of `hir`.
fn blind(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(_) => Hir::empty(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(blind(&repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Capture(capture) => blind(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(blind).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(blind).collect()),
    }
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
