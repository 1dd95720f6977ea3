//! The ledger of a lane: the work done with tools, folded from the log.
//!
//! The ledger is derived data. From time to time it is saved with the contexts of the lane, so that folding need not
//! start at the first entry again. A saved ledger plus the entries behind it equals the ledger of all entries.

mod codec;
#[cfg(test)]
mod tests;

use unforget_core::id::{ConversationId, Seq, Thread};
use unforget_core::ledger::{Fact, Ledger};
use unforget_store::{ContextRow, Conversation, THREAD_MAX};

use crate::path::{follow, parts, runs_of};
use crate::rows::stored_rows;
use crate::thread::{ThreadRef, decoded};
use crate::{Engine, EngineError};

/// Number of entries read at once.
const ROWS: u64 = 1_024;

/// Minimum number of entries behind a saved ledger before the ledger is saved again.
const BEHIND: u64 = 64;

/// Number of ledger rows whose writing costs as much as folding one entry.
const PER_ENTRY: u64 = 2;

/// First thread number of the context rows that hold ledgers; lane numbers count down from it.
const LEDGERS: u64 = THREAD_MAX.0 - 1;

/// Key of the ledger of the whole path. Ledgers of prompts have the key of their shape.
const WHOLE: u64 = 0;

/// A ledger with the position up to which it was folded. Derived data: a dropped ledger is folded again from the log.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Rows.
    pub ledger: Ledger,
    /// The newest entry in the ledger; `None` if it is empty.
    head: Option<Seq>,
    /// Number of entries folded since the ledger was last saved.
    behind: u64,
}

impl Folded {
    /// An empty ledger that is folded from behind an entry on.
    pub(crate) fn behind(head: Seq) -> Self {
        Self { head: Some(head), ..Self::default() }
    }

    /// The newest entry in the ledger; `None` if it is empty.
    pub const fn head(&self) -> Option<Seq> {
        self.head
    }

    /// Folds the facts of the next entry of the path into the ledger.
    pub(crate) fn take(&mut self, seq: Seq, facts: &[Fact]) {
        self.ledger.take(seq, facts);
        self.head = Some(seq);
    }

    /// Records that the ledger is complete up to an entry of the path.
    ///
    /// * `entries` - number of entries since the previous call.
    pub(crate) const fn reach(&mut self, head: Seq, entries: u64) {
        self.head = Some(head);
        self.behind = self.behind.saturating_add(entries);
    }

    /// Whether folding the unsaved entries again would cost more than saving the whole ledger.
    fn is_due(&self) -> bool {
        self.behind >= BEHIND + self.ledger.rows().len() as u64 / PER_ENTRY
    }
}

/// Whether an entry counts for the ledger: only entries visible to a model do.
pub(crate) fn counts(entry: &unforget_core::entry::Entry) -> bool {
    entry.origin.is_visible()
}

impl Engine {
    /// Folds the ledger of a lane up to the end of its active path, and saves it for the next time if this engine may
    /// write.
    ///
    /// Cost: O(new entries), independent of the length of the history; O(history) after the lane changed to another
    /// path, and without a saved ledger.
    pub fn fold_ledger(
        &self,
        conversation: ConversationId,
        thread: Thread,
        folded: &mut Folded,
    ) -> Result<(), EngineError> {
        let lane = ThreadRef { conversation, thread };
        self.fold_until(lane, None, folded, WHOLE)?;
        self.keep_ledger(lane, WHOLE, folded);
        Ok(())
    }

    /// The ledger of a path up to one of its entries.
    ///
    /// * `kept` - key under which the ledger of a prompt was saved.
    pub(crate) fn ledger_until(&self, lane: ThreadRef, until: Seq, kept: u64) -> Result<Folded, EngineError> {
        let mut folded = Folded::default();
        self.fold_until(lane, Some(until), &mut folded, kept)?;
        Ok(folded)
    }

    /// The work of a path behind one of its entries, up to another one.
    pub(crate) fn ledger_between(
        &self,
        lane: ThreadRef,
        from: Seq,
        until: Seq,
    ) -> Result<Folded, EngineError> {
        let stored = self.store().conversation(lane.conversation)?;
        let mut folded = Folded::behind(from);
        self.extend(&stored, lane, Some(until), &mut folded)?;
        Ok(folded)
    }

    /// Gives the ledger of one shape's prompts to those of another, if it was kept and is of the path up to an entry.
    /// Returns whether it was.
    pub(crate) fn share_ledger(
        &self,
        lane: ThreadRef,
        from: u64,
        to: u64,
        until: Seq,
    ) -> Result<bool, EngineError> {
        let kept = self.kept_ledger(lane, from)?;
        let Some(kept) = kept.filter(|kept| kept.head.is_some_and(|head| head <= until)) else {
            return Ok(false);
        };
        let Some(head) = kept.head.filter(|_| self.is_writer()) else { return Ok(true) };
        let row =
            ContextRow { thread: place(lane), budget: to, state: codec::encode(kept.ledger.rows(), head) };
        self.store().put_summaries(lane.conversation, &[], Some(&row))?;
        Ok(true)
    }

    /// Saves a ledger if saving pays off. A failed save changes nothing: the ledger is folded again later.
    pub(crate) fn keep_ledger(&self, lane: ThreadRef, key: u64, folded: &mut Folded) {
        let Some(head) = folded.head.filter(|_| self.is_writer() && folded.is_due()) else { return };
        let state = codec::encode(folded.ledger.rows(), head);
        let row = ContextRow { thread: place(lane), budget: key, state };
        if self.store().put_summaries(lane.conversation, &[], Some(&row)).is_ok() {
            folded.behind = 0;
        }
    }

    /// Copies the ledger that was kept for the prompts of a shape, if it is of the path up to an entry that both lanes share.
    pub(crate) fn inherit_ledger(
        &self,
        from: ThreadRef,
        to: ThreadRef,
        key: u64,
        until: Seq,
    ) -> Result<(), EngineError> {
        let kept = self.kept_ledger(from, key)?.filter(|kept| kept.head.is_some_and(|head| head <= until));
        let Some((kept, head)) = kept.and_then(|kept| Some((kept.ledger, kept.head?))) else { return Ok(()) };
        let row = ContextRow { thread: place(to), budget: key, state: codec::encode(kept.rows(), head) };
        Ok(self.store().put_summaries(to.conversation, &[], Some(&row))?)
    }

    fn fold_until(
        &self,
        lane: ThreadRef,
        until: Option<Seq>,
        folded: &mut Folded,
        key: u64,
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

    /// The ledger of a lane's path as it was saved last, without folding the entries behind it.
    ///
    /// Cost: one row.
    pub(crate) fn stored_ledger(&self, lane: ThreadRef) -> Result<Option<Folded>, EngineError> {
        self.kept_ledger(lane, WHOLE)
    }

    /// Saves a ledger of the whole path even if it has few new entries, for readers that do not fold.
    pub(crate) fn save_ledger(&self, lane: ThreadRef, folded: &mut Folded) {
        if folded.behind > 0 {
            folded.behind = u64::MAX;
            self.keep_ledger(lane, WHOLE, folded);
        }
    }

    fn kept_ledger(&self, lane: ThreadRef, key: u64) -> Result<Option<Folded>, EngineError> {
        let row = self.store().context(lane.conversation, place(lane), key)?;
        Ok(row.and_then(|row| codec::decode(&row.state)).map(|(rows, head)| Folded {
            ledger: Ledger::restore(rows),
            head: Some(head),
            behind: 0,
        }))
    }

    /// Folds the entries of the path behind a ledger into it. Returns false, without a change, if the ledger belongs to
    /// another path.
    fn extend(
        &self,
        stored: &Conversation,
        lane: ThreadRef,
        until: Option<Seq>,
        folded: &mut Folded,
    ) -> Result<bool, EngineError> {
        let Some(path) = self.path_behind(stored, lane, folded.head, until)? else { return Ok(false) };
        for seqs in runs_of(&path).into_iter().flat_map(|run| parts(run, ROWS)) {
            for decoded in decoded(self.store(), stored, seqs.clone())? {
                if counts(&decoded.entry) {
                    folded.take(decoded.row.seq, &unforget_text::facts(&decoded.entry));
                }
            }
            folded.reach(Seq(seqs.end - 1), seqs.end - seqs.start);
        }
        Ok(true)
    }
}

impl Engine {
    /// The entries of a lane's active path behind one of its entries, in order. `None` if that entry is on another path.
    ///
    /// * `head` - the entry; `None` for all of the path.
    /// * `until` - the last entry that is wanted.
    ///
    /// Cost: reads the rows behind the head.
    pub(crate) fn path_behind(
        &self,
        stored: &Conversation,
        lane: ThreadRef,
        head: Option<Seq>,
        until: Option<Seq>,
    ) -> Result<Option<Vec<u64>>, EngineError> {
        let runs = self.store().path(lane.conversation, stored.current, stored.length)?;
        let end = until.map_or(u64::MAX, |until| until.0 + 1);
        let is_there = |head: Seq| head.0 < end && runs.iter().any(|run| run.contains(&head.0));
        if head.is_some_and(|head| !is_there(head)) {
            return Ok(None);
        }
        let from = head.map_or(0, |head| head.0 + 1);
        let behind = runs.into_iter().map(|run| run.start.max(from)..run.end.min(end));
        let mut links = Vec::new();
        for row in stored_rows(self.store(), lane.conversation, behind) {
            let row = row?;
            links.extend((row.thread == lane.thread).then_some((row.seq, row.parent)));
        }
        let (path, before) = follow(links);
        let is_other = head.is_some() && !path.is_empty() && before != head;
        Ok((!is_other).then_some(path))
    }
}

const fn place(lane: ThreadRef) -> Thread {
    Thread(LEDGERS - lane.thread.0)
}
