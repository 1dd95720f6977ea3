//! The sessions of the OpenAI Agents SDK: any database that a program gives to `SQLiteSession`.
//!
//! Seen: openai-agents 0.24.0, made by the library itself.

use crate::schema::{HostSchema, KnownTable, RecordQuery, USER_VERSION};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "the OpenAI Agents SDK",
    format: "openai-agents",
    tables: &[
        KnownTable { name: "agent_sessions", columns: &["session_id", "created_at", "updated_at"] },
        KnownTable { name: "agent_messages", columns: &["id", "session_id", "message_data", "created_at"] },
    ],
    version: USER_VERSION,
    // A second is over only when the next one begins.
    sessions: "
        SELECT session_id, ifnull(unixepoch(updated_at), 0) * 1000 + 999,
          ifnull((SELECT max(id) + count(*) FROM agent_messages AS message
            WHERE message.session_id = session.session_id), 0)
        FROM agent_sessions AS session ORDER BY created_at, session_id",
    records: &[
        RecordQuery::new("session", "'session'", "*", "agent_sessions WHERE session_id = ?1"),
        RecordQuery::new("message", "'#' || id", "*", "agent_messages WHERE session_id = ?1 ORDER BY id"),
    ],
};
