//! What a person had asked for when something was done.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::entry::Part;
use unforget_core::id::{Seq, Timestamp};
use unforget_text::title_of_message;
use unforget_wire::{Format, decode};

use super::turns::opens;
use crate::prompt::ThreadRef;
use crate::rows::{stored_raw, stored_rows};
use crate::{Engine, EngineError};

/// The turn of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedTurn {
    /// The host's time of the entry.
    pub time: Option<Timestamp>,
    /// The first words of the message that opened its turn, as for a title; `None` without words, or if they were purged.
    pub words: Option<String>,
}

impl Engine {
    /// The turns of entries of a thread's current path, by entry.
    ///
    /// Cost: O(rows of the thread), and one record per turn.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn asked_for(
        &self,
        of: ThreadRef,
        entries: &BTreeSet<Seq>,
    ) -> Result<BTreeMap<Seq, AskedTurn>, EngineError> {
        let store = self.store();
        let stored = store.conversation(of.conversation)?;
        let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
        let path = store.path(of.conversation, stored.current, stored.length)?;
        let mut found = BTreeMap::new();
        let mut open: Option<Seq> = None;
        let mut words: Option<String> = None;
        let mut is_read = true;
        for row in stored_rows(store, of.conversation, path) {
            let row = row?;
            if row.thread != of.thread {
                continue;
            }
            if opens(&row) {
                (open, is_read) = (Some(row.seq), row.purged);
                words = None;
            }
            if !entries.contains(&row.seq) {
                continue;
            }
            if let Some(seq) = open.filter(|_| !is_read) {
                is_read = true;
                let raw = stored_raw(store, of.conversation, seq)?;
                words = raw.and_then(|raw| decode(format, &raw.body).parts.iter().find_map(said));
            }
            found.insert(row.seq, AskedTurn { time: row.time, words: words.clone() });
        }
        Ok(found)
    }
}

fn said(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => title_of_message(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use unforget_core::id::Thread;

    use super::*;

    #[test]
    fn an_entry_belongs_to_the_newest_message_before_it() {
        let engine = Engine::in_memory();
        let lines = [
            ("user", "mend the parser"),
            ("assistant", "done"),
            ("user", "now the lexer"),
            ("assistant", "done"),
        ];
        let lines = lines.map(|(role, text)| format!(r#"{{"role":"{role}","content":"{text}"}}"#));
        let imported = engine.import_reader(lines.join("\n").as_bytes(), "test").unwrap();
        let conversation = engine.store().find(&imported.conversation).unwrap().unwrap().id;
        let of = ThreadRef { conversation, thread: Thread(0) };
        let found = engine.asked_for(of, &BTreeSet::from([Seq(1), Seq(3)])).unwrap();
        let words: Vec<_> = found.values().map(|one| one.words.as_deref().unwrap()).collect();
        assert_eq!(words, ["mend the parser", "now the lexer"]);
        engine.store().purge(conversation, 0..1).unwrap();
        assert_eq!(engine.asked_for(of, &BTreeSet::from([Seq(1)])).unwrap()[&Seq(1)].words, None);
    }
}
