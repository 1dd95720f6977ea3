//! One lane of a host: its journal, the prompts made from it, and the reactions of providers to them.

use unforget_core::id::{Seq, Timestamp};
use unforget_wire::Format;
use unforget_wire::journal;

use super::learning::Learning;
use super::prompts::Prompts;
use super::types::Debt;
use crate::Engine;
use crate::client_api::{Array, Brings};
use crate::journal::{HostError, Journal, JournalLine, LaneKey, OpenedJournal, Receipt};

/// Key under [`STATE`](crate::journal::STATE) of what probes write.
pub(super) const PROBED: u64 = 2;

/// A lane in memory. Only the open turn and what providers said are not in the store.
pub(super) struct HostLane {
    /// Changed by [`HostLane::record`] only.
    journal: Journal,
    pub(super) prompts: Prompts,
    pub(super) learning: Learning,
}

impl HostLane {
    /// Opens a lane, or creates it. See [`Journal::open`].
    pub(super) fn open(
        engine: &Engine,
        key: &LaneKey,
        form: Format,
        now: Timestamp,
    ) -> Result<Self, HostError> {
        let OpenedJournal { journal, is_new } = Journal::open(engine, key, form, now)?;
        let prompts = Prompts::new(&journal);
        let mut lane = Self { journal, prompts, learning: Learning::default() };
        if !is_new {
            lane.finish_fork(now)?;
        }
        Ok(lane)
    }

    /// The journal, for reading.
    pub(super) const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Changes the journal, then shows the written lines to the open prompts.
    pub(super) fn record<T>(
        &mut self,
        change: impl FnOnce(&mut Journal) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let outcome = change(&mut self.journal);
        self.prompts.show(&self.journal.take_written())?;
        outcome
    }

    /// Works on the prompts, with the journal and what was learned at hand.
    pub(super) fn with_prompts<T>(
        &mut self,
        work: impl FnOnce(&mut Prompts, &Journal, &mut Learning) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        work(&mut self.prompts, &self.journal, &mut self.learning)
    }

    /// Writes the line of an event behind the head of the path.
    pub(super) fn write_event(&mut self, text: String) -> Result<(), HostError> {
        self.record(|journal| {
            let parent = journal.head();
            let line = JournalLine { text, parent, names: Vec::new(), is_open: false };
            journal.write(vec![line], Vec::new())
        })
    }

    /// Opens a turn. Another open turn is over.
    pub(super) fn begin_turn(&mut self, key: &str) {
        if self.journal.open_turn() != Some(key) {
            self.end_turn();
        }
        self.journal.begin_turn(key);
    }

    /// Ends the open turn.
    pub(super) fn end_turn(&mut self) {
        self.learning.forget_call();
        self.journal.end_turn();
    }

    /// Cuts the path back to `to`, or to nothing.
    pub(super) fn cut(&mut self, cut: &PathCut<'_>, now: Timestamp) -> Result<(), HostError> {
        self.end_turn();
        self.record(|journal| {
            let after = journal.after(cut.to)?;
            let text = journal::event(cut.event, cut.detail, &after, now.0);
            let line = JournalLine { text, parent: cut.to, names: Vec::new(), is_open: false };
            journal.write(vec![line], Vec::new())
        })?;
        self.prompts.drop_view();
        Ok(())
    }

    /// Takes an array of a client. The turn before it is over.
    ///
    /// * `request` - the client's request without its messages, as JSON.
    pub(super) fn take_array(
        &mut self,
        brings: Brings<'_>,
        array: &Array,
        request: Option<&str>,
        now: Timestamp,
    ) -> Result<Receipt, HostError> {
        self.end_turn();
        self.record(|journal| journal.take_array(brings, array, request, now))
    }

    /// The size of the history.
    pub(super) fn debt(&self) -> Result<Debt, HostError> {
        let journal = &self.journal;
        let stored = journal.engine().store().conversation(journal.conversation())?.tokens;
        Ok(Debt { stored, raw_tail: self.prompts.raw_tail().unwrap_or(stored) })
    }

    /// The budget of a call for its messages: no more than the first call of the turn had.
    pub(super) fn turn_budget(&mut self, budget: u64, is_first: bool) -> u64 {
        self.journal.turn_budget(budget, is_first)
    }

    /// The whole path counts as committed.
    pub(super) fn commit(&mut self) {
        self.journal.commit();
    }
}

/// A cut of the path.
#[derive(Default)]
pub(super) struct PathCut<'a> {
    /// Name of the event.
    pub(super) event: &'a str,
    /// The new head.
    pub(super) to: Option<Seq>,
    /// Detail of the event, as JSON.
    pub(super) detail: Option<&'a str>,
}
