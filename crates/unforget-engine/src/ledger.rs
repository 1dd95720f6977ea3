//! The ledger of a lane: what was done with tools, folded from the log.

use unforget_core::id::{ConversationId, Seq, Thread};
use unforget_core::ledger::Ledger;
use unforget_wire::{Format, decode};

use crate::{Engine, EngineError};

/// Entries that are read at once.
const ROWS: u64 = 1_024;

/// A ledger and how far it was folded. It is derived: dropped, it is folded again from the log.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Rows.
    pub ledger: Ledger,
    /// The first entry that is not in it.
    pub next: Seq,
}

impl Engine {
    /// Takes what came since into the ledger of a lane: the entries of the current path, in order.
    ///
    /// Cost: O(new entries). Folding in one go or in pieces is the same, unless the path was left in between: then begin
    /// with an empty one.
    pub fn fold_ledger(
        &self,
        conversation: ConversationId,
        thread: Thread,
        folded: &mut Folded,
    ) -> Result<(), EngineError> {
        let stored = self.store().conversation(conversation)?;
        let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
        for run in self.store().path(conversation, stored.current, stored.length)? {
            let start = run.start.max(folded.next.0);
            for from in (start..run.end).step_by(ROWS as usize) {
                let seqs = from..run.end.min(from + ROWS);
                let rows = self.store().rows(conversation, seqs.clone())?;
                let raw = self.store().raw(conversation, seqs.clone())?;
                for (row, raw) in rows.iter().zip(raw).filter(|(row, _)| row.thread == thread && !row.purged)
                {
                    folded.ledger.take(row.seq, &unforget_text::facts(&decode(format, &raw.body)));
                }
                folded.next = Seq(seqs.end);
            }
        }
        Ok(())
    }
}
