//! Entries that a person or a host took back: they are stored, and on no path any more.

use std::collections::BTreeSet;
use std::iter::once;

use unforget_core::id::{ConversationId, Seq, Thread};
use unforget_store::Conversation;

use crate::Engine;
use crate::error::EngineError;
use crate::path::follow;
use crate::rows::stored_rows;

impl Engine {
    /// The entries of a conversation's main lane, from one on, that its path has left: a message that was edited and sent
    /// again, an answer that was asked for anew, a branch.
    ///
    /// Cost: O(rows from there on), which are read without their bodies.
    pub(crate) fn taken_back(&self, stored: &Conversation, from: Seq) -> Result<BTreeSet<Seq>, EngineError> {
        let runs = self.store().path(stored.id, stored.current, stored.length)?;
        let is_current = |seq: Seq| runs.iter().any(|run| run.contains(&seq.0));
        let (mut left, mut links) = (BTreeSet::new(), Vec::new());
        for row in stored_rows(self.store(), stored.id, once(from.0..stored.entries)) {
            let row = row?;
            if row.thread == Thread(0) {
                left.insert(row.seq);
                links.extend(is_current(row.seq).then_some((row.seq, row.parent)));
            }
        }
        for seq in follow(links).0 {
            left.remove(&Seq(seq));
        }
        Ok(left)
    }

    /// The entries of a conversation's main lane between two that are not on the path that ends with the second.
    ///
    /// Cost: O(rows between them), which are read without their bodies.
    pub(crate) fn off_path(
        &self,
        conversation: ConversationId,
        from: Seq,
        until: Seq,
    ) -> Result<BTreeSet<Seq>, EngineError> {
        let mut links = Vec::new();
        for row in stored_rows(self.store(), conversation, once(from.0..until.0.saturating_add(1))) {
            let row = row?;
            links.extend((row.thread == Thread(0)).then_some((row.seq, row.parent)));
        }
        let mut off: BTreeSet<Seq> = links.iter().map(|(seq, _)| *seq).collect();
        for seq in follow(links).0 {
            off.remove(&Seq(seq));
        }
        Ok(off)
    }
}
