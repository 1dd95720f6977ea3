//! One lane of a host: its journal, and the path through it that is active.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use unforget_core::deliver::Path;
use unforget_core::digest::Chain;
use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};
use unforget_core::loop_view::LoopView;
use unforget_core::zoo::{self, Bug};
use unforget_store::{Append, EntryRow, Name, NewConversation, OpenedBy, Packer, Target};
use unforget_wire::journal::{self, After};
use unforget_wire::{Format, decode};

use super::bodies::Bodies;
use super::names;
use super::recover::Last;
use super::types::{Assembled, HostError, LaneKey};
use crate::import::{Incoming, Standing, new_entry, turn};
use crate::prompt::Session;
use crate::{Engine, index};

/// Stored entries by name.
pub(super) type Known = HashMap<Name, Arc<[Seq]>>;

/// Names of which it is remembered who has them.
const SEEN: usize = 256 * 1024;

/// Rows that are read at once.
const ROWS: u64 = 4_096;

/// A lane in memory. Everything in it but the open turn's budget comes from the journal.
pub(super) struct Lane {
    pub(super) engine: Engine,
    pub(super) conversation: ConversationId,
    pub(super) key: LaneKey,
    /// Form of its messages.
    pub(super) form: Format,
    next: u64,
    chain: Chain,
    bytes: u64,
    /// The active path, as ascending runs.
    runs: Vec<Range<u64>>,
    /// Input of the host's own on it.
    volatile: BTreeSet<Seq>,
    /// Entries of the open turn.
    open: Vec<Seq>,
    /// The newest entry of the path when the last turn ended.
    committed: Option<Seq>,
    /// The newest entry that a model sees, on the path or not: whom a line without `after` follows.
    newest: Option<Seq>,
    /// Names that were looked up, with all entries that have them.
    seen: RefCell<Known>,
    /// Messages that the last prompt showed.
    pub(super) bodies: Bodies,
    /// Cuts of the path so far.
    pub(super) generation: u64,
    /// Key of the turn that is open.
    pub(super) turn: Option<String>,
    /// What the first call of the turn had room for.
    pub(super) turn_budget: Option<u64>,
    /// Prompts by shape, the one used last in front.
    pub(super) sessions: Vec<Session>,
    /// Keys of the shapes in which prompts were made, of those that are stored too.
    pub(super) shapes: Vec<u64>,
    /// Whether the last prompt had live input between its messages and the newest.
    pub(super) is_between: bool,
    pub(super) view: LoopView<Assembled>,
    /// The prompt that was given last, until its call is answered.
    pub(super) last: Option<Last>,
    /// No prompt is larger: what a provider refused, or cut.
    pub(super) cap: Option<u64>,
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

impl Lane {
    /// Opens a lane, or begins it. O(rows) the first time: the path is read from them.
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
            next: 0,
            chain: Chain::root(),
            bytes: 0,
            runs: Vec::new(),
            volatile: BTreeSet::new(),
            open: Vec::new(),
            committed: None,
            newest: None,
            seen: RefCell::default(),
            bodies: Bodies::new(engine, stored.id),
            generation: 0,
            turn: None,
            turn_budget: None,
            sessions: Vec::new(),
            shapes: Vec::new(),
            is_between: false,
            view: LoopView::default(),
            last: None,
            cap: None,
        };
        if stored.entries == 0 {
            let text = journal::header(&key.0, form, now.0);
            lane.write(vec![Line { text, parent: None, names: Vec::new(), is_open: false }], Vec::new())?;
        } else {
            lane.reload(stored.entries)?;
            lane.check_form()?;
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

    /// Reads the path from the rows.
    fn reload(&mut self, entries: u64) -> Result<(), HostError> {
        let store = self.engine.store();
        let mut last = None;
        for from in (0..entries).step_by(ROWS as usize) {
            for row in store.rows(self.conversation, from..entries.min(from + ROWS))? {
                step(&mut self.runs, &mut self.generation, &row);
                if row.origin == Origin::Volatile {
                    self.volatile.insert(row.seq);
                }
                if row.origin.is_visible() {
                    self.newest = Some(row.seq);
                }
                last = Some(row);
            }
        }
        if let Some(row) = last {
            (self.next, self.chain, self.bytes) = (row.seq.0 + 1, row.chain, row.bytes.end);
        }
        self.committed = self.head();
        Ok(())
    }

    /// The active path.
    pub(super) fn path(&self) -> Path<'_> {
        Path { runs: &self.runs, volatile: &self.volatile, open: &self.open, committed: self.committed }
    }

    /// Entries on the path.
    pub(super) fn path_length(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }

    /// The newest entry of the path.
    pub(super) fn head(&self) -> Option<Seq> {
        head(&self.runs)
    }

    /// The place that the next line gets.
    pub(super) const fn next(&self) -> Seq {
        Seq(self.next)
    }

    /// Entries of the path after `seq`, oldest first.
    pub(super) fn path_after(&self, seq: Option<Seq>) -> Vec<Seq> {
        let from = seq.map_or(0, |seq| seq.0 + 1);
        let at = self.runs.partition_point(|run| run.end <= from);
        let runs = self.runs.iter().skip(at);
        runs.flat_map(|run| run.start.max(from)..run.end).map(Seq).collect()
    }

    /// The name by which other lines call an entry.
    pub(super) fn call(&self, seq: Seq) -> Result<String, HostError> {
        let rows = self.engine.store().rows(self.conversation, seq.0..seq.0 + 1)?;
        let host_id = rows.into_iter().next().and_then(|row| row.host_id);
        Ok(host_id.unwrap_or_else(|| format!("#{seq}")))
    }

    /// What a line has to say about what it follows: nothing if that is the newest message.
    pub(super) fn after(&self, parent: Option<Seq>) -> Result<After, HostError> {
        if parent == self.newest {
            return Ok(After::Newest);
        }
        Ok(parent.map(|seq| self.call(seq)).transpose()?.map_or(After::Root, After::Entry))
    }

    /// The stored entries under these names, ascending; none where nothing is stored.
    ///
    /// What was looked up is remembered: hosts send the same arrays again and again.
    pub(super) fn known(&self, names: &[Name]) -> Result<Known, HostError> {
        let mut seen = self.seen.borrow_mut();
        if seen.len() > SEEN {
            seen.clear();
        }
        let unseen: BTreeSet<Name> = names.iter().filter(|name| !seen.contains_key(name)).copied().collect();
        let unseen: Vec<Name> = unseen.into_iter().collect();
        if !unseen.is_empty() {
            let mut found: HashMap<Name, Vec<Seq>> = HashMap::new();
            for (name, seq) in self.engine.store().named(self.conversation, &unseen)? {
                found.entry(name).or_default().push(seq);
            }
            let list = |name| (name, found.remove(&name).unwrap_or_default().into());
            seen.extend(unseen.into_iter().map(list));
        }
        let hit =
            |name: &Name| seen.get(name).filter(|seqs| !seqs.is_empty()).map(|seqs| (*name, seqs.clone()));
        Ok(names.iter().filter_map(hit).collect())
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

    /// The open turn is over: its entries count like all others.
    pub(super) fn tighten(&mut self) {
        self.turn = None;
        self.turn_budget = None;
        self.last = None;
        self.committed = self.head();
        if !zoo::is(Bug::TightenMissing) {
            self.open.clear();
        }
    }

    /// Writes lines and names in one transaction that survives power loss, then shows them to the open prompts.
    ///
    /// Cost: O(lines), whatever the history.
    pub(super) fn write(&mut self, lines: Vec<Line>, names: Vec<(Name, Seq)>) -> Result<(), HostError> {
        if lines.is_empty() {
            if !names.is_empty() {
                self.engine.store().put_names(self.conversation, &names)?;
                self.learn(&names);
            }
            return Ok(());
        }
        let _turn = turn();
        let dictionary = self.engine.store().dictionary();
        let mut packer = Packer::new(&index::filter, dictionary.as_deref());
        let (mut chain, mut bytes) = (self.chain, self.bytes);
        let (mut written, mut names) = (Vec::new(), names);
        for (seq, line) in (self.next..).map(Seq).zip(lines) {
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
            names.extend(line.names.into_iter().map(|name| (name, seq)));
            written.push((new.row.clone(), entry, line.is_open));
            packer.push(new);
        }
        let first = self.next == 0;
        let target = if first {
            Target::Open { parent: None, opened_by: OpenedBy::FirstSight }
        } else {
            Target::Extend(Generation(0), self.next)
        };
        self.engine.store().append(Append {
            conversation: self.conversation,
            target,
            packed: packer.finish(),
            snapshot: None,
            context: None,
            names: if zoo::is(Bug::WriteNotAtomic) { Vec::new() } else { names.clone() },
        })?;
        if zoo::is(Bug::WriteNotAtomic) {
            self.engine.store().put_names(self.conversation, &names)?;
        }
        self.learn(&names);
        (self.chain, self.bytes) = (chain, bytes);
        self.next += written.len() as u64;
        for (row, entry, is_open) in written {
            self.show(&row, &entry, is_open)?;
        }
        Ok(())
    }

    /// Names that are stored now.
    fn learn(&mut self, names: &[(Name, Seq)]) {
        let mut new: HashMap<Name, Vec<Seq>> = HashMap::new();
        for (name, seq) in names {
            new.entry(*name).or_default().push(*seq);
        }
        let seen = self.seen.get_mut();
        for (name, mut more) in new {
            if let Some(seqs) = seen.get_mut(&name) {
                more.extend(seqs.iter());
                more.sort_unstable();
                more.dedup();
                *seqs = more.into();
            }
        }
    }

    /// Takes a written row into the path and into the open prompts.
    fn show(&mut self, row: &EntryRow, entry: &Arc<Entry>, is_open: bool) -> Result<(), HostError> {
        step(&mut self.runs, &mut self.generation, row);
        if row.origin.is_visible() {
            self.newest = Some(row.seq);
        }
        if row.origin == Origin::Volatile {
            self.volatile.insert(row.seq);
        } else if is_open && !zoo::is(Bug::LoosenMissing) {
            self.open.push(row.seq);
        }
        let mut failed = None;
        for session in &mut self.sessions {
            failed = session.push(row.seq, row.parent, entry, row.tokens.expected).err().or(failed);
        }
        if let Some(error) = failed {
            // What is stored is right; what is in memory is made from it again.
            self.sessions.clear();
            self.view.fail();
            return Err(error.into());
        }
        Ok(())
    }
}

fn head(runs: &[Range<u64>]) -> Option<Seq> {
    runs.last().map(|run| Seq(run.end - 1))
}

/// The path after one more row. A row that does not follow the head cuts the path back to what it follows.
fn step(runs: &mut Vec<Range<u64>>, generation: &mut u64, row: &EntryRow) {
    if row.parent != head(runs) {
        *generation += 1;
        let end = row.parent.map_or(0, |seq| seq.0 + 1);
        while let Some(last) = runs.pop_if(|run| run.end > end) {
            if last.start < end {
                runs.push(last.start..end);
            }
        }
    }
    if row.origin.is_visible() {
        match runs.last_mut() {
            Some(run) if run.end == row.seq.0 => run.end += 1,
            _ => runs.push(row.seq.0..row.seq.0 + 1),
        }
    }
}
