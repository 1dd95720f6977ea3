//! The threads of Zed's agent: `threads.db`, one row for each thread, whose messages are one compressed document.
//!
//! Each message of the document is a record, named by its place; the rest of the row is the record of the session.
//! Source: Zed, `crates/agent/src/db.rs` (commit 0642ec7e), threads of version 0.3.0 and earlier; not seen.

use crate::schema::{HostSchema, KnownTable, RecordQuery, USER_VERSION};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "Zed",
    format: "zed",
    tables: &[KnownTable { name: "threads", columns: &["id", "summary", "updated_at", "data_type", "data"] }],
    version: USER_VERSION,
    sessions: "
        SELECT id, CAST(unixepoch(updated_at, 'subsec') * 1000 AS INTEGER), octet_length(data)
        FROM threads ORDER BY updated_at, id",
    records: &[
        RecordQuery {
            without: &["data"],
            ..RecordQuery::new(
                "session",
                "'session'",
                "*, json_remove(unpacked(data), '$.messages') AS thread",
                "threads WHERE id = ?1",
            )
        },
        RecordQuery::new(
            "message",
            "'#' || message.key",
            "message.key, message.value",
            "threads, json_each(unpacked(threads.data), '$.messages') AS message
             WHERE threads.id = ?1 ORDER BY message.key",
        ),
    ],
};
