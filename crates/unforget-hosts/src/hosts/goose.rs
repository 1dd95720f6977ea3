//! The sessions of Goose: `sessions.db`, tables `sessions` and `messages`.
//!
//! When the host compacts a conversation it deletes its messages and writes others. Source: Goose, `session_manager.rs` at schema
//! 5 (commit 01643004); not seen.

use crate::schema::{HostSchema, KnownTable, RecordQuery};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "Goose",
    format: "goose",
    tables: &[
        KnownTable { name: "sessions", columns: &["id", "working_dir", "created_at", "updated_at"] },
        KnownTable {
            name: "messages",
            columns: &["id", "session_id", "role", "content_json", "created_timestamp"],
        },
    ],
    version: "SELECT max(version) FROM schema_version",
    // A second is over only when the next one begins.
    sessions: "
        WITH found(id, created, changed, said, number) AS (
          SELECT id, created_at, ifnull(unixepoch(updated_at), 0),
            ifnull((SELECT max(created_timestamp) FROM messages WHERE session_id = session.id), 0),
            (SELECT total(octet_length(content_json)) + ifnull(max(id), 0) FROM messages WHERE session_id = session.id)
          FROM sessions AS session)
        SELECT id, CAST(max(changed, iif(said < 100000000000, said, said / 1000)) AS INTEGER) * 1000 + 999,
          CAST(number AS INTEGER)
        FROM found ORDER BY created, id",
    records: &[
        RecordQuery::new("session", "'session'", "*", "sessions WHERE id = ?1"),
        RecordQuery::new("message", "'#' || id", "*", "messages WHERE session_id = ?1 ORDER BY id"),
    ],
};
