//! The journal of one lane: its lines in the store, what is cached of them, and the active path through them.
//!
//! Everything that hosts deliver is appended to the journal; nothing else is the truth about a lane. Prompts know nothing
//! of deliveries: [`Journal::take_written`] hands them the rows that were appended.

mod deliver;
mod lines;
mod name_cache;
mod names;
mod open_turn;
mod path_state;
mod types;
mod write;

use std::iter::once;
use std::sync::Arc;

use unforget_core::deliver::Path;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Thread, Timestamp};
use unforget_core::mutants::{self, Bug};
use unforget_store::{ContextRow, Conversation, EntryRow, Name, NamedEntry, NewConversation, THREAD_MAX};
use unforget_wire::journal::{self, After};
use unforget_wire::{Format, decode};

use crate::Engine;
use crate::rows::stored_rows;
use name_cache::{CachedDetail, NameCache};
use open_turn::OpenTurn;
use path_state::PathState;

pub(crate) use deliver::{BehindLine, Delivery, DeliveryManner, PlanManner, stored_as};
pub(crate) use lines::{JournalLines, MadeLines};
pub(crate) use name_cache::KnownNames;
pub use names::body_digest;
pub(crate) use names::{
    Incoming, annotation_free, answer_id, asked, beginning, cursor, id_name, moved_to, named, names_of_line,
    turn_done, wanted_of_line,
};
pub use types::{BodyDigest, Delivered, HostError, LaneKey, Receipt};
pub(crate) use write::{JournalLine, JournalWrite, WriteUrgency, WrittenLine};

/// Maximum number of cached names: those of a long array, which every call brings.
const CACHED_NAMES_MAX: usize = 256 * 1024;

/// The thread under which the store keeps states of a lane that are no context of a prompt.
pub(crate) const STATE: Thread = THREAD_MAX;

/// Key of the path state under [`STATE`].
const PATH: u64 = 0;

/// Key of the open turn under [`STATE`].
const TURN: u64 = 5;

/// The journal of a lane, opened.
pub(crate) struct Journal {
    engine: Engine,
    conversation: ConversationId,
    key: LaneKey,
    /// Form of the messages.
    form: Format,
    path: PathState,
    /// Rows that the stored path state covers.
    stored: u64,
    /// Rows that were stored when the journal was opened: lines at their places are recognised, not written.
    recorded: u64,
    names: NameCache,
    seen: SeenCounts,
    turn: OpenTurn,
    /// The stored form of the open turn; `None` if none is stored, or an unreadable one.
    stored_turn: Option<Vec<u8>>,
    /// See [`Journal::bring`].
    brought: Vec<ContextRow>,
    /// Lines that were written since the last [`Journal::take_written`].
    written: Vec<WrittenLine>,
}

/// The counters of the stored conversation with the changes that this journal knows.
#[derive(Clone, Copy)]
struct SeenCounts {
    /// Appends and purges.
    revision: u64,
    /// Additions of names to stored entries.
    names: u64,
    /// Tokens of all entries.
    tokens: u64,
}

/// An opened journal.
pub(crate) struct OpenedJournal {
    /// The journal.
    pub(crate) journal: Journal,
    /// Whether the conversation was created just now.
    pub(crate) is_new: bool,
}

/// Key of a lane's conversation.
pub(crate) fn conversation_key(key: &LaneKey) -> ConversationKey {
    let name = if mutants::is(Bug::LanesShared) { "agent:0" } else { &key.0 };
    ConversationKey(format!("{}:{name}", Format::Journal.name()))
}

impl Journal {
    /// Opens the journal of a lane, or creates it.
    ///
    /// Cost: O(runs of the path), some bytes each: see [`PathState`].
    pub(crate) fn open(
        engine: &Engine,
        key: &LaneKey,
        form: Format,
        now: Timestamp,
    ) -> Result<OpenedJournal, HostError> {
        let mut journal = Self::before_first(engine, key, form)?;
        let is_new = journal.recorded == 0;
        if is_new {
            journal.write_header(now)?;
        } else {
            journal.reload(journal.recorded)?;
            journal.check_form()?;
        }
        Ok(OpenedJournal { journal, is_new })
    }

    /// Opens the journal of a lane at its start, whatever is stored of it. A host that delivers everything again, in the
    /// same order and at the same times, finds its lines stored: they are recognised by the chain, and only what comes
    /// behind them is written.
    ///
    /// # Errors
    /// A later write fails with [`HostError::Refused`] if another line is stored at its place.
    pub(crate) fn open_at_start(
        engine: &Engine,
        key: &LaneKey,
        form: Format,
        now: Timestamp,
    ) -> Result<Self, HostError> {
        let mut journal = Self::before_first(engine, key, form)?;
        journal.write_header(now)?;
        Ok(journal)
    }

    /// The journal before its first line.
    fn before_first(engine: &Engine, key: &LaneKey, form: Format) -> Result<Self, HostError> {
        let stored = engine.store().ensure(&NewConversation {
            key: conversation_key(key),
            format: Format::Journal.name().to_owned(),
            title: None,
            parent: None,
        })?;
        Ok(Self {
            engine: engine.clone(),
            conversation: stored.id,
            key: key.clone(),
            form,
            path: PathState::new(),
            stored: 0,
            recorded: stored.entries,
            names: NameCache::default(),
            seen: SeenCounts { revision: stored.revision, names: stored.names, tokens: stored.tokens },
            turn: OpenTurn::default(),
            stored_turn: None,
            brought: Vec::new(),
            written: Vec::new(),
        })
    }

    fn write_header(&mut self, now: Timestamp) -> Result<(), HostError> {
        let text = journal::header(&self.key.0, self.form, now.0);
        self.write_ahead(JournalLine { text, parent: None, names: Vec::new(), is_open: false })
    }

    /// The header names the form; a host that names another one means another lane.
    fn check_form(&self) -> Result<(), HostError> {
        let form = self.line(Seq(0))?.form;
        match form.as_deref().and_then(Format::by_name) {
            Some(form) if form != self.form => {
                let what = format!(
                    "the lane {} has messages in the form {}; deliver this form to another lane",
                    self.key.0,
                    form.name()
                );
                Err(HostError::Refused { what })
            }
            _ => Ok(()),
        }
    }

    /// Reads the stored path state, and the rows behind it.
    fn reload(&mut self, entries: u64) -> Result<(), HostError> {
        self.path = self.stored_path(entries)?.unwrap_or_else(PathState::new);
        self.stored = self.path.next;
        let behind = once(self.path.next..entries);
        for row in stored_rows(self.engine.store(), self.conversation, behind) {
            self.path.step(&row?);
        }
        self.reload_turn()
    }

    /// Reads the stored turn. Lanes of earlier versions have none: their whole path counts as committed.
    fn reload_turn(&mut self) -> Result<(), HostError> {
        let row = self.engine.store().context(self.conversation, STATE, TURN)?;
        let row = row.filter(|_| !mutants::is(Bug::TurnForgotten));
        let turn = row.as_ref().and_then(|row| OpenTurn::decode(&row.state, self.path.next));
        self.stored_turn = row.filter(|_| turn.is_some()).map(|row| row.state);
        match turn {
            Some(turn) => self.turn = turn,
            None => self.commit(),
        }
        Ok(())
    }

    /// The stored path state, if it belongs to this journal.
    fn stored_path(&self, entries: u64) -> Result<Option<PathState>, HostError> {
        let store = self.engine.store();
        let row = store.context(self.conversation, STATE, PATH)?;
        let Some(path) = row.and_then(|row| PathState::decode(&row.state)) else { return Ok(None) };
        let Some(last) = path.next.checked_sub(1).filter(|last| *last < entries) else { return Ok(None) };
        let rows = store.rows(self.conversation, last..path.next)?;
        let is_last = rows.first().is_some_and(|row| row.chain == path.chain && row.bytes.end == path.bytes);
        Ok(is_last.then_some(path))
    }

    /// The engine below.
    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The conversation of the lane.
    pub(crate) const fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// The key of the lane.
    pub(crate) const fn key(&self) -> &LaneKey {
        &self.key
    }

    /// The form of the messages.
    pub(crate) const fn form(&self) -> Format {
        self.form
    }

    /// The active path.
    pub(crate) fn path(&self) -> Path<'_> {
        let (path, turn) = (&self.path, &self.turn);
        Path {
            runs: path.runs(),
            volatile: path.volatile(),
            open: turn.entries(),
            committed: turn.committed(),
        }
    }

    /// Number of entries on the path.
    pub(crate) const fn path_length(&self) -> u64 {
        self.path.length()
    }

    /// Number of cuts of the path so far.
    pub(crate) const fn generation(&self) -> u64 {
        self.path.generation
    }

    /// The newest entry of the path.
    pub(crate) fn head(&self) -> Option<Seq> {
        self.path.head()
    }

    /// The seq that the next line gets.
    pub(crate) const fn next(&self) -> Seq {
        Seq(self.path.next)
    }

    /// Entries of the path after `seq`, oldest first.
    pub(crate) fn path_after(&self, seq: Option<Seq>) -> Vec<Seq> {
        let from = seq.map_or(0, |seq| seq.0 + 1);
        let runs = self.path.runs();
        let at = runs.partition_point(|run| run.end <= from);
        let runs = runs.iter().skip(at);
        runs.flat_map(|run| run.start.max(from)..run.end).map(Seq).collect()
    }

    /// The last `count` entries of the path, oldest first; fewer if the path is shorter. O(count).
    pub(crate) fn path_end(&self, count: usize) -> Vec<Seq> {
        let seqs = self.path.runs().iter().rev().flat_map(|run| run.clone().rev());
        let mut end: Vec<Seq> = seqs.take(count).map(Seq).collect();
        end.reverse();
        end
    }

    /// The row of an entry.
    pub(crate) fn row(&self, seq: Seq) -> Result<Option<EntryRow>, HostError> {
        let rows = self.engine.store().rows(self.conversation, seq.0..seq.0 + 1)?;
        Ok(rows.into_iter().next())
    }

    /// The name by which other lines refer to an entry.
    pub(crate) fn reference(&self, seq: Seq) -> Result<String, HostError> {
        let host_id = self.row(seq)?.and_then(|row| row.host_id);
        Ok(host_id.unwrap_or_else(|| format!("#{seq}")))
    }

    /// The `after` of a line with this parent: none if the parent is the newest message.
    pub(crate) fn after(&self, parent: Option<Seq>) -> Result<After, HostError> {
        if parent == self.path.newest {
            return Ok(After::Newest);
        }
        Ok(parent.map(|seq| self.reference(seq)).transpose()?.map_or(After::Root, After::Entry))
    }

    /// The stored line of an entry.
    pub(crate) fn line(&self, seq: Seq) -> Result<journal::Kept, HostError> {
        let raw = self.engine.store().raw(self.conversation, seq.0..seq.0 + 1)?;
        Ok(raw.first().map(|raw| journal::read_line(&raw.body)).unwrap_or_default())
    }

    /// The content of a stored entry, as [`names::parts`] gives it.
    fn parts(&self, seq: Seq) -> Result<Vec<u64>, HostError> {
        let raw = self.engine.store().raw(self.conversation, seq.0..seq.0 + 1)?;
        Ok(raw.first().map(|raw| names::parts(&decode(Format::Journal, &raw.body))).unwrap_or_default())
    }

    /// The given names that are missing in the cache, ascending.
    pub(crate) fn missing_names(&self, names: impl IntoIterator<Item = Name>) -> Vec<Name> {
        self.names.missing(names)
    }

    /// Caches a lookup.
    ///
    /// * `names` - from [`Journal::missing_names`].
    pub(crate) fn fill_names(&self, names: Vec<Name>, found: Vec<NamedEntry>) {
        self.names.fill(names, found);
    }

    /// Looks names up, in the cache first. The result answers for these names only.
    pub(crate) fn known(&self, names: impl IntoIterator<Item = Name>) -> Result<KnownNames<'_>, HostError> {
        let missing = self.names.missing(names);
        if !missing.is_empty() {
            let found = self.engine.store().named(self.conversation, &missing)?;
            self.names.fill(missing, found);
        }
        Ok(self.names.known())
    }

    /// The stored entries under any of these names.
    pub(crate) fn under(&self, names: &[Name]) -> Result<Vec<Seq>, HostError> {
        let known = self.known(names.iter().copied())?;
        Ok(names.iter().flat_map(|name| known.of(name).to_vec()).collect())
    }

    /// The newest `most` entries under a name, newest first.
    pub(crate) fn newest(&self, name: Name, most: usize) -> Result<Vec<Seq>, HostError> {
        Ok(self.known([name])?.of(&name).iter().rev().take(most).copied().collect())
    }

    /// The newest entry under a name, if the name was looked up before.
    pub(crate) fn newest_cached(&self, name: Name) -> Option<Seq> {
        self.names.known().of(&name).last().copied()
    }

    /// The detail of a stored line, if it was read before.
    pub(crate) fn cached_detail(&self, seq: Seq) -> Option<Arc<str>> {
        self.names.detail(seq)?.0
    }

    /// The detail of a stored line, cached.
    pub(crate) fn detail(&self, seq: Seq) -> Result<Option<Arc<str>>, HostError> {
        if let Some(CachedDetail(detail)) = self.names.detail(seq) {
            return Ok(detail);
        }
        let detail: Option<Arc<str>> = self.line(seq)?.detail.map(Into::into);
        self.names.keep_detail(seq, detail.clone());
        Ok(detail)
    }

    /// Adds names that were stored past this journal to its cache.
    ///
    /// * `count` - what the store returned for them.
    pub(crate) fn add_names(&mut self, names: &[NamedEntry], count: u64) {
        self.names.add(names);
        // With names of others in between, the count stays behind, and the next comparison empties the cache.
        if count == self.seen.names + 1 {
            self.seen.names = count;
        }
    }

    /// Whether the journal knows all entries that are stored. If others only added names, the cache of names is emptied.
    ///
    /// * `stored` - the conversation as it is now.
    pub(crate) fn is_current(&mut self, stored: &Conversation) -> bool {
        if stored.names != self.seen.names && !mutants::is(Bug::EmptyNameCached) {
            self.names = NameCache::default();
            self.seen.names = stored.names;
        }
        stored.revision == self.seen.revision
    }

    /// Empties the name cache if it holds more than `most` names.
    pub(crate) fn trim_names(&mut self, most: usize) {
        self.names.trim(most);
    }

    /// Number of cached names.
    #[cfg(test)]
    pub(crate) fn cached_names(&self) -> usize {
        self.names.len()
    }

    /// Key of the open turn.
    pub(crate) fn open_turn(&self) -> Option<&str> {
        self.turn.key()
    }

    /// Opens a turn.
    pub(crate) fn begin_turn(&mut self, key: &str) {
        self.turn.begin(key);
    }

    /// Whether a turn is open, or its entries are.
    pub(crate) const fn has_open_turn(&self) -> bool {
        self.turn.is_open()
    }

    /// Number of turns that ended.
    pub(crate) const fn ended_turns(&self) -> u64 {
        self.turn.ended()
    }

    /// Ends the open turn: arrays have to contain its entries like all others.
    pub(crate) fn end_turn(&mut self) {
        self.turn.end(self.path.head());
    }

    /// The row of the open turn, if it changed without a line.
    pub(crate) fn turn_to_store(&self) -> Option<ContextRow> {
        let state = self.turn.encode();
        let is_kept = match &self.stored_turn {
            Some(stored) => *stored == state,
            // What stands for a missing row says as much.
            None => !self.turn.is_open(),
        };
        (!is_kept).then_some(ContextRow { thread: STATE, budget: TURN, state })
    }

    /// Notes the stored row of the open turn.
    pub(crate) fn note_turn_stored(&mut self, row: ContextRow) {
        self.stored_turn = Some(row.state);
    }

    /// Brings states of the lane, other than the journal's own, that are stored with the next lines.
    pub(crate) fn bring(&mut self, states: Vec<ContextRow>) {
        self.brought = states;
    }

    /// The brought states that no line took along.
    pub(crate) fn take_brought(&mut self) -> Vec<ContextRow> {
        std::mem::take(&mut self.brought)
    }

    /// Sum of the tokens of all stored entries.
    pub(crate) const fn tokens(&self) -> u64 {
        self.seen.tokens
    }

    /// The whole path counts as committed.
    pub(crate) fn commit(&mut self) {
        self.turn.commit(self.path.head());
    }

    /// The lines that were written since the last call, in order.
    pub(crate) fn take_written(&mut self) -> Vec<WrittenLine> {
        std::mem::take(&mut self.written)
    }
}

#[cfg(test)]
mod tests;
