//! Undoes JSON escapes in bytes, without regard to the surrounding structure.

use std::ops::Range;

/// Bytes with JSON escapes undone, and their places in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unescaped {
    /// The text.
    pub bytes: Vec<u8>,
    escapes: Vec<Escape>,
}

/// One escape: its range in the text and in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Escape {
    text: (usize, usize),
    source: (usize, usize),
}

impl Unescaped {
    /// Undoes the escapes of `source`: `\n`, `\"`, `\u00e9`, surrogate pairs. Invalid escapes and lone surrogates stay
    /// unchanged. Cost: O(source).
    pub fn new(source: &[u8]) -> Self {
        let mut out = Self { bytes: Vec::with_capacity(source.len()), escapes: Vec::new() };
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'\\', source.get(at..).unwrap_or_default()) {
            let start = at + found;
            out.bytes.extend_from_slice(source.get(at..start).unwrap_or_default());
            let rest = source.get(start..).unwrap_or_default();
            let (character, used) = escape(rest);
            at = start + used;
            if let Some(character) = character {
                let from = out.bytes.len();
                out.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                out.escapes.push(Escape { text: (from, out.bytes.len()), source: (start, at) });
            } else {
                out.bytes.extend_from_slice(rest.get(..used).unwrap_or_default());
            }
        }
        out.bytes.extend_from_slice(source.get(at..).unwrap_or_default());
        out
    }

    /// The source bytes of a range of the text, with whole escapes.
    pub fn source(&self, text: Range<usize>) -> Range<usize> {
        let start = match self.before(text.start) {
            Some(escape) if text.start < escape.text.1 => escape.source.0,
            Some(escape) => escape.source.1 + (text.start - escape.text.1),
            None => text.start,
        };
        let Some(last) = text.end.checked_sub(1).filter(|_| text.end > text.start) else {
            return start..start;
        };
        let end = match self.before(last) {
            Some(escape) if last < escape.text.1 => escape.source.1,
            Some(escape) => escape.source.1 + (last - escape.text.1) + 1,
            None => text.end,
        };
        start..end
    }

    /// The last escape that begins at or before `offset` of the text.
    fn before(&self, offset: usize) -> Option<&Escape> {
        let after = self.escapes.partition_point(|escape| escape.text.0 <= offset);
        after.checked_sub(1).and_then(|at| self.escapes.get(at))
    }
}

/// Appends the text of `source` to `text`, like [`Unescaped::new`] but without the places. Cost: O(source).
pub(crate) fn append(source: &[u8], text: &mut Vec<u8>) {
    let mut rest = source;
    while let Some((plain, escaped)) =
        memchr::memchr(b'\\', rest).and_then(|found| rest.split_at_checked(found))
    {
        text.extend_from_slice(plain);
        let (character, used) = escape(escaped);
        match character {
            Some(character) => text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => text.extend_from_slice(escaped.get(..used).unwrap_or_default()),
        }
        rest = escaped.get(used..).unwrap_or_default();
    }
    text.extend_from_slice(rest);
}

/// Reads the escape at the start of `bytes`, which begins with a backslash. Returns its character and its length in
/// bytes, at least 1. The character is `None` for bytes that stay unchanged.
pub(crate) fn escape(bytes: &[u8]) -> (Option<char>, usize) {
    let c = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'u') => return unicode(bytes),
        _ => return (None, 1),
    };
    (Some(c), 2)
}

fn unicode(bytes: &[u8]) -> (Option<char>, usize) {
    let Some(first) = hex4(bytes.get(2..6)) else { return (None, 1) };
    if let Some(c) = char::from_u32(first) {
        return (Some(c), 6);
    }
    let second = if bytes.get(6..8) == Some(b"\\u") { hex4(bytes.get(8..12)) } else { None };
    match second {
        Some(low @ 0xDC00..=0xDFFF) if first < 0xDC00 => {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code), 12)
        }
        _ => (None, 6),
    }
}

fn hex4(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unescape_table() {
        let table: [(&str, &str, &str); 10] = [
            ("plain", "plain", "nothing to do"),
            (r#"a\nb\t\"c\""#, "a\nb\t\"c\"", "short escapes"),
            (r"C:\\n", "C:\\n", "an escaped backslash before n is no newline"),
            (r"caf\u00e9", "café", "one unit"),
            (r"\ud83d\ude00!", "😀!", "a surrogate pair"),
            (r"\ud83d x", r"\ud83d x", "a lone high surrogate stays"),
            (r"\ude00", r"\ude00", "a lone low surrogate stays"),
            (r"\u12", r"\u12", "cut off"),
            (r"\q", r"\q", "no such escape"),
            ("end\\", "end\\", "a lone backslash at the end"),
        ];
        for (source, want, why) in table {
            assert_eq!(Unescaped::new(source.as_bytes()).bytes, want.as_bytes(), "{why}");
            let mut text = Vec::new();
            append(source.as_bytes(), &mut text);
            assert_eq!(text, want.as_bytes(), "{why}");
        }
    }

    #[test]
    fn ranges_map_to_whole_escapes() {
        let text = Unescaped::new(br"ab\ncd\u00e9fg");
        let table = [
            (0..2, 0..2),
            (2..3, 2..4),
            (1..4, 1..5),
            (5..6, 6..12),
            (6..8, 6..13),
            (7..9, 12..14),
            (3..3, 4..4),
        ];
        for (range, want) in table {
            assert_eq!(text.source(range.clone()), want, "{range:?}");
        }
    }
}
