//! One lane of a host: its journal, the prompts made from it, and the reactions of providers to them.

use unforget_core::deliver::How;
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::mutants::{self, Bug};
use unforget_store::{ContextRow, DerivedRows, LaneLook, LaneRows, Name, NamedEntry, SaidRows};
use unforget_wire::Format;
use unforget_wire::journal;

use super::ask::ComposedRecipe;
use super::learning::Learning;
use super::one_call::HostCall;
use super::prompts::Prompts;
use super::stored_call::LaneCall;
use super::types::Debt;
use crate::client_api::{Array, Brings};
use crate::journal::{
    Delivered, Delivery, HostError, Journal, JournalLine, LaneKey, OpenedJournal, Receipt, STATE, WrittenLine,
};
use crate::prompt::{Session, Shape};
use crate::{Engine, EngineError};

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

    /// Of these names those that have to be looked up in the store.
    pub(super) fn missing_names(&self, names: &[Name]) -> Vec<Name> {
        self.journal.missing_names(names.iter().copied())
    }

    /// What the lane is compared with. People's words are read on the way if a prompt is open, since its next call probably
    /// needs them.
    ///
    /// * `missing` - from [`HostLane::missing_names`]: they are looked up on the way.
    pub(super) const fn look<'a>(&self, missing: &'a [Name]) -> LaneLook<'a> {
        LaneLook {
            conversation: self.journal.conversation(),
            thread: STATE,
            budget: CALL,
            names: missing,
            reads_said: !self.prompts.is_closed(),
        }
    }

    /// Whether the lane is as stored: nobody else served it since, nor purged entries. See [`Journal::is_current`].
    ///
    /// * `missing` - the names of the look.
    /// * `rows` - the answer to the look.
    pub(super) fn is_current(&mut self, missing: Vec<Name>, rows: LaneRows) -> bool {
        let LaneRows { conversation, context, named, said } = rows;
        if !self.journal.is_current(&conversation) {
            return false;
        }
        self.journal.fill_names(missing, named);
        self.prompts.hear(said);
        self.learning.is_stored(context.as_ref().map(|row| row.state.as_slice()))
    }

    /// What people said of the lane. See [`Prompts::said`].
    pub(super) fn said(&mut self) -> Result<&SaidRows, HostError> {
        self.prompts.said(&self.journal)
    }

    /// Changes what people said of the lane.
    pub(super) fn change_said<T>(
        &mut self,
        change: impl FnOnce(&Engine, ConversationId) -> Result<T, EngineError>,
    ) -> Result<T, HostError> {
        self.prompts.hear(None);
        Ok(change(self.journal.engine(), self.journal.conversation())?)
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
        self.keep_with(None).map(drop)
    }

    /// [`HostLane::keep`], and how a prompt was composed, in one write. Returns the number of the recipe.
    pub(super) fn keep_with(&mut self, composed: Option<&ComposedRecipe>) -> Result<Option<u64>, HostError> {
        let turn = self.journal.turn_to_store();
        let states = self.states_to_keep(turn.is_some());
        let contexts: Vec<ContextRow> = turn.clone().into_iter().chain(states.rows()).collect();
        if contexts.is_empty() && composed.is_none() {
            return Ok(None);
        }
        let rows = DerivedRows {
            contexts: &contexts,
            recipe: composed.map(ComposedRecipe::row),
            decision: composed.and_then(ComposedRecipe::turn),
            ..DerivedRows::default()
        };
        let numbers = self.journal.engine().store().put_derived(self.journal.conversation(), rows)?;
        if let Some(turn) = turn {
            self.journal.note_turn_stored(turn);
        }
        self.note_kept(states);
        Ok(numbers.recipe)
    }

    /// The states of the lane that are not stored yet.
    ///
    /// * `is_touched` - whether something else of the lane is stored with them.
    fn states_to_keep(&self, is_touched: bool) -> StatesToKeep {
        let learned = self.learning.to_store();
        let is_touched = is_touched || self.is_compacted || learned.is_some();
        let call = self.learning.call_to_store(self.journal.ended_turns(), is_touched);
        StatesToKeep { learned, call: call.map(|call| (call.encode(), call)) }
    }

    fn note_kept(&mut self, StatesToKeep { learned, call }: StatesToKeep) {
        self.is_compacted = false;
        if let Some(state) = learned {
            self.learning.note_stored(state);
        }
        if let Some((state, call)) = call {
            self.learning.note_stored_call(call, state);
        }
    }

    /// [`HostLane::record`] with the states of the lane that are not stored yet: they are stored with the first lines.
    pub(super) fn record_with_states<T>(
        &mut self,
        change: impl FnOnce(&mut Journal) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let states = self.states_to_keep(false);
        self.journal.bring(states.rows().collect());
        let done = self.record(change);
        // Without a line they wait for the end of the call.
        if self.journal.take_brought().is_empty() {
            self.note_kept(states);
        }
        done
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
    pub(super) fn debt(&self) -> Debt {
        let stored = self.journal.tokens();
        Debt { stored, raw_tail: self.prompts.raw_tail().unwrap_or(stored) }
    }

    /// The whole path counts as committed.
    pub(super) fn commit(&mut self) {
        self.journal.commit();
    }
}

/// States of a lane to store.
struct StatesToKeep {
    /// What was learned, as bytes.
    learned: Option<Vec<u8>>,
    /// The last call, as bytes and as itself.
    call: Option<(Vec<u8>, LaneCall)>,
}

impl StatesToKeep {
    fn rows(&self) -> impl Iterator<Item = ContextRow> {
        let row =
            |(budget, state): (u64, &Vec<u8>)| ContextRow { thread: STATE, budget, state: state.clone() };
        let learned = self.learned.as_ref().map(|state| (LEARNED, state));
        let call = self.call.as_ref().map(|(state, _)| (CALL, state));
        learned.into_iter().chain(call).map(row)
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
