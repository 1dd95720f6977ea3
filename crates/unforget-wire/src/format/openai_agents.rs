//! Sessions of the OpenAI Agents SDK: the rows of the database of a `SQLiteSession`.
//!
//! ```text
//! {"openai-agents":"session","row":{"session_id":"…","created_at":"…","updated_at":"…"}}
//! {"openai-agents":"message","row":{"id":7,"session_id":"…","message_data":{…},"created_at":"…"}}
//! ```
//!
//! `message_data` is an item of OpenAI Responses, or a message of role and content.
//!
//! Source: openai-agents 0.24.0 (`memory/sqlite_session.py`). The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Origin};

use crate::format::rows::{self, IdentityColumns};
use crate::format::{Head, Identity, openai_responses};
use crate::json::Object;

pub(crate) const HOST: &str = "openai-agents";

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let columns = IdentityColumns { session: "session_id", parent: "", title: "" };
    rows::identity(head, HOST, &columns)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(row) = rows::row(record, HOST, "message") else { return rows::mark(record) };
    let item = row.obj("message_data");
    let entry = item.map_or_else(|| Entry::bare(Origin::Opaque), openai_responses::decode);
    Entry { host_id: rows::numbered(row, "id"), time: row.time("created_at"), ..entry }
}
