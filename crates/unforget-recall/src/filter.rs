//! Trigram filters: exclude chunks that cannot hold a pattern's required literals.
//!
//! A filter is a folded bitmap of hashed trigrams, ASCII letters folded to lower case, of the raw bytes and of the text
//! with JSON escapes undone. False positives are possible, false negatives are not.

use crate::literals::Need;
use crate::unescape;

/// Smallest and largest filter, in bytes. The largest fills one page of the store together with the head of
/// its row.
const BYTES_MIN: usize = 16;
const BYTES_MAX: usize = 8136;

/// Bits per trigram, unless the filter has the largest size. Four of ten bits are set then, and an absent literal of
/// six bytes passes once in forty times.
const BITS_PER_TRIGRAM: usize = 2;

/// Collects the trigrams of the entries of a chunk.
#[derive(Clone, Debug)]
pub struct FilterBuilder {
    /// The largest filter; [`FilterBuilder::finish`] folds it.
    bits: Vec<u8>,
}

impl Default for FilterBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl FilterBuilder {
    /// A builder without trigrams.
    pub fn new() -> Self {
        Self { bits: vec![0; BYTES_MAX] }
    }

    /// Adds the bytes of one entry. Trigrams across entries are not added: no match crosses them.
    ///
    /// Cost: O(bytes).
    pub fn add(&mut self, bytes: &[u8]) {
        Window::default().extend(bytes, &mut self.bits);
        self.add_unescaped(bytes);
    }

    /// The filter, sized for its trigrams.
    pub fn finish(self) -> Vec<u8> {
        let set: usize = self.bits.iter().map(|byte| byte.count_ones() as usize).sum();
        let size = (set * BITS_PER_TRIGRAM / 8).clamp(BYTES_MIN, BYTES_MAX);
        // A row above half a page occupies the page alone.
        if size > BYTES_MAX / 2 {
            return self.bits;
        }
        let mut folded = vec![0; size];
        for part in self.bits.chunks(size) {
            folded.iter_mut().zip(part).for_each(|(to, from)| *to |= from);
        }
        folded
    }

    /// Adds the trigrams that only exist after the escapes are undone.
    fn add_unescaped(&mut self, bytes: &[u8]) {
        let mut at = 0;
        let mut window = Window::default();
        while let Some(found) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
            let start = at + found;
            // The two bytes before an escape and the two after it share trigrams with it.
            let plain = bytes.get(at..start).unwrap_or_default();
            let (head, tail) = plain.split_at_checked(2).unwrap_or((plain, &[]));
            window.extend(head, &mut self.bits);
            let skip = tail.len().saturating_sub(2);
            if skip > 0 {
                window = Window::default();
            }
            window.extend(tail.get(skip..).unwrap_or_default(), &mut self.bits);
            let rest = bytes.get(start..).unwrap_or_default();
            let (character, used) = unescape::escape(rest);
            let mut buffer = [0; 4];
            let text = match character {
                Some(character) => character.encode_utf8(&mut buffer).as_bytes(),
                None => rest.get(..used).unwrap_or_default(),
            };
            window.extend(text, &mut self.bits);
            at = start + used;
        }
        if at > 0 {
            let after = bytes.get(at..).unwrap_or_default();
            window.extend(after.get(..2).unwrap_or(after), &mut self.bits);
        }
    }
}

/// The filter of one run of bytes.
///
/// For a chunk of many entries use [`FilterBuilder`]. The bytes of a whole chunk may be passed here as long as no entry
/// ends inside an escape, which no complete JSON value does.
pub fn build(bytes: &[u8]) -> Vec<u8> {
    let mut builder = FilterBuilder::new();
    builder.add(bytes);
    builder.finish()
}

/// Whether the bytes behind `filter` may hold everything in `need`. Bytes that are no filter, such as an empty slice,
/// exclude nothing.
pub fn matches(filter: &[u8], need: &Need) -> bool {
    if filter.is_empty() {
        return true;
    }
    need.clauses().iter().all(|clause| holds(filter, clause))
}

/// Whether the bytes behind `filter` may hold one of the literals of a clause.
pub fn holds(filter: &[u8], clause: &[Vec<u8>]) -> bool {
    filter.is_empty() || clause.iter().any(|literal| may_hold(filter, literal))
}

/// Whether the bytes behind `filter` may hold a literal, ASCII letters folded. A literal shorter than three bytes may
/// be anywhere.
pub(crate) fn may_hold(filter: &[u8], literal: &[u8]) -> bool {
    filter.is_empty()
        || literal.windows(3).all(|three| {
            let bit = three.iter().fold(0, |window, &byte| slide(window, byte));
            let bit = place(bit);
            // A filter above the largest size belongs to an unknown version; the excess is not read.
            filter.get(bit / 8 % filter.len().min(BYTES_MAX)).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        })
}

/// The last three bytes, folded.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    bytes: u32,
    len: u8,
}

impl Window {
    fn extend(&mut self, bytes: &[u8], bits: &mut [u8]) {
        for &byte in bytes {
            self.push(byte, bits);
        }
    }

    #[inline]
    fn push(&mut self, byte: u8, bits: &mut [u8]) {
        self.bytes = slide(self.bytes, byte);
        if self.len < 2 {
            self.len += 1;
            return;
        }
        let bit = place(self.bytes);
        if let Some(slot) = bits.get_mut(bit / 8) {
            *slot |= 1 << (bit % 8);
        }
    }
}

#[inline]
fn slide(window: u32, byte: u8) -> u32 {
    (window << 8 | u32::from(byte.to_ascii_lowercase())) & 0x00FF_FFFF
}

/// The place of a trigram's bit in the largest filter; in smaller ones, modulo their size.
#[inline]
fn place(trigram: u32) -> usize {
    let hash = u64::from(trigram.wrapping_mul(0x9E37_79B1));
    ((hash * (BYTES_MAX as u64 * 8)) >> 32) as usize
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;
    use crate::grep::Pattern;

    #[test]
    fn size_table() {
        let many: Vec<u8> =
            (0..200_000_u32).flat_map(|n| n.wrapping_mul(0x9E37_79B1).to_le_bytes()).collect();
        let table = [
            (&b""[..], 16, "nothing"),
            (&[b'x'; 10_000][..], 16, "one trigram, often"),
            (&many[..3002], 750, "each trigram has its bits"),
            (&many, 8136, "more than a filter can tell apart"),
        ];
        for (bytes, want, why) in table {
            let size = build(bytes).len();
            assert!(size <= want && size + size / 8 >= want, "{why}: {size}");
        }
    }

    #[test]
    fn absent_literals_are_excluded() {
        let filter = build(br#"{"text":"the quick brown fox\njumps"}"#);
        let table = [
            ("quick brown", true, "as it is"),
            ("(?i)QUICK", true, "other case"),
            (r"fox\njumps", true, "only there once unescaped"),
            (r"fox\\njumps", true, "as escaped"),
            ("zebra", false, "not there"),
            ("zebra|quick", true, "one of two"),
            ("qu[a-z]+ zebra", false, "one of the needed parts is missing"),
            ("q.*z", true, "no literal of three bytes: everything must be read"),
        ];
        for (pattern, want, why) in table {
            let pattern = Pattern::new(pattern).unwrap();
            assert_eq!(matches(&filter, pattern.need()), want, "{why}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// A chunk with a match is never excluded.
        #[test]
        fn f104_filter_never_excludes_a_match(
            bodies in prop::collection::vec(r#"([a-cA-CkK \\"né\u{17f}\u{212a}]|\\n|\\"|\\\\|\\u00e9|\\u0061){0,24}"#, 1..4),
            pattern in r"(\(\?i\))?([a-ck]{1,5}|é|\\n|\\\\|\[abk\]|ab\*|ab\+|\(abc\|cab\)|\(a\|\)|\.|a\{2,3\}|ſ|k){1,6}",
        ) {
            let mut builder = FilterBuilder::new();
            for body in &bodies { builder.add(body.as_bytes()); }
            let filter = builder.finish();
            let Ok(pattern) = Pattern::new(&pattern) else { return Ok(()) };
            if bodies.iter().any(|body| pattern.is_match(body.as_bytes())) {
                prop_assert!(matches(&filter, pattern.need()), "{:?} {:?}", pattern, pattern.need());
            }
        }
    }
}
