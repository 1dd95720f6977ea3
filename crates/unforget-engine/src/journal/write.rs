//! Writing to a journal: chain, pack, append, in one transaction.

use std::sync::Arc;

use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{Generation, Seq, Thread};
use unforget_core::mutants::{self, Bug};
use unforget_store::{
    ContextRow, Durability, EntryRow, Name, NamedEntry, NewEntry, OpenedBy, Target, WriteLatency,
};
use unforget_wire::journal;

use super::open_turn::OpenTurn;
use super::path_state::stands_on_path;
use super::{HostError, Journal, PATH, STATE, TURN};
use crate::append::{Appender, Attached, ConversationLock, TranscriptEnd, pack};

/// How soon a write is on the disk.
#[derive(Clone, Copy)]
pub(crate) struct WriteUrgency {
    /// When it survives a power loss.
    pub(crate) durability: Durability,
    /// Whether a caller waits for it.
    pub(crate) latency: WriteLatency,
}

impl WriteUrgency {
    /// A caller waits for the disk.
    pub(crate) const NOW: Self = Self { durability: Durability::OnReturn, latency: WriteLatency::Now };
}

/// Lines to write in one transaction.
pub(crate) struct JournalWrite {
    /// How soon.
    pub(crate) urgency: WriteUrgency,
    /// In order.
    pub(crate) lines: Vec<JournalLine>,
    /// Further names of entries.
    pub(crate) names: Vec<NamedEntry>,
    /// Whether the open turn ends with them.
    pub(crate) ends_turn: bool,
}

/// A line to write.
pub(crate) struct JournalLine {
    /// The line.
    pub(crate) text: String,
    /// The entry that it follows.
    pub(crate) parent: Option<Seq>,
    /// Its names.
    pub(crate) names: Vec<Name>,
    /// Whether it belongs to the open turn.
    pub(crate) is_open: bool,
}

/// A stored line.
pub(crate) struct WrittenLine {
    /// The line.
    pub(crate) text: String,
    /// Its row.
    pub(crate) row: EntryRow,
    /// Its content.
    pub(crate) entry: Arc<Entry>,
    /// Whether it belongs to the open turn.
    pub(crate) is_open: bool,
}

impl Journal {
    /// Writes lines and names in one transaction that survives power loss.
    ///
    /// Cost: O(lines), whatever the history.
    pub(crate) fn write(&mut self, lines: Vec<JournalLine>, names: Vec<NamedEntry>) -> Result<(), HostError> {
        self.write_soon(WriteLatency::Now, lines, names)
    }

    /// Like [`Journal::write`], with this urgency.
    pub(crate) fn write_soon(
        &mut self,
        latency: WriteLatency,
        lines: Vec<JournalLine>,
        names: Vec<NamedEntry>,
    ) -> Result<(), HostError> {
        self.write_durably(WriteUrgency { durability: Durability::OnReturn, latency }, lines, names)
    }

    /// Writes a line without waiting for the disk. Nothing depends on the line before the next write, here or in another
    /// lane.
    pub(crate) fn write_ahead(&mut self, line: JournalLine) -> Result<(), HostError> {
        let urgency = WriteUrgency { durability: Durability::WithNext, latency: WriteLatency::Now };
        self.write_durably(urgency, vec![line], Vec::new())
    }

    /// Like [`Journal::write`], with this durability and urgency.
    pub(crate) fn write_durably(
        &mut self,
        urgency: WriteUrgency,
        lines: Vec<JournalLine>,
        names: Vec<NamedEntry>,
    ) -> Result<(), HostError> {
        self.carry_out_write(JournalWrite { urgency, lines, names, ends_turn: false })
    }

    /// Writes lines and names, and the open turn as they leave it, in one transaction.
    pub(crate) fn carry_out_write(&mut self, write: JournalWrite) -> Result<(), HostError> {
        let JournalWrite { urgency: WriteUrgency { durability, latency }, lines, mut names, ends_turn } =
            write;
        if lines.is_empty() {
            if !names.is_empty() {
                let count = self.engine.store().put_names(self.conversation, &names, latency)?;
                self.add_names(&names, count);
            }
            if ends_turn {
                self.end_turn();
            }
            return Ok(());
        }
        let lock = ConversationLock::of(self.conversation);
        let (written, mut entries) = self.chained(lines, &mut names);
        let recognised = self.recognised(&written)?;
        let next = self.path.next + recognised as u64;
        let target = if next == 0 {
            Target::Open { parent: None, opened_by: OpenedBy::FirstSight }
        } else {
            Target::Extend(Generation(0), next)
        };
        let turn = self.turn_behind(&written, ends_turn);
        let states = self.states_to_store(&turn);
        let store = self.engine.store();
        entries.drain(..recognised);
        if !entries.is_empty() {
            let added: u64 = entries.iter().map(|entry| entry.row.tokens.expected).sum();
            let packed = pack(store.dictionary().as_deref(), entries);
            let attached = Attached {
                snapshot: None,
                contexts: states.iter().chain(&self.brought).cloned().collect(),
                names: if mutants::is(Bug::WriteNotAtomic) { Vec::new() } else { names.clone() },
                durability,
                latency,
            };
            let count = packed.len() as u64;
            Appender::new(store, self.conversation, lock, target, Seq(next)).append(packed, attached)?;
            self.engine.note_grown(self.conversation, Seq(next), Seq(next + count));
            self.seen.revision += 1;
            self.seen.tokens = self.seen.tokens.saturating_add(added);
            self.brought.clear();
            if mutants::is(Bug::WriteNotAtomic) {
                self.engine.store().put_names(self.conversation, &names, latency)?;
            }
            self.note_stored(states);
        }
        self.names.add(&names);
        self.turn = turn;
        self.show(written);
        Ok(())
    }

    /// Lines with their places and chains, and the entries to append. Adds their names.
    fn chained(
        &self,
        lines: Vec<JournalLine>,
        names: &mut Vec<NamedEntry>,
    ) -> (Vec<WrittenLine>, Vec<NewEntry>) {
        let mut end = TranscriptEnd { chain: self.path.chain, bytes: self.path.bytes };
        let (mut written, mut entries) = (Vec::new(), Vec::new());
        for (seq, line) in (self.path.next..).map(Seq).zip(lines) {
            let lead = if seq.0 == 0 { Vec::new() } else { b"\n".to_vec() };
            let before = end.chain;
            let text = line.text.clone();
            let mut chained = end.pass(journal::record(lead, line.text));
            if mutants::is(Bug::ChainStuck) && seq.0 % 8 == 5 {
                (chained.chain, end.chain) = (before, before);
            }
            let entry = Arc::new(chained.record.entry.clone());
            let new = chained.at(seq, Thread(0), line.parent).into_entry();
            names.extend(line.names.into_iter().map(|name| NamedEntry::new(name, seq)));
            written.push(WrittenLine { text, row: new.row.clone(), entry, is_open: line.is_open });
            entries.push(new);
        }
        (written, entries)
    }

    /// The open turn behind these lines.
    fn turn_behind(&self, lines: &[WrittenLine], ends_turn: bool) -> OpenTurn {
        let (mut turn, mut head) = (self.turn.clone(), self.path.head());
        for WrittenLine { row, is_open, .. } in lines {
            if row.parent != head {
                turn.cut(row.parent.map_or(Seq(0), |seq| Seq(seq.0 + 1)));
                head = row.parent;
            }
            if stands_on_path(row) {
                head = Some(row.seq);
            }
            if *is_open && row.origin != Origin::Volatile && !mutants::is(Bug::LoosenMissing) {
                turn.add(row.seq);
            }
        }
        if ends_turn {
            turn.end(head);
        }
        turn
    }

    /// The states that are stored with the next lines. The state of the path, if it is due, is that before the lines; the state of
    /// the turn, if it is new, is that behind them.
    fn states_to_store(&self, turn: &OpenTurn) -> Vec<ContextRow> {
        let path = self.path.is_due(self.stored).then(|| (PATH, self.path.encode()));
        let turn = Some((TURN, turn.encode())).filter(|(_, state)| self.stored_turn.as_ref() != Some(state));
        let rows = path.into_iter().chain(turn);
        rows.map(|(budget, state)| ContextRow { thread: STATE, budget, state }).collect()
    }

    /// Notes the states that were stored.
    fn note_stored(&mut self, states: Vec<ContextRow>) {
        for row in states {
            if row.budget == TURN {
                self.stored_turn = Some(row.state);
            } else {
                self.stored = self.path.next;
            }
        }
    }

    /// Number of the first lines that are stored already at their places: see [`Journal::open_at_start`].
    fn recognised(&self, lines: &[WrittenLine]) -> Result<usize, HostError> {
        let end = self.recorded.min(self.path.next + lines.len() as u64);
        if self.path.next >= end {
            return Ok(0);
        }
        let rows = self.engine.store().rows(self.conversation, self.path.next..end)?;
        match rows.iter().zip(lines).find(|(row, line)| row.chain != line.row.chain) {
            None => Ok(rows.len()),
            Some((row, _)) => {
                let what = format!("another line is stored at {} of lane {}", row.seq, self.key.0);
                Err(HostError::Refused { what })
            }
        }
    }

    /// Takes written lines into the path, and keeps them for the prompts.
    fn show(&mut self, lines: Vec<WrittenLine>) {
        for line in &lines {
            self.path.step(&line.row);
        }
        self.written.extend(lines);
    }
}
