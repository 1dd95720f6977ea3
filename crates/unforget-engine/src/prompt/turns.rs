//! Turns of a stored thread, by number.

use unforget_core::entry::{Origin, Role};
use unforget_core::id::Seq;

use super::ThreadRef;
use crate::rows::stored_rows;
use crate::{Engine, EngineError};

/// Where a turn of a thread begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnPlace {
    /// At this entry.
    At(Seq),
    /// The thread has no such turn.
    Missing {
        /// Number of its turns.
        turns: u64,
    },
}

impl Engine {
    /// The message of a person that opened a turn of a thread; turns count from 1. A message without words or pictures
    /// opens none.
    ///
    /// Cost: O(rows of the thread).
    pub fn turn(&self, of: ThreadRef, turn: u64) -> Result<TurnPlace, EngineError> {
        let stored = self.store().conversation(of.conversation)?;
        let path = self.store().path(of.conversation, stored.current, stored.length)?;
        let mut turns = 0;
        for row in stored_rows(self.store(), of.conversation, path) {
            let row = row?;
            let is_person = row.origin == Origin::Human && row.role == Role::User;
            let opens = is_person && row.tokens.expected > 0 && row.thread == of.thread;
            turns += u64::from(opens);
            if opens && turns == turn {
                return Ok(TurnPlace::At(row.seq));
            }
        }
        Ok(TurnPlace::Missing { turns })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use unforget_core::id::Thread;

    use super::*;

    #[test]
    fn a_message_without_content_opens_no_turn() {
        let lines = [
            r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}"#,
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"first question"}]}}"#,
            r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"an answer"}]}}"#,
            r#"{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-05T09:00:03.000Z","message":{"role":"user","content":[{"type":"text","text":""}]}}"#,
            r#"{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-05T09:00:04.000Z","message":{"role":"user","content":[{"type":"text","text":"second question"}]}}"#,
        ];
        let engine = Engine::in_memory();
        let imported = engine.import_reader(lines.join("\n").as_bytes(), "test").unwrap();
        let conversation = engine.store().find(&imported.conversation).unwrap().unwrap().id;
        let of = ThreadRef { conversation, thread: Thread(0) };
        let table = [
            (0, TurnPlace::Missing { turns: 2 }, "turns count from 1"),
            (1, TurnPlace::At(Seq(1)), "the first question"),
            (2, TurnPlace::At(Seq(4)), "the empty message before it is passed over"),
            (3, TurnPlace::Missing { turns: 2 }, "there are no more"),
        ];
        for (turn, want, why) in table {
            assert_eq!(engine.turn(of, turn).unwrap(), want, "{why}");
        }
    }
}
