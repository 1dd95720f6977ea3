//! The pass over the bytes.

use super::pieces::{PIECES, Pieces};

/// Class of a byte. Tokenisers cut at changes of class; the text's meaning is not read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    Line,
    Mark,
    Control,
    Wide,
}

const CLASSES: [Class; 256] = classes();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which checks the index")]
const fn classes() -> [Class; 256] {
    let mut table = [Class::Wide; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' | 0x0b | 0x0c => Class::Space,
            b'\n' | b'\r' => Class::Line,
            b'!'..=b'~' => Class::Mark,
            _ => Class::Control,
        };
        byte += 1;
    }
    table
}

fn class(byte: u8) -> Class {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Wide)
}

/// Counts `bytes`, which are UTF-8: expected tokens in sixteenths, and the bound in tokens.
pub(super) fn count(bytes: &[u8]) -> (u64, u64) {
    let mut scan = Scan { pieces: &PIECES, bytes, at: 0, lead: 0, expected: 0, bound: 0 };
    while let Some(&byte) = bytes.get(scan.at) {
        match class(byte) {
            Class::Lower | Class::Upper => scan.word(),
            Class::Digit => scan.digits(),
            Class::Space | Class::Line => scan.space(),
            Class::Mark => scan.marks(),
            Class::Control => {
                scan.add(16, 1);
                scan.at += 1;
            }
            Class::Wide => scan.wide(),
        }
    }
    (scan.expected, scan.bound)
}

struct Scan<'a> {
    pieces: &'a Pieces,
    bytes: &'a [u8],
    /// Where the next piece starts.
    at: usize,
    /// 1 if the byte before `at` belongs to the next piece and is not counted yet.
    lead: usize,
    expected: u64,
    bound: u64,
}

impl<'a> Scan<'a> {
    fn add(&mut self, sixteenths: u64, bound: u64) {
        self.expected += sixteenths;
        self.bound += bound;
    }

    /// End of the run of bytes from `from` on whose class passes the test.
    fn run(&self, from: usize, passes: impl Fn(Class) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest.iter().position(|&byte| !passes(class(byte))).unwrap_or(rest.len())
    }

    fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    fn class_at(&self, at: usize) -> Option<Class> {
        self.bytes.get(at).map(|&byte| class(byte))
    }

    /// A run of letters with its lead byte. Pieces end where a capital follows a small letter.
    fn word(&mut self) {
        let start = self.at - self.lead;
        if let Some((end, known)) = self.short_word(start) {
            (self.at, self.lead) = (end, 0);
            let (sixteenths, bound) = self.word_piece(start, end, known);
            return self.add(sixteenths, bound);
        }
        let (mut from, mut cuts, mut sum, mut all_known) = (start, 0, 0, true);
        let mut at = self.at;
        loop {
            let capitals = self.run(at, |class| class == Class::Upper);
            let end = self.run(capitals, |class| class == Class::Lower);
            if end == at {
                break;
            }
            let known = end == from + 1 || self.pieces.knows(self.bytes, from, end);
            let (sixteenths, bound) = self.word_piece(from, end, known);
            self.expected += sixteenths;
            sum += bound;
            all_known &= known && end > from + 2;
            cuts += 1;
            (from, at) = (end, end);
        }
        let whole = if cuts > 1 && !all_known { self.pieces.longest(self.slice(start, at)) } else { 0 };
        self.bound += sum.max(whole);
        (self.at, self.lead) = (at, 0);
    }

    /// End of a one-piece word that ends within eight bytes, and whether it is known to be one token; `None` for other
    /// words.
    fn short_word(&self, start: usize) -> Option<(usize, bool)> {
        let chunk = u64::from_le_bytes(*self.bytes.get(start..)?.first_chunk::<8>()?);
        let letters = chunk >> (8 * self.lead);
        let upper = first_outside(letters, b'A', b'Z');
        let lower = first_outside(letters >> (8 * upper.min(7)), b'a', b'z');
        let len = self.lead + upper + lower;
        // The byte of the chunk behind the run starts no further piece.
        let next = (chunk >> (8 * len.min(7))) as u8;
        if len > 7 || next.is_ascii_uppercase() {
            return None;
        }
        Some((start + len, len == 1 || self.pieces.knows_chunk(chunk, len)))
    }

    /// Expected sixteenths and the bound of a piece of a word. A known piece is one token.
    fn word_piece(&self, from: usize, end: usize, known: bool) -> (u64, u64) {
        if known {
            return (16, 1);
        }
        let bound = self.pieces.longest(self.slice(from, end));
        // Ordinary words cost far less than their bound; random letters come close to it.
        (16 + 3 * (bound.min(4) - 1) + 11 * bound.saturating_sub(4), bound)
    }

    /// Digits go in groups of three from the left.
    fn digits(&mut self) {
        let end = self.run(self.at, |class| class == Class::Digit);
        let groups = (end - self.at).div_ceil(3) as u64;
        self.add(16 * groups, groups);
        self.at = end;
    }

    /// A run of white space. Up to the last line end it is one piece. The rest is another, and its last byte leads the
    /// following word or mark.
    fn space(&mut self) {
        if let [b' ', next, ..] = self.bytes.get(self.at..).unwrap_or_default()
            && matches!(class(*next), Class::Lower | Class::Upper | Class::Mark)
        {
            (self.at, self.lead) = (self.at + 1, 1);
            return;
        }
        let end = self.run(self.at, |class| matches!(class, Class::Space | Class::Line));
        let run = self.slice(self.at, end);
        let lines = run.iter().rposition(|&byte| class(byte) == Class::Line).map_or(0, |last| last + 1);
        let (head, tail) = run.split_at_checked(lines).unwrap_or((run, &[]));
        self.blank(head);
        let leads = match (tail.last(), self.class_at(end)) {
            (Some(b' ' | b'\t'), Some(Class::Lower | Class::Upper)) | (Some(b' '), Some(Class::Mark)) => 1,
            _ => 0,
        };
        let (tail, last) = tail.split_at_checked(tail.len().saturating_sub(1)).unwrap_or((tail, &[]));
        self.blank(tail);
        if leads == 0 && !last.is_empty() {
            // Scripts with spaces take the space into the word; the bound counts it on its own.
            let alone = !matches!(self.class_at(end), Some(Class::Wide));
            self.add(if alone { 16 } else { 1 }, 1);
        }
        (self.at, self.lead) = (end, leads);
    }

    /// White space that is a piece of its own.
    fn blank(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        let bound = if self.pieces.knows(piece, 0, piece.len()) { 1 } else { self.runs(piece) };
        self.add(16 + 6 * (bound - 1), bound);
    }

    /// A run of marks with a leading space and the line ends after it; or a single mark that leads a word.
    fn marks(&mut self) {
        let end = self.run(self.at, |class| class == Class::Mark);
        if self.lead == 0
            && end == self.at + 1
            && matches!(self.class_at(end), Some(Class::Lower | Class::Upper))
        {
            let word = self.run(end, |class| class == Class::Lower);
            if self.pieces.knows(self.bytes, self.at, word) {
                (self.at, self.lead) = (end, 1);
                return;
            }
        }
        let start = self.at - self.lead;
        let lines = self.run(end, |class| class == Class::Line);
        let whole = self.slice(start, lines);
        if self.pieces.knows(self.bytes, start, lines) || whole.len() == 1 {
            self.add(16, 1);
        } else {
            let bound = self.runs(whole);
            self.add(16 + 5 * (bound - 1), bound);
        }
        (self.at, self.lead) = (lines, 0);
    }

    /// One character outside ASCII.
    fn wide(&mut self) {
        let lead = self.bytes.get(self.at).copied().unwrap_or_default();
        let next = |at: usize| u32::from(self.bytes.get(self.at + at).copied().unwrap_or_default() & 0x3f);
        let (len, code) = match lead {
            0xf0.. => (4, 0x1_0000),
            0xe0.. => (3, (u32::from(lead & 0x0f) << 12) | (next(1) << 6) | next(2)),
            _ => (2, (u32::from(lead & 0x1f) << 6) | next(1)),
        };
        let bound = match (len, self.bytes.get(self.at + 1)) {
            (4, Some(0x9f)) if lead == 0xf0 => 3,
            (4, _) => 4,
            _ => u64::from(bound_of(code)),
        };
        self.add(sixteenths_of(code), bound);
        self.at += len;
    }

    /// Bound for an unknown piece: a run of one byte takes what its longest token allows, the rest goes through
    /// [`Pieces::longest`].
    fn runs(&self, piece: &[u8]) -> u64 {
        let (mut bound, mut rest) = (0, piece);
        while let Some(&first) = rest.first() {
            let len = rest.iter().position(|&byte| byte != first).unwrap_or(rest.len());
            let longest = self.pieces.run(first);
            let run = if len > 3 && longest > 3 {
                Some(1 + (2 * len).saturating_sub(longest) / (longest + 1))
            } else {
                None
            };
            let take = match run {
                Some(_) => len,
                None => rest
                    .windows(4)
                    .position(|four| matches!(four, [a, b, c, d] if a == b && b == c && c == d && self.pieces.run(*a) > 3))
                    .map_or(rest.len(), |at| at.max(1)),
            };
            let (head, tail) = rest.split_at_checked(take).unwrap_or((rest, &[]));
            bound += run.map_or_else(|| self.pieces.longest(head), |run| run as u64);
            rest = tail;
        }
        bound
    }
}

/// How many bytes from the lowest on are within a range of ASCII, 0 to 8.
fn first_outside(chunk: u64, low: u8, high: u8) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let ascii = chunk & !TOPS;
    let from_low = ascii + ONES * u64::from(0x80 - low);
    let above_high = ascii + ONES * u64::from(0x7f - high);
    let outside = !(from_low & !above_high & !chunk) & TOPS;
    outside.trailing_zeros() as usize / 8
}

/// Most tokens of one character of the basic plane: two bits each.
fn bound_of(code: u32) -> u8 {
    let byte = include_bytes!("chars.bin").get(code as usize >> 2).copied().unwrap_or(0xff);
    ((byte >> (2 * (code & 3))) & 3).max(1)
}

/// Expected tokens of one character outside ASCII, in sixteenths, by script.
fn sixteenths_of(code: u32) -> u64 {
    match code {
        0..0x0250 => 12,
        0x0370..0x0600 => 4,
        0x0600..0x0900 => 7,
        0x0900..0x1100 => 8,
        0x2000..0x2070 | 0xff00..0x1_0000 => 16,
        0x3000..0x3100 => 11,
        0x4e00..0xa000 => 10,
        0xac00..0xd7a4 => 9,
        0x1_0000.. => 34,
        _ => 24,
    }
}
