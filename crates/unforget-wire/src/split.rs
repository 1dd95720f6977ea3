//! Cuts a file into pieces without interpreting them.
//!
//! Every byte of the file is in exactly one lead or body, or in the trailer, in order. A piece is cut as soon as its
//! last byte is read, and later bytes never change it. The pieces of a growing file are therefore a prefix of the
//! pieces of the grown file. Bytes that the next save may still complete stay in the trailer.
//!
//! * Lines: one or more JSON values per line, split on `\n` only.
//! * Documents ([`crate::document`]): the elements of their arrays, without keeping the document in memory.

use std::io::{self, BufRead};

use crate::document::{Document, FileShape};
use crate::error::{Place, Warning};
use crate::format::{Layout, RECORD_KEYS};
use crate::input::{Input, LineEnd};
use crate::json::{Broken, Tape};

/// Most bytes of one record. A longer record is cut into opaque pieces of this length.
pub(crate) const RECORD_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Number of bytes that layout detection inspects first.
const PROBE_BYTES: usize = 4096;

/// Most attempts to find a whole record behind a torn one on one line.
const RESYNC_TRIES: usize = 16;

/// One record's bytes.
#[derive(Debug)]
pub(crate) struct FilePiece {
    /// Bytes between the previous body and this one.
    pub(crate) lead: Vec<u8>,
    /// The record.
    pub(crate) body: Vec<u8>,
    /// Where the body starts.
    pub(crate) place: Place,
    /// Whether the body is one JSON value; the splitter's tape then holds it.
    pub(crate) is_json: bool,
    /// Its irregularity, if any.
    pub(crate) odd: Option<String>,
    /// Number of the document or task that it belongs to, from 0.
    pub(crate) group: u32,
}

/// The splitter's next action.
enum Mode {
    /// Inspect the next value.
    Start,
    /// Read lines.
    Lines,
    /// Continue inside a line that is too long for one record.
    LongLine,
    /// Continue inside a document.
    Document(Document),
    /// Nothing: the file has ended.
    End,
}

/// The current line.
struct CurrentLine {
    bytes: Vec<u8>,
    at: usize,
    is_ended: bool,
}

/// Cuts a file into pieces.
pub(crate) struct FileSplitter<R> {
    /// The file.
    pub(crate) input: Input<R>,
    /// The values of the last piece, if it is JSON.
    pub(crate) tape: Tape,
    /// Bytes since the last piece.
    pub(crate) lead: Vec<u8>,
    /// The shape of the file so far.
    pub(crate) shape: FileShape,
    /// Bytes behind the last record, once at the end.
    pub(crate) trailer: Vec<u8>,
    /// The trailer's irregularity.
    pub(crate) trailer_warning: Option<Warning>,
    /// Start of `lead`.
    place: Place,
    mode: Mode,
    line: Option<CurrentLine>,
    /// Whether a document came before, so that every further value may be one too.
    pub(crate) is_sequence: bool,
    /// The beginnings of good records up to their first key, for finding records behind torn ones.
    openers: Vec<Vec<u8>>,
    record_max: usize,
}

impl<R> FileSplitter<R> {
    /// Number of bytes consumed so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.input.consumed
    }
}

impl<R: BufRead> FileSplitter<R> {
    /// Starts at the first byte. `record_max` is [`RECORD_BYTES_MAX`] except in tests.
    pub(crate) fn new(reader: R, record_max: usize) -> Self {
        Self {
            input: Input::new(reader),
            tape: Tape::default(),
            lead: Vec::new(),
            shape: FileShape::default(),
            trailer: Vec::new(),
            trailer_warning: None,
            place: Place { line: 1, byte: 0 },
            mode: Mode::Start,
            line: None,
            is_sequence: false,
            openers: Vec::new(),
            record_max,
        }
    }

    /// The next piece; `None` at the end of the file. The trailer is known then.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<FilePiece>> {
        loop {
            let piece = match std::mem::replace(&mut self.mode, Mode::Start) {
                Mode::Start => {
                    self.mode = self.start()?;
                    None
                }
                Mode::Lines => {
                    self.mode = Mode::Lines;
                    self.next_in_line()?
                }
                Mode::LongLine => {
                    self.mode = Mode::LongLine;
                    self.next_of_long_line()?
                }
                Mode::Document(document) => self.next_in_document(document)?,
                Mode::End => {
                    self.mode = Mode::End;
                    return Ok(None);
                }
            };
            if piece.is_some() {
                return Ok(piece);
            }
        }
    }

    /// Inspects the next value and decides how to read it. The decision depends only on the bytes up to the point of
    /// decision, never on the length of the file.
    fn start(&mut self) -> io::Result<Mode> {
        loop {
            let blank = blank_len(self.input.peek(PROBE_BYTES)?);
            if blank == 0 {
                break;
            }
            self.lead.extend_from_slice(self.input.peek(0)?.get(..blank).unwrap_or_default());
            self.input.consume(blank);
            if self.lead.len() > self.record_max {
                return Ok(Mode::Lines);
            }
        }
        match self.input.peek(1)?.first() {
            None => Ok(self.end(None)),
            Some(b'[') => self.start_array(),
            Some(b'{') => self.start_object(),
            Some(_) => Ok(Mode::Lines),
        }
    }

    fn start_array(&mut self) -> io::Result<Mode> {
        let mut want = PROBE_BYTES;
        loop {
            let seen = self.input.peek(want)?;
            let first = seen.iter().skip(1).find(|byte| !crate::json::is_space(**byte));
            match first {
                Some(b'{' | b']') => return Ok(Mode::Document(Document::array())),
                Some(_) => return Ok(Mode::Lines),
                None if seen.len() < want => return self.unfinished(),
                None if want > self.record_max => return Ok(Mode::Lines),
                None => want = seen.len() * 2,
            }
        }
    }

    fn start_object(&mut self) -> io::Result<Mode> {
        let mut want = PROBE_BYTES;
        loop {
            let seen = self.input.peek(want)?;
            let read = self.tape.read_prefix(seen);
            if self.tape.top_array(seen, &RECORD_KEYS).is_some() {
                return Ok(Mode::Document(Document::object()));
            }
            match read {
                Ok(length) => {
                    let value = seen.get(..length).unwrap_or_default();
                    let is_one_line = memchr::memchr(b'\n', value).is_none();
                    return Ok(if is_one_line { Mode::Lines } else { Mode::Document(Document::object()) });
                }
                Err(Broken::At(_) | Broken::TooLarge) => return Ok(Mode::Lines),
                Err(Broken::Early) if seen.len() < want => return self.unfinished(),
                Err(Broken::Early) if want > self.record_max => return Ok(Mode::Lines),
                Err(Broken::Early) => want = seen.len() * 2,
            }
        }
    }

    /// Handles a file that ends inside its first value: all of it is trailer.
    fn unfinished(&mut self) -> io::Result<Mode> {
        let rest = self.input.peek(usize::MAX)?.to_vec();
        self.input.consume(rest.len());
        self.lead.extend_from_slice(&rest);
        Ok(self.end(Some((rest.len(), "the last value is not complete"))))
    }

    /// Ends the file. `odd` is the number of irregular bytes at the end and the reason.
    fn end(&mut self, odd: Option<(usize, &str)>) -> Mode {
        self.trailer = std::mem::take(&mut self.lead);
        self.trailer_warning = odd.map(|(bytes, what)| {
            let before = self.trailer.len().saturating_sub(bytes);
            let place = self.place.after(self.trailer.get(..before).unwrap_or_default());
            Warning { place, bytes: bytes as u64, what: what.to_owned() }
        });
        Mode::End
    }

    /// Cuts a piece: everything since the last one is its lead.
    fn cut(&mut self, body: Vec<u8>, is_json: bool, odd: Option<String>) -> FilePiece {
        let lead = std::mem::take(&mut self.lead);
        let place = self.place.after(&lead);
        self.place = place.after(&body);
        let nuls = memchr::memchr_iter(0, &lead).count();
        let odd = odd.or_else(|| (nuls > 0).then(|| format!("{nuls} NUL bytes before it were skipped")));
        FilePiece { lead, body, place, is_json, odd, group: self.shape.group }
    }

    fn next_in_line(&mut self) -> io::Result<Option<FilePiece>> {
        let Some(mut line) = self.line.take() else { return self.read_line() };
        let rest = line.bytes.get(line.at..).unwrap_or_default();
        let blank = blank_len(rest);
        self.lead.extend_from_slice(rest.get(..blank).unwrap_or_default());
        line.at += blank;
        let rest = rest.get(blank..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(self.end_line(&line));
        }
        match self.tape.read(rest) {
            Ok(length) if matches!(rest.first(), Some(b'{' | b'[')) => {
                Ok(Some(self.take_value(line, length)))
            }
            _ if line.is_ended => Ok(Some(self.take_broken(line))),
            _ => {
                let length = rest.len();
                self.lead.extend_from_slice(rest);
                self.mode = self.end(Some((length, "the last line is not complete")));
                Ok(None)
            }
        }
    }

    fn read_line(&mut self) -> io::Result<Option<FilePiece>> {
        let mut bytes = Vec::new();
        match self.input.read_line(&mut bytes, self.record_max)? {
            LineEnd::File if bytes.is_empty() => self.mode = self.end(None),
            LineEnd::Limit => {
                self.mode = Mode::LongLine;
                return Ok(Some(self.cut(
                    bytes,
                    false,
                    Some("a line too long for one record was cut".into()),
                )));
            }
            end => self.line = Some(CurrentLine { bytes, at: 0, is_ended: end == LineEnd::Newline }),
        }
        Ok(None)
    }

    /// Moves to the next line. Endless blank lines must not fill memory, so they are cut too.
    fn end_line(&mut self, line: &CurrentLine) -> Option<FilePiece> {
        if !line.is_ended {
            self.mode = self.end(None);
            return None;
        }
        self.lead.push(b'\n');
        if self.is_sequence {
            self.mode = Mode::Start;
        }
        if self.lead.len() <= self.record_max {
            return None;
        }
        let blank = std::mem::take(&mut self.lead);
        Some(self.cut(blank, false, Some("blank lines without end were cut".into())))
    }

    fn take_value(&mut self, mut line: CurrentLine, length: usize) -> FilePiece {
        self.shape.layout.get_or_insert(Layout::Lines);
        self.remember_opener(line.bytes.get(line.at..).unwrap_or_default());
        let is_whole = line.at == 0 && length == line.bytes.len();
        let body = if is_whole {
            std::mem::take(&mut line.bytes)
        } else {
            line.bytes.get(line.at..line.at + length).unwrap_or_default().to_vec()
        };
        line.at += length;
        if is_whole {
            line.at = 0;
        }
        self.line = Some(line);
        self.cut(body, true, None)
    }

    /// Takes unparsable bytes as one opaque piece, up to the end of the line or to a place from which a record parses
    /// again: a record appended to a torn line is not lost.
    fn take_broken(&mut self, mut line: CurrentLine) -> FilePiece {
        self.shape.layout.get_or_insert(Layout::Lines);
        let rest = line.bytes.get(line.at..).unwrap_or_default();
        let length = self.resync(rest).unwrap_or_else(|| rest.len() - usize::from(rest.ends_with(b"\r")));
        let body = rest.get(..length).unwrap_or_default().to_vec();
        line.at += length;
        self.line = Some(line);
        self.cut(body, false, Some("not JSON; kept as it is".into()))
    }

    fn resync(&mut self, rest: &[u8]) -> Option<usize> {
        let mut tries = 0;
        let behind = rest.get(1..)?;
        for opener in &self.openers {
            for at in memchr::memmem::find_iter(behind, opener) {
                let from = behind.get(at..)?;
                if self.tape.read(from).is_ok_and(|length| ends_in_values(from, length)) {
                    return Some(at + 1);
                }
                tries += 1;
                if tries == RESYNC_TRIES {
                    return None;
                }
            }
        }
        None
    }

    fn remember_opener(&mut self, record: &[u8]) {
        let Some(colon) = memchr::memchr(b':', record.get(..64).unwrap_or(record)) else { return };
        let opener = record.get(..=colon).unwrap_or_default();
        if self.openers.len() < 4 && self.openers.iter().all(|known| known != opener) {
            self.openers.push(opener.to_vec());
        }
    }

    fn next_of_long_line(&mut self) -> io::Result<Option<FilePiece>> {
        let mut bytes = Vec::new();
        let end = self.input.read_line(&mut bytes, self.record_max)?;
        if end == LineEnd::File {
            let length = bytes.len();
            self.lead.append(&mut bytes);
            self.mode = self.end(Some((length, "the last line is not complete")));
            return Ok(None);
        }
        let piece = (!bytes.is_empty()).then(|| self.cut(bytes, false, None));
        if end == LineEnd::Newline {
            self.lead.push(b'\n');
            self.mode = if self.is_sequence { Mode::Start } else { Mode::Lines };
        }
        Ok(piece)
    }

    fn next_in_document(&mut self, mut document: Document) -> io::Result<Option<FilePiece>> {
        self.is_sequence = true;
        let Some(start) =
            document.next_record(&mut self.input, &mut self.lead, &mut self.shape, self.record_max)?
        else {
            if document.is_closed() {
                self.shape.group += u32::from(document.has_records());
                self.mode = Mode::Start;
                return Ok(None);
            }
            let length = self.lead.len();
            self.mode = self.end(Some((length, "the document ends early")));
            return Ok(None);
        };
        self.mode = if document.is_closed() { Mode::Start } else { Mode::Document(document) };
        if start == self.lead.len() {
            let cut = std::mem::take(&mut self.lead);
            return Ok(Some(self.cut(cut, false, Some("a part too long for one record was cut".into()))));
        }
        let body = self.lead.split_off(start);
        let is_json = self.tape.read(&body) == Ok(body.len());
        let odd = (!is_json).then(|| "not JSON; kept as it is".to_owned());
        Ok(Some(self.cut(body, is_json, odd)))
    }
}

/// Whether the bytes behind a value on a line are blank or the start of another value.
fn ends_in_values(bytes: &[u8], length: usize) -> bool {
    let behind = bytes.get(length..).unwrap_or_default();
    let blank = blank_len(behind);
    matches!(behind.get(blank), None | Some(b'{'))
}

/// Number of leading bytes without meaning: space, NUL, byte order marks.
fn blank_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\n' | b'\r' | 0) => at += 1,
            Some(0xEF) if bytes.get(at + 1..at + 3) == Some(&[0xBB, 0xBF]) => at += 3,
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests;
