//! What the estimator knows of vocabularies: short pieces of ASCII that are one token everywhere.

use std::sync::LazyLock;

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
        let Some(key) = key else { return false };
        let (mut slot, tag) = place(key);
        loop {
            match self.slots.get(slot) {
                Some(&found) if found == tag => return true,
                Some(0) | None => return false,
                Some(_) => slot = (slot + 1) % SLOTS,
            }
        }
    }

    /// Whether these two ASCII bytes are one token.
    pub(super) fn pair(&self, first: u8, second: u8) -> bool {
        self.pairs.get(usize::from(first)).is_some_and(|row| second < 128 && (row >> second) & 1 == 1)
    }

    /// Whether these three bytes, letters or spaces, are one token.
    pub(super) fn triple(&self, a: u8, b: u8, c: u8) -> bool {
        let row = (symbol(a) << 6) | symbol(b);
        self.triples.get(usize::from(row)).is_some_and(|row| (row >> symbol(c)) & 1 == 1)
    }

    /// The longest run of this ASCII byte that is one token, with all shorter runs.
    pub(super) fn run(&self, byte: u8) -> usize {
        self.runs.get(usize::from(byte)).map_or(1, |&run| usize::from(run))
    }

    fn load() -> Self {
        let (slots, triples) = (vec![0; SLOTS].into_boxed_slice(), vec![0; 4096].into_boxed_slice());
        let mut pieces = Self { slots, pairs: [0; 128], triples, runs: [1; 128] };
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
        let (mut slot, tag) = place(key);
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
    match byte {
        b' ' => 1,
        b'a'..=b'z' => u16::from(byte - b'a') + 2,
        b'A'..=b'Z' => u16::from(byte - b'A') + 28,
        _ => 0,
    }
}

/// The piece as a number, `None` if it is empty or too long.
fn key(piece: &[u8]) -> Option<(u64, u64)> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, &byte| (word << 8) | u64::from(byte));
    match piece.len() {
        1..=8 => Some((word(piece), 0)),
        9..=PIECE_MAX => piece.split_at_checked(8).map(|(low, high)| (word(low), word(high))),
        _ => None,
    }
}

/// Slot and tag of a key. Two pieces share a tag once in four thousand million.
fn place((low, high): (u64, u64)) -> (usize, u32) {
    let mixed =
        (low ^ high.rotate_left(29).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    ((mixed >> 48) as usize % SLOTS, (mixed as u32).max(1))
}
