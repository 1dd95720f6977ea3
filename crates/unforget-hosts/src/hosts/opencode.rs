//! The sessions of opencode: tables `session`, `message` and `part`.
//!
//! Messages have ids and times that ascend; each part belongs to a message. A message is written while it streams, so its rows
//! change. Seen: opencode 1.18.33, made by the program itself.

use crate::schema::{HostSchema, KnownTable, RecordQuery, USER_VERSION};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "opencode",
    format: "opencode",
    tables: &[
        KnownTable { name: "session", columns: &["id", "time_created", "time_updated"] },
        KnownTable {
            name: "message",
            columns: &["id", "session_id", "time_created", "time_updated", "data"],
        },
        KnownTable { name: "part", columns: &["id", "message_id", "session_id", "time_updated", "data"] },
    ],
    version: USER_VERSION,
    sessions: "
        WITH changed(session, at, number) AS (
          SELECT session_id, max(time_updated), count(*) FROM message GROUP BY session_id
          UNION ALL SELECT session_id, max(time_updated), count(*) FROM part GROUP BY session_id)
        SELECT id, max(time_updated, ifnull((SELECT max(at) FROM changed WHERE session = id), 0)),
          ifnull((SELECT sum(number) FROM changed WHERE session = id), 0)
        FROM session ORDER BY time_created, id",
    records: &[
        RecordQuery::new("session", "id", "*", "session WHERE id = ?1"),
        RecordQuery {
            parts: Some("SELECT * FROM part WHERE message_id = ?1 ORDER BY id"),
            ..RecordQuery::new(
                "message",
                "id",
                "*",
                "message WHERE session_id = ?1 ORDER BY time_created, id",
            )
        },
    ],
};
