//! The sessions of Crush: `.crush/crush.db` in a project, tables `sessions` and `messages`.
//!
//! The parts of a message are a JSON array, which newer versions compress. Times are seconds, in older databases milliseconds.
//! Source: Crush 0.90.0 (commit 37f36e93) and its later `parts_codec.go`; not seen.

use crate::schema::{HostSchema, KnownTable, RecordQuery};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "Crush",
    format: "crush",
    tables: &[
        KnownTable {
            name: "sessions",
            columns: &["id", "parent_session_id", "title", "updated_at", "created_at"],
        },
        KnownTable {
            name: "messages",
            columns: &["id", "session_id", "role", "parts", "created_at", "updated_at"],
        },
    ],
    version: "SELECT max(version_id) FROM goose_db_version",
    // A second is over only when the next one begins.
    sessions: "
        WITH found(id, created, at, number) AS (
          SELECT id, created_at,
            max(updated_at, ifnull((SELECT max(updated_at) FROM messages WHERE session_id = session.id), 0)),
            (SELECT count(*) + total(octet_length(parts)) FROM messages WHERE session_id = session.id)
          FROM sessions AS session)
        SELECT id, CASE WHEN at < 100000000000 THEN at * 1000 + 999 ELSE at END, CAST(number AS INTEGER)
        FROM found ORDER BY created, id",
    records: &[
        RecordQuery::new("session", "'session'", "*", "sessions WHERE id = ?1"),
        RecordQuery::new("message", "id", "*", "messages WHERE session_id = ?1 ORDER BY created_at, rowid"),
    ],
};
