//! What an append becomes on the counters of a conversation.

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Generation, Position, Seq};
use unforget_store::backend::{AddedPath, PackedParts, Stored, int, opened_by_code};
use unforget_store::{
    Append, ContextRow, Durability, NamedEntry, OpenedBy, Receipt, Snapshot, StoreError, Target,
};

use super::doubt::Trace;
use super::head::{End, Head, Run};
use crate::facts;
use crate::fault::Outcome;

/// An append, taken apart.
pub(crate) struct Request {
    pub(super) id: ConversationId,
    pub(super) entries: u64,
    pub(super) target: Target,
    pub(super) parts: PackedParts,
    pub(super) raw_bytes: u64,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) contexts: Vec<ContextRow>,
    pub(super) names: Vec<NamedEntry>,
    pub(super) durability: Durability,
}

impl Request {
    pub(super) fn new(append: Append) -> Outcome<Self> {
        let Append {
            conversation, entries, target, packed, snapshot, contexts, mut names, durability, ..
        } = append;
        let raw_bytes = packed.raw_bytes();
        let parts = packed.into_parts();
        if parts.chunks.iter().any(|chunk| chunk.dictionary.is_some()) {
            let source = "a batch was packed with the dictionary of another store; pack again".into();
            return Err(StoreError::Backend { operation: "append", source }.into());
        }
        // Two writers of the same names wait for each other in one order.
        names.sort_unstable();
        names.dedup();
        Ok(Self {
            id: conversation,
            entries,
            target,
            parts,
            raw_bytes,
            snapshot,
            contexts,
            names,
            durability,
        })
    }

    /// Whether it carries states of prompts, or names of entries that are stored already.
    pub(super) fn is_derived_too(&self) -> bool {
        !self.contexts.is_empty() || self.names.iter().any(|named| named.seq.0 < self.entries)
    }

    pub(super) fn count(&self) -> u64 {
        self.parts.entries.len() as u64
    }
}

/// Where an append writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(super) generation: u64,
    /// Of its first entry.
    pub(super) position: u64,
    /// What opens the generation, if the append does.
    pub(super) opened: Option<(Option<(Generation, Position)>, OpenedBy)>,
}

/// An append with all numbers that it gets.
pub(crate) struct Planned<'a> {
    pub(super) request: &'a Request,
    /// Revision that it is planned on.
    pub(super) before: u64,
    /// Number of its first chunk.
    pub(super) first_chunk: u64,
    pub(super) place: Place,
    /// The counters behind it.
    pub(super) after: Head,
    /// The columns of its entries.
    pub(super) rows: Vec<PlannedEntry>,
    /// The run of entries that is written or grows.
    pub(super) run: Option<Run>,
}

/// An entry to write.
pub(super) struct PlannedEntry {
    pub(super) seq: i64,
    /// `None` for a tombstone.
    pub(super) chunk: Option<i64>,
    pub(super) chain_head: i32,
    pub(super) chain: [u8; 32],
    pub(super) facts: Vec<u8>,
}

impl<'a> Planned<'a> {
    pub(super) fn new(request: &'a Request, head: &Head, place: Place) -> Self {
        let (first_seq, count, first_chunk) = (head.counters.entries, request.count(), head.counters.chunks);
        let mut after = Head { is_fresh: false, ..head.clone() };
        let length = place.position + count;
        after.counters.generations += u64::from(place.opened.is_some());
        let added = AddedPath {
            generation: place.generation,
            length,
            raw_bytes: request.raw_bytes,
            chunks: request.parts.chunks.len() as u64,
        };
        let added_rows = request.parts.entries.iter().map(|entry| &entry.row);
        after.counters.add(added, added_rows, request.snapshot.as_ref());
        let last = head.end.run.filter(|_| place.opened.is_none());
        let run = match last {
            Some(run) if run.seq + run.count == first_seq => Run { count: run.count + count, ..run },
            _ => Run { position: place.position, seq: first_seq, count },
        };
        let run = (count > 0).then_some(run);
        after.end = End { generation: Some(place.generation), length: Some(length), run: run.or(last) };
        let rows = rows(request, place, first_seq, first_chunk);
        Self { request, before: head.counters.revision, first_chunk, place, after, rows, run }
    }

    pub(super) fn receipt(&self) -> Receipt {
        Receipt {
            generation: Generation(self.place.generation),
            first_seq: Seq(self.request.entries),
            revision: self.after.counters.revision,
        }
    }

    /// What shows that it was stored.
    pub(super) fn trace(&self) -> Trace {
        let snapshot = self.request.snapshot.as_ref();
        let opened = self.place.opened.map(|(parent, opened_by)| {
            [
                parent.map(|(generation, _)| int(generation.0)),
                parent.map(|(_, fork)| int(fork.0)),
                Some(opened_by_code(opened_by)),
            ]
        });
        Trace {
            last: self.rows.last().map(|row| (row.seq, row.chain, row.facts.clone())),
            snapshot: snapshot.map(|snapshot| {
                (int(self.after.counters.snapshots), Digest::of(snapshot.path.as_bytes()), snapshot.time.0)
            }),
            opened: opened.map(|columns| (int(self.place.generation), columns)),
            receipt: self.receipt(),
        }
    }

    /// Bytes that travel.
    pub(super) fn bytes(&self) -> u64 {
        let parts = &self.request.parts;
        let chunks: usize = parts.chunks.iter().map(|chunk| chunk.data.len() + chunk.filter.len()).sum();
        let blobs: usize = parts.blobs.iter().map(|blob| blob.data.len() + blob.filter.len()).sum();
        (chunks + blobs) as u64
    }

    pub(super) fn into_head(self) -> Head {
        self.after
    }
}

fn rows(request: &Request, place: Place, first_seq: u64, first_chunk: u64) -> Vec<PlannedEntry> {
    let mut rows = Vec::with_capacity(request.parts.entries.len());
    for (index, entry) in (0..).zip(&request.parts.entries) {
        let mut row = entry.row.clone();
        row.seq = Seq(first_seq + index);
        row.generation = Generation(place.generation);
        row.position = Position(place.position + index);
        let chunk = entry.chunk.map(|chunk| first_chunk + chunk as u64);
        let stored = Stored {
            row,
            chunk,
            offset: entry.offset,
            lead_len: entry.lead_len,
            body_len: entry.body_len,
            holes: entry.holes.len() as u64,
        };
        rows.push(PlannedEntry {
            seq: int(first_seq + index),
            chunk: chunk.map(int),
            chain_head: stored.row.chain.short() as i32,
            chain: stored.row.chain.0.0,
            facts: facts::encode(request.id, &stored),
        });
    }
    rows
}
