//! A conversation read as its turns.

use unforget_core::entry::{Entry, Origin, Role};
use unforget_core::id::{Seq, Timestamp};
use unforget_store::EntryRow;
use unforget_wire::{Format, decode};

use crate::rows::{stored_portions, stored_rows};
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
}
