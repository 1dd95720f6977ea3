//! Terms: hashes of words, and the classes of bytes by which words are told apart.

/// Number of bits of a [`Term`]. With a million terms, an unknown word collides with a known one once in four thousand
/// times, which costs a little precision and no recall.
pub const TERM_BITS: u32 = 32;

/// A search term: a hash of a word, an identifier, a pair of ideographs or a field value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub(crate) u32);

impl Term {
    /// The term of exactly these bytes: no folding, no stemming.
    pub fn exact(bytes: &[u8]) -> Self {
        finish(bytes.iter().fold(HASH_SEED, |hash, &byte| step(hash, byte)))
    }

    /// The number itself, below 2^[`TERM_BITS`].
    pub fn value(self) -> u64 {
        u64::from(self.0)
    }
}

/// The kind of text behind a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A word of a natural language, stemmed if it is English; counts towards the length.
    Word,
    /// A number, or a word with digits in it; counts towards the length.
    Number,
    /// An identifier, path or dotted name as a whole, beside its pieces.
    Whole,
    /// A piece of an identifier; counts towards the length.
    Piece,
    /// A weaker reading beside a stronger one: one ideograph of a pair, or a word without its accents.
    Also,
    /// Two neighbouring characters of a script without spaces; counts towards the length.
    Pair,
}

impl Shape {
    /// Whether the term counts towards the length of its document.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Whole | Self::Also)
    }
}

/// Receives terms in text order: the term, its kind, and its source bytes (verbatim, or normalised where the text is
/// not ASCII).
pub trait Sink {
    /// Takes one term.
    fn term(&mut self, term: Term, shape: Shape, source: &[u8]);
}

pub(crate) const LOWER: u8 = 1;
pub(crate) const UPPER: u8 = 2;
pub(crate) const DIGIT: u8 = 4;
pub(crate) const UNDERSCORE: u8 = 8;
pub(crate) const JOINER: u8 = 16;
pub(crate) const APOSTROPHE: u8 = 32;
pub(crate) const INSIDE: u8 = LOWER | UPPER | DIGIT | UNDERSCORE;

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const CLASSES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_usize;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' | b'-' | b'/' | b'@' | b'#' | b'\\' => JOINER,
            b'\'' => APOSTROPHE,
            _ => 0,
        };
        byte += 1;
    }
    table
};

#[inline]
pub(crate) fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or_default()
}

#[inline]
pub(crate) fn fold(byte: u8) -> u8 {
    // UPPER is 2, and 0x20 makes a letter lower case.
    byte | (class(byte) & UPPER) << 4
}

/// The term of ASCII bytes folded to lower case.
pub(crate) fn folded(bytes: &[u8]) -> Term {
    finish(bytes.iter().fold(HASH_SEED, |hash, &byte| step(hash, fold(byte))))
}

pub(crate) const HASH_SEED: u64 = 0x243F_6A88_85A3_08D3;

#[inline]
pub(crate) fn step(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517C_C1B7_2722_0A95)
}

#[inline]
pub(crate) fn finish(hash: u64) -> Term {
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Term(((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> (64 - TERM_BITS)) as u32)
}
