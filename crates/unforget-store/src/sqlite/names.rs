//! Live hosts' names for entries.

use rusqlite::{Connection, params};
use unforget_core::id::{ConversationId, Seq};

use super::derived::NAME;
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, Seals};
use crate::codes::{int, uint};
use crate::port::{Name, NamedEntry, Page};

/// From this number of names on, one pass over the table is faster than separate look-ups.
const MANY: usize = 1_024;

/// Adds names; existing ones stay.
pub(super) fn put(tx: &Connection, id: ConversationId, names: &[NamedEntry]) -> Outcome<()> {
    let mut insert = NAME.writer(tx, SameName::Stays)?;
    for NamedEntry { name, seq } in names {
        insert.put(params![int(id.0), name.0, int(seq.0)])?;
    }
    Ok(())
}

/// See [`crate::Log::named`].
pub(super) fn find(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    names: &[Name],
) -> Outcome<Vec<NamedEntry>> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    if names.len() >= MANY {
        return scan(conn, seals, id, &names);
    }
    let query = NAME.query("WHERE conversation = ? AND name = ? ORDER BY seq");
    let mut found = Vec::new();
    for name in names {
        found.extend(seals.rows(conn, &query, params![int(id.0), name.0], read)?);
    }
    Ok(found)
}

/// See [`crate::Log::names`].
pub(super) fn page(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<NamedEntry>,
) -> Outcome<Vec<NamedEntry>> {
    let query = NAME.query("WHERE conversation = ? AND (name, seq) > (?, ?) ORDER BY name, seq LIMIT ?");
    // No name is empty, so the first page begins before all of them.
    let name = page.after.as_ref().map_or(&[][..], |after| after.name.0.as_slice());
    let seq = page.after.map_or(0, |after| int(after.seq.0));
    seals.page(conn, &query.limit(page.limit), params![int(id.0), name, seq], read)
}

/// * `names` - sorted.
fn scan(conn: &Connection, seals: &Seals, id: ConversationId, names: &[Name]) -> Outcome<Vec<NamedEntry>> {
    let query = NAME.query("WHERE conversation = ? ORDER BY name, seq");
    let mut wanted = names.iter().peekable();
    let named = seals.rows(conn, &query, params![int(id.0)], |row| {
        let named = read(row)?;
        while wanted.next_if(|wanted| **wanted < named.name).is_some() {}
        Ok((wanted.peek() == Some(&&named.name)).then_some(named))
    })?;
    Ok(named.into_iter().flatten().collect())
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<NamedEntry> {
    Ok(NamedEntry { name: Name(row.get(1)?), seq: Seq(uint(row.get(2)?)) })
}

/// Removes the names of entries in a range.
pub(super) fn purge(tx: &Connection, id: ConversationId, first: i64, end: i64) -> Outcome<()> {
    tx.execute(
        "DELETE FROM name WHERE conversation = ? AND seq >= ? AND seq < ?",
        params![int(id.0), first, end],
    )?;
    Ok(())
}
