//! Reads sessions and records by the queries of a schema.

use std::collections::HashSet;

use rusqlite::{Connection, Statement, Transaction};

use crate::row::{self, RowRecord};
use crate::schema::{HostSchema, RecordQuery};
use crate::session::{HostDatabaseError, HostSession};

/// All sessions, the oldest first.
pub(crate) fn sessions(
    connection: &Connection,
    schema: &HostSchema,
) -> Result<Vec<HostSession>, HostDatabaseError> {
    let mut found = connection.prepare(schema.sessions)?;
    let mut rows = found.query([])?;
    let mut sessions = Vec::new();
    loop {
        let place = |source| HostDatabaseError::Row { kind: "session", number: sessions.len() + 1, source };
        let Some(row) = rows.next().map_err(place)? else { break };
        let id: String = row.get(0).map_err(place)?;
        let (at, number): (i64, i64) = (row.get(1).map_err(place)?, row.get(2).map_err(place)?);
        let stamp = at.saturating_mul(1_000_000).saturating_add(number.rem_euclid(1_000_000));
        sessions.push(HostSession { id, stamp });
    }
    Ok(sessions)
}

/// Reads the records of a session, in the order of the conversation.
pub(crate) fn read(
    transaction: &Transaction<'_>,
    schema: &HostSchema,
    session: &str,
    each: &mut dyn FnMut(RowRecord) -> std::io::Result<()>,
) -> Result<(), HostDatabaseError> {
    let mut known = HashSet::new();
    for query in schema.records {
        let mut found = transaction.prepare(&query.rows())?;
        let mut parts = query.parts.map(|parts| transaction.prepare(parts)).transpose()?;
        // The first column is the record's id.
        let columns = columns(&found, query.without, 1);
        let mut rows = found.query([session])?;
        for number in 1.. {
            let place = |source| HostDatabaseError::Row { kind: query.kind, number, source };
            let Some(row) = rows.next().map_err(place)? else { break };
            let id: String = row.get(0).map_err(place)?;
            let mut line = format!(r#"{{"{}":"{}","row":"#, schema.format, query.kind);
            row::object(row, &columns, &mut line).map_err(place)?;
            if let Some(parts) = &mut parts {
                add_parts(parts, &id, &mut line).map_err(place)?;
            }
            line.push('}');
            if !known.insert(id.clone()) {
                return Err(HostDatabaseError::Twice { kind: query.kind, number, id });
            }
            each(RowRecord { id, line })?;
        }
    }
    Ok(())
}

/// Ids of a session's records, in the order of the conversation.
pub(crate) fn ids(
    connection: &Connection,
    schema: &HostSchema,
    session: &str,
) -> Result<Vec<String>, HostDatabaseError> {
    let mut ids = Vec::new();
    for query in schema.records {
        add_ids(connection, query, session, &mut ids)?;
    }
    Ok(ids)
}

fn add_ids(
    connection: &Connection,
    query: &RecordQuery,
    session: &str,
    ids: &mut Vec<String>,
) -> Result<(), HostDatabaseError> {
    let mut found = connection.prepare(&query.ids())?;
    let mut rows = found.query([session])?;
    for number in 1.. {
        let place = |source| HostDatabaseError::Row { kind: query.kind, number, source };
        let Some(row) = rows.next().map_err(place)? else { break };
        ids.push(row.get(0).map_err(place)?);
    }
    Ok(())
}

fn add_parts(parts: &mut Statement<'_>, record: &str, line: &mut String) -> rusqlite::Result<()> {
    line.push_str(r#","parts":["#);
    let columns = columns(parts, &[], 0);
    let mut rows = parts.query([record])?;
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

/// The columns of a statement that a record has.
fn columns(statement: &Statement<'_>, without: &[&str], skip: usize) -> Vec<row::RowColumn> {
    let all = statement.column_names().enumerate().skip(skip);
    let kept = all.filter(|(_, name)| !without.contains(name));
    kept.map(|(place, name)| row::RowColumn { place, name: name.to_owned() }).collect()
}
