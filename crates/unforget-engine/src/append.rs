//! The write path: every stored entry passes through here.
//!
//! ```text
//! record ─▶ TranscriptEnd (chain, bytes) ─▶ PlacedRecord (seq, parent) ─▶ pack (filters) ─▶ Appender ─▶ store
//! ```
//!
//! Import, the journals of live hosts and replay differ in what they append, not in how. Whoever appends holds the
//! [`ConversationLock`]: rows name their parents by seq, and the seqs are those of a conversation that nobody else
//! extends meanwhile.

mod lock;
mod record;

use unforget_core::id::{ConversationId, Seq};
use unforget_store::{
    Append, ContextRow, Durability, NamedEntry, Packed, Receipt, Snapshot, Store, StoreError, Target,
    WriteLatency,
};

pub(crate) use lock::ConversationLock;
pub(crate) use record::{ChainedRecord, PlacedRecord, TranscriptEnd, pack};

/// What is stored in one transaction with the entries.
pub(crate) struct Attached {
    /// Set if the transcript was read to its end.
    pub(crate) snapshot: Option<Snapshot>,
    /// States derived from the entries, each under another key.
    pub(crate) contexts: Vec<ContextRow>,
    /// Names of the entries, and of other stored ones.
    pub(crate) names: Vec<NamedEntry>,
    /// When the transaction survives a power loss.
    pub(crate) durability: Durability,
    /// How soon it is carried out.
    pub(crate) latency: WriteLatency,
}

impl Attached {
    /// Nothing but the entries, durable on return.
    pub(crate) const fn nothing() -> Self {
        Self {
            snapshot: None,
            contexts: Vec::new(),
            names: Vec::new(),
            durability: Durability::OnReturn,
            latency: WriteLatency::Now,
        }
    }
}

/// Appends batches to one conversation, one transaction each, and knows where the next one goes.
pub(crate) struct Appender<'a> {
    store: &'a dyn Store,
    conversation: ConversationId,
    target: Target,
    next: Seq,
    _lock: ConversationLock,
}

impl<'a> Appender<'a> {
    /// * `target` - where the first batch goes; later batches follow behind it.
    /// * `next` - seq that the first entry will get, read under the lock.
    pub(crate) const fn new(
        store: &'a dyn Store,
        conversation: ConversationId,
        lock: ConversationLock,
        target: Target,
        next: Seq,
    ) -> Self {
        Self { store, conversation, target, next, _lock: lock }
    }

    /// Appends one batch; it may be empty if only a snapshot is recorded.
    ///
    /// Cost: O(batch), whatever the history.
    ///
    /// # Errors
    /// [`StoreError::Moved`] if the end of the conversation is not where this appender expects it.
    pub(crate) fn append(&mut self, packed: Packed, attached: Attached) -> Result<Receipt, StoreError> {
        let count = packed.len() as u64;
        let Attached { snapshot, contexts, names, durability, latency } = attached;
        let receipt = self.store.append(Append {
            conversation: self.conversation,
            entries: self.next.0,
            target: self.target,
            packed,
            snapshot,
            contexts,
            names,
            durability,
            latency,
        })?;
        if count > 0 && receipt.first_seq != self.next {
            let (expected, found) = (self.next.0, receipt.first_seq.0);
            return Err(StoreError::Moved { generation: receipt.generation, expected, found });
        }
        self.target = Target::Extend(receipt.generation, self.length() + count);
        self.next = Seq(self.next.0 + count);
        Ok(receipt)
    }

    /// Length of the path to which the next batch is appended.
    pub(crate) fn length(&self) -> u64 {
        match self.target {
            Target::Extend(_, length) => length,
            Target::Open { parent, .. } => parent.map_or(0, |(_, fork)| fork.0),
        }
    }
}
