//! One lane of a host: its journal, and the path through it that is active.

mod known;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use unforget_core::deliver::Path;
use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};
use unforget_core::loop_view::LoopView;
use unforget_core::zoo::{self, Bug};
use unforget_store::{
    Append, ContextRow, Durability, EntryRow, Name, NamedEntry, NewConversation, OpenedBy, Packer, PinRow,
    Target, WriteLatency,
};
use unforget_wire::journal::{self, After};
use unforget_wire::{Format, decode};

use super::bodies::Bodies;
use super::names;
use super::recover::{Last, Learned, Refusals};
use super::track::Track;
use super::types::{Assembled, HostError, LaneKey};
use crate::import::{Incoming, Standing, new_entry, turn_of};
use crate::prompt::{self, Session};
use crate::{Engine, index};
use known::Seen;

pub(super) use known::Known;

/// Names of which it is remembered who has them: those of a long array, that every call brings.
pub(super) const SEEN: usize = 256 * 1024;

/// Rows that are read at once.
const ROWS: u64 = 4_096;

/// Where the store keeps what a lane knows of itself: beside the prompts, in no side lane of theirs.
pub(super) const STATE: Thread = Thread(u64::MAX);

/// The path, under [`STATE`].
const PATH: u64 = 0;

/// The shapes of its prompts, under [`STATE`].
const SHAPES: u64 = 1;

/// What a probe writes.
pub(super) const PROBED: u64 = 2;

/// What a lane takes over of another one, under [`STATE`], until all of it is there and longer.
pub(super) const INHERITED: u64 = 3;

/// Shapes that are remembered.
const SHAPES_MAX: usize = 16;

/// A lane in memory. Everything in it but the open turn's budget comes from the journal.
pub(super) struct Lane {
    pub(super) engine: Engine,
    pub(super) conversation: ConversationId,
    pub(super) key: LaneKey,
    /// Form of its messages.
    pub(super) form: Format,
    /// The active path and the end of the journal.
    track: Track,
    /// Rows that the state stored last is of.
    stored: u64,
    /// Entries of the open turn: arrays may leave them out.
    open: Vec<Seq>,
    /// The newest entry of the path when the last turn ended.
    committed: Option<Seq>,
    /// Names that were looked up, with all entries that have them.
    pub(super) seen: RefCell<Seen>,
    /// Details of lines that were looked up.
    details: RefCell<HashMap<Seq, Option<Arc<str>>>>,
    /// Messages that the last prompt showed.
    pub(super) bodies: Bodies,
    /// Key of the turn that is open.
    pub(super) turn: Option<String>,
    /// What the first call of the turn had room for.
    pub(super) turn_budget: Option<u64>,
    /// Keys and windows of the shapes in which prompts were made, the newest last; `None` before they are read.
    shapes: Option<Vec<(u64, u64)>>,
    /// Prompts by shape, the one used last in front.
    pub(super) sessions: Vec<Session>,
    /// Whether the last prompt had live input between its messages and the newest.
    pub(super) is_between: bool,
    pub(super) view: LoopView<Assembled>,
    /// Pins when the last prompt was made.
    pub(super) pins: Vec<PinRow>,
    /// The prompt that was given last, until its call is answered.
    pub(super) last: Option<Last>,
    /// What was counted of the prompts of the lane that this one began as, by shape, until a prompt needs it.
    pub(super) counted: Vec<(u64, prompt::Counts)>,
    /// What the counts of the model say that answered last.
    pub(super) learned: Learned,
    /// No prompt is larger: what a provider refused.
    pub(super) cap: Option<u64>,
    /// What of images and documents may not be shown.
    pub(super) refusals: Refusals,
    /// Live input that the last prompt had to show.
    pub(super) required: Vec<Seq>,
}

/// A line to be written.
pub(super) struct Line {
    /// The line.
    pub(super) text: String,
    /// What it follows.
    pub(super) parent: Option<Seq>,
    /// Its names.
    pub(super) names: Vec<Name>,
    /// Whether it is of the open turn.
    pub(super) is_open: bool,
}

/// Name of a lane's conversation.
pub(super) fn conversation_key(key: &LaneKey) -> ConversationKey {
    let name = if zoo::is(Bug::LanesShared) { "agent:0" } else { &key.0 };
    ConversationKey(format!("{}:{name}", Format::Journal.name()))
}

/// Keys and windows of the shapes in which prompts of a lane were made.
pub(super) fn stored_shapes(
    engine: &Engine,
    conversation: ConversationId,
) -> Result<Vec<(u64, u64)>, HostError> {
    let row = engine.store().context(conversation, STATE, SHAPES)?;
    // Without them the next prompt has a shape of its own: nothing else is lost.
    Ok(row.and_then(|row| serde_json::from_slice(&row.state).ok()).unwrap_or_default())
}

impl Lane {
    /// Opens a lane, or begins it. O(runs of the path), some bytes each: see [`Track`].
    pub(super) fn open(
        engine: &Engine,
        key: &LaneKey,
        form: Format,
        now: Timestamp,
    ) -> Result<Self, HostError> {
        let stored = engine.store().ensure(&NewConversation {
            key: conversation_key(key),
            format: Format::Journal.name().to_owned(),
            title: None,
            parent: None,
        })?;
        let mut lane = Self {
            engine: engine.clone(),
            conversation: stored.id,
            key: key.clone(),
            form,
            track: Track::new(),
            stored: 0,
            open: Vec::new(),
            committed: None,
            seen: RefCell::default(),
            details: RefCell::default(),
            bodies: Bodies::new(engine, stored.id),
            turn: None,
            turn_budget: None,
            shapes: None,
            sessions: Vec::new(),
            is_between: false,
            view: LoopView::default(),
            pins: Vec::new(),
            last: None,
            counted: Vec::new(),
            learned: Learned::default(),
            cap: None,
            refusals: Refusals::default(),
            required: Vec::new(),
        };
        if stored.entries == 0 {
            let text = journal::header(&key.0, form, now.0);
            lane.write_ahead(Line { text, parent: None, names: Vec::new(), is_open: false })?;
        } else {
            lane.reload(stored.entries)?;
            lane.check_form()?;
            lane.go_on_inheriting(now)?;
        }
        Ok(lane)
    }

    /// The header says the form; a host that says another one means another lane.
    fn check_form(&self) -> Result<(), HostError> {
        let form = self.line(Seq(0))?.form;
        match form.as_deref().and_then(Format::by_name) {
            Some(form) if form != self.form => {
                let what = format!("the messages of {} are of form {}", self.key.0, form.name());
                Err(HostError::Refused { what })
            }
            _ => Ok(()),
        }
    }

    /// Reads the state that was stored last, and the rows behind it.
    fn reload(&mut self, entries: u64) -> Result<(), HostError> {
        self.track = self.stored_track(entries)?.unwrap_or_else(Track::new);
        self.stored = self.track.next;
        while self.track.next < entries {
            let to = entries.min(self.track.next + ROWS);
            let rows = self.engine.store().rows(self.conversation, self.track.next..to)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                self.track.step(&row);
            }
        }
        self.commit();
        Ok(())
    }

    /// The state that was stored last, if it is of this journal.
    fn stored_track(&self, entries: u64) -> Result<Option<Track>, HostError> {
        let store = self.engine.store();
        let row = store.context(self.conversation, STATE, PATH)?;
        let Some(track) = row.and_then(|row| Track::decode(&row.state)) else { return Ok(None) };
        let Some(last) = track.next.checked_sub(1).filter(|last| *last < entries) else { return Ok(None) };
        let rows = store.rows(self.conversation, last..track.next)?;
        let is_of = |row: &EntryRow| row.chain == track.chain && row.bytes.end == track.bytes;
        Ok(rows.first().is_some_and(is_of).then_some(track))
    }

    /// Keys and windows of the shapes in which prompts of this lane were made.
    pub(super) fn shapes(&mut self) -> Result<&[(u64, u64)], HostError> {
        if self.shapes.is_none() {
            self.shapes = Some(stored_shapes(&self.engine, self.conversation)?);
        }
        Ok(self.shapes.as_deref().unwrap_or_default())
    }

    /// Remembers a shape across restarts.
    pub(super) fn add_shape(&mut self, shape: (u64, u64)) -> Result<(), HostError> {
        let mut shapes = self.shapes()?.to_vec();
        if shapes.contains(&shape) {
            return Ok(());
        }
        shapes.push(shape);
        shapes.drain(..shapes.len().saturating_sub(SHAPES_MAX));
        // Numbers always serialise.
        let state = serde_json::to_vec(&shapes).unwrap_or_default();
        let row = ContextRow { thread: STATE, budget: SHAPES, state };
        self.engine.store().put_summaries(self.conversation, &[], Some(&row))?;
        self.shapes = Some(shapes);
        Ok(())
    }

    /// The active path.
    pub(super) fn path(&self) -> Path<'_> {
        let track = &self.track;
        Path { runs: track.runs(), volatile: track.volatile(), open: &self.open, committed: self.committed }
    }

    /// Entries on the path.
    pub(super) const fn path_length(&self) -> u64 {
        self.track.length()
    }

    /// Cuts of the path so far.
    pub(super) const fn generation(&self) -> u64 {
        self.track.generation
    }

    /// The newest entry of the path.
    pub(super) fn head(&self) -> Option<Seq> {
        self.track.head()
    }

    /// The place that the next line gets.
    pub(super) const fn next(&self) -> Seq {
        Seq(self.track.next)
    }

    /// Entries of the path after `seq`, oldest first.
    pub(super) fn path_after(&self, seq: Option<Seq>) -> Vec<Seq> {
        let from = seq.map_or(0, |seq| seq.0 + 1);
        let runs = self.track.runs();
        let at = runs.partition_point(|run| run.end <= from);
        let runs = runs.iter().skip(at);
        runs.flat_map(|run| run.start.max(from)..run.end).map(Seq).collect()
    }

    /// The last entries of the path, in its order: as many as asked for, or all. O(count).
    pub(super) fn path_end(&self, count: usize) -> Vec<Seq> {
        let seqs = self.track.runs().iter().rev().flat_map(|run| run.clone().rev());
        let mut end: Vec<Seq> = seqs.take(count).map(Seq).collect();
        end.reverse();
        end
    }

    /// The name by which other lines call an entry.
    pub(super) fn call(&self, seq: Seq) -> Result<String, HostError> {
        let rows = self.engine.store().rows(self.conversation, seq.0..seq.0 + 1)?;
        let host_id = rows.into_iter().next().and_then(|row| row.host_id);
        Ok(host_id.unwrap_or_else(|| format!("#{seq}")))
    }

    /// What a line has to say about what it follows: nothing if that is the newest message.
    pub(super) fn after(&self, parent: Option<Seq>) -> Result<After, HostError> {
        if parent == self.track.newest {
            return Ok(After::Newest);
        }
        Ok(parent.map(|seq| self.call(seq)).transpose()?.map_or(After::Root, After::Entry))
    }

    /// The stored line.
    pub(super) fn line(&self, seq: Seq) -> Result<journal::Kept, HostError> {
        let raw = self.engine.store().raw(self.conversation, seq.0..seq.0 + 1)?;
        Ok(raw.first().map(|raw| journal::read_line(&raw.body)).unwrap_or_default())
    }

    /// What a stored entry says, as [`names::parts`] gives it.
    pub(super) fn parts(&self, seq: Seq) -> Result<Vec<u64>, HostError> {
        let raw = self.engine.store().raw(self.conversation, seq.0..seq.0 + 1)?;
        Ok(raw.first().map(|raw| names::parts(&decode(Format::Journal, &raw.body))).unwrap_or_default())
    }

    /// All of the path counts as committed.
    pub(super) fn commit(&mut self) {
        self.committed = self.head();
    }

    /// The open turn is over: its entries count like all others.
    pub(super) fn tighten(&mut self) {
        self.turn = None;
        self.turn_budget = None;
        self.forget_call();
        self.commit();
        if !zoo::is(Bug::TightenMissing) {
            self.open.clear();
        }
    }

    /// Writes lines and names in one transaction that survives power loss, then shows them to the open prompts.
    ///
    /// Cost: O(lines), whatever the history.
    pub(super) fn write(&mut self, lines: Vec<Line>, names: Vec<NamedEntry>) -> Result<(), HostError> {
        self.write_soon(WriteLatency::Now, lines, names)
    }

    /// The same, as soon as said.
    pub(super) fn write_soon(
        &mut self,
        latency: WriteLatency,
        lines: Vec<Line>,
        names: Vec<NamedEntry>,
    ) -> Result<(), HostError> {
        self.write_durably((Durability::OnReturn, latency), lines, names)
    }

    /// Writes a line that means nothing until something after it is written, here or in another lane.
    pub(super) fn write_ahead(&mut self, line: Line) -> Result<(), HostError> {
        self.write_durably((Durability::WithNext, WriteLatency::Now), vec![line], Vec::new())
    }

    /// The same, as durable and as soon as said.
    pub(super) fn write_durably(
        &mut self,
        (durability, latency): (Durability, WriteLatency),
        lines: Vec<Line>,
        names: Vec<NamedEntry>,
    ) -> Result<(), HostError> {
        if lines.is_empty() {
            if !names.is_empty() {
                self.engine.store().put_names(self.conversation, &names, latency)?;
                self.learn(&names);
            }
            return Ok(());
        }
        let _turn = turn_of(self.conversation);
        let dictionary = self.engine.store().dictionary();
        let mut packer = Packer::new(&index::filter, dictionary.as_deref());
        let (mut chain, mut bytes) = (self.track.chain, self.track.bytes);
        let (mut written, mut names) = (Vec::new(), names);
        for (seq, line) in (self.track.next..).map(Seq).zip(lines) {
            let lead = if seq.0 == 0 { Vec::new() } else { b"\n".to_vec() };
            let record = journal::record(lead, line.text);
            if !zoo::is(Bug::ChainStuck) || seq.0 % 8 != 5 {
                chain = chain.next(&record.lead, &record.body);
            }
            let start = bytes + record.lead.len() as u64;
            bytes = start + record.body.len() as u64;
            let entry = Arc::new(record.entry.clone());
            let standing = Standing { thread: Thread(0), parent: line.parent, is_orphan: false };
            let new = new_entry(Incoming { record, seq, standing, chain, bytes: start..bytes });
            names.extend(line.names.into_iter().map(|name| NamedEntry::new(name, seq)));
            written.push((new.row.clone(), entry, line.is_open));
            packer.push(new);
        }
        let first = self.track.next == 0;
        let target = if first {
            Target::Open { parent: None, opened_by: OpenedBy::FirstSight }
        } else {
            Target::Extend(Generation(0), self.track.next)
        };
        let is_due = self.track.is_due(self.stored);
        let state = || ContextRow { thread: STATE, budget: PATH, state: self.track.encode() };
        self.engine.store().append(Append {
            conversation: self.conversation,
            entries: self.track.next,
            target,
            packed: packer.finish(),
            snapshot: None,
            context: is_due.then(state),
            names: if zoo::is(Bug::WriteNotAtomic) { Vec::new() } else { names.clone() },
            durability,
            latency,
        })?;
        if zoo::is(Bug::WriteNotAtomic) {
            self.engine.store().put_names(self.conversation, &names, latency)?;
        }
        self.learn(&names);
        if is_due {
            self.stored = self.track.next;
        }
        self.show(&written)
    }

    /// Takes written rows into the path and into the open prompts.
    ///
    /// * `rows` - with what they say, and whether they are of the open turn.
    fn show(&mut self, rows: &[(EntryRow, Arc<Entry>, bool)]) -> Result<(), HostError> {
        for (row, _, is_open) in rows {
            if let Some(end) = self.track.step(row) {
                self.open.retain(|seq| *seq < end);
            }
            if *is_open && row.origin != Origin::Volatile && !zoo::is(Bug::LoosenMissing) {
                self.open.push(row.seq);
            }
        }
        for session in &mut self.sessions {
            for (row, entry, _) in rows {
                if let Err(error) = session.push(row.seq, row.parent, entry, row.tokens.expected) {
                    // What is stored is right; what is in memory is made from it again.
                    self.sessions.clear();
                    self.view.fail();
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
