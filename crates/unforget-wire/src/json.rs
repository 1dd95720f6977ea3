//! Tolerant, lazy access to JSON text.
//!
//! One pass over the bytes checks the grammar and writes a *tape*: the start and end of every value, in order. All
//! later access walks the tape. No text is scanned twice and nothing recurses, so depth costs nothing. Duplicate keys
//! are all kept and the last one wins, as in `JSON.parse`; lone surrogate escapes become U+FFFD in decoded text;
//! numbers of any length are valid.
//!
//! Strict where `JSON.parse` is strict: a line that the host cannot parse is no value here either.

mod tape;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use unforget_core::id::Timestamp;

use tape::Node;
pub(crate) use tape::{Broken, Tape, plain_len};

/// A value on a tape.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    text: &'a str,
    tape: &'a Tape,
    at: usize,
}

/// An object on a tape.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a>(Value<'a>);

impl Tape {
    /// The top value. `text` must be the text that the tape was read from.
    ///
    /// Returns `None` after a failed read.
    pub(crate) fn value<'a>(&'a self, text: &'a str) -> Option<Value<'a>> {
        (!self.nodes.is_empty()).then_some(Value { text, tape: self, at: 0 })
    }
}

/// Whether `text` is exactly one JSON value, with optional space around it.
pub(crate) fn is_value(text: &str) -> bool {
    let text = trim(text);
    Tape::default().read(text.as_bytes()) == Ok(text.len())
}

/// The text without JSON white space around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space_char)
}

/// Whether a byte is JSON white space.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A JSON value on one line: if a line break stands between two tokens, all white space between tokens goes. Everything else
/// stays: numbers, the order of keys, repeated keys, escapes.
///
/// * `json` - one value, whose strings therefore hold no line breaks.
pub(crate) fn on_one_line(json: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        return Cow::Borrowed(json);
    }
    let mut line = String::with_capacity(json.len());
    let (mut is_inside, mut is_escaped) = (false, false);
    for c in json.chars() {
        if is_inside {
            is_inside = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
        } else if is_space_char(c) {
            continue;
        } else {
            is_inside = c == '"';
        }
        line.push(c);
    }
    Cow::Owned(line)
}

const fn is_space_char(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

impl<'a> Value<'a> {
    fn node(self) -> Option<Node> {
        self.tape.nodes.get(self.at).copied()
    }

    /// The value as it stands in the text.
    pub(crate) fn raw(self) -> &'a str {
        self.node().and_then(|node| self.text.get(node.start as usize..node.end as usize)).unwrap_or_default()
    }

    /// Where the value stands in the text.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.node().map_or(0..0, |node| node.start as usize..node.end as usize)
    }

    /// The bytes between the quotes, escaped.
    fn inside(self) -> &'a [u8] {
        let range =
            self.node().map_or(0..0, |node| node.start as usize + 1..(node.end as usize).saturating_sub(1));
        self.text.as_bytes().get(range).unwrap_or_default()
    }

    fn first_byte(self) -> u8 {
        self.node()
            .and_then(|node| self.text.as_bytes().get(node.start as usize).copied())
            .unwrap_or_default()
    }

    /// The value as an object; `None` for other types.
    pub(crate) fn obj(self) -> Option<Object<'a>> {
        (self.first_byte() == b'{').then_some(Object(self))
    }

    /// Whether it is an array.
    pub(crate) fn is_array(self) -> bool {
        self.first_byte() == b'['
    }

    /// Whether it is a string.
    pub(crate) fn is_str(self) -> bool {
        self.first_byte() == b'"'
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(self) -> bool {
        self.first_byte() == b'n'
    }

    /// The decoded text; `None` for other types.
    pub(crate) fn str(self) -> Option<Cow<'a, str>> {
        let raw = self.raw();
        raw.strip_prefix('"').and_then(|inside| inside.strip_suffix('"')).map(unescape)
    }

    /// The number, if it is an integer that fits.
    pub(crate) fn i64(self) -> Option<i64> {
        let raw = self.raw();
        raw.parse().ok().or_else(|| {
            let number: f64 = raw.parse().ok()?;
            (self.first_byte() != b'"' && number.is_finite() && number.fract() == 0.0 && number.abs() < 9e15)
                .then_some(number as i64)
        })
    }

    /// `true` or `false`; `None` for other types.
    pub(crate) fn bool(self) -> Option<bool> {
        match self.first_byte() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// The elements, in order; empty for other types.
    pub(crate) fn items(self) -> impl Iterator<Item = Value<'a>> {
        let end = if self.is_array() { self.node().map_or(0, |node| node.next as usize) } else { 0 };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            let item = Value { at, ..self };
            let node = item.node().filter(|_| at < end)?;
            at = node.next as usize;
            Some(item)
        })
    }

    /// A time: ISO 8601 text with a zone (or without, then UTC), or a number of seconds or milliseconds.
    pub(crate) fn time(self) -> Option<Timestamp> {
        if let Some(text) = self.str() { iso_time(&text) } else { number_time(self.raw().parse().ok()?) }
    }
}

impl<'a> Object<'a> {
    /// The object as it stands in the text.
    pub(crate) fn raw_text(self) -> &'a str {
        self.0.raw()
    }

    /// Where the object stands in the text.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.0.range()
    }

    /// All fields in order, with decoded keys; duplicates included.
    pub(crate) fn fields(self) -> impl Iterator<Item = (Cow<'a, str>, Value<'a>)> {
        self.members().map(|(key, value)| (key.str().unwrap_or_default(), value))
    }

    /// All fields in order, keys as values; duplicates included.
    pub(crate) fn members(self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> {
        let end = self.0.node().map_or(0, |node| node.next as usize);
        let mut at = self.0.at + 1;
        std::iter::from_fn(move || {
            let key = Value { at, ..self.0 };
            let value = Value { at: at + 1, ..self.0 };
            let node = value.node().filter(|_| at < end)?;
            at = node.next as usize;
            Some((key, value))
        })
    }

    /// The value of `key`; the last value if the key is repeated.
    ///
    /// Cost: O(fields), whatever their contents.
    pub(crate) fn get(self, key: &str) -> Option<Value<'a>> {
        let mut found = None;
        for (name, value) in self.members() {
            let is_same = name.inside() == key.as_bytes();
            if is_same || (self.0.tape.has_escaped_key && name.str().is_some_and(|name| name == key)) {
                found = Some(value);
            }
        }
        found
    }

    /// The field as it stands in the text.
    pub(crate) fn raw(self, key: &str) -> Option<&'a str> {
        self.get(key).map(Value::raw)
    }

    /// Whether the field is present and not `null`.
    pub(crate) fn has(self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null())
    }

    /// The field as decoded text; `None` for other types.
    pub(crate) fn str(self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.str()
    }

    /// The field as owned decoded text; `None` for other types.
    pub(crate) fn string(self, key: &str) -> Option<String> {
        self.str(key).map(Cow::into_owned)
    }

    /// Whether the field is exactly this string.
    pub(crate) fn is(self, key: &str, text: &str) -> bool {
        self.str(key).is_some_and(|value| value == text)
    }

    /// The field as a whole number.
    pub(crate) fn i64(self, key: &str) -> Option<i64> {
        self.get(key)?.i64()
    }

    /// The field as a truth value.
    pub(crate) fn bool(self, key: &str) -> Option<bool> {
        self.get(key)?.bool()
    }

    /// The field as an object.
    pub(crate) fn obj(self, key: &str) -> Option<Object<'a>> {
        self.get(key)?.obj()
    }

    /// The elements of the field; none if it is missing or not an array.
    pub(crate) fn items(self, key: &str) -> impl Iterator<Item = Value<'a>> {
        self.get(key).into_iter().flat_map(Value::items)
    }

    /// The field as a time.
    pub(crate) fn time(self, key: &str) -> Option<Timestamp> {
        self.get(key)?.time()
    }
}

/// Decodes the inside of a JSON string. Lone surrogates become U+FFFD.
pub(crate) fn unescape(inside: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', inside.as_bytes()) else { return Cow::Borrowed(inside) };
    let mut text = String::with_capacity(inside.len());
    text.push_str(inside.get(..first).unwrap_or_default());
    let mut rest = inside.get(first..).unwrap_or_default();
    while let Some(escape) = rest.strip_prefix('\\') {
        let (c, used) = unescape_one(escape);
        text.push(c);
        rest = escape.get(used..).unwrap_or_default();
        let plain = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        text.push_str(rest.get(..plain).unwrap_or_default());
        rest = rest.get(plain..).unwrap_or_default();
    }
    Cow::Owned(text)
}

/// Decodes an escape behind its backslash. Returns the character and the number of bytes read.
fn unescape_one(escape: &str) -> (char, usize) {
    let Some(first) = escape.chars().next() else { return (char::REPLACEMENT_CHARACTER, 0) };
    let simple = match first {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unescape_unicode(escape),
        other => other,
    };
    (simple, first.len_utf8())
}

fn unescape_unicode(escape: &str) -> (char, usize) {
    let unit = |from: usize| escape.get(from..from + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let Some(high) = unit(1) else { return (char::REPLACEMENT_CHARACTER, 1) };
    let is_pair = (0xD800..0xDC00).contains(&high) && escape.get(5..7) == Some("\\u");
    if let Some(low @ 0xDC00..0xE000) = unit(7).filter(|_| is_pair) {
        let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

/// Reads ISO 8601 text; text without a zone counts as UTC.
pub(crate) fn iso_time(text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(time.as_millisecond()));
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    let time = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(Timestamp(time.as_millisecond()))
}

/// Reads a number of seconds or milliseconds since 1970; numbers below 10^11 are seconds.
fn number_time(number: f64) -> Option<Timestamp> {
    let milliseconds = if number.abs() < 1e11 { number * 1000.0 } else { number };
    (milliseconds.is_finite() && milliseconds.abs() < 9e15).then_some(Timestamp(milliseconds as i64))
}
