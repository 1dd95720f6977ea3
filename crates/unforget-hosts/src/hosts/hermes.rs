//! The sessions of Hermes: `state.db`, tables `sessions` and `messages`.
//!
//! The instructions of a session stand in its row, which changes with every turn: they are a record of their own.
//! Seen: Hermes 0.19.0, made by the program itself.

use crate::schema::{HostSchema, KnownTable, RecordQuery};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "Hermes",
    format: "hermes",
    tables: &[
        KnownTable {
            name: "sessions",
            columns: &["id", "source", "system_prompt", "started_at", "ended_at"],
        },
        KnownTable {
            name: "messages",
            columns: &[
                "id",
                "session_id",
                "role",
                "content",
                "tool_calls",
                "tool_call_id",
                "timestamp",
                "active",
            ],
        },
    ],
    version: "SELECT max(version) FROM schema_version",
    sessions: "
        SELECT id,
          CAST(1000 * max(started_at, ifnull(ended_at, 0),
            ifnull((SELECT max(timestamp) FROM messages WHERE session_id = session.id), 0)) AS INTEGER),
          CAST((SELECT ifnull(max(id), 0) + count(*) + total(octet_length(content)) + total(active)
            FROM messages WHERE session_id = session.id) AS INTEGER)
        FROM sessions AS session ORDER BY started_at, id",
    records: &[
        RecordQuery {
            without: &["system_prompt"],
            ..RecordQuery::new("session", "'session'", "*", "sessions WHERE id = ?1")
        },
        RecordQuery::new(
            "instructions",
            "'instructions'",
            "id, system_prompt",
            "sessions WHERE id = ?1 AND system_prompt <> ''",
        ),
        RecordQuery::new("message", "'#' || id", "*", "messages WHERE session_id = ?1 ORDER BY id"),
    ],
};
