//! Parses server-sent events from bytes that arrive in any pieces.
//!
//! Lines end with LF, CR LF or CR. A BOM at the start, comments, and fields other than `event` and `data` are ignored;
//! several `data` lines are joined by LF. An event without data is no event. Bytes that are not UTF-8 become U+FFFD.
//!
//! One difference from the standard: the remainder at the end of the stream is an event too. Providers and proxies
//! close after their last line, and half a document is no JSON, so a cut event is never taken for a whole one.
//!
//! Source: WHATWG HTML, section 9.2.6.

use std::borrow::Cow;

/// Most bytes of one event that are kept.
pub const EVENT_MAX: usize = 16 << 20;

/// An event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A complete event.
    Message {
        /// Its `event` field, empty if it has none.
        name: &'a str,
        /// Its data.
        data: &'a str,
    },
    /// An event larger than the limit. The stream continues behind it.
    TooLarge,
}

/// Splits a stream into events. Keeps at most one event, up to the limit.
#[derive(Clone, Debug)]
pub struct Splitter {
    /// Most bytes kept.
    max: usize,
    /// The start of a line that continues in the next piece.
    line: Vec<u8>,
    name: String,
    /// The lines of the data, each with an LF behind it.
    data: String,
    is_too_large: bool,
    /// Whether the last byte was a CR, so that a following LF belongs to it.
    is_behind_cr: bool,
    is_first_line: bool,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::new(EVENT_MAX)
    }
}

impl Splitter {
    /// A splitter at the start of a stream.
    ///
    /// * `max` - most bytes kept of one event.
    pub const fn new(max: usize) -> Self {
        Self {
            max,
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            is_too_large: false,
            is_behind_cr: false,
            is_first_line: true,
        }
    }

    /// Whether the stream stands between two events, so that another event may be inserted.
    pub fn is_between(&self) -> bool {
        self.line.is_empty() && self.name.is_empty() && self.data.is_empty() && !self.is_too_large
    }

    /// Takes the next piece of the stream and calls `each` for the events that end in it.
    ///
    /// Cost: O(bytes).
    pub fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        if self.is_behind_cr && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            self.is_behind_cr = false;
        }
        while let Some(at) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (head, rest) = bytes.split_at(at);
            self.line_ends(head, each);
            self.is_behind_cr = rest == b"\r";
            bytes = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        }
        self.keep(bytes);
    }

    /// Takes the end of the stream and hands out the remainder as an event.
    pub fn finish(mut self, each: &mut dyn FnMut(Event<'_>)) {
        self.line_ends(b"", each);
        self.dispatch(each);
    }

    /// Keeps the start of a line, unless it is a comment or exceeds the limit.
    fn keep(&mut self, bytes: &[u8]) {
        if self.has_room(bytes) && self.line.first() != Some(&b':') {
            self.line.extend_from_slice(bytes);
        } else if self.line.is_empty() {
            // One byte marks the line as open.
            self.line.extend(bytes.first());
        }
    }

    /// Whether the limit allows more bytes of the line; notes the excess if not.
    fn has_room(&mut self, more: &[u8]) -> bool {
        let is_comment = self.line.first().or(more.first()) == Some(&b':');
        self.fits(if is_comment { 0 } else { self.line.len() + more.len() })
    }

    /// Whether the limit allows this many more bytes of the event; if not, the event is dropped.
    fn fits(&mut self, more: usize) -> bool {
        self.is_too_large |= self.name.len() + self.data.len() + more > self.max;
        if self.is_too_large {
            (self.data, self.name) = (String::new(), String::new());
            self.line.truncate(1);
        }
        !self.is_too_large
    }

    fn line_ends(&mut self, rest: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        let is_empty = self.line.is_empty() && rest.is_empty();
        if !self.has_room(rest) {
            self.line.clear();
            if is_empty {
                self.dispatch(each);
            }
            return;
        }
        let whole: Cow<'_, [u8]> = if self.line.is_empty() {
            Cow::Borrowed(rest)
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(rest);
            Cow::Owned(line)
        };
        let line = String::from_utf8_lossy(&whole);
        let line = if self.is_first_line { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        self.is_first_line = false;
        if line.is_empty() {
            self.dispatch(each);
        } else {
            self.field(line);
        }
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            _ => {}
        }
        // U+FFFD is longer than the bytes that it replaces.
        self.fits(0);
    }

    fn dispatch(&mut self, each: &mut dyn FnMut(Event<'_>)) {
        if self.is_too_large {
            each(Event::TooLarge);
        } else if let Some(data) = self.data.strip_suffix('\n') {
            each(Event::Message { name: &self.name, data });
        }
        self.name.clear();
        self.data.clear();
        self.is_too_large = false;
    }
}
