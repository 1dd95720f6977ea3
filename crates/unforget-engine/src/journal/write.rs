//! Writing to a journal: chain, pack, append, in one transaction.

use std::sync::Arc;

use unforget_core::entry::{Entry, Origin};
use unforget_core::id::{Generation, Seq, Thread};
use unforget_core::mutants::{self, Bug};
use unforget_store::{ContextRow, Durability, EntryRow, Name, NamedEntry, OpenedBy, Target, WriteLatency};
use unforget_wire::journal;

use super::{HostError, Journal, PATH, STATE};
use crate::append::{Appender, Attached, ConversationLock, TranscriptEnd, pack};

/// How soon a write is on the disk.
#[derive(Clone, Copy)]
pub(crate) struct WriteUrgency {
    /// When it survives a power loss.
    pub(crate) durability: Durability,
    /// Whether a caller waits for it.
    pub(crate) latency: WriteLatency,
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
        WriteUrgency { durability, latency }: WriteUrgency,
        lines: Vec<JournalLine>,
        names: Vec<NamedEntry>,
    ) -> Result<(), HostError> {
        if lines.is_empty() {
            if !names.is_empty() {
                let count = self.engine.store().put_names(self.conversation, &names, latency)?;
                self.add_names(&names, count);
            }
            return Ok(());
        }
        let lock = ConversationLock::of(self.conversation);
        let mut end = TranscriptEnd { chain: self.path.chain, bytes: self.path.bytes };
        let (mut written, mut entries, mut names) = (Vec::new(), Vec::new(), names);
        for (seq, line) in (self.path.next..).map(Seq).zip(lines) {
            let lead = if seq.0 == 0 { Vec::new() } else { b"\n".to_vec() };
            let before = end.chain;
            let mut chained = end.pass(journal::record(lead, line.text));
            if mutants::is(Bug::ChainStuck) && seq.0 % 8 == 5 {
                (chained.chain, end.chain) = (before, before);
            }
            let entry = Arc::new(chained.record.entry.clone());
            let new = chained.at(seq, Thread(0), line.parent).into_entry();
            names.extend(line.names.into_iter().map(|name| NamedEntry::new(name, seq)));
            written.push(WrittenLine { row: new.row.clone(), entry, is_open: line.is_open });
            entries.push(new);
        }
        let recognised = self.recognised(&written)?;
        let next = self.path.next + recognised as u64;
        let target = if next == 0 {
            Target::Open { parent: None, opened_by: OpenedBy::FirstSight }
        } else {
            Target::Extend(Generation(0), next)
        };
        let is_due = self.path.is_due(self.stored);
        let state = || ContextRow { thread: STATE, budget: PATH, state: self.path.encode() };
        let store = self.engine.store();
        entries.drain(..recognised);
        if !entries.is_empty() {
            let packed = pack(store.dictionary().as_deref(), entries);
            let attached = Attached {
                snapshot: None,
                context: is_due.then(state),
                names: if mutants::is(Bug::WriteNotAtomic) { Vec::new() } else { names.clone() },
                durability,
                latency,
            };
            Appender::new(store, self.conversation, lock, target, Seq(next)).append(packed, attached)?;
            self.seen.revision += 1;
            if mutants::is(Bug::WriteNotAtomic) {
                self.engine.store().put_names(self.conversation, &names, latency)?;
            }
        }
        self.names.add(&names);
        if is_due {
            self.stored = self.path.next;
        }
        self.show(written);
        Ok(())
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
        for WrittenLine { row, is_open, .. } in &lines {
            if let Some(end) = self.path.step(row) {
                self.turn.cut(end);
            }
            if *is_open && row.origin != Origin::Volatile && !mutants::is(Bug::LoosenMissing) {
                self.turn.add(row.seq);
            }
        }
        self.written.extend(lines);
    }
}
