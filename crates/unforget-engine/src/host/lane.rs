//! One lane of a host: its journal, the prompts made from it, and the reactions of providers to them.

use unforget_core::deliver::How;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::mutants::{self, Bug};
use unforget_store::{ContextRow, LaneLook, LaneRows, Name, NamedEntry};
use unforget_wire::Format;
use unforget_wire::journal;

use super::learning::Learning;
use super::one_call::HostCall;
use super::prompts::Prompts;
use super::types::Debt;
use crate::Engine;
use crate::client_api::{Array, Brings};
use crate::journal::{
    Delivered, Delivery, HostError, Journal, JournalLine, LaneKey, OpenedJournal, Receipt, STATE, WrittenLine,
};
use crate::prompt::{Session, Shape};

/// Key under [`STATE`] of what probes write.
pub(super) const PROBED: u64 = 2;

/// Key under [`STATE`] of what the lane learned from providers.
const LEARNED: u64 = 4;

/// Key under [`STATE`] of the last call.
const CALL: u64 = 6;

/// A lane in memory. All of it is in the store between two calls, but for what can be made again from there.
pub(crate) struct HostLane {
    /// Changed by [`HostLane::record`] only.
    journal: Journal,
    pub(super) prompts: Prompts,
    pub(super) learning: Learning,
    /// Whether the prompts were made smaller since the lane was stored.
    pub(super) is_compacted: bool,
    /// The call that compared the lane with the store, or opened it.
    pub(super) compared_in: Option<HostCall>,
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
        let mut lane =
            Self { journal, prompts, learning: Learning::default(), is_compacted: false, compared_in: None };
        if !is_new {
            lane.restore_learning()?;
            lane.finish_fork(now)?;
        }
        Ok(lane)
    }

    /// Reads what the lane learned, and its last call.
    fn restore_learning(&mut self) -> Result<(), HostError> {
        let (store, id) = (self.journal.engine().store(), self.journal.conversation());
        if let Some(row) = store.context(id, STATE, LEARNED)? {
            self.learning = Learning::restored(row.state);
        }
        if let Some(row) = store.context(id, STATE, CALL)?.filter(|_| !mutants::is(Bug::CallForgotten)) {
            self.learning.restore_call(row.state, self.journal.ended_turns());
        }
        Ok(())
    }

    /// Opens a lane at its start: see [`Journal::open_at_start`].
    ///
    /// * `shape` - of the prompts that will be asked for, if any are.
    pub(crate) fn open_at_start(
        engine: &Engine,
        key: &LaneKey,
        form: Format,
        shape: Option<Shape>,
        now: Timestamp,
    ) -> Result<Self, HostError> {
        let journal = Journal::open_at_start(engine, key, form, now)?;
        let mut prompts = Prompts::new(&journal);
        if let Some(shape) = shape {
            prompts.open_at_start(&journal, shape)?;
        }
        let mut lane =
            Self { journal, prompts, learning: Learning::default(), is_compacted: false, compared_in: None };
        // The prompts see the header before any delivery.
        lane.record(|_| Ok(()))?;
        Ok(lane)
    }

    /// The journal, for reading.
    pub(crate) const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether the lane is as stored: nobody else served it since, nor purged entries. See [`Journal::is_current`].
    ///
    /// * `names` - that will be asked for: they are looked up on the way.
    ///
    /// Cost: two rows of the store and the names, read together.
    pub(super) fn is_current(&mut self, names: &[Name]) -> Result<bool, HostError> {
        let missing = self.journal.missing_names(names.iter().copied());
        let store = self.journal.engine().store();
        let look = LaneLook { thread: STATE, budget: CALL, names: &missing };
        let LaneRows { conversation, context, named } = store.lane_rows(self.journal.conversation(), look)?;
        if !self.journal.is_current(&conversation) {
            return Ok(false);
        }
        self.journal.fill_names(missing, named);
        Ok(self.learning.is_stored(context.as_ref().map(|row| row.state.as_slice())))
    }

    /// Adds names that were stored past the lane. See [`Journal::add_names`].
    pub(super) fn add_names(&mut self, names: &[NamedEntry], count: u64) {
        self.journal.add_names(names, count);
    }

    /// Changes the journal, then shows the written lines to the open prompts.
    pub(crate) fn record<T>(
        &mut self,
        change: impl FnOnce(&mut Journal) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let outcome = change(&mut self.journal);
        self.prompts.show(&self.journal.take_written())?;
        outcome
    }

    /// Delivers the messages behind the newest entry of the path, which the host knows to be new: exactly what the model is to
    /// read next.
    pub(crate) fn deliver_rest(
        &mut self,
        messages: Vec<Delivered>,
        now: Timestamp,
    ) -> Result<WrittenRest, HostError> {
        let delivery = Delivery::new(How::Rest, messages, now);
        let outcome = self.journal.deliver_with(delivery, Vec::new());
        let lines = self.journal.take_written();
        self.prompts.show(&lines)?;
        Ok(WrittenRest { places: outcome?.places, lines })
    }

    /// The prompt in progress that was opened last.
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        self.prompts.session()
    }

    /// Works on the prompts, with the journal and what was learned at hand.
    pub(super) fn with_prompts<T>(
        &mut self,
        work: impl FnOnce(&mut Prompts, &Journal, &mut Learning) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        work(&mut self.prompts, &self.journal, &mut self.learning)
    }

    /// Notes the newest count of the prompt used last.
    pub(super) fn note_counts(&mut self) -> Result<(), HostError> {
        if let Some(session) = self.prompts.session()
            && let Some(count) = session.count_to_store()?
        {
            self.learning.note_prompt_count(session.shape().key(), count);
        }
        Ok(())
    }

    /// Stores what shapes the next prompts and is not stored yet: the open turn, the last call, what was learned. After this,
    /// a lane that is opened anew gives the same prompts.
    pub(super) fn keep(&mut self) -> Result<(), HostError> {
        let mut is_touched = self.journal.keep_turn()? || std::mem::take(&mut self.is_compacted);
        if let Some(state) = self.learning.to_store() {
            self.keep_state(LEARNED, state.clone())?;
            self.learning.note_stored(state);
            is_touched = true;
        }
        if let Some(call) = self.learning.call_to_store(self.journal.ended_turns(), is_touched) {
            let state = call.encode();
            self.keep_state(CALL, state.clone())?;
            self.learning.note_stored_call(call, state);
        }
        Ok(())
    }

    fn keep_state(&self, budget: u64, state: Vec<u8>) -> Result<(), HostError> {
        let row = ContextRow { thread: STATE, budget, state };
        Ok(self.journal.engine().store().put_summaries(self.journal.conversation(), &[], Some(&row))?)
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
        self.forget_turn();
        self.journal.end_turn();
    }

    /// Forgets the last call of a turn that ended in the journal.
    pub(super) fn forget_turn(&mut self) {
        self.learning.end_turn();
    }

    /// Cuts the path back to `to`, or to nothing.
    pub(crate) fn cut(&mut self, cut: &PathCut<'_>, now: Timestamp) -> Result<(), HostError> {
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
        self.learning.forget_call();
        // Clients of a provider's API have no turns, whose state would change with every call.
        if self.journal.has_open_turn() {
            self.journal.end_turn();
        }
        self.record(|journal| journal.take_array(brings, array, request, now))
    }

    /// The size of the history.
    pub(super) fn debt(&self) -> Result<Debt, HostError> {
        let journal = &self.journal;
        let stored = journal.engine().store().conversation(journal.conversation())?.tokens;
        Ok(Debt { stored, raw_tail: self.prompts.raw_tail().unwrap_or(stored) })
    }

    /// The whole path counts as committed.
    pub(super) fn commit(&mut self) {
        self.journal.commit();
    }
}

/// Delivered messages behind the newest entry of the path, stored.
pub(crate) struct WrittenRest {
    /// For each message, its entry on the path.
    pub(crate) places: Vec<Option<Seq>>,
    /// The lines of those that have one, in order.
    pub(crate) lines: Vec<WrittenLine>,
}

/// A cut of the path.
#[derive(Default)]
pub(crate) struct PathCut<'a> {
    /// Name of the event.
    pub(crate) event: &'a str,
    /// The new head.
    pub(crate) to: Option<Seq>,
    /// Detail of the event, as JSON.
    pub(crate) detail: Option<&'a str>,
}
