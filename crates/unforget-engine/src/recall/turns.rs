//! A conversation read as its turns.

use std::ops::Range;

use unforget_core::entry::{Entry, Origin, Role};
use unforget_core::id::{Seq, Timestamp};
use unforget_store::{Conversation, EntryRow};
use unforget_wire::{Format, decode};

use crate::rows::{stored_portions, stored_raw, stored_rows};
use crate::thread::ThreadRef;
use crate::{Engine, EngineError};

/// Turns of a conversation that somebody wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnRange {
    /// All of them, and what came before the first.
    All,
    /// From this turn to the end. The first turn is 1.
    From(u64),
    /// The last ones.
    Last(u64),
}

/// An entry of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEntry {
    /// The entry.
    pub seq: Seq,
    /// Number of its turn; 0 before the first one.
    pub turn: u64,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Its content; without parts if the bytes were purged.
    pub entry: Entry,
    /// Whether the bytes were purged.
    pub purged: bool,
}

/// Where a page of entries begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// It ends with the newest entry.
    Newest,
    /// It ends before this entry.
    Before(Seq),
    /// It begins with this entry, or the next one that the thread has.
    From(Seq),
}

/// Neighbouring entries of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnPage {
    /// In the order of the transcript; `turn` counts from the beginning of the page.
    pub entries: Vec<TurnEntry>,
    /// Whether the thread has entries before them.
    pub has_older: bool,
    /// Whether the thread has entries behind them.
    pub has_newer: bool,
}

/// Whether a row opens a turn of its thread, as [`Engine::turn`] counts them.
pub(super) fn opens(row: &EntryRow) -> bool {
    row.origin == Origin::Human && row.role == Role::User && row.tokens.expected > 0
}

impl Engine {
    /// Reads turns of a thread in the order of the transcript, and returns the number of its turns.
    ///
    /// * `each` - called with every entry of the wanted turns.
    ///
    /// Cost: O(rows of the thread), O(bytes) of the wanted turns; at most 4 MiB of them are held, or one entry.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn read_turns(
        &self,
        of: ThreadRef,
        wanted: TurnRange,
        each: &mut dyn FnMut(TurnEntry),
    ) -> Result<u64, EngineError> {
        let store = self.store();
        let stored = store.conversation(of.conversation)?;
        let path = store.path(of.conversation, stored.current, stored.length)?;
        let mut starts = Vec::new();
        for row in stored_rows(store, of.conversation, path.clone()) {
            let row = row?;
            if row.thread == of.thread && opens(&row) {
                starts.push(row.seq.0);
            }
        }
        let turns = starts.len() as u64;
        let first = match wanted {
            TurnRange::All => 0,
            TurnRange::From(turn) => turn,
            TurnRange::Last(count) => (turns + 1).saturating_sub(count.max(1)),
        };
        let from = match first.checked_sub(1) {
            Some(at) if first > 1 => match starts.get(at as usize) {
                Some(start) => *start,
                None => return Ok(turns),
            },
            _ => 0,
        };
        let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
        let mut turn = first.saturating_sub(1);
        if first <= 1 {
            turn = 0;
        }
        let runs = path.into_iter().map(|run| run.start.max(from)..run.end);
        for portion in stored_portions(store, of.conversation, runs.filter(|run| run.start < run.end)) {
            let portion = portion?;
            let raw = portion.raw(store, of.conversation)?;
            for (row, raw) in portion.rows.into_iter().zip(raw).filter(|(row, _)| row.thread == of.thread) {
                turn += u64::from(opens(&row));
                let entry = Entry { origin: row.origin, role: row.role, ..decode(format, &raw.body) };
                each(TurnEntry { seq: row.seq, turn, time: row.time, entry, purged: row.purged });
            }
        }
        Ok(turns)
    }

    /// Reads a page of a thread: at most `most` entries.
    ///
    /// Cost: O(page), and the rows of other threads between its entries; independent of the history.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn read_page(&self, of: ThreadRef, start: PageStart, most: usize) -> Result<TurnPage, EngineError> {
        let stored = self.store().conversation(of.conversation)?;
        let path = self.store().path(of.conversation, stored.current, stored.length)?;
        let mut rows = match start {
            PageStart::Newest => self.rows_before(of, &path, u64::MAX, most)?,
            PageStart::Before(seq) => self.rows_before(of, &path, seq.0, most)?,
            PageStart::From(seq) => self.rows_from(of, &path, seq.0, most)?,
        };
        let is_more = rows.len() > most;
        let is_forwards = matches!(start, PageStart::From(_));
        if is_forwards {
            rows.truncate(most);
        } else {
            rows.drain(..rows.len().saturating_sub(most));
        }
        let first = rows.first().map_or(0, |row| row.seq.0);
        let end = rows.last().map_or(u64::MAX, |row| row.seq.0 + 1);
        let is_behind = path.iter().any(|run| run.end > end);
        let is_before = path.iter().any(|run| run.start < first);
        let (has_older, has_newer) = if is_forwards { (is_before, is_more) } else { (is_more, is_behind) };
        Ok(TurnPage { entries: self.entries_of(&stored, rows)?, has_older, has_newer })
    }

    /// The last rows of a thread before an entry, one more than wanted where there are more.
    fn rows_before(
        &self,
        of: ThreadRef,
        path: &[Range<u64>],
        before: u64,
        most: usize,
    ) -> Result<Vec<EntryRow>, EngineError> {
        let (mut rows, step) = (Vec::new(), most as u64 + 1);
        let mut runs: Vec<_> = path.iter().map(|run| run.start..run.end.min(before)).collect();
        while let Some(run) = runs.pop().filter(|_| rows.len() <= most) {
            let from = run.start.max(run.end.saturating_sub(step));
            let mut read = self.store().rows(of.conversation, from..run.end)?;
            read.retain(|row| row.thread == of.thread);
            rows.splice(0..0, read);
            if from > run.start {
                runs.push(run.start..from);
            }
        }
        Ok(rows)
    }

    /// The first rows of a thread from an entry on, one more than wanted where there are more.
    fn rows_from(
        &self,
        of: ThreadRef,
        path: &[Range<u64>],
        from: u64,
        most: usize,
    ) -> Result<Vec<EntryRow>, EngineError> {
        let runs = path.iter().map(|run| run.start.max(from)..run.end).filter(|run| run.start < run.end);
        let runs: Vec<_> = runs.collect();
        let mut rows = Vec::new();
        for row in stored_rows(self.store(), of.conversation, runs) {
            let row = row?;
            if row.thread == of.thread {
                rows.push(row);
            }
            if rows.len() > most {
                break;
            }
        }
        Ok(rows)
    }

    fn entries_of(&self, stored: &Conversation, rows: Vec<EntryRow>) -> Result<Vec<TurnEntry>, EngineError> {
        let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
        let mut turn = 0;
        let mut entries = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(raw) = stored_raw(self.store(), stored.id, row.seq)? else { continue };
            turn += u64::from(opens(&row));
            let entry = Entry { origin: row.origin, role: row.role, ..decode(format, &raw.body) };
            entries.push(TurnEntry { seq: row.seq, turn, time: row.time, entry, purged: row.purged });
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use unforget_core::id::Thread;

    use super::*;

    #[test]
    fn turns_are_read_from_the_right_one_on() {
        let engine = Engine::in_memory();
        let lines: Vec<String> = ["system", "user", "assistant", "user", "assistant", "user"]
            .iter()
            .enumerate()
            .map(|(n, role)| format!(r#"{{"role":"{role}","content":"word {n}"}}"#))
            .collect();
        let imported = engine.import_reader(lines.join("\n").as_bytes(), "test").unwrap();
        let id = engine.store().find(&imported.conversation).unwrap().unwrap().id;
        let of = ThreadRef { conversation: id, thread: Thread(0) };
        let table = [
            (TurnRange::All, vec![0, 1, 1, 2, 2, 3], "everything"),
            (TurnRange::From(1), vec![0, 1, 1, 2, 2, 3], "from the first turn, with what is before it"),
            (TurnRange::From(2), vec![2, 2, 3], "from the second"),
            (TurnRange::Last(1), vec![3], "the last one"),
            (TurnRange::Last(2), vec![2, 2, 3], "the last two"),
            (TurnRange::Last(9), vec![0, 1, 1, 2, 2, 3], "more than there are"),
            (TurnRange::From(4), vec![], "beyond the end"),
        ];
        for (wanted, want, why) in table {
            let mut turns = Vec::new();
            let count = engine.read_turns(of, wanted, &mut |read| turns.push(read.turn)).unwrap();
            assert_eq!((count, turns), (3, want), "{why}");
        }
    }

    #[test]
    fn pages_are_neighbours() {
        let engine = Engine::in_memory();
        let lines: Vec<String> =
            (0..10).map(|n| format!(r#"{{"role":"user","content":"word {n}"}}"#)).collect();
        let imported = engine.import_reader(lines.join("\n").as_bytes(), "test").unwrap();
        let id = engine.store().find(&imported.conversation).unwrap().unwrap().id;
        let of = ThreadRef { conversation: id, thread: Thread(0) };
        let table = [
            (PageStart::Newest, 3, vec![7, 8, 9], (true, false), "the end"),
            (PageStart::Before(Seq(7)), 3, vec![4, 5, 6], (true, true), "before a page"),
            (PageStart::Before(Seq(1)), 3, vec![0], (false, true), "the beginning"),
            (PageStart::From(Seq(4)), 3, vec![4, 5, 6], (true, true), "from an entry"),
            (PageStart::From(Seq(0)), 10, (0..10).collect(), (false, false), "all"),
            (PageStart::From(Seq(10)), 3, vec![], (false, false), "behind the end"),
        ];
        for (start, most, want, more, why) in table {
            let page = engine.read_page(of, start, most).unwrap();
            let seqs: Vec<u64> = page.entries.iter().map(|one| one.seq.0).collect();
            assert_eq!((seqs, (page.has_older, page.has_newer)), (want, more), "{why}");
        }
    }
}
