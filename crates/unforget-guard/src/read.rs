//! Reads a transcript file into facts, with the position of every record.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use unforget_core::digest::{Digest, content_digest};
use unforget_core::transcript::{Customs, Examination, Link, RecordFact, Voice, examine};
use unforget_wire::{Format, Reader, Record, decode};

use super::facts::{Facts, customs};
use super::{GuardError, json};

/// Maximum number of records of one file. Bounds memory at about 1 GB.
const RECORDS_MAX: usize = 4_000_000;

/// Length in bytes from which a piece may be part of a record that was too long to hold.
const WHOLE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Position of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Its line, from 1.
    pub(super) line: u64,
    /// Its first byte.
    pub(super) start: u64,
    /// The position behind its last byte.
    pub(super) end: u64,
    /// Number of NUL bytes between the previous record and this one.
    pub(super) nuls_before: u32,
    /// Whether a newline ends the record.
    pub(super) is_ended: bool,
}

/// Bytes behind the last record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Number of NUL bytes.
    pub(super) nuls: u32,
    /// A truncated line: its offset and its line number.
    pub(super) torn: Option<(u64, u64)>,
}

/// A file that has been read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Its format.
    pub(super) format: Format,
    /// Habits of the file's host; `None` if unknown.
    pub(super) customs: Option<Customs>,
    /// Positions of its records.
    pub(super) spots: Vec<Spot>,
    /// Facts of its records.
    pub(super) facts: Vec<RecordFact>,
    /// Indexes of the records that parse.
    pub(super) parsed: Vec<usize>,
    /// Bytes behind the last record.
    pub(super) tail: Tail,
    /// Length of the file in bytes.
    pub(super) bytes: u64,
}

/// Reads an open file from its start. Memory: a few hundred bytes per record, and the largest record.
///
/// * `path` - name of the file in messages.
///
/// # Errors
/// [`GuardError::Read`], [`GuardError::TooManyRecords`].
pub(super) fn read(file: &File, path: &Path) -> Result<Reading, GuardError> {
    let failed = |source| GuardError::Read { path: path.to_path_buf(), source };
    let mut handle = file;
    handle.rewind().map_err(GuardError::file("reading", path))?;
    let mut reader = Reader::open(BufReader::with_capacity(1 << 18, handle)).map_err(failed)?;
    let mut reading = Reading {
        format: reader.source().format,
        customs: customs(reader.source()),
        spots: Vec::new(),
        facts: Vec::new(),
        parsed: Vec::new(),
        tail: Tail::default(),
        bytes: 0,
    };
    let mut facts = Facts::new(reader.source());
    let mut line = 1;
    while let Some(record) = reader.next_record().map_err(failed)? {
        if reading.spots.len() >= RECORDS_MAX {
            return Err(GuardError::TooManyRecords { path: path.to_path_buf(), max: RECORDS_MAX });
        }
        reading.take(&record, &mut line);
        let is_broken = is_broken(&record);
        reading.facts.push(facts.of(&record, is_broken));
    }
    reading.end(&reader, line);
    reading.parsed = facts.parsed().to_vec();
    reading.find_copies(file).map_err(GuardError::file("reading", path))?;
    Ok(reading)
}

/// Reads a range of bytes of a file.
pub(super) fn bytes_of(file: &File, range: Range<u64>) -> std::io::Result<Vec<u8>> {
    let mut handle = file;
    handle.seek(SeekFrom::Start(range.start))?;
    let mut bytes = Vec::new();
    handle.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_broken(record: &Record) -> bool {
    record.warning.is_some()
        && record.entry.parts.is_empty()
        && record.entry.host_id.as_deref().is_none_or(|id| id.starts_with('#'))
        && !json::is_object(&json::text_of(&record.body))
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

fn nuls(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| u32::from(*byte == 0)).sum()
}

impl Reading {
    fn take(&mut self, record: &Record, line: &mut u64) {
        let in_lead = newlines(&record.lead);
        if let Some(before) = self.spots.last_mut() {
            before.is_ended = in_lead > 0;
        }
        *line += in_lead;
        let start = self.bytes + record.lead.len() as u64;
        let end = start + record.body.len() as u64;
        if record.body.len() as u64 >= WHOLE_BYTES_MAX {
            // The other parts of an overlong record look like broken lines.
            self.customs = self.customs.map(|customs| Customs { is_mendable: false, ..customs });
        }
        self.spots.push(Spot { line: *line, start, end, nuls_before: nuls(&record.lead), is_ended: false });
        *line += newlines(&record.body);
        self.bytes = end;
    }

    fn end<R: BufRead>(&mut self, reader: &Reader<R>, line: u64) {
        let trailer = reader.trailer();
        let torn = reader.trailer_warning().map(|warning| (warning.place.byte, warning.place.line.max(line)));
        let whole = torn.map_or(trailer.len(), |(byte, _)| byte.saturating_sub(self.bytes) as usize);
        let whole = trailer.get(..whole).unwrap_or(trailer);
        if let Some(last) = self.spots.last_mut() {
            last.is_ended = newlines(whole) > 0;
        }
        self.tail = Tail { nuls: nuls(whole), torn };
        self.bytes += trailer.len() as u64;
    }

    /// Marks records repeated by another record with the same id and parent. The host writes such a record again with,
    /// for example, another token count, and uses the last copy. Normally the earlier copy can be removed; if other
    /// records already refer to the earlier copy, the later one can.
    fn find_copies(&mut self, file: &File) -> std::io::Result<()> {
        let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
        let mut asked_for: BTreeMap<&str, usize> = BTreeMap::new();
        let mut contents: BTreeMap<usize, Digest> = BTreeMap::new();
        let mut copies = Vec::new();
        for (at, fact) in self.facts.iter().enumerate().filter(|(_, fact)| fact.voice != Voice::Outside) {
            if let Link::Id(parent) = &fact.link {
                asked_for.insert(parent, at);
            }
            let Some(id) = fact.id.as_deref() else { continue };
            let Some(first) = by_id.insert(id, at) else { continue };
            let same_link = self.facts.get(first).is_some_and(|first| first.link == fact.link);
            if !same_link {
                continue;
            }
            let before = match contents.get(&first) {
                Some(content) => *content,
                None => self.content(file, first)?,
            };
            let content = self.content(file, at)?;
            contents.extend([(first, before), (at, content)]);
            if content != before {
                continue;
            }
            if asked_for.get(id).is_some_and(|asker| *asker > first) {
                by_id.insert(id, first);
                copies.push(at);
            } else {
                copies.push(first);
            }
        }
        for at in copies {
            if let Some(fact) = self.facts.get_mut(at) {
                fact.is_copy = true;
            }
        }
        Ok(())
    }

    /// Digest of the content of a record.
    fn content(&self, file: &File, at: usize) -> std::io::Result<Digest> {
        let body = bytes_of(file, self.spots.get(at).map_or(0..0, |spot| spot.start..spot.end))?;
        let entry = decode(self.format, &body);
        // Records without content are compared by their bytes.
        Ok(if entry.parts.is_empty() { Digest::of(&body) } else { content_digest(&entry) })
    }

    /// Whether the file consists of lines, so that the rules for lines apply.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self.format, Format::Pi | Format::ClaudeCode | Format::Codex)
    }

    /// Applies the rules to the file.
    pub(super) fn examine(&self) -> Examination {
        self.customs.map(|customs| examine(&self.facts, customs)).unwrap_or_default()
    }
}
