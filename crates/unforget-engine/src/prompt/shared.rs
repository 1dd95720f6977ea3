//! Reads of a session's store for a prompt that begins with what another one has, or that is made again from all of the
//! history.

use std::ops::Range;

use unforget_core::compact::{Root, Tree, is_provisional};
use unforget_core::id::{Seq, Thread};
use unforget_core::tokens::Ruler;
use unforget_store::{EntryRow, SummaryKey, SummaryRow, read_all};

use super::source::Source;
use super::stored_context::{self, StoredContext};
use crate::error::EngineError;
use crate::ledger::Folded;

/// Grains of all trees: see [`unforget_core::policy::Policy::grain`].
const GRAINS: Range<u32> = 7..14;

/// First thread number of the rows that hold contexts of whole histories.
const WHOLE: u64 = 1 << 62;

/// Where the contexts of whole histories of a thread are stored until a prompt shows them.
pub(super) const fn whole(thread: Thread) -> Thread {
    Thread(WHOLE + thread.0)
}

impl Source {
    /// Rows of a range of seqs that belong to the thread.
    pub(super) fn rows(&self, seqs: Range<u64>) -> Result<Vec<EntryRow>, EngineError> {
        let mut rows = self.engine().store().rows(self.thread().conversation, seqs)?;
        rows.retain(|row| row.thread == self.thread().thread);
        Ok(rows)
    }

    /// Expected tokens of a text.
    pub(super) fn count(&self, text: &str) -> u64 {
        self.shape().ruler.count(text).expected
    }

    /// Contexts of other shapes with summaries of their own trees, by the end of their summaries, the newest first, and
    /// their keys.
    pub(super) fn other_contexts(&self) -> Result<Vec<(u64, StoredContext)>, EngineError> {
        let of = self.thread();
        let rows = read_all(|page| self.engine().store().contexts(of.conversation, of.thread, page))?;
        let others = rows.into_iter().filter(|row| row.budget != self.shape().key());
        let kept = others.filter_map(|row| Some((row.budget, stored_context::decode(&row.state)?)));
        let mut kept: Vec<_> = kept.filter(|(_, kept)| !is_provisional(&kept.context)).collect();
        kept.retain(|(_, kept)| !kept.context.roots.is_empty());
        kept.sort_by_key(|(_, kept)| std::cmp::Reverse(unforget_core::compact::end_of(&kept.context)));
        Ok(kept)
    }

    /// Source tokens of the leaves of a tree, by its roots; `None` if their summaries are not stored.
    pub(super) fn grain_of(&self, roots: &[Root]) -> Result<Option<u32>, EngineError> {
        let Some(root) = roots.first() else { return Ok(None) };
        for grain in GRAINS.map(|shift| 1 << shift) {
            if self.stored_in(root, grain)?.is_some() {
                return Ok(Some(grain));
            }
        }
        Ok(None)
    }

    /// The roots of another tree up to an entry: the one across it gives way to its sources.
    ///
    /// * `grain` - source tokens of the tree's leaves.
    ///
    /// Cost: O(roots), and some reads per level of the tree.
    pub(super) fn cut(&self, roots: &[Root], grain: u32, until: Seq) -> Result<Vec<Root>, EngineError> {
        let mut left: Vec<Root> = roots.iter().rev().copied().collect();
        let mut kept = Vec::new();
        while let Some(root) = left.pop() {
            if root.span.1 <= until {
                kept.push(Root { tree: Tree::Other { grain }, ..root });
                continue;
            }
            let across = (root.span.0 <= until).then(|| self.stored_in(&root, grain)).transpose()?.flatten();
            let Some(across) = across else { break };
            left.clear();
            for key in across.sources.iter().rev() {
                match self.engine().store().summary(self.thread().conversation, key)? {
                    Some(row) => left.push(root_of(&row)),
                    // Those before it are in order.
                    None => left.clear(),
                }
            }
        }
        Ok(kept)
    }

    fn stored_in(&self, root: &Root, grain: u32) -> Result<Option<SummaryRow>, EngineError> {
        let key = SummaryKey { thread: self.thread().thread, grain, level: root.level, end: root.end };
        Ok(self.engine().store().summary(self.thread().conversation, &key)?)
    }

    /// The ledger up to an entry, by that of another shape's prompts, which is kept for this one too. `None` if none was
    /// kept.
    pub(super) fn shared_ledger(&self, other: u64, until: Seq) -> Result<Option<Folded>, EngineError> {
        let (engine, of) = (self.engine(), self.thread());
        let is_kept = engine.share_ledger(of, other, self.shape().key(), until)?;
        is_kept.then(|| engine.ledger_until(of, until, other)).transpose()
    }

    /// The context that was made from all of the history in the background.
    pub(super) fn whole_context(&self) -> Result<Option<StoredContext>, EngineError> {
        let of = self.thread();
        let row = self.engine().store().context(of.conversation, whole(of.thread), self.shape().key())?;
        let kept = row.and_then(|row| stored_context::decode(&row.state));
        Ok(kept.filter(|kept| !kept.context.roots.is_empty() && !is_provisional(&kept.context)))
    }
}

fn root_of(row: &SummaryRow) -> Root {
    Root { tree: Tree::Own, level: row.key.level, span: row.span, count: row.count, end: row.key.end }
}
