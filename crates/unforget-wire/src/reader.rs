//! Reads a transcript file as a stream of records.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::ops::Range;

use unforget_core::entry::{Entry, Origin};

use crate::detect::{self, Source, Start};
use crate::error::{ReadError, Warning};
use crate::format;
use crate::format::follow::Follow;
use crate::json::{Tape, Value};
use crate::session_facts::SessionFacts;
use crate::split::{FilePiece, FileSplitter, RECORD_BYTES_MAX};

/// One record of a transcript.
#[derive(Clone, Debug)]
pub struct Record {
    /// Bytes between the previous record's body and this one's: separators, newlines, a BOM.
    pub lead: Vec<u8>,
    /// The record's bytes as received.
    pub body: Vec<u8>,
    /// Its parsed content.
    pub entry: Entry,
    /// Ranges of `body` inside long JSON strings: at least [`LARGE`] bytes, worth a blob of their own.
    pub large: Vec<Range<usize>>,
    /// An irregularity of the record.
    pub warning: Option<Warning>,
}

/// Length in bytes from which the inside of a JSON string is reported in [`Record::large`].
pub const LARGE: usize = 16 * 1024;

/// Ranges of a record that deserve a place of their own: the insides of strings of at least [`LARGE`] bytes, if the record
/// is JSON. Ascending. O(bytes) for a large record.
pub fn large_parts(body: &[u8]) -> Vec<Range<usize>> {
    let mut tape = Tape::default();
    let is_json = body.len() >= LARGE && tape.read(body) == Ok(body.len());
    if is_json { tape.long_strings(body, LARGE) } else { Vec::new() }
}

/// Most records read ahead to detect the format and name the conversation.
const AHEAD_RECORDS_MAX: usize = 64;

/// Reading ahead stops after this many bytes.
const AHEAD_BYTES: usize = 1024 * 1024;

/// Reads a transcript. Memory does not grow with the file, only with its largest record.
///
/// The leads and bodies of all records in order, followed by the trailer, are the bytes of the file. A file caught
/// while being written yields the first records of the finished file. A record longer than 256 MiB is cut into opaque
/// records.
pub struct Reader<R> {
    splitter: FileSplitter<R>,
    ahead: VecDeque<FilePiece>,
    follow: Follow,
    source: Source,
    facts: SessionFacts,
    /// Whether the splitter's tape holds the current piece.
    is_tape_current: bool,
}

impl<R: BufRead> Reader<R> {
    /// Detects the format and reads ahead as far as needed to name the conversation: at most 64 records, and no further
    /// than the first megabyte unless one record is longer.
    ///
    /// # Errors
    /// [`ReadError::NotATranscript`] if the start is neither JSON lines nor a JSON document, or the file
    /// is empty or ends inside its first record. [`ReadError::Io`] if reading fails.
    pub fn open(input: R) -> Result<Self, ReadError> {
        Self::open_with(input, RECORD_BYTES_MAX)
    }

    /// [`Reader::open`] with another limit for the bytes of one record.
    pub(crate) fn open_with(input: R, record_max: usize) -> Result<Self, ReadError> {
        let mut splitter = FileSplitter::new(input, record_max);
        let mut ahead = VecDeque::new();
        let mut bytes = 0;
        while ahead.len() < AHEAD_RECORDS_MAX && bytes < AHEAD_BYTES {
            let next = splitter.next_piece();
            let Some(piece) = next.map_err(|source| io_error(&splitter, source))? else { break };
            bytes += piece.lead.len() + piece.body.len();
            ahead.push_back(piece);
        }
        let source = detect::source(&Start {
            layout: splitter.shape.layout,
            header: splitter.shape.header.as_deref(),
            pieces: ahead.iter().collect(),
            trailer: &splitter.trailer,
        })?;
        let follow = Follow::new(source.parent.is_some());
        let facts = SessionFacts::default();
        Ok(Self { splitter, ahead, follow, source, facts, is_tape_current: false })
    }

    /// The transcript's description of itself.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What the records read so far say about their session.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// The next record, `None` at the end.
    ///
    /// # Errors
    /// [`ReadError::Io`] only; irregular bytes become records.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        if let Some(piece) = self.ahead.pop_front() {
            return Ok(Some(self.record(piece)));
        }
        self.is_tape_current = true;
        let next = self.splitter.next_piece();
        let piece = next.map_err(|source| io_error(&self.splitter, source))?;
        Ok(piece.map(|piece| self.record(piece)))
    }

    /// The bytes behind the last record; valid after the last record. A half-written last line is here, not a record.
    pub fn trailer(&self) -> &[u8] {
        if self.ahead.is_empty() { &self.splitter.trailer } else { &[] }
    }

    /// The trailer's irregularity, such as a half-written last line; valid after the last record.
    pub fn trailer_warning(&self) -> Option<&Warning> {
        if self.ahead.is_empty() { self.splitter.trailer_warning.as_ref() } else { None }
    }

    fn record(&mut self, piece: FilePiece) -> Record {
        let FilePiece { lead, body, place, is_json, mut odd, group } = piece;
        let mut large = Vec::new();
        let mut entry = Entry::bare(Origin::Opaque);
        if is_json {
            let tape = &mut self.splitter.tape;
            if !self.is_tape_current {
                // It parsed when the piece was cut.
                tape.read(&body).ok();
            }
            if body.len() >= LARGE {
                large = tape.long_strings(&body, LARGE);
            }
            let text = text_of(&body, tape, &mut odd);
            if let Some(object) = tape.value(&text).and_then(Value::obj) {
                entry = format::decode_object(self.source.format, object);
                self.facts.add(self.source.format, object);
                self.follow.complete(self.source.format, object, group, &mut entry);
            } else {
                odd.get_or_insert_with(|| "not an object; kept as it is".to_owned());
            }
        }
        let bytes = body.len() as u64;
        let warning = odd.map(|what| Warning { place, bytes, what });
        Record { lead, body, entry, large, warning }
    }
}

/// The body as text. Bytes that are not UTF-8 become U+FFFD, and the tape then belongs to the new text.
fn text_of<'a>(body: &'a [u8], tape: &mut Tape, odd: &mut Option<String>) -> Cow<'a, str> {
    if let Ok(text) = std::str::from_utf8(body) {
        return Cow::Borrowed(text);
    }
    let text = String::from_utf8_lossy(body);
    tape.read(text.as_bytes()).ok();
    odd.get_or_insert_with(|| "bytes that are not UTF-8 are shown as U+FFFD".to_owned());
    text
}

fn io_error<R>(splitter: &FileSplitter<R>, source: io::Error) -> ReadError {
    ReadError::Io { byte: splitter.consumed(), source }
}
