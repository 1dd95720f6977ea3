//! From a record to the entry that is stored.

use std::ops::Range;

use unforget_core::digest::{Chain, content_digest};
use unforget_core::id::{Generation, Position, Seq, Thread};
use unforget_store::{Dictionary, EntryRow, NewEntry, Packed, Packer};
use unforget_wire::Record;

use crate::chunk_filter::filter;
use crate::measure;

/// The end of a transcript, as far as it was read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TranscriptEnd {
    /// Head of the raw chain.
    pub(crate) chain: Chain,
    /// Bytes of all records, with their leads.
    pub(crate) bytes: u64,
}

impl TranscriptEnd {
    /// The end of an empty transcript.
    pub(crate) fn start() -> Self {
        Self { chain: Chain::root(), bytes: 0 }
    }

    /// Moves behind the next record.
    pub(crate) fn pass(&mut self, record: Record) -> ChainedRecord {
        self.chain = self.chain.next(&record.lead, &record.body);
        let start = self.bytes + record.lead.len() as u64;
        self.bytes = start + record.body.len() as u64;
        ChainedRecord { record, chain: self.chain, bytes: start..self.bytes }
    }
}

/// A record and where it stands in its transcript.
pub(crate) struct ChainedRecord {
    /// The record.
    pub(crate) record: Record,
    /// Head of the raw chain behind it.
    pub(crate) chain: Chain,
    /// Range of its body in the transcript.
    pub(crate) bytes: Range<u64>,
}

impl ChainedRecord {
    /// Gives the record its place in the conversation.
    pub(crate) const fn at(self, seq: Seq, thread: Thread, parent: Option<Seq>) -> PlacedRecord {
        PlacedRecord { chained: self, seq, thread, parent }
    }
}

/// A record and where it stands in its conversation.
pub(crate) struct PlacedRecord {
    chained: ChainedRecord,
    /// The seq that the store will give it.
    pub(crate) seq: Seq,
    thread: Thread,
    parent: Option<Seq>,
}

impl PlacedRecord {
    /// The record.
    pub(crate) const fn record(&self) -> &Record {
        &self.chained.record
    }

    /// The entry to store: counted and digested. O(text).
    pub(crate) fn into_entry(self) -> NewEntry {
        let Self { chained: ChainedRecord { record, chain, bytes }, seq, thread, parent } = self;
        let entry = record.entry;
        let (tokens, stubbed) = measure::tokens(&entry);
        let row = EntryRow {
            seq,
            generation: Generation(0),
            position: Position(0),
            parent,
            thread,
            role: entry.role,
            origin: entry.origin,
            status: entry.status,
            tokens,
            stubbed,
            chain,
            content: content_digest(&entry),
            bytes,
            purged: false,
            time: entry.time,
            host_id: entry.host_id,
        };
        NewEntry { lead: record.lead, body: record.body, large: record.large, row }
    }
}

/// Compresses entries for one append, with the filters by which grep skips chunks.
pub(crate) fn pack(dictionary: Option<&Dictionary>, entries: impl IntoIterator<Item = NewEntry>) -> Packed {
    let mut packer = Packer::new(&filter, dictionary);
    for entry in entries {
        packer.push(entry);
    }
    packer.finish()
}
