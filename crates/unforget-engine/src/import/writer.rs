//! Writes batches into the store, one transaction each.

use unforget_core::id::{ConversationId, Generation};
use unforget_store::{Append, Durability, Receipt, Snapshot, Store, Target, WriteLatency};

use super::crew::Prepared;
use crate::EngineError;
use crate::index::Indexing;

/// Writes the batches of one import in order.
pub(super) struct Writer<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    target: Target,
    next: u64,
    added: u64,
    indexing: Indexing,
}

impl<'a> Writer<'a> {
    /// * `target` - where the first batch goes; later batches follow behind it.
    /// * `next` - seq of the first entry.
    pub(super) fn new(store: &'a dyn Store, id: ConversationId, target: Target, next: u64) -> Self {
        Self { store, id, target, next, added: 0, indexing: Indexing::new() }
    }

    /// Writes one batch. The last batch carries the snapshot.
    pub(super) fn write(
        &mut self,
        prepared: Prepared,
        snapshot: Option<Snapshot>,
    ) -> Result<Receipt, EngineError> {
        let Prepared { seqs, packed, terms } = prepared;
        let count = packed.len() as u64;
        let append = Append {
            conversation: self.id,
            entries: self.next,
            target: self.target,
            packed,
            snapshot,
            context: None,
            names: Vec::new(),
            durability: Durability::OnReturn,
            latency: WriteLatency::Now,
        };
        let receipt = self.store.append(append)?;
        self.next += count;
        self.added += count;
        self.target = Target::Extend(receipt.generation, self.length_before() + count);
        if count > 0 {
            self.indexing.add(self.store, self.id, seqs, terms)?;
        }
        Ok(receipt)
    }

    /// Number of entries written so far.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Number of the conversation's latest snapshot; 0 if there is none.
    pub(super) fn latest_snapshot(&self) -> Result<u64, EngineError> {
        Ok(self.store.latest_snapshot(self.id)?.map_or(0, |latest| latest.number))
    }

    /// Writes the remaining documents of the search index.
    pub(super) fn finish(self) -> Result<(), EngineError> {
        self.indexing.finish(self.store, self.id)
    }

    /// Length of the path before the next batch.
    fn length_before(&self) -> u64 {
        match self.target {
            Target::Extend(_, length) => length,
            Target::Open { parent, .. } => parent.map_or(0, |(_, fork): (Generation, _)| fork.0),
        }
    }
}
