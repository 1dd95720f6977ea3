//! The estimator's knowledge of vocabularies: short ASCII pieces that are one token everywhere.

use std::sync::LazyLock;

use super::cuts::{CutWalk, Cuts};

/// Longest piece in the table, in bytes.
pub(super) const PIECE_MAX: usize = 16;
/// Slots of the hash table; a power of two, at least twice the number of pieces.
const SLOTS: usize = 1 << 16;

/// The table, built from its text on first use (about a millisecond).
pub(super) static PIECES: LazyLock<Pieces> = LazyLock::new(Pieces::load);

/// Pieces of text that are one token in both `cl100k_base` and `o200k_base`.
pub(super) struct Pieces {
    slots: Box<[u32]>,
    pairs: [u128; 128],
    triples: Box<[u64]>,
    runs: [u8; 128],
    cuts: Cuts,
}

impl Pieces {
    /// Whether `bytes[from..to]` is known to be one token. It must not hold NUL.
    pub(super) fn knows(&self, bytes: &[u8], from: usize, to: usize) -> bool {
        let len = to.saturating_sub(from);
        // Eight bytes at once where the text goes on; byte by byte near its end.
        let short = if len <= 8 { bytes.get(from..).and_then(|rest| rest.first_chunk::<8>()) } else { None };
        let key = match short {
            Some(chunk) if len > 0 => Some((u64::from_le_bytes(*chunk) & (u64::MAX >> (64 - 8 * len)), 0)),
            _ => bytes.get(from..to).and_then(key),
        };
        key.is_some_and(|(low, high)| self.holds(low, high))
    }

    /// Whether the first `len` bytes of `chunk`, 1 to 8 of them, are known to be one token.
    pub(super) fn knows_chunk(&self, chunk: u64, len: usize) -> bool {
        self.holds(chunk & (u64::MAX >> (64 - 8 * len)), 0)
    }

    fn holds(&self, low: u64, high: u64) -> bool {
        let (mut slot, tag) = place(low, high);
        loop {
            match self.slots.get(slot) {
                Some(&found) if found == tag => return true,
                Some(0) | None => return false,
                Some(_) => slot = (slot + 1) % SLOTS,
            }
        }
    }

    /// The most tokens that a byte-pair tokeniser can make of an ASCII piece.
    pub(super) fn longest(&self, piece: &[u8]) -> u64 {
        let Some((&first, rest)) = piece.split_first() else { return 0 };
        let mut walk = CutWalk::default();
        let (mut b, mut symbols) = (first, symbol(first));
        for &c in rest {
            let row = self.pairs.get(usize::from(b)).copied().unwrap_or_default();
            let half = if c & 64 == 0 { row as u64 } else { (row >> 64) as u64 };
            let pair = c < 128 && (half >> (c & 63)) & 1 == 1;
            let third = symbol(c);
            let row = self.triples.get(usize::from(symbols)).copied().unwrap_or_default();
            let triple = (row >> third) & 1 == 1;
            self.cuts.step(&mut walk, pair, triple);
            (b, symbols) = (c, (symbols << 6 | third) & 0xfff);
        }
        self.cuts.most(walk)
    }

    /// The longest run of this ASCII byte that is one token, with all shorter runs.
    pub(super) fn run(&self, byte: u8) -> usize {
        self.runs.get(usize::from(byte)).map_or(1, |&run| usize::from(run))
    }

    fn load() -> Self {
        let (slots, triples) = (vec![0; SLOTS].into_boxed_slice(), vec![0; 4096].into_boxed_slice());
        let mut pieces = Self { slots, pairs: [0; 128], triples, runs: [1; 128], cuts: Cuts::new() };
        for line in include_str!("pieces.txt").split('\n') {
            let mut piece = Vec::with_capacity(PIECE_MAX);
            let mut escaped = false;
            for byte in line.bytes() {
                match (escaped, byte) {
                    (false, b'\\') => escaped = true,
                    (true, b'n') => piece.push(b'\n'),
                    (true, b'r') => piece.push(b'\r'),
                    (true, b't') => piece.push(b'\t'),
                    _ => piece.push(byte),
                }
                escaped = !escaped && byte == b'\\';
            }
            pieces.insert(&piece);
        }
        for (byte, run) in [(b' ', 79), (b'\t', 20), (b'\n', 10), (b'-', 16), (b'=', 16), (b'*', 8)] {
            if let Some(longest) = pieces.runs.get_mut(usize::from(byte)) {
                *longest = run;
            }
        }
        pieces
    }

    fn insert(&mut self, piece: &[u8]) {
        let Some(key) = key(piece) else { return };
        match *piece {
            [a, b] => {
                if let Some(row) = self.pairs.get_mut(usize::from(a)) {
                    *row |= 1 << (b & 127);
                }
            }
            [a, b, c] if symbol(a) > 0 && symbol(b) > 0 && symbol(c) > 0 => {
                if let Some(row) = self.triples.get_mut(usize::from((symbol(a) << 6) | symbol(b))) {
                    *row |= 1 << symbol(c);
                }
            }
            _ => {}
        }
        let (mut slot, tag) = place(key.0, key.1);
        while let Some(found) = self.slots.get_mut(slot) {
            if *found == 0 || *found == tag {
                *found = tag;
                return;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

/// Letters and the space as numbers from 1; everything else is 0.
fn symbol(byte: u8) -> u16 {
    SYMBOLS.get(usize::from(byte)).copied().unwrap_or_default().into()
}

const SYMBOLS: [u8; 256] = symbols();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks the index")]
const fn symbols() -> [u8; 256] {
    let mut table = [0; 256];
    let mut letter = 0;
    while letter < 26 {
        table[(b'a' + letter) as usize] = letter + 2;
        table[(b'A' + letter) as usize] = letter + 28;
        letter += 1;
    }
    table[b' ' as usize] = 1;
    table
}

/// The piece as a number, `None` if it is empty or too long.
fn key(piece: &[u8]) -> Option<(u64, u64)> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, &byte| (word << 8) | u64::from(byte));
    match piece.len() {
        1..=8 => Some((word(piece), 0)),
        len @ 9..=PIECE_MAX => {
            let (low, last) = (piece.first_chunk::<8>()?, piece.last_chunk::<8>()?);
            Some((u64::from_le_bytes(*low), u64::from_le_bytes(*last) >> (8 * (PIECE_MAX - len))))
        }
        _ => None,
    }
}

/// Slot and tag of a key. Two pieces share a tag with a probability of one in four thousand million.
fn place(low: u64, high: u64) -> (usize, u32) {
    let mixed =
        (low ^ high.rotate_left(29).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((mixed >> 48) as usize % SLOTS, (mixed as u32).max(1))
}
