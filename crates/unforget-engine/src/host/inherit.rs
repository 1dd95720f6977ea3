//! Forks: a lane takes over the journal of another lane up to the fork point, and its prompts.
//!
//! [`unforget_core::inherit`] decides whether it can; otherwise the messages are delivered to the new lane. The journal of
//! the source is read from the store. It only grows, so calls of the source need not wait, and no call locks two lanes.

use std::iter::once;

use serde::{Deserialize, Serialize};
use unforget_core::deliver::{DeliveryOutcome, How};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::inherit::{self, Shared, Unfit, pins_until, raised_until};
use unforget_core::mutants::{self, Bug};
use unforget_core::pin::Pin;
use unforget_store::{
    ContextRow, Durability, EntryRow, Name, NamedEntry, PinRow, RaisedRow, Raw, SaidRows, StoreError,
    WriteLatency,
};
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use super::lane::{HostLane, PathCut};
use super::learning::ForkCounts;
use super::prompts::stored_shapes;
use super::{Host, entry_of_id, up_to_date};
use crate::client_api::Array;
use crate::journal::{
    Delivered, Delivery, HostError, Journal, JournalLine, LaneKey, Receipt, STATE, WriteUrgency, moved_to,
    names_of_line, stored_as, wanted_of_line,
};
use crate::prompt::{Inherited, ThreadRef};
use crate::rows::{stored_portions, stored_rows};
use crate::{Engine, EngineError};

/// Key under [`STATE`] of the plan of a fork.
const FORK_PLAN: u64 = 3;

/// Names that are looked up at once.
const NAMES: u64 = 1_000;

/// The source of a fork, at the time of the fork.
pub(super) struct ForkSource {
    from: LaneKey,
    conversation: ConversationId,
    /// The fork point.
    until: Seq,
    /// Number of entries of the path up to there.
    entries: u64,
    /// Counts of its prompts.
    counts: ForkCounts,
}

/// The copy that a fork makes. It is stored before the first copied line, so that a copy cut short by a crash is finished later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ForkPlan {
    from: String,
    conversation: u64,
    until: u64,
    /// The host's id of the fork point.
    called: Option<String>,
}

/// The conversation that a lane began from, if this is the state that says so.
pub(crate) fn fork_source(state: &ContextRow) -> Option<ConversationId> {
    let plan = (state.thread == STATE && state.budget == FORK_PLAN).then(|| read_plan(&state.state))??;
    Some(ConversationId(plan.conversation))
}

/// A state with another number for the conversation that the lane began from; any other state as it is.
pub(crate) fn with_fork_source(state: ContextRow, source: ConversationId) -> ContextRow {
    if fork_source(&state).is_none() {
        return state;
    }
    let plan = read_plan(&state.state).map(|plan| ForkPlan { conversation: source.0, ..plan });
    ContextRow { state: plan_bytes(plan.as_ref()), ..state }
}

fn read_plan(state: &[u8]) -> Option<ForkPlan> {
    serde_json::from_slice(state).ok().flatten()
}

fn plan_bytes(plan: Option<&ForkPlan>) -> Vec<u8> {
    // Strings and numbers always serialise.
    serde_json::to_vec(&plan).unwrap_or_default()
}

impl Host {
    /// Forks a lane from another one, at its head or at an entry.
    pub(super) fn fork(
        &self,
        key: &LaneKey,
        form: Format,
        from: &LaneKey,
        until: Option<&str>,
    ) -> Result<Receipt, HostError> {
        let source = self.with(from, form, |lane, _| {
            let until = fork_point(lane.journal(), until)?;
            until.map(|until| lane.fork_source(until)).transpose()
        })?;
        let unfit = match &source {
            None => Unfit::Unbroken,
            Some(source) => match self.with(key, form, |lane, now| lane.inherit(source, until, now))? {
                Ok(receipt) => return Ok(receipt),
                Err(unfit) => unfit,
            },
        };
        let taken = self.with(from, form, |lane, _| {
            messages_until(lane.journal(), source.as_ref().map(|source| source.until))
        })?;
        let detail = serde_json::json!({ "from": from.0, "until": until, "delivered": unfit.to_string() });
        self.with(key, form, |lane, now| {
            let cut = PathCut { event: FORK, to: None, detail: Some(&detail.to_string()) };
            lane.cut(&cut, now)?;
            let delivery = Delivery::new(How::Window, taken, now);
            let receipt = lane.record(|journal| journal.deliver(delivery))?;
            if let Some(source) = &source {
                // Entries have other seqs here.
                lane.copy_pins(source.conversation, source.until, |_| None)?;
            }
            Ok(receipt)
        })
    }

    /// Forks an empty lane from another one, where an array leaves the path of that lane. If it cannot, the array brings all
    /// messages.
    pub(super) fn begin_as(
        &self,
        key: &LaneKey,
        form: Format,
        from: &LaneKey,
        array: &Array,
    ) -> Result<(), HostError> {
        let source = self.with(from, form, |lane, _| {
            shared_with(lane.journal(), array)?.map(|until| lane.fork_source(until)).transpose()
        })?;
        let Some(source) = source else { return Ok(()) };
        self.with(key, form, |lane, now| lane.inherit(&source, None, now)).map(|_| ())
    }
}

/// Name of the event.
const FORK: &str = "fork";

/// The last entry that a fork takes.
fn fork_point(journal: &Journal, until: Option<&str>) -> Result<Option<Seq>, HostError> {
    match until.filter(|_| !mutants::is(Bug::ForkTakesAll)) {
        None => Ok(journal.head()),
        Some(id) => entry_of_id(journal, id).map(Some),
    }
}

/// The messages of a path up to an entry, for another lane, without purged ones.
fn messages_until(journal: &Journal, until: Option<Seq>) -> Result<Vec<Delivered>, HostError> {
    let mut taken = Vec::new();
    for seq in journal.path_after(None).into_iter().take_while(|seq| Some(*seq) <= until) {
        let kept = journal.line(seq)?;
        let Some(message) = kept.message else { continue };
        taken.push(Delivered {
            provenance: Some(kept.provenance),
            is_volatile: kept.is_volatile,
            ..Delivered::new(message)
        });
    }
    Ok(taken)
}

/// The last entry of the common beginning of the path and an array.
fn shared_with(journal: &Journal, array: &Array) -> Result<Option<Seq>, HostError> {
    let plan = journal.foresee_plan(How::Exact, &array.messages)?;
    let mut shared = plan.fates.iter().map_while(|fate| stored_as(*fate)).peekable();
    // An array without the beginning of the path brings another history.
    let is_first = shared.peek().copied() == journal.path().runs.first().map(|run| Seq(run.start));
    Ok(shared.last().filter(|_| is_first))
}

impl HostLane {
    /// This lane as the source of a fork at an entry of its path.
    fn fork_source(&mut self, until: Seq) -> Result<ForkSource, HostError> {
        let counts = self.prompts.counts()?;
        let journal = self.journal();
        let is_at_end = journal.head() == Some(until);
        let runs = journal.path().runs.iter();
        let entries = runs.map(|run| run.end.min(until.0 + 1).saturating_sub(run.start)).sum();
        Ok(ForkSource {
            from: journal.key().clone(),
            conversation: journal.conversation(),
            until,
            entries,
            counts: self.learning.for_fork(counts, is_at_end),
        })
    }

    /// Copies the source of a fork into this lane, if the lane is empty. Doing it again changes nothing.
    ///
    /// Cost: O(history of the other lane up to the fork point), a bounded part of it in memory.
    fn inherit(
        &mut self,
        source: &ForkSource,
        called: Option<&str>,
        now: Timestamp,
    ) -> Result<Result<Receipt, Unfit>, HostError> {
        let plan = ForkPlan {
            from: source.from.0.clone(),
            conversation: source.conversation.0,
            until: source.until.0,
            called: called.map(str::to_owned),
        };
        if self.journal().head() == Some(source.until) && self.fork_plan()?.as_ref() == Some(&plan) {
            return Ok(Ok(up_to_date(self.journal())));
        }
        let prompts = contexts_until(self.journal().engine(), source.conversation, source.until)?.len();
        let (until, entries) = (source.until, source.entries);
        let shared = Shared { own: self.journal().next().0, until, entries, prompts, is_purged: false };
        let decided = match inherit::inherit(&shared) {
            Ok(()) => inherit::inherit(&Shared { is_purged: self.is_purged(source)?, ..shared }),
            unfit => unfit,
        };
        if let Err(unfit) = decided {
            return Ok(Err(unfit));
        }
        self.keep_plan(Some(&plan))?;
        if !self.take_over(&plan, now)? {
            return Ok(Err(Unfit::Purged));
        }
        self.learning.inherit(&source.counts);
        let receipt =
            Receipt { why: DeliveryOutcome::Append, added: source.entries, ..up_to_date(self.journal()) };
        Ok(Ok(receipt))
    }

    fn is_purged(&self, source: &ForkSource) -> Result<bool, HostError> {
        let rows = once(0..source.until.0 + 1);
        for row in stored_rows(self.journal().engine().store(), source.conversation, rows) {
            if row?.purged {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finishes a copy that was cut short by the end of the process.
    pub(super) fn finish_fork(&mut self, now: Timestamp) -> Result<(), HostError> {
        match self.fork_plan()? {
            Some(plan) if self.journal().next().0 < plan.lines() => self.take_over(&plan, now).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn fork_plan(&self) -> Result<Option<ForkPlan>, HostError> {
        let row = self.journal().engine().store().context(self.journal().conversation(), STATE, FORK_PLAN)?;
        Ok(row.and_then(|row| read_plan(&row.state)))
    }

    fn keep_plan(&self, plan: Option<&ForkPlan>) -> Result<(), HostError> {
        let row = ContextRow { thread: STATE, budget: FORK_PLAN, state: plan_bytes(plan) };
        Ok(self.journal().engine().store().put_summaries(self.journal().conversation(), &[], Some(&row))?)
    }

    /// Carries out the rest of a plan: each step can be repeated, and the line of the fork is written last.
    ///
    /// Returns false if the source is gone meanwhile: then this lane keeps the lines that it has.
    fn take_over(&mut self, plan: &ForkPlan, now: Timestamp) -> Result<bool, HostError> {
        // A prompt of the empty lane would keep all copied entries in memory.
        self.prompts.close_all();
        let is_there = match self.copy_lines(plan) {
            Err(HostError::Engine(EngineError::Store(
                StoreError::NoConversation { .. } | StoreError::Damaged { .. } | StoreError::Missing { .. },
            ))) => false,
            copied => copied?,
        };
        if !is_there {
            self.keep_plan(None)?;
            self.commit();
            return Ok(false);
        }
        self.copy_moves(plan)?;
        self.copy_prompts(plan, now)?;
        let detail = serde_json::json!({ "from": plan.from, "until": plan.called, "inherited": plan.until });
        let text = journal::event(FORK, Some(&detail.to_string()), &After::Newest, now.0);
        self.write_event(text)?;
        self.commit();
        Ok(true)
    }

    /// Copies the missing lines of the other journal, byte for byte. Returns false if a line is not there.
    fn copy_lines(&mut self, plan: &ForkPlan) -> Result<bool, HostError> {
        let (engine, from) = (self.journal().engine().clone(), ConversationId(plan.conversation));
        let missing = once(self.journal().next().0..plan.until + 1);
        for portion in stored_portions(engine.store(), from, missing) {
            let portion = portion?;
            let raws = portion.raw(engine.store(), from)?;
            let lines =
                portion.rows.iter().zip(&raws).map(|(row, raw)| copied(self.journal().form(), row, raw));
            let Some(lines) = lines.collect::<Option<Vec<JournalLine>>>() else { return Ok(false) };
            let others = self.names_of_copies(from, &raws, portion.seqs().end)?;
            let urgency = WriteUrgency { durability: Durability::WithNext, latency: WriteLatency::Now };
            self.record(|journal| journal.write_durably(urgency, lines, others))?;
        }
        Ok(self.journal().next().0 > plan.until)
    }

    /// Names of copies beside the path, each with its entry: the copy, or the copied entry.
    fn names_of_copies(
        &self,
        from: ConversationId,
        raws: &[Raw],
        end: u64,
    ) -> Result<Vec<NamedEntry>, HostError> {
        let mut found = Vec::new();
        for kept in raws.iter().map(|raw| journal::read_line(&raw.body)).filter(|kept| kept.of.is_some()) {
            found.extend(
                self.journal().engine().store().named(from, &wanted_of_line(self.journal().form(), &kept))?,
            );
        }
        found.retain(|found| found.seq.0 < end);
        Ok(found)
    }

    /// Copies the names of moved entries.
    fn copy_moves(&mut self, plan: &ForkPlan) -> Result<(), HostError> {
        for from in (1..=plan.until).step_by(NAMES as usize) {
            let seqs = from..(from + NAMES).min(plan.until + 1);
            let moves: Vec<Name> = seqs.map(|seq| moved_to(Seq(seq))).collect();
            let mut moved =
                self.journal().engine().store().named(ConversationId(plan.conversation), &moves)?;
            moved.retain(|moved| moved.seq.0 <= plan.until);
            if !moved.is_empty() {
                self.record(|journal| journal.write(Vec::new(), moved))?;
            }
        }
        Ok(())
    }

    /// Copies pins and raised spans of the other lane, and those contexts of its prompts that cover no entry behind the fork point.
    fn copy_prompts(&mut self, plan: &ForkPlan, now: Timestamp) -> Result<(), HostError> {
        let (engine, from) = (self.journal().engine().clone(), ConversationId(plan.conversation));
        let until = Seq(plan.until);
        for (window, inherited) in contexts_until(&engine, from, until)? {
            engine.inherit(main(from), main(self.journal().conversation()), &inherited, now)?;
            self.with_prompts(|prompts, journal, _| prompts.add_shape(journal, inherited.key(), window))?;
        }
        self.copy_pins(from, until, |source| source)?;
        self.copy_raised(from, until)
    }

    /// Puts back what stands in the prompts of the other lane, up to an entry. Doing it again changes nothing.
    fn copy_raised(&self, from: ConversationId, until: Seq) -> Result<(), HostError> {
        let (engine, to) = (self.journal().engine(), self.journal().conversation());
        let own = engine.raised(to)?;
        for row in engine.raised(from)?.into_iter().filter(RaisedRow::is_standing) {
            let Some(span) = raised_until(row.span.0, row.span.1, until) else { continue };
            if own.iter().all(|own| own.span != span) {
                engine.store().put_raised(to, &RaisedRow { number: 0, span, ..row })?;
            }
        }
        Ok(())
    }

    /// Copies the pins of another lane as they were at an entry, unless this lane has pins.
    ///
    /// * `place` - the seq in this lane of an entry of the other lane.
    fn copy_pins(
        &self,
        from: ConversationId,
        until: Seq,
        place: impl Fn(Option<Seq>) -> Option<Seq>,
    ) -> Result<(), HostError> {
        let store = self.journal().engine().store();
        let SaidRows { pins: rows, files, .. } = store.said(from)?;
        let own = store.said(self.journal().conversation())?.pins;
        if rows.is_empty() || !own.is_empty() {
            return Ok(());
        }
        let pins: Vec<_> = rows.iter().map(|row| row.pin.clone()).collect();
        let pins = pins_until(&pins, until).into_iter();
        let pins = pins.map(|pin| Pin { source: place(pin.source), ..pin });
        let rows: Vec<_> = pins.zip(&rows).map(|(pin, row)| PinRow { pin, ..row.clone() }).collect();
        // Pins keep their numbers and places, and with them their files.
        Ok(store.put_pins(self.journal().conversation(), &own, &rows, &files)?)
    }
}

impl ForkPlan {
    /// Number of lines of the finished lane: the header, the copied lines, and the line of the fork.
    const fn lines(&self) -> u64 {
        self.until + 2
    }
}

/// A copied line; `None` if it was purged.
fn copied(form: Format, row: &EntryRow, raw: &Raw) -> Option<JournalLine> {
    let text = String::from_utf8(raw.body.clone()).ok().filter(|_| !row.purged)?;
    let names = names_of_line(form, &journal::read_line(&raw.body));
    Some(JournalLine { text, parent: row.parent, names, is_open: false })
}

/// The contexts of a lane that cover no entry behind `until`, with the windows of their shapes.
fn contexts_until(
    engine: &Engine,
    from: ConversationId,
    until: Seq,
) -> Result<Vec<(u64, Inherited)>, HostError> {
    let mut prompts = Vec::new();
    for (key, window) in stored_shapes(engine, from)? {
        let inherited = engine.inheritance(main(from), key, window, until)?;
        prompts.extend(inherited.map(|inherited| (window, inherited)));
    }
    Ok(prompts)
}

const fn main(conversation: ConversationId) -> ThreadRef {
    ThreadRef { conversation, thread: Thread(0) }
}
