//! Streams the records of a JSON document that may be larger than memory.
//!
//! Follows strings and brackets byte by byte and keeps only the bytes since the last record. The grammar is not checked
//! here: each record is checked on its own afterwards, so that one damaged record does not hide the others. A line
//! break inside a string proves that a quote is missing. The string then ends there, and so does a record that began on
//! that line.

use std::io::{self, BufRead};

use crate::format::{Layout, RECORD_KEYS, TASK_KEY};
use crate::input::Input;
use crate::json::plain_len;

/// Longest key that is compared with the names of record arrays.
const KEY_BYTES_MAX: usize = 16;

/// Most bytes of a header kept for detection.
const HEADER_BYTES_MAX: usize = 1024 * 1024;

/// The shape of a file, as far as its values have shown it.
#[derive(Default)]
pub(crate) struct FileShape {
    /// The layout of the records, once known.
    pub(crate) layout: Option<Layout>,
    /// The first document's fields in front of its records, closed so that they are an object.
    pub(crate) header: Option<Vec<u8>>,
    /// Number of the current document or task, from 0.
    pub(crate) group: u32,
}

/// The current place in a document.
#[allow(clippy::struct_excessive_bools, reason = "the state of a scanner, each bit on its own")]
pub(crate) struct Document {
    is_array: bool,
    depth: usize,
    /// Depth of the elements of the current record array; 0 outside of any.
    record_depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    is_after_colon: bool,
    /// The last string seen outside of a record, as far as it may be a key.
    key: Vec<u8>,
    /// Offset of the current record's start from the end of the previous record.
    start: Option<usize>,
    /// Whether the current record has contained no line break so far.
    is_one_line: bool,
    /// Offset of the start of the header's object from the end of the previous record.
    header_start: usize,
    has_records: bool,
    is_closed: bool,
}

/// The meaning of a byte for the document.
enum Step {
    /// Go on.
    On,
    /// The current record ends with this byte.
    Record,
    /// A record array opens with this byte.
    Opens(&'static str),
    /// An element with an array of records of its own ends with this byte.
    TaskEnds,
    /// The document ends with this byte.
    Closed,
}

impl Document {
    /// A document that is an array.
    pub(crate) fn array() -> Self {
        Self::new(true)
    }

    /// A document that is an object.
    pub(crate) fn object() -> Self {
        Self::new(false)
    }

    fn new(is_array: bool) -> Self {
        Self {
            is_array,
            depth: 0,
            record_depth: 0,
            is_in_string: false,
            is_escaped: false,
            is_after_colon: false,
            key: Vec::new(),
            start: None,
            is_one_line: false,
            header_start: 0,
            has_records: false,
            is_closed: false,
        }
    }

    /// Whether its last byte was read.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether it had an array of records.
    pub(crate) fn has_records(&self) -> bool {
        self.has_records
    }

    /// Reads up to the end of the next record, into the lead.
    ///
    /// * `lead` - bytes of the file since the last record.
    /// * `record_max` - most bytes of one record.
    ///
    /// Returns the offset in the lead at which the record starts; the record ends at the lead's end. An offset equal to
    /// the lead's end means that the lead became too long and has to be cut. `None` means that the document or the file
    /// has ended.
    pub(crate) fn next_record<R: BufRead>(
        &mut self,
        input: &mut Input<R>,
        lead: &mut Vec<u8>,
        shape: &mut FileShape,
        record_max: usize,
    ) -> io::Result<Option<usize>> {
        if self.is_closed {
            return Ok(None);
        }
        loop {
            let before = lead.len();
            let bytes = input.fill()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let (used, step) = self.scan(bytes, before);
            lead.extend_from_slice(bytes.get(..used).unwrap_or_default());
            input.consume(used);
            match step {
                Step::On => {}
                Step::Record => {
                    shape.layout.get_or_insert(Layout::Array);
                    return Ok(self.start.take());
                }
                Step::Opens(key) => self.open(lead, shape, key),
                Step::TaskEnds => shape.group += 1,
                Step::Closed => {
                    self.is_closed = true;
                    // A document without a record array is one record.
                    let is_one = !self.is_array && !self.has_records;
                    return Ok(is_one.then_some(self.header_start));
                }
            }
            if lead.len() > record_max {
                self.start = None;
                self.header_start = 0;
                return Ok(Some(lead.len()));
            }
        }
    }

    /// Keeps the fields in front of the first record array.
    fn open(&mut self, lead: &[u8], shape: &mut FileShape, key: &'static str) {
        self.has_records = true;
        if shape.layout.is_none() {
            shape.layout = Some(Layout::Under(key));
            let fields = lead.get(self.header_start..lead.len().saturating_sub(1)).unwrap_or_default();
            if fields.len() <= HEADER_BYTES_MAX {
                shape.header = Some([fields, b"null}"].concat());
            }
        }
    }

    /// Reads bytes up to the first relevant one outside of strings. Returns the number of bytes read and the meaning of
    /// the last.
    fn scan(&mut self, bytes: &[u8], before: usize) -> (usize, Step) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.is_in_string {
                at += self.in_string(bytes.get(at..).unwrap_or_default());
                if !self.is_in_string && self.start.is_some() && self.depth == self.element_depth() {
                    return (at, Step::Record);
                }
                continue;
            }
            let step = self.structural(byte, before + at);
            at += 1;
            if !matches!(step, Step::On) {
                return (at, step);
            }
        }
        (at, Step::On)
    }

    /// Reads inside a string. Returns the number of bytes read; 0 only if the string ends for lack of a quote.
    fn in_string(&mut self, bytes: &[u8]) -> usize {
        if self.is_escaped {
            self.is_escaped = false;
            self.key.clear();
            return 1;
        }
        let plain = plain_len(bytes);
        if plain > 0 {
            if self.key.len() <= KEY_BYTES_MAX {
                let room = KEY_BYTES_MAX + 1 - self.key.len();
                self.key.extend_from_slice(bytes.get(..plain.min(room)).unwrap_or_default());
            }
            return plain;
        }
        match bytes.first() {
            Some(b'\\') => self.is_escaped = true,
            Some(b'\n') => {
                self.is_in_string = false;
                if self.start.is_some() && self.is_one_line {
                    self.depth = self.element_depth();
                }
                return 0;
            }
            _ => self.is_in_string = false,
        }
        1
    }

    /// Depth at which an element of the current array starts and ends.
    fn element_depth(&self) -> usize {
        if self.record_depth > 0 { self.record_depth } else { 1 }
    }

    fn structural(&mut self, byte: u8, at: usize) -> Step {
        let is_after_colon = self.is_after_colon;
        self.is_after_colon = byte == b':' || (is_after_colon && crate::json::is_space(byte));
        match byte {
            b'"' => {
                self.start_element(at);
                self.is_in_string = true;
                self.key.clear();
                Step::On
            }
            b'{' | b'[' => {
                if self.depth == 0 {
                    self.header_start = at;
                }
                let opens = if byte == b'[' && is_after_colon { self.record_array() } else { None };
                self.start_element(at);
                self.depth += 1;
                opens.map_or(Step::On, |key| {
                    if self.start.is_some_and(|_| key == TASK_KEY) {
                        self.header_start = self.start.take().unwrap_or_default();
                    }
                    self.record_depth = self.depth;
                    Step::Opens(key)
                })
            }
            b'}' | b']' => self.close(),
            b'\n' => {
                self.is_one_line = false;
                Step::On
            }
            _ => Step::On,
        }
    }

    fn start_element(&mut self, at: usize) {
        let is_element = (self.record_depth > 0 && self.depth == self.record_depth)
            || (self.is_array && self.record_depth == 0 && self.depth == 1);
        if self.start.is_none() && is_element {
            self.start = Some(at);
            self.is_one_line = true;
        }
    }

    /// The name of the record array that opens here, if it is a record array.
    fn record_array(&self) -> Option<&'static str> {
        if self.record_depth > 0 {
            return None;
        }
        if self.is_array {
            return (self.depth == 2 && self.start.is_some() && self.key == TASK_KEY.as_bytes())
                .then_some(TASK_KEY);
        }
        RECORD_KEYS.into_iter().find(|key| self.depth == 1 && self.key == key.as_bytes())
    }

    fn close(&mut self) -> Step {
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            return Step::Closed;
        }
        if self.start.is_some() && self.depth == self.element_depth() {
            return Step::Record;
        }
        if self.depth < self.record_depth {
            self.record_depth = 0;
        }
        if self.is_array && self.depth == 1 && self.record_depth == 0 && self.start.is_none() {
            return Step::TaskEnds;
        }
        Step::On
    }
}
