//! The ledger of a lane: what was done with tools, folded from the log.
//!
//! It is derived. From time to time it is kept with the contexts of the lane, so that it need not be folded from the
//! beginning again; any kept one and the entries behind it give the same as all entries.

mod codec;
#[cfg(test)]
mod tests;

use unforget_core::id::{ConversationId, Seq, Thread};
use unforget_core::ledger::{Fact, Ledger};
use unforget_store::{ContextRow, Conversation};

use crate::path::{follow, parts, runs_of};
use crate::prompt::{Lane, decoded};
use crate::{Engine, EngineError};

/// Entries that are read at once.
const ROWS: u64 = 1_024;

/// Entries behind a kept ledger that are never worth another one.
const BEHIND: u64 = 64;

/// Rows of a ledger that cost as much to write as one entry costs to fold.
const PER_ENTRY: u64 = 2;

/// Where ledgers of lanes are kept among the contexts, counted down by lane.
const LEDGERS: u64 = u64::MAX - 1;

/// Where the ledger of the whole path is kept; others are those of the prompts of a shape, under its key.
const WHOLE: u64 = 0;

/// A ledger and how far it was folded. It is derived: dropped, it is folded again from the log.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Rows.
    pub ledger: Ledger,
    /// The newest entry in it; `None` for none.
    head: Option<Seq>,
    /// Entries in it that are not in the one that was kept last.
    behind: u64,
}

impl Folded {
    /// The newest entry in it; `None` for none.
    pub const fn head(&self) -> Option<Seq> {
        self.head
    }

    /// Takes in the facts of an entry of the path, in order.
    pub(crate) fn take(&mut self, seq: Seq, facts: &[Fact]) {
        self.ledger.take(seq, facts);
        self.head = Some(seq);
    }

    /// Notes that it is of the path up to an entry.
    ///
    /// * `entries` - how many came since it was last noted.
    pub(crate) const fn reach(&mut self, head: Seq, entries: u64) {
        self.head = Some(head);
        self.behind += entries;
    }

    /// Whether folding what came since costs more than writing all of it.
    fn is_due(&self) -> bool {
        self.behind >= BEHIND + self.ledger.rows().len() as u64 / PER_ENTRY
    }
}

/// An entry's part in a ledger is what a model sees of it.
pub(crate) fn counts(entry: &unforget_core::entry::Entry) -> bool {
    entry.origin.is_visible()
}

impl Engine {
    /// Brings the ledger of a lane to the end of its active path, and keeps it for the next time if this engine may
    /// write.
    ///
    /// Cost: O(new entries), however long the history is. Where the path was left in between, and where nothing is
    /// kept, O(history).
    pub fn fold_ledger(
        &self,
        conversation: ConversationId,
        thread: Thread,
        folded: &mut Folded,
    ) -> Result<(), EngineError> {
        let lane = Lane { conversation, thread };
        self.fold_until(lane, None, (folded, WHOLE))?;
        self.keep_ledger(lane, WHOLE, folded);
        Ok(())
    }

    /// The ledger of a path up to an entry of it.
    ///
    /// * `kept` - under which key a prompt's ledger was kept.
    pub(crate) fn ledger_until(&self, lane: Lane, until: Seq, kept: u64) -> Result<Folded, EngineError> {
        let mut folded = Folded::default();
        self.fold_until(lane, Some(until), (&mut folded, kept))?;
        Ok(folded)
    }

    /// Keeps a ledger if it is worth it. That it could not be kept changes nothing: it is folded again then.
    pub(crate) fn keep_ledger(&self, lane: Lane, key: u64, folded: &mut Folded) {
        let Some(head) = folded.head.filter(|_| self.is_writer() && folded.is_due()) else { return };
        let state = codec::encode(folded.ledger.rows(), head);
        let row = ContextRow { thread: place(lane), budget: key, state };
        if self.store().put_summaries(lane.conversation, &[], Some(&row)).is_ok() {
            folded.behind = 0;
        }
    }

    fn fold_until(
        &self,
        lane: Lane,
        until: Option<Seq>,
        (folded, key): (&mut Folded, u64),
    ) -> Result<(), EngineError> {
        let stored = self.store().conversation(lane.conversation)?;
        if folded.head.is_some() && self.extend(&stored, lane, until, folded)? {
            return Ok(());
        }
        for key in [key, WHOLE] {
            if let Some(mut kept) = self.kept_ledger(lane, key)?
                && self.extend(&stored, lane, until, &mut kept)?
            {
                *folded = kept;
                return Ok(());
            }
        }
        *folded = Folded::default();
        self.extend(&stored, lane, until, folded).map(|_| ())
    }

    fn kept_ledger(&self, lane: Lane, key: u64) -> Result<Option<Folded>, EngineError> {
        let row = self.store().context(lane.conversation, place(lane), key)?;
        Ok(row.and_then(|row| codec::decode(&row.state)).map(|(rows, head)| Folded {
            ledger: Ledger::restore(rows),
            head: Some(head),
            behind: 0,
        }))
    }

    /// Folds what the path has behind a ledger. Returns false, and changes nothing, if the ledger is of another path.
    fn extend(
        &self,
        stored: &Conversation,
        lane: Lane,
        until: Option<Seq>,
        folded: &mut Folded,
    ) -> Result<bool, EngineError> {
        let runs = self.store().path(lane.conversation, stored.current, stored.length)?;
        let end = until.map_or(u64::MAX, |until| until.0 + 1);
        let is_there = |head: Seq| head.0 < end && runs.iter().any(|run| run.contains(&head.0));
        if folded.head.is_some_and(|head| !is_there(head)) {
            return Ok(false);
        }
        let from = folded.head.map_or(0, |head| head.0 + 1);
        let mut rows = Vec::new();
        for run in &runs {
            for seqs in parts(run.start.max(from)..run.end.min(end), ROWS) {
                let part = self.store().rows(lane.conversation, seqs)?;
                let lane = part.into_iter().filter(|row| row.thread == lane.thread);
                rows.extend(lane.map(|row| (row.seq, row.parent)));
            }
        }
        let (path, before) = follow(rows);
        if folded.head.is_some() && !path.is_empty() && before != folded.head {
            return Ok(false);
        }
        for seqs in runs_of(&path).into_iter().flat_map(|run| parts(run, ROWS)) {
            for (row, entry) in decoded(self.store(), stored, seqs.clone())? {
                if counts(&entry) {
                    folded.take(row.seq, &unforget_text::facts(&entry));
                }
            }
            folded.reach(Seq(seqs.end - 1), seqs.end - seqs.start);
        }
        Ok(true)
    }
}

const fn place(lane: Lane) -> Thread {
    Thread(LEDGERS - lane.thread.0)
}
