//! The tape: start and end of every value in a JSON text.

use super::is_space;

/// Most values on one tape. A record with more is opaque: the tape must not outgrow memory.
pub(crate) const NODES_MAX: usize = 6 * 1024 * 1024;

/// Place of one value, or of one key, in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Offset of its first byte.
    pub(super) start: u32,
    /// Offset behind its last byte.
    pub(super) end: u32,
    /// Index of the node behind it and its contents.
    pub(super) next: u32,
}

/// The places of all values of one JSON text. Kept between records to reuse its memory.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub(super) nodes: Vec<Node>,
    /// Whether any key is written with escapes, so that keys cannot be compared byte for byte.
    pub(super) has_escaped_key: bool,
    /// Containers that are not closed yet.
    open: Vec<u32>,
}

/// Why there is no value at the start of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The text ends before the value does.
    Early,
    /// Not JSON, found at this offset.
    At(usize),
    /// Too large for a tape.
    TooLarge,
}

impl Tape {
    /// Reads the value at the start of `bytes` (without leading space) and returns its length.
    ///
    /// Bytes of 128 and above are taken as text, so this works on broken UTF-8 too.
    ///
    /// Cost: one pass, O(n), no recursion.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let done = self.read_prefix(bytes);
        if done.is_err() {
            self.nodes.clear();
        }
        done
    }

    /// Like [`Tape::read`], but keeps the values read before a failure, for [`Tape::top_array`].
    pub(crate) fn read_prefix(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        self.nodes.clear();
        self.open.clear();
        self.has_escaped_key = false;
        if u32::try_from(bytes.len()).is_err() {
            return Err(Broken::TooLarge);
        }
        Scan { bytes, at: 0, tape: self }.run()
    }

    /// The first of `keys` that names an array at the top of the object, in the order of the text.
    /// The array need not be closed.
    pub(crate) fn top_array(&self, bytes: &[u8], keys: &[&'static str]) -> Option<&'static str> {
        let mut at = 1;
        loop {
            let (name, value) = (self.nodes.get(at)?, self.nodes.get(at + 1)?);
            let inside = bytes.get(name.start as usize + 1..name.end as usize - 1)?;
            let key = keys.iter().find(|key| key.as_bytes() == inside);
            match (key, bytes.get(value.start as usize)) {
                (Some(&key), Some(b'[')) => return Some(key),
                _ if self.open.get(1) == Some(&(at as u32 + 1)) => return None,
                _ => at = value.next as usize,
            }
        }
    }

    /// Ranges of the insides of strings of at least `min` bytes, in order, including keys.
    pub(crate) fn long_strings(&self, bytes: &[u8], min: usize) -> Vec<std::ops::Range<usize>> {
        let mut ranges = Vec::new();
        for node in &self.nodes {
            let inside = node.start as usize + 1..(node.end as usize).saturating_sub(1);
            if inside.len() >= min && bytes.get(node.start as usize) == Some(&b'"') {
                ranges.push(inside);
            }
        }
        ranges
    }
}

/// One pass over a text.
struct Scan<'t, 'b> {
    bytes: &'b [u8],
    at: usize,
    tape: &'t mut Tape,
}

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

impl Scan<'_, '_> {
    fn run(&mut self) -> Result<usize, Broken> {
        let mut want = Want::Value;
        loop {
            let byte = self.skip_space()?;
            want = match (want, byte) {
                (Want::Key | Want::KeyOrEnd, b'"') => self.key()?,
                (Want::KeyOrEnd | Want::CommaOrEnd, b'}') => self.close(b'{')?,
                (Want::ValueOrEnd | Want::CommaOrEnd, b']') => self.close(b'[')?,
                (Want::CommaOrEnd, b',') => {
                    self.at += 1;
                    if self.in_object() { Want::Key } else { Want::Value }
                }
                (Want::Value | Want::ValueOrEnd, b'{') => {
                    self.open()?;
                    Want::KeyOrEnd
                }
                (Want::Value | Want::ValueOrEnd, b'[') => {
                    self.open()?;
                    Want::ValueOrEnd
                }
                (Want::Value | Want::ValueOrEnd, byte) => {
                    self.scalar(byte)?;
                    Want::CommaOrEnd
                }
                _ => return Err(Broken::At(self.at)),
            };
            if self.tape.open.is_empty() {
                return Ok(self.at);
            }
        }
    }

    fn skip_space(&mut self) -> Result<u8, Broken> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_space(byte) {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Broken::Early)
    }

    fn in_object(&self) -> bool {
        let start = self.tape.open.last().and_then(|&index| self.tape.nodes.get(index as usize));
        start.and_then(|node| self.bytes.get(node.start as usize)) == Some(&b'{')
    }

    /// Adds a node that starts at `start` and ends here.
    fn push(&mut self, start: usize) -> Result<(), Broken> {
        let next = self.tape.nodes.len() + 1;
        if next > NODES_MAX {
            return Err(Broken::TooLarge);
        }
        self.tape.nodes.push(Node { start: start as u32, end: self.at as u32, next: next as u32 });
        Ok(())
    }

    fn open(&mut self) -> Result<(), Broken> {
        self.tape.open.push(self.tape.nodes.len() as u32);
        let start = self.at;
        self.at += 1;
        self.push(start)
    }

    fn close(&mut self, opened_by: u8) -> Result<Want, Broken> {
        if (opened_by == b'{') != self.in_object() {
            return Err(Broken::At(self.at));
        }
        self.at += 1;
        let next = self.tape.nodes.len() as u32;
        let index = self.tape.open.pop();
        if let Some(node) = index.and_then(|index| self.tape.nodes.get_mut(index as usize)) {
            node.end = self.at as u32;
            node.next = next;
        }
        Ok(Want::CommaOrEnd)
    }

    fn key(&mut self) -> Result<Want, Broken> {
        let start = self.at;
        let is_plain = self.string()?;
        self.tape.has_escaped_key |= !is_plain;
        self.push(start)?;
        if self.skip_space()? != b':' {
            return Err(Broken::At(self.at));
        }
        self.at += 1;
        Ok(Want::Value)
    }

    fn scalar(&mut self, first: u8) -> Result<(), Broken> {
        let start = self.at;
        match first {
            b'"' => {
                self.string()?;
            }
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            b'-' | b'0'..=b'9' => self.number()?,
            _ => return Err(Broken::At(self.at)),
        }
        self.push(start)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Broken> {
        for &expected in word {
            match self.bytes.get(self.at) {
                Some(&byte) if byte == expected => self.at += 1,
                Some(_) => return Err(Broken::At(self.at)),
                None => return Err(Broken::Early),
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Broken> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn digits(&mut self) -> Result<(), Broken> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match (self.at > start, self.peek()) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(Broken::At(self.at)),
            (false, None) => Err(Broken::Early),
        }
    }

    /// Moves behind the string that starts here. Returns whether it has no escapes.
    fn string(&mut self) -> Result<bool, Broken> {
        self.at += 1;
        let mut is_plain = true;
        loop {
            self.at += plain_len(self.bytes.get(self.at..).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(is_plain);
                }
                Some(b'\\') => {
                    is_plain = false;
                    self.escape()?;
                }
                Some(_) => return Err(Broken::At(self.at)),
                None => return Err(Broken::Early),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Broken> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..).unwrap_or_default();
                let valid = digits.iter().take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
                if valid == 4 {
                    self.at += 6;
                    return Ok(());
                }
                if valid == digits.len() { Err(Broken::Early) } else { Err(Broken::At(self.at + 2 + valid)) }
            }
            Some(_) => Err(Broken::At(self.at + 1)),
            None => Err(Broken::Early),
        }
    }
}

/// Number of leading bytes that need no attention inside a string: no quote, backslash or control byte.
///
/// Eight bytes at a time, because most of any transcript is inside strings.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut length = 0;
    for chunk in chunks {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let slash = word ^ (ONES * u64::from(b'\\'));
        let hits = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hits = hits & HIGH;
        if hits != 0 {
            // Only the lowest hit is exact: a borrow can only spoil bytes above a real one.
            return length + (hits.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    length + rest.iter().position(special).unwrap_or(rest.len())
}
