//! Live hosts' names for entries.

use rusqlite::{Connection, params};
use unforget_core::id::{ConversationId, Seq};

use super::codes::{int, uint};
use super::fault::Outcome;
use crate::port::{Name, NamedEntry};

/// From this number of names on, one pass over the table is faster than separate look-ups.
const MANY: usize = 1_024;

/// Adds names; existing ones stay.
pub(super) fn put(tx: &Connection, id: ConversationId, names: &[NamedEntry]) -> Outcome<()> {
    let mut insert = tx.prepare_cached("INSERT OR IGNORE INTO name VALUES (?, ?, ?)")?;
    for NamedEntry { name, seq } in names {
        insert.execute(params![int(id.0), name.0, int(seq.0)])?;
    }
    Ok(())
}

/// See [`crate::Log::named`].
pub(super) fn find(conn: &Connection, id: ConversationId, names: &[Name]) -> Outcome<Vec<NamedEntry>> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    if names.len() >= MANY {
        return scan(conn, id, &names);
    }
    let mut select =
        conn.prepare_cached("SELECT seq FROM name WHERE conversation = ? AND name = ? ORDER BY seq")?;
    let mut found = Vec::new();
    for name in names {
        let mut rows = select.query(params![int(id.0), name.0])?;
        while let Some(row) = rows.next()? {
            found.push(NamedEntry { name, seq: Seq(uint(row.get(0)?)) });
        }
    }
    Ok(found)
}

/// * `names` - sorted.
fn scan(conn: &Connection, id: ConversationId, names: &[Name]) -> Outcome<Vec<NamedEntry>> {
    let mut select =
        conn.prepare_cached("SELECT name, seq FROM name WHERE conversation = ? ORDER BY name, seq")?;
    let mut rows = select.query([int(id.0)])?;
    let mut found = Vec::with_capacity(names.len());
    let mut wanted = names.iter().peekable();
    while let Some(row) = rows.next()? {
        let name = Name(row.get(0)?);
        while wanted.next_if(|wanted| **wanted < name).is_some() {}
        match wanted.peek() {
            Some(wanted) if **wanted == name => {
                found.push(NamedEntry { name, seq: Seq(uint(row.get(1)?)) });
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(found)
}

/// Removes the names of entries in a range.
pub(super) fn purge(tx: &Connection, id: ConversationId, first: i64, end: i64) -> Outcome<()> {
    tx.execute(
        "DELETE FROM name WHERE conversation = ? AND seq >= ? AND seq < ?",
        params![int(id.0), first, end],
    )?;
    Ok(())
}
