//! Spans of entries that people put back.

use std::ops::Range;

use rusqlite::{Connection, params};
use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::derived::RAISED;
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, Seals};
use crate::codes::{int, uint};
use crate::port::RaisedRow;

/// The spans of a conversation, by number.
pub(super) fn all(conn: &Connection, seals: &Seals, id: ConversationId) -> Outcome<Vec<RaisedRow>> {
    seals.rows(conn, &RAISED.query("WHERE conversation = ? ORDER BY number"), params![int(id.0)], read)
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<RaisedRow> {
    Ok(RaisedRow {
        number: uint(row.get(1)?),
        span: (Seq(uint(row.get(2)?)), Seq(uint(row.get(3)?))),
        author: row.get(4)?,
        made: Timestamp(row.get(5)?),
        withdrawn: row.get::<Option<i64>>(6)?.map(Timestamp),
    })
}

/// See [`crate::Summaries::put_raised`].
pub(super) fn put(tx: &Connection, id: ConversationId, raised: &RaisedRow) -> Outcome<u64> {
    let newest: Option<i64> = tx
        .prepare_cached("SELECT max(number) FROM raised WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let number = raised.number.max(newest.map_or(0, uint) + 1);
    write(tx, id, &RaisedRow { number, withdrawn: None, ..raised.clone() })?;
    Ok(number)
}

fn write(tx: &Connection, id: ConversationId, raised: &RaisedRow) -> Outcome<()> {
    RAISED.writer(tx, SameName::Goes)?.put(params![
        int(id.0),
        int(raised.number),
        int(raised.span.0.0),
        int(raised.span.1.0),
        raised.author,
        raised.made.0,
        raised.withdrawn.map(|at| at.0),
    ])?;
    Ok(())
}

/// See [`crate::Summaries::withdraw_raised`].
pub(super) fn withdraw(
    tx: &Connection,
    seals: &Seals,
    id: ConversationId,
    number: u64,
    now: Timestamp,
) -> Outcome<bool> {
    let query = RAISED.query("WHERE conversation = ? AND number = ?");
    let key = params![int(id.0), int(number)];
    match seals.row(tx, &query, key, read)? {
        Some(row) if row.is_standing() => {
            write(tx, id, &RaisedRow { withdrawn: Some(now), ..row })?;
            Ok(true)
        }
        Some(_) => Ok(false),
        // Nothing of a broken one can be kept.
        None => Ok(seals.drop_broken(tx, &query, key)? > 0),
    }
}

/// Deletes the spans of which every entry is purged. A broken one goes too: its span is not known.
pub(super) fn purge(tx: &Connection, seals: &Seals, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    seals.drop_broken(tx, &RAISED.query("WHERE conversation = ?"), params![int(id.0)])?;
    tx.execute(
        "DELETE FROM raised WHERE conversation = ? AND first_seq >= ? AND last_seq < ?",
        [int(id.0), int(seqs.start), int(seqs.end)],
    )?;
    Ok(())
}
