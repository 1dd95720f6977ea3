//! Reads of a session's store along the path.

use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use unforget_core::entry::{Entry, Origin};
use unforget_core::group::Group;
use unforget_core::id::Seq;
use unforget_store::Conversation;

use super::open::{PathEnd, Until};
use super::raised::CoveredRow;
use super::source::Source;
use crate::error::EngineError;
use crate::path::{follow, runs_of};
use crate::rows::stored_rows;
use crate::thread::decoded;
use crate::view::View;

/// Number of leading entries searched for system instructions when a session resumes.
const SYSTEM_WITHIN: u64 = 64;

/// The active path behind an entry.
pub(super) struct PathBehind {
    /// Its seqs, ascending.
    pub(super) seqs: Vec<u64>,
    /// Expected tokens of all rows behind the entry, on the path or not.
    pub(super) tokens: u64,
}

impl Source {
    /// The entries of the path from `beside` entries before a place up to the end of the summaries, ascending.
    ///
    /// Cost: O(rows of that part), which are read without their bodies.
    pub(super) fn covered_path(
        &self,
        from: u64,
        covered: Seq,
        beside: usize,
    ) -> Result<Vec<CoveredRow>, EngineError> {
        let runs = once(from.saturating_sub(beside as u64)..covered.0.saturating_add(1));
        let (mut parents, mut rows) = (Vec::new(), Vec::new());
        for row in stored_rows(self.engine().store(), self.thread().conversation, runs) {
            let row = row?;
            if row.thread == self.thread().thread {
                parents.push((row.seq, row.parent));
                let is_visible = !row.purged
                    && row.origin != Origin::Volatile
                    && (row.origin.is_visible() || row.origin == Origin::HostSummary);
                rows.push(CoveredRow { seq: row.seq, tokens: row.tokens.expected, is_visible });
            }
        }
        let (path, _) = follow(parents);
        let mut on = path.into_iter().peekable();
        rows.retain(|row| on.next_if_eq(&row.seq.0).is_some());
        Ok(rows)
    }

    /// The groups of covered entries, which are neighbours on the path.
    pub(super) fn covered_groups(&self, rows: &[CoveredRow]) -> Result<Vec<Group>, EngineError> {
        let stored = self.conversation()?;
        let seqs: Vec<u64> = rows.iter().map(|row| row.seq.0).collect();
        let mut view = View::new();
        for run in runs_of(&seqs) {
            for one in decoded(self.engine().store(), &stored, run)? {
                view.push(one.row.seq, &one.entry);
            }
        }
        Ok(view.groups)
    }

    /// The end of a path that is a single run of seqs; `None` for a path with forks.
    pub(super) fn single_run_end(
        &self,
        stored: &Conversation,
        upto: PathEnd,
    ) -> Result<Option<u64>, EngineError> {
        let runs = self.engine().store().path(self.thread().conversation, stored.current, stored.length)?;
        let [run] = runs.as_slice() else { return Ok(None) };
        Ok(Some(match upto {
            PathEnd::Now => run.end,
            PathEnd::Head(head) => head.map_or(0, |head| run.end.min(head.0 + 1)),
        }))
    }

    /// The active path behind an entry; `None` if the entry is not on the path.
    pub(super) fn path_behind(
        &self,
        boundary: Option<Seq>,
        end: u64,
    ) -> Result<Option<PathBehind>, EngineError> {
        let mut rows = Vec::new();
        let from = boundary.map_or(0, |boundary| boundary.0 + 1);
        for row in stored_rows(self.engine().store(), self.thread().conversation, once(from..end)) {
            rows.push(row?);
        }
        rows.retain(|row| row.thread == self.thread().thread);
        let tokens = rows.iter().map(|row| row.tokens.expected).sum();
        let (seqs, before) = follow(rows.into_iter().map(|row| (row.seq, row.parent)).collect());
        let is_on = seqs.is_empty() || before == boundary;
        Ok(is_on.then_some(PathBehind { seqs, tokens }))
    }

    /// The active path as ascending runs of seqs: from the newest entry of the thread back to its root.
    pub(super) fn active_path(
        &self,
        stored: &Conversation,
        until: Until,
    ) -> Result<Vec<Range<u64>>, EngineError> {
        let store = self.engine().store();
        let end = match until {
            Until::Now => u64::MAX,
            Until::Seq(seq) => seq.0 + 1,
        };
        let path = store.path(self.thread().conversation, stored.current, stored.length)?;
        let runs = path.into_iter().map(|run| run.start..run.end.min(end));
        let mut rows = Vec::new();
        for row in stored_rows(store, self.thread().conversation, runs) {
            let row = row?;
            if row.thread == self.thread().thread {
                rows.push((row.seq, row.parent));
            }
        }
        Ok(runs_of(&follow(rows).0))
    }

    /// One entry; `None` if it was purged.
    pub(super) fn entry(&self, stored: &Conversation, seq: Seq) -> Result<Option<Arc<Entry>>, EngineError> {
        Ok(decoded(self.engine().store(), stored, seq.0..seq.0 + 1)?.pop().map(|decoded| decoded.entry))
    }

    /// The system instructions at the beginning of the thread.
    pub(super) fn instructions(&self, stored: &Conversation) -> Result<Vec<(Seq, String)>, EngineError> {
        let mut first = View::new();
        for decoded in decoded(self.engine().store(), stored, 0..SYSTEM_WITHIN)? {
            if decoded.row.thread == self.thread().thread {
                first.push(decoded.row.seq, &decoded.entry);
            }
            if first.visible > 0 {
                break;
            }
        }
        Ok(first.system)
    }
}
