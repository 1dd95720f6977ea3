//! The sessions of OpenClaw: one database for each agent, tables `session_windows` and `transcript_events`.
//!
//! An event is a line of the transcript that older versions wrote to a file. The host packs a long one into `event_zstd` and may
//! do so later; the record holds the event either way. `navigation_json` and `event_utf8_bytes` are the host's own index of it.
//! Seen: OpenClaw 2026.9.6, schema 23, made by the program itself.

use crate::schema::{HostSchema, KnownTable, RecordQuery, USER_VERSION};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "OpenClaw",
    format: "openclaw",
    tables: &[
        KnownTable {
            name: "session_windows",
            columns: &["session_id", "session_key", "spawned_by", "created_at", "updated_at"],
        },
        KnownTable { name: "session_nodes", columns: &["session_key", "current_session_id"] },
        KnownTable {
            name: "transcript_events",
            columns: &["session_id", "seq", "event_json", "event_zstd", "created_at"],
        },
        KnownTable { name: "transcript_event_identities", columns: &["session_id", "seq", "event_id"] },
        KnownTable { name: "transcript_rewrite_watermarks", columns: &["session_id", "updated_at"] },
    ],
    version: USER_VERSION,
    // A window without events is one whose transcript the host has not begun, or has put into an archive.
    sessions: "
        SELECT session_id,
          max(updated_at,
            ifnull((SELECT created_at FROM transcript_events AS event
              WHERE event.session_id = session.session_id ORDER BY seq DESC LIMIT 1), 0),
            ifnull((SELECT updated_at FROM transcript_rewrite_watermarks AS rewrite
              WHERE rewrite.session_id = session.session_id), 0)),
          (SELECT count(*) FROM transcript_events AS event WHERE event.session_id = session.session_id)
        FROM session_windows AS session
        WHERE EXISTS (SELECT 1 FROM transcript_events AS event WHERE event.session_id = session.session_id)
        ORDER BY created_at, session_id",
    records: &[
        RecordQuery::new(
            "session",
            "'session'",
            "session.*, (SELECT current_session_id FROM session_nodes AS node
               WHERE node.session_key = session.spawned_by) AS parent_session_id",
            "session_windows AS session WHERE session_id = ?1",
        ),
        RecordQuery::new(
            "event",
            // The first event has the id of the session.
            "CASE WHEN event_id IS NULL OR event_id = event.session_id THEN '#' || event.seq ELSE event_id END",
            "event.session_id, event.seq, event_id, ifnull(event_json, event_zstd) AS event_json, event.created_at",
            "transcript_events AS event LEFT JOIN transcript_event_identities AS named
               ON named.session_id = event.session_id AND named.seq = event.seq
             WHERE event.session_id = ?1 ORDER BY event.seq",
        ),
    ],
};
