//! Lanes that begin as another one stands: its journal is theirs up to the fork point, and with it its prompts.
//!
//! Which lanes do is decided by [`unforget_core::inherit`]; all others get the messages delivered. The other lane's journal is read
//! from the store: it only grows, so no call of that lane waits, and nobody holds two lanes.

use serde::{Deserialize, Serialize};
use unforget_core::deliver::{How, Why};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::inherit::{self, Shared, Unfit, pins_until};
use unforget_core::pin::Pin;
use unforget_core::zoo::{self, Bug};
use unforget_store::{
    ContextRow, Durability, EntryRow, Name, NamedEntry, PinRow, Raw, StoreError, WriteLatency, read_all,
};
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use super::deliver::{Delivery, stored_as};
use super::exact::Array;
use super::lane::{INHERITED, Lane, Line, STATE, stored_shapes};
use super::recover::Learned;
use super::types::{Delivered, HostError, LaneKey, Receipt};
use super::{Host, called, cut, names, up_to_date};
use crate::prompt::{self, Inherited, Lane as PromptLane};
use crate::trust::portions;
use crate::{Engine, EngineError};

/// Lines that are written in one transaction at most.
const LINES: u64 = 512;

/// Rows that are looked through at once.
const ROWS: u64 = 8_192;

/// Names that are looked up at once.
const NAMES: u64 = 1_000;

/// The lane that a fork begins from, as it stood then.
pub(super) struct ForkSource {
    from: LaneKey,
    conversation: ConversationId,
    /// The fork point.
    until: Seq,
    /// Entries of the path up to there.
    entries: u64,
    /// What providers counted of its prompts, by shape.
    counted: Vec<(u64, prompt::Counts)>,
    /// What the counts of the model say that answered last.
    learned: Learned,
}

/// What a fork copies. It is stored before the first copied line, so that a crash leaves nothing half done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ForkPlan {
    from: String,
    conversation: u64,
    until: u64,
    /// What the host called the fork point.
    called: Option<String>,
}

impl Host {
    /// A lane begins as another one stands, or as it stood at an entry of it.
    pub(super) fn fork(
        &self,
        key: &LaneKey,
        form: Format,
        from: &LaneKey,
        until: Option<&str>,
    ) -> Result<Receipt, HostError> {
        let source = self.with(from, form, |lane, _| {
            let until = fork_point(lane, until)?;
            Ok(until.map(|until| lane.source(until)))
        })?;
        let unfit = match &source {
            None => Unfit::Unbroken,
            Some(source) => match self.with(key, form, |lane, now| lane.inherit(source, until, now))? {
                Ok(receipt) => return Ok(receipt),
                Err(unfit) => unfit,
            },
        };
        let taken = self
            .with(from, form, |lane, _| messages_until(lane, source.as_ref().map(|source| source.until)))?;
        let detail = serde_json::json!({ "from": from.0, "until": until, "delivered": unfit.to_string() });
        self.with(key, form, |lane, now| {
            cut(lane, FORK, None, Some(&detail.to_string()), now)?;
            let delivery = Delivery { how: How::Window, messages: taken, turn: None, is_open: false, now };
            let receipt = lane.deliver(delivery)?;
            if let Some(source) = &source {
                // Its entries have other places here.
                lane.copy_pins(source.conversation, source.until, |_| None)?;
            }
            Ok(receipt)
        })
    }

    /// A lane that has nothing yet begins as another one stands, as far as an array is that one's path. If it does not, the array
    /// brings everything.
    pub(super) fn begin_as(
        &self,
        key: &LaneKey,
        form: Format,
        from: &LaneKey,
        array: &Array,
    ) -> Result<(), HostError> {
        let source =
            self.with(from, form, |lane, _| Ok(lane.shared_with(array)?.map(|until| lane.source(until))))?;
        let Some(source) = source else { return Ok(()) };
        self.with(key, form, |lane, now| lane.inherit(&source, None, now)).map(|_| ())
    }
}

/// Name of the event.
const FORK: &str = "fork";

/// The last entry that a fork takes.
fn fork_point(lane: &Lane, until: Option<&str>) -> Result<Option<Seq>, HostError> {
    match until.filter(|_| !zoo::is(Bug::ForkTakesAll)) {
        None => Ok(lane.head()),
        Some(id) => called(lane, id).map(Some),
    }
}

/// The messages of a path up to an entry, for another lane, but for those that were purged.
fn messages_until(lane: &Lane, until: Option<Seq>) -> Result<Vec<Delivered>, HostError> {
    let mut taken = Vec::new();
    for seq in lane.path_after(None).into_iter().take_while(|seq| Some(*seq) <= until) {
        let kept = lane.line(seq)?;
        let Some(message) = kept.message else { continue };
        taken.push(Delivered {
            provenance: Some(kept.provenance),
            is_volatile: kept.is_volatile,
            ..Delivered::new(message)
        });
    }
    Ok(taken)
}

impl Lane {
    /// This lane as the source of a fork at an entry of its path.
    fn source(&self, until: Seq) -> ForkSource {
        let is_at_end = self.head() == Some(until);
        let runs = self.path().runs.iter();
        let entries = runs.map(|run| run.end.min(until.0 + 1).saturating_sub(run.start)).sum();
        let of =
            |session: &prompt::Session| (session.shape().key(), session.known_counts().of_fork(is_at_end));
        ForkSource {
            from: self.key.clone(),
            conversation: self.conversation,
            until,
            entries,
            counted: self.sessions.iter().map(of).collect(),
            learned: self.learned.clone(),
        }
    }

    /// The last entry of the path that an array has in common with it, from the first one on.
    fn shared_with(&self, array: &Array) -> Result<Option<Seq>, HostError> {
        let plan = self.foresee_plan(How::Exact, &array.messages)?;
        let mut shared = plan.fates.iter().map_while(|fate| stored_as(*fate)).peekable();
        // An array whose beginning was left out brings another history.
        let is_first = shared.peek().copied() == self.path().runs.first().map(|run| Seq(run.start));
        Ok(shared.last().filter(|_| is_first))
    }

    /// Copies the source of a fork, if this lane has nothing yet. The same again changes nothing.
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
        if self.head() == Some(source.until) && self.fork_plan()?.as_ref() == Some(&plan) {
            return Ok(Ok(up_to_date(self)));
        }
        let prompts = prompts(&self.engine, source.conversation, source.until)?.len();
        let (until, entries) = (source.until, source.entries);
        let shared = Shared { own: self.next().0, until, entries, prompts, is_purged: false };
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
        self.counted.clone_from(&source.counted);
        self.learned.clone_from(&source.learned);
        let receipt = Receipt { why: Why::Append, added: source.entries, ..up_to_date(self) };
        Ok(Ok(receipt))
    }

    fn is_purged(&self, source: &ForkSource) -> Result<bool, HostError> {
        let end = source.until.0 + 1;
        for from in (0..end).step_by(ROWS as usize) {
            let rows = self.engine.store().rows(source.conversation, from..end.min(from + ROWS))?;
            if rows.iter().any(|row| row.purged) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finishes what was begun when the process ended.
    pub(super) fn go_on_inheriting(&mut self, now: Timestamp) -> Result<(), HostError> {
        match self.fork_plan()? {
            Some(plan) if self.next().0 < plan.lines() => self.take_over(&plan, now).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn fork_plan(&self) -> Result<Option<ForkPlan>, HostError> {
        let row = self.engine.store().context(self.conversation, STATE, INHERITED)?;
        Ok(row.and_then(|row| serde_json::from_slice(&row.state).ok()).flatten())
    }

    fn keep_plan(&self, plan: Option<&ForkPlan>) -> Result<(), HostError> {
        // Strings and numbers always serialise.
        let state = serde_json::to_vec(&plan).unwrap_or_default();
        let row = ContextRow { thread: STATE, budget: INHERITED, state };
        Ok(self.engine.store().put_summaries(self.conversation, &[], Some(&row))?)
    }

    /// Carries out a plan from where it stands: each step can be done again, and the line behind the copied ones is the last.
    ///
    /// Returns false if what was left is not there any more: then this lane has some of it, and goes on by itself.
    fn take_over(&mut self, plan: &ForkPlan, now: Timestamp) -> Result<bool, HostError> {
        // A prompt of the empty lane would hold all that comes now.
        self.sessions.clear();
        self.view.fail();
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
        let line = Line { text, parent: self.head(), names: Vec::new(), is_open: false };
        self.write(vec![line], Vec::new())?;
        self.commit();
        Ok(true)
    }

    /// Copies the lines of the other journal that are not here yet, byte for byte. Returns false if one is not there.
    fn copy_lines(&mut self, plan: &ForkPlan) -> Result<bool, HostError> {
        let (engine, from) = (self.engine.clone(), ConversationId(plan.conversation));
        while self.next().0 <= plan.until {
            let to = (plan.until + 1).min(self.next().0 + LINES);
            let portions = portions(engine.store(), from, self.next().0..to)?;
            if portions.last().is_none_or(|last| last.seqs.end != to) {
                return Ok(false);
            }
            for portion in portions {
                let rows = engine.store().rows(from, portion.seqs.clone())?;
                let raws = engine.store().raw(from, portion.seqs.clone())?;
                let lines = rows.iter().zip(&raws).map(|(row, raw)| copied(self.form, row, raw));
                let Some(lines) = lines.collect::<Option<Vec<Line>>>() else { return Ok(false) };
                let others = self.names_of_copies(from, &raws, portion.seqs.end)?;
                self.write_durably((Durability::WithNext, WriteLatency::Now), lines, others)?;
            }
        }
        Ok(true)
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
            found.extend(self.engine.store().named(from, &names::wanted_of_line(self.form, &kept))?);
        }
        found.retain(|found| found.seq.0 < end);
        Ok(found)
    }

    /// Copies where entries were moved to.
    fn copy_moves(&mut self, plan: &ForkPlan) -> Result<(), HostError> {
        for from in (1..=plan.until).step_by(NAMES as usize) {
            let seqs = from..(from + NAMES).min(plan.until + 1);
            let moves: Vec<Name> = seqs.map(|seq| names::again(Seq(seq))).collect();
            let mut moved = self.engine.store().named(ConversationId(plan.conversation), &moves)?;
            moved.retain(|moved| moved.seq.0 <= plan.until);
            if !moved.is_empty() {
                self.engine.store().put_names(self.conversation, &moved, WriteLatency::Now)?;
                self.learn(&moved);
            }
        }
        Ok(())
    }

    /// Copies the contexts of the other lane's prompts that stand for nothing behind the fork point, and its pins.
    fn copy_prompts(&mut self, plan: &ForkPlan, now: Timestamp) -> Result<(), HostError> {
        let (engine, from) = (self.engine.clone(), ConversationId(plan.conversation));
        let until = Seq(plan.until);
        for (window, inherited) in prompts(&engine, from, until)? {
            engine.inherit(main(from), main(self.conversation), &inherited, now)?;
            self.add_shape((inherited.key(), window))?;
        }
        self.copy_pins(from, until, |source| source)
    }

    /// Copies the pins of another lane as they are for its path up to an entry, unless this one has some.
    ///
    /// * `place` - where an entry of the other lane stands here.
    fn copy_pins(
        &self,
        from: ConversationId,
        until: Seq,
        place: impl Fn(Option<Seq>) -> Option<Seq>,
    ) -> Result<(), HostError> {
        let store = self.engine.store();
        let (rows, own) =
            (read_all(|page| store.pins(from, page))?, read_all(|page| store.pins(self.conversation, page))?);
        if rows.is_empty() || !own.is_empty() {
            return Ok(());
        }
        let pins: Vec<_> = rows.iter().map(|row| row.pin.clone()).collect();
        let pins = pins_until(&pins, until).into_iter();
        let pins = pins.map(|pin| Pin { source: place(pin.source), ..pin });
        let rows: Vec<_> = pins.zip(&rows).map(|(pin, row)| PinRow { pin, ..row.clone() }).collect();
        // Pins keep their numbers and places, and with them their files.
        let files = read_all(|page| store.pin_files(from, page))?;
        Ok(store.put_pins(self.conversation, &own, &rows, &files)?)
    }
}

impl ForkPlan {
    /// Lines of a lane that took all of it over: the header, the copied ones, and one behind them.
    const fn lines(&self) -> u64 {
        self.until + 2
    }
}

/// A line as it is copied; `None` if it is gone.
fn copied(form: Format, row: &EntryRow, raw: &Raw) -> Option<Line> {
    let text = String::from_utf8(raw.body.clone()).ok().filter(|_| !row.purged)?;
    let names = names::of_line(form, &journal::read_line(&raw.body));
    Some(Line { text, parent: row.parent, names, is_open: false })
}

/// The contexts of a lane that stand for nothing behind an entry, with the windows of their shapes.
fn prompts(engine: &Engine, from: ConversationId, until: Seq) -> Result<Vec<(u64, Inherited)>, HostError> {
    let mut prompts = Vec::new();
    for (key, window) in stored_shapes(engine, from)? {
        let inherited = engine.inheritance(main(from), key, window, until)?;
        prompts.extend(inherited.map(|inherited| (window, inherited)));
    }
    Ok(prompts)
}

const fn main(conversation: ConversationId) -> PromptLane {
    PromptLane { conversation, thread: Thread(0) }
}
