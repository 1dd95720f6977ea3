//! Writes batches into the store, one transaction each, and their documents into the search index.

use unforget_core::id::ConversationId;
use unforget_store::{ContextRow, Receipt, Snapshot, Store};

use super::crew::Prepared;
use crate::EngineError;
use crate::append::{Appender, Attached};
use crate::index::Indexing;

/// Writes the batches of one import in order.
pub(super) struct BatchWriter<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    appender: Appender<'a>,
    added: u64,
    indexing: Indexing,
}

impl<'a> BatchWriter<'a> {
    pub(super) fn new(store: &'a dyn Store, id: ConversationId, appender: Appender<'a>) -> Self {
        Self { store, id, appender, added: 0, indexing: Indexing::new() }
    }

    /// Writes one batch. The last batch carries the snapshot and the facts of the conversation.
    pub(super) fn write(
        &mut self,
        prepared: Prepared,
        snapshot: Option<Snapshot>,
        context: Option<ContextRow>,
    ) -> Result<Receipt, EngineError> {
        let Prepared { seqs, packed, terms } = prepared;
        let count = packed.len() as u64;
        let contexts = context.into_iter().collect();
        let attached = Attached { snapshot, contexts, ..Attached::nothing() };
        let receipt = self.appender.append(packed, attached)?;
        self.added += count;
        if count > 0 {
            self.indexing.add(self.store, self.id, seqs, terms)?;
        }
        Ok(receipt)
    }

    /// Number of entries written so far.
    pub(super) const fn added(&self) -> u64 {
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
}
