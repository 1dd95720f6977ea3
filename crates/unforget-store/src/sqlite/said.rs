//! What people said of a conversation, as far as prompts show it.

use rusqlite::Connection;
use unforget_core::id::ConversationId;

use super::fault::Outcome;
use super::seal::Seals;
use super::{pins, raised, verdicts};
use crate::port::SaidRows;

/// See [`crate::Summaries::said`].
pub(super) fn all(conn: &Connection, seals: &Seals, id: ConversationId) -> Outcome<SaidRows> {
    Ok(SaidRows {
        pins: pins::all(conn, seals, id)?,
        files: pins::files(conn, seals, id)?,
        verdicts: verdicts::all(conn, seals, id)?,
        raised: raised::all(conn, seals, id)?,
    })
}
