//! Buffered input with lookahead.

use std::io::{self, BufRead, ErrorKind};

/// A reader with a place to look ahead.
pub(crate) struct Input<R> {
    reader: R,
    /// Bytes taken from the reader but not yet consumed, from `ahead_at` on.
    ahead: Vec<u8>,
    ahead_at: usize,
    /// Bytes consumed so far.
    pub(crate) consumed: u64,
}

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A newline, which was consumed and is not part of the line.
    Newline,
    /// The end of the file.
    File,
    /// The limit; the line continues.
    Limit,
}

impl<R: BufRead> Input<R> {
    /// Starts at the first byte.
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, ahead: Vec::new(), ahead_at: 0, consumed: 0 }
    }

    /// The next bytes, at least one unless the file is at its end.
    pub(crate) fn fill(&mut self) -> io::Result<&[u8]> {
        if self.ahead_at < self.ahead.len() {
            return Ok(self.ahead.get(self.ahead_at..).unwrap_or_default());
        }
        fill_buf(&mut self.reader)
    }

    /// Consumes `count` of the bytes that [`Input::fill`] or [`Input::peek`] returned.
    pub(crate) fn consume(&mut self, count: usize) {
        self.consumed += count as u64;
        if self.ahead_at < self.ahead.len() {
            self.ahead_at += count;
            if self.ahead_at >= self.ahead.len() {
                self.ahead.clear();
                self.ahead_at = 0;
            }
        } else {
            self.reader.consume(count);
        }
    }

    /// The next bytes without taking them: at least `count`, or all up to the end of the file.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.ahead.len() - self.ahead_at < count {
            if self.ahead_at > self.ahead.len() / 2 {
                self.ahead.drain(..self.ahead_at);
                self.ahead_at = 0;
            }
            let more = fill_buf(&mut self.reader)?;
            if more.is_empty() {
                break;
            }
            self.ahead.extend_from_slice(more);
            let length = more.len();
            self.reader.consume(length);
        }
        Ok(self.ahead.get(self.ahead_at..).unwrap_or_default())
    }

    /// Appends the next line, without its newline, to `line`, up to `limit` bytes.
    pub(crate) fn read_line(&mut self, line: &mut Vec<u8>, limit: usize) -> io::Result<LineEnd> {
        loop {
            let room = limit.saturating_sub(line.len());
            let bytes = self.fill()?;
            if bytes.is_empty() {
                return Ok(LineEnd::File);
            }
            let newline = memchr::memchr(b'\n', bytes);
            let take = newline.unwrap_or(bytes.len());
            if take > room {
                line.extend_from_slice(bytes.get(..room).unwrap_or_default());
                self.consume(room);
                return Ok(LineEnd::Limit);
            }
            line.extend_from_slice(bytes.get(..take).unwrap_or_default());
            self.consume(take + usize::from(newline.is_some()));
            if newline.is_some() {
                return Ok(LineEnd::Newline);
            }
        }
    }
}

fn fill_buf<R: BufRead>(reader: &mut R) -> io::Result<&[u8]> {
    // Polonius: the borrow of a buffer that is returned early would last for the whole loop.
    loop {
        match reader.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    reader.fill_buf()
}
