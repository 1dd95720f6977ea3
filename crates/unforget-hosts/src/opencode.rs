//! The sessions of opencode: tables `session`, `message` and `part`.
//!
//! Messages have ids and times that ascend; each part belongs to a message. A message is written while it streams, so its rows
//! change. Seen: opencode 1.18.33, made by the program itself.

use rusqlite::{Connection, Statement, Transaction};

use crate::row::{self, RowRecord};
use crate::session::{HostDatabaseError, HostSession};

/// Tables that its database has.
pub(crate) const TABLES: [&str; 3] = ["session", "message", "part"];

/// Columns that are relied upon.
const COLUMNS: [(&str, &str); 10] = [
    ("session", "id"),
    ("session", "time_created"),
    ("session", "time_updated"),
    ("message", "id"),
    ("message", "session_id"),
    ("message", "time_created"),
    ("message", "data"),
    ("part", "id"),
    ("part", "message_id"),
    ("part", "data"),
];

/// Checks that the columns that are relied upon are there.
pub(crate) fn check(connection: &Connection) -> Result<(), HostDatabaseError> {
    for (table, column) in COLUMNS {
        let sql = "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?";
        let found: i64 = connection.query_row(sql, [table, column], |row| row.get(0))?;
        if found == 0 {
            return Err(HostDatabaseError::Schema { host: "opencode", table, column });
        }
    }
    Ok(())
}

/// All sessions, the oldest first.
pub(crate) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<HostSession>> {
    let mut found = connection.prepare(
        "WITH changed(session, at, number) AS (
           SELECT session_id, max(time_updated), count(*) FROM message GROUP BY session_id
           UNION ALL SELECT session_id, max(time_updated), count(*) FROM part GROUP BY session_id)
         SELECT id, max(time_updated, ifnull((SELECT max(at) FROM changed WHERE session = id), 0)),
           ifnull((SELECT sum(number) FROM changed WHERE session = id), 0)
         FROM session ORDER BY time_created, id",
    )?;
    let session = |row: &rusqlite::Row<'_>| {
        let (at, number): (i64, i64) = (row.get(1)?, row.get(2)?);
        let stamp = at.saturating_mul(1_000_000).saturating_add(number % 1_000_000);
        Ok(HostSession { id: row.get(0)?, stamp })
    };
    found.query_map([], session)?.collect()
}

/// Reads a session: its row, then its messages, each with its parts.
pub(crate) fn read(
    transaction: &Transaction<'_>,
    session: &str,
    each: &mut dyn FnMut(RowRecord) -> std::io::Result<()>,
) -> Result<(), HostDatabaseError> {
    let mut found = transaction.prepare("SELECT * FROM session WHERE id = ?")?;
    let mut messages =
        transaction.prepare("SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id")?;
    let mut parts = transaction.prepare("SELECT * FROM part WHERE message_id = ? ORDER BY id")?;
    for kind in ["session", "message"] {
        let rows = if kind == "session" { &mut found } else { &mut messages };
        let columns = columns(rows);
        let mut rows = rows.query([session])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get("id")?;
            let mut line = format!(r#"{{"opencode":"{kind}","row":"#);
            row::object(row, &columns, &mut line)?;
            if kind == "message" {
                add_parts(&mut parts, &id, &mut line)?;
            }
            line.push('}');
            each(RowRecord { id, line })?;
        }
    }
    Ok(())
}

/// Ids of a session's records: its own, then those of its messages.
pub(crate) fn ids(connection: &Connection, session: &str) -> rusqlite::Result<Vec<String>> {
    let mut found = connection.prepare(
        "SELECT id FROM (SELECT id, 0 AS place, time_created FROM session WHERE id = ?1
           UNION ALL SELECT id, 1, time_created FROM message WHERE session_id = ?1)
         ORDER BY place, time_created, id",
    )?;
    found.query_map([session], |row| row.get(0))?.collect()
}

fn add_parts(parts: &mut Statement<'_>, message: &str, line: &mut String) -> rusqlite::Result<()> {
    line.push_str(r#","parts":["#);
    let columns = columns(parts);
    let mut rows = parts.query([message])?;
    let mut is_first = true;
    while let Some(row) = rows.next()? {
        if !std::mem::take(&mut is_first) {
            line.push(',');
        }
        row::object(row, &columns, line)?;
    }
    line.push(']');
    Ok(())
}

fn columns(statement: &Statement<'_>) -> Vec<String> {
    statement.column_names().map(str::to_owned).collect()
}
