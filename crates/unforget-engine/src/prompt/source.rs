//! Reads and writes of a session's store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unforget_core::compact::Root;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::pin::{Followed, Pins};
use unforget_core::policy::Policy;
use unforget_core::raised::RaisedSpan;
use unforget_store::{
    ContextRow, Conversation, DecisionRow, DerivedRows, NewJob, RaisedRow, SaidRows, SummaryKey, SummaryRow,
    VerdictRow,
};
use unforget_text::{Strike, Summary};

use super::fixed::PinProposal;
use super::inherit::key_of;
use super::summaries::WrittenSummary;
use super::{Shape, shared, stored_context};
use crate::Engine;
use crate::append::ConversationLock;
use crate::decisions;
use crate::error::EngineError;
use crate::ledger::Folded;
use crate::rows::pins_of;
use crate::thread::ThreadRef;

/// Number of summaries written together while a history is played: lost ones can be made again.
const BATCH: usize = 256;

/// The store of one thread, and the shape in which prompts are made from it.
pub(super) struct Source {
    engine: Engine,
    of: ThreadRef,
    shape: Shape,
    persist: bool,
    now: Timestamp,
    /// Summaries waiting to be written together; `None` unless a stored history is played.
    batch: Option<Vec<SummaryRow>>,
    /// What people said of the conversation, as it was read last.
    said: SaidRows,
    /// What the caller read of it, for the next look.
    told: Option<SaidRows>,
    /// What readers rejected of the conversation.
    verdicts: Vec<VerdictRow>,
    /// Time of the past at which people's decisions count; `None` for now.
    then: Option<Timestamp>,
    /// Whether the stored history is loaded.
    is_open: bool,
    /// Number of purges when this session began to work ahead, for a later break of another session; `None` unless it does.
    ahead: Option<usize>,
}

/// A row that can be read, by its key.
fn written(row: &SummaryRow) -> Option<(SummaryKey, WrittenSummary)> {
    Some((row.key, WrittenSummary::of(row)?))
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
            said: SaidRows::default(),
            told: None,
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
            said: self.said.clone(),
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

    /// Summaries as code wrote them, by key; missing ones are left out.
    pub(super) fn summaries(
        &self,
        roots: &[Root],
    ) -> Result<BTreeMap<SummaryKey, WrittenSummary>, EngineError> {
        let mut keys: BTreeSet<SummaryKey> = roots.iter().map(|root| self.key(root)).collect();
        let gathered = self.batch.iter().flatten().filter(|row| keys.contains(&row.key));
        let mut found: BTreeMap<SummaryKey, WrittenSummary> = gathered.filter_map(written).collect();
        keys.retain(|key| !found.contains_key(key));
        if !keys.is_empty() {
            let keys: Vec<SummaryKey> = keys.into_iter().collect();
            let rows = self.engine.store().summaries_of(self.of.conversation, &keys)?;
            found.extend(rows.iter().filter_map(written));
        }
        Ok(found)
    }

    /// Summaries as a model wrote them, by key; missing ones are left out.
    pub(super) fn rewrites(
        &self,
        roots: &[Root],
    ) -> Result<BTreeMap<SummaryKey, WrittenSummary>, EngineError> {
        if roots.is_empty() {
            return Ok(BTreeMap::new());
        }
        let keys: Vec<SummaryKey> = roots.iter().map(|root| self.key(root)).collect();
        let rows = self.engine.store().rewrites_of(self.of.conversation, &keys)?;
        Ok(rows.iter().filter_map(written).collect())
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
        let (known, unknown): (Vec<SummaryKey>, Vec<SummaryKey>) =
            roots.iter().map(|root| self.key(root)).partition(|key| shown.contains(key));
        ready.extend(known);
        if !unknown.is_empty() {
            let rows = self.engine.store().rewrites_of(self.of.conversation, &unknown)?;
            ready.extend(rows.iter().map(|row| row.key));
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
        self.put_derived(DerivedRows { summaries: rows, ..DerivedRows::default() })
    }

    fn put_derived(&self, rows: DerivedRows<'_>) -> Result<(), EngineError> {
        let id = self.of.conversation;
        // No purge is at work while the lock is held.
        let _lock = self.ahead.map(|_| ConversationLock::of(id));
        if self.ahead.is_some_and(|purges| self.engine.wanted.purges(id) != purges) {
            // These words may be gone. The work ends, and is done again.
            return Ok(());
        }
        self.engine.store().put_derived(id, rows)?;
        Ok(())
    }

    /// Writes summaries, the context that shows them, and the decision that led to it, in one transaction.
    pub(super) fn put_context(
        &self,
        rows: &[SummaryRow],
        state: Vec<u8>,
        decision: Option<&DecisionRow>,
    ) -> Result<(), EngineError> {
        let thread = if self.ahead.is_some() { shared::whole(self.of.thread) } else { self.of.thread };
        let context = ContextRow { thread, budget: self.shape.key(), state };
        self.put_derived(DerivedRows {
            summaries: rows,
            contexts: std::slice::from_ref(&context),
            decision: decision.map(decisions::kept),
            ..DerivedRows::default()
        })
    }

    /// What people said of the conversation, read by the caller: the next look takes it.
    pub(super) fn tell(&mut self, said: SaidRows) {
        self.told = Some(said);
    }

    /// Looks at what people said: as the caller read it, or as it is stored now.
    ///
    /// Cost: a read of four small tables, unless the caller read them.
    pub(super) fn look(&mut self) -> Result<(), EngineError> {
        match self.told.take() {
            Some(told) => self.said = told,
            None => self.look_again()?,
        }
        Ok(())
    }

    /// Looks at what people said as it is stored now.
    fn look_again(&mut self) -> Result<(), EngineError> {
        self.told = None;
        self.said = self.engine.store().said(self.of.conversation)?;
        Ok(())
    }

    /// What people said, as of the last look and of what was pinned here since.
    pub(super) const fn said(&self) -> &SaidRows {
        &self.said
    }

    /// The pins of the conversation, as of the last look.
    pub(super) fn pins(&self) -> Result<Pins, EngineError> {
        Ok(pins_of(&self.said)?)
    }

    /// Takes over what readers rejected, as of the last look. Returns whether that changed.
    pub(super) fn take_verdicts(&mut self) -> bool {
        let verdicts: Vec<VerdictRow> =
            self.said.verdicts.iter().filter(|row| row.is_standing()).cloned().collect();
        let is_new = verdicts != self.verdicts;
        self.verdicts = verdicts;
        is_new
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

    /// The spans that people put back, by number, as of the last look.
    pub(super) fn raised(&self) -> Vec<RaisedSpan> {
        let counts =
            |row: &&RaisedRow| self.then.map_or_else(|| row.is_standing(), |then| row.stood_at(then));
        self.said.raised.iter().filter(counts).map(RaisedRow::raised).collect()
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
    pub(super) fn follow_pins(&mut self, time: Timestamp) -> Result<Vec<Followed>, EngineError> {
        let is_followed = self.pins()?.followed().next().is_some();
        if !(is_followed && self.persist && self.engine.is_writer()) {
            return Ok(Vec::new());
        }
        let followed = self.engine.follow_pins(self.of.conversation, time)?;
        self.look_again()?;
        Ok(followed)
    }

    /// Pins proposals whose text is not known yet. Those without room stay proposals.
    pub(super) fn accept(&mut self, proposals: Vec<PinProposal>) -> Result<(), EngineError> {
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
        self.look_again()
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
}
