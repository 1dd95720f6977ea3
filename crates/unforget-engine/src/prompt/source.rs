//! Reads and writes of a session's store.

use std::collections::BTreeSet;
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use unforget_core::compact::Root;
use unforget_core::entry::{Entry, Origin};
use unforget_core::group::Group;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::pin::{Followed, Pins};
use unforget_core::policy::Policy;
use unforget_core::raised::RaisedSpan;
use unforget_store::{
    ContextRow, Conversation, DecisionRow, NewJob, RaisedRow, SummaryKey, SummaryRow, VerdictRow,
};
use unforget_text::{Strike, Summary};

use super::fixed::PinProposal;
use super::inherit::key_of;
use super::open::{PathEnd, Until};
use super::raised::CoveredRow;
use super::summaries::WrittenSummary;
use super::{Shape, shared, stored_context};
use crate::Engine;
use crate::append::ConversationLock;
use crate::decisions;
use crate::error::EngineError;
use crate::ledger::Folded;
use crate::path::{follow, runs_of};
use crate::rows::stored_rows;
use crate::summary_name::summary_name;
use crate::thread::{ThreadRef, decoded};
use crate::view::View;

/// Number of summaries written together while a history is played: lost ones can be made again.
const BATCH: usize = 256;

/// Number of leading entries searched for system instructions when a session resumes.
const SYSTEM_WITHIN: u64 = 64;

/// The store of one thread, and the shape in which prompts are made from it.
pub(super) struct Source {
    engine: Engine,
    of: ThreadRef,
    shape: Shape,
    persist: bool,
    now: Timestamp,
    /// Summaries waiting to be written together; `None` unless a stored history is played.
    batch: Option<Vec<SummaryRow>>,
    /// What readers rejected of the conversation.
    verdicts: Vec<VerdictRow>,
    /// Time of the past at which people's decisions count; `None` for now.
    then: Option<Timestamp>,
    /// Whether the stored history is loaded.
    is_open: bool,
    /// Number of purges when this session began to work ahead, for a later break of another session; `None` unless it does.
    ahead: Option<usize>,
}

/// The active path behind an entry.
pub(super) struct PathBehind {
    /// Its seqs, ascending.
    pub(super) seqs: Vec<u64>,
    /// Expected tokens of all rows behind the entry, on the path or not.
    pub(super) tokens: u64,
}

impl Source {
    /// * `persist` - whether summaries and contexts are written.
    pub(super) fn new(engine: &Engine, of: ThreadRef, shape: Shape, persist: bool) -> Self {
        Self {
            engine: engine.clone(),
            of,
            shape,
            persist,
            now: Timestamp::default(),
            batch: None,
            verdicts: Vec::new(),
            then: None,
            is_open: false,
            ahead: None,
        }
    }

    /// The stored history is loaded: from now on a break may show what was made in the background.
    pub(super) const fn opened(&mut self) {
        self.is_open = true;
    }

    /// Whether the stored history is loaded.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Stores the context where a later break of another session finds it, unless something is purged meanwhile.
    ///
    /// * `purges` - number of purges before the history is read.
    pub(super) const fn work_ahead(&mut self, purges: usize) {
        self.ahead = Some(purges);
    }

    /// A source with this store and time, for a session that starts again.
    pub(super) fn again(&self) -> Self {
        Self {
            now: self.now,
            verdicts: self.verdicts.clone(),
            then: self.then,
            ..Self::new(&self.engine, self.of, self.shape, self.persist)
        }
    }

    pub(super) const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) const fn thread(&self) -> ThreadRef {
        self.of
    }

    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) const fn policy(&self) -> &Policy {
        &self.shape.policy
    }

    pub(super) const fn persists(&self) -> bool {
        self.persist
    }

    /// Whether a stored history is being played.
    pub(super) const fn is_playing(&self) -> bool {
        self.batch.is_some()
    }

    /// Whether proposals of entries become pins without a question.
    pub(super) fn accepts_proposals(&self) -> bool {
        self.persist && self.engine.pins_by_itself()
    }

    pub(super) const fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// The time for new rows: the host's, or the newest time of the history while it is played.
    pub(super) fn stamp(&self, newest: Option<Timestamp>) -> Timestamp {
        if self.now == Timestamp::default() { newest.unwrap_or_default() } else { self.now }
    }

    /// The key under which a summary is stored.
    pub(super) const fn key(&self, root: &Root) -> SummaryKey {
        key_of(self.of, self.shape.policy.grain as u32, root)
    }

    /// The conversation's row.
    pub(super) fn conversation(&self) -> Result<Conversation, EngineError> {
        Ok(self.engine.store().conversation(self.of.conversation)?)
    }

    /// The stored context of this shape; `None` if missing or unreadable.
    pub(super) fn context(&self) -> Result<Option<stored_context::StoredContext>, EngineError> {
        let row = self.engine.store().context(self.of.conversation, self.of.thread, self.shape.key())?;
        Ok(row.and_then(|row| stored_context::decode(&row.state)))
    }

    /// A summary as code wrote it; `None` if missing.
    pub(super) fn summary(&self, root: &Root) -> Result<Option<WrittenSummary>, EngineError> {
        let key = self.key(root);
        let gathered = self.batch.iter().flatten().find(|row| row.key == key);
        if let Some(written) = gathered.and_then(WrittenSummary::of) {
            return Ok(Some(written));
        }
        let row = self.engine.store().summary(self.of.conversation, &key)?;
        Ok(row.as_ref().and_then(WrittenSummary::of))
    }

    /// A summary as a model wrote it.
    pub(super) fn rewrite(&self, root: &Root) -> Result<WrittenSummary, EngineError> {
        let key = self.key(root);
        let row = self.engine.store().rewrite(self.of.conversation, &key)?;
        let written = row.and_then(|row| WrittenSummary::of(&row));
        written.ok_or_else(|| EngineError::MissingSummary { name: summary_name(&key) })
    }

    /// The roots that a break should show as a model wrote them: the shown ones and those that are ready.
    ///
    /// Nobody sees the breaks of a history that is played. [`super::Session`] looks once, at its end.
    pub(super) fn rewritten(
        &self,
        roots: &[Root],
        shown: &BTreeSet<SummaryKey>,
    ) -> Result<BTreeSet<SummaryKey>, EngineError> {
        let mut ready = BTreeSet::new();
        if self.is_playing() {
            return Ok(ready);
        }
        for key in roots.iter().map(|root| self.key(root)) {
            let is_ready =
                shown.contains(&key) || self.engine.store().rewrite(self.of.conversation, &key)?.is_some();
            if is_ready {
                ready.insert(key);
            }
        }
        Ok(ready)
    }

    /// Whether models write summaries for this engine.
    pub(super) fn has_models(&self) -> bool {
        self.engine.has_models()
    }

    /// Asks models for these summaries, once for each.
    pub(super) fn put_jobs(&self, wanted: &[Root]) -> Result<(), EngineError> {
        if wanted.is_empty() || !self.persist || !self.has_models() {
            return Ok(());
        }
        let wanted = wanted.iter().map(|root| NewJob { key: self.key(root), span: root.span });
        let jobs: Vec<_> = wanted.collect();
        self.engine.store().put_jobs(self.of.conversation, &jobs, self.now)?;
        Ok(())
    }

    /// From now on summaries wait to be written together, if they are written at all.
    pub(super) fn begin_playing(&mut self) {
        self.batch = self.persist.then(Vec::new);
    }

    /// Takes the summaries that are not written yet; `None` if no stored history is played for writing.
    pub(super) const fn end_playing(&mut self) -> Option<Vec<SummaryRow>> {
        self.batch.take()
    }

    /// Keeps the summaries of a played break until enough are together.
    pub(super) fn gather(&mut self, rows: Vec<SummaryRow>) -> Result<(), EngineError> {
        let Some(batch) = &mut self.batch else { return Ok(()) };
        batch.extend(rows);
        if batch.len() < BATCH {
            return Ok(());
        }
        let rows = std::mem::take(batch);
        self.put_summaries(&rows)
    }

    /// Writes one summary that no context shows yet.
    pub(super) fn put_prepared(&mut self, row: SummaryRow) -> Result<(), EngineError> {
        match &mut self.batch {
            Some(batch) => batch.push(row),
            None => self.put_summaries(&[row])?,
        }
        Ok(())
    }

    fn put_summaries(&self, rows: &[SummaryRow]) -> Result<(), EngineError> {
        self.put_rows(rows, None)
    }

    fn put_rows(&self, rows: &[SummaryRow], context: Option<&ContextRow>) -> Result<(), EngineError> {
        let id = self.of.conversation;
        // No purge is at work while the lock is held.
        let _lock = self.ahead.map(|_| ConversationLock::of(id));
        if self.ahead.is_some_and(|purges| self.engine.wanted.purges(id) != purges) {
            // These words may be gone. The work ends, and is done again.
            return Ok(());
        }
        Ok(self.engine.store().put_summaries(id, rows, context)?)
    }

    /// Writes summaries and the context that shows them, in one transaction.
    pub(super) fn put_context(&self, rows: &[SummaryRow], state: Vec<u8>) -> Result<(), EngineError> {
        let thread = if self.ahead.is_some() { shared::whole(self.of.thread) } else { self.of.thread };
        let context = ContextRow { thread, budget: self.shape.key(), state };
        self.put_rows(rows, Some(&context))
    }

    /// Records a decision.
    pub(super) fn decide(&self, row: &DecisionRow) -> Result<(), EngineError> {
        self.engine.store().decide(self.of.conversation, decisions::kept(row))?;
        Ok(())
    }

    /// The pins of the conversation.
    pub(super) fn pins(&self) -> Result<Pins, EngineError> {
        self.engine.pins(self.of.conversation)
    }

    /// Reads what readers rejected. Returns whether that changed.
    ///
    /// Cost: one read of a small table.
    pub(super) fn load_verdicts(&mut self) -> Result<bool, EngineError> {
        let mut verdicts = self.engine.verdicts(self.of.conversation)?;
        verdicts.retain(VerdictRow::is_standing);
        let is_new = verdicts != self.verdicts;
        self.verdicts = verdicts;
        Ok(is_new)
    }

    /// Takes over what was rejected at a time of the past.
    pub(super) fn load_verdicts_of(&mut self, time: Timestamp) -> Result<(), EngineError> {
        self.verdicts = self.engine.verdicts(self.of.conversation)?;
        self.verdicts.retain(|row| row.made <= time && row.withdrawn.is_none_or(|end| end > time));
        Ok(())
    }

    /// Counts people's decisions as they stood at a time of the past.
    pub(super) const fn look_back(&mut self, time: Timestamp) {
        self.then = Some(time);
    }

    /// The spans that people put back, by number.
    ///
    /// Cost: one read of a small table.
    pub(super) fn raised(&self) -> Result<Vec<RaisedSpan>, EngineError> {
        let mut rows = self.engine.raised(self.of.conversation)?;
        rows.retain(|row| self.then.map_or_else(|| row.is_standing(), |then| row.stood_at(then)));
        Ok(rows.iter().map(RaisedRow::raised).collect())
    }

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
        for row in stored_rows(self.engine.store(), self.of.conversation, runs) {
            let row = row?;
            if row.thread == self.of.thread {
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
            for one in decoded(self.engine.store(), &stored, run)? {
                view.push(one.row.seq, &one.entry);
            }
        }
        Ok(view.groups)
    }

    /// A summary as it is shown: without what readers rejected.
    pub(super) fn told(&self, summary: &Arc<Summary>) -> Arc<Summary> {
        let strikes: Vec<Strike<'_>> = self
            .verdicts
            .iter()
            .map(|row| Strike { number: row.number, seq: row.seq, line: row.line.as_deref() })
            .collect();
        summary.struck(&strikes).map_or_else(|| Arc::clone(summary), Arc::new)
    }

    /// Reads followed files again, if this session and its engine write.
    pub(super) fn follow_pins(&self, time: Timestamp) -> Result<Vec<Followed>, EngineError> {
        if self.persist && self.engine.is_writer() {
            self.engine.follow_pins(self.of.conversation, time)
        } else {
            Ok(Vec::new())
        }
    }

    /// Pins proposals whose text is not known yet. Those without room stay proposals.
    pub(super) fn accept(&self, proposals: Vec<PinProposal>) -> Result<(), EngineError> {
        let mut known: BTreeSet<String> = self.pins()?.all().iter().map(|pin| pin.text.clone()).collect();
        for PinProposal { seq, text } in proposals {
            if known.contains(&text) {
                continue;
            }
            match self.engine.pin(self.of.conversation, &text, Some(seq), self.now) {
                Ok(_) | Err(EngineError::Pin(_)) => {}
                Err(error) => return Err(error),
            }
            known.insert(text);
        }
        Ok(())
    }

    /// The ledger of the path up to an entry.
    pub(super) fn ledger_until(&self, until: Seq) -> Result<Folded, EngineError> {
        self.engine.ledger_until(self.of, until, self.shape.key())
    }

    /// The work of the path behind an entry, up to another one.
    pub(super) fn ledger_between(&self, from: Seq, until: Seq) -> Result<Folded, EngineError> {
        self.engine.ledger_between(self.of, from, until)
    }

    /// Saves a ledger if that pays off.
    pub(super) fn keep_ledger(&self, folded: &mut Folded) {
        self.engine.keep_ledger(self.of, self.shape.key(), folded);
    }

    /// The end of a path that is a single run of seqs; `None` for a path with forks.
    pub(super) fn single_run_end(
        &self,
        stored: &Conversation,
        upto: PathEnd,
    ) -> Result<Option<u64>, EngineError> {
        let runs = self.engine.store().path(self.of.conversation, stored.current, stored.length)?;
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
        for row in stored_rows(self.engine.store(), self.of.conversation, once(from..end)) {
            rows.push(row?);
        }
        rows.retain(|row| row.thread == self.of.thread);
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
        let store = self.engine.store();
        let end = match until {
            Until::Now => u64::MAX,
            Until::Seq(seq) => seq.0 + 1,
        };
        let path = store.path(self.of.conversation, stored.current, stored.length)?;
        let runs = path.into_iter().map(|run| run.start..run.end.min(end));
        let mut rows = Vec::new();
        for row in stored_rows(store, self.of.conversation, runs) {
            let row = row?;
            if row.thread == self.of.thread {
                rows.push((row.seq, row.parent));
            }
        }
        Ok(runs_of(&follow(rows).0))
    }

    /// One entry; `None` if it was purged.
    pub(super) fn entry(&self, stored: &Conversation, seq: Seq) -> Result<Option<Arc<Entry>>, EngineError> {
        Ok(decoded(self.engine.store(), stored, seq.0..seq.0 + 1)?.pop().map(|decoded| decoded.entry))
    }

    /// The system instructions at the beginning of the thread.
    pub(super) fn instructions(&self, stored: &Conversation) -> Result<Vec<(Seq, String)>, EngineError> {
        let mut first = View::new();
        for decoded in decoded(self.engine.store(), stored, 0..SYSTEM_WITHIN)? {
            if decoded.row.thread == self.of.thread {
                first.push(decoded.row.seq, &decoded.entry);
            }
            if first.visible > 0 {
                break;
            }
        }
        Ok(first.system)
    }
}
