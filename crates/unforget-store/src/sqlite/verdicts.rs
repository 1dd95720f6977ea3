//! Verdicts on entries.

use std::ops::Range;

use rusqlite::{Connection, params};
use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::derived::VERDICT;
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, Seals};
use crate::codes::{int, uint};
use crate::port::VerdictRow;

/// The verdicts of a conversation, by number.
pub(super) fn all(conn: &Connection, seals: &Seals, id: ConversationId) -> Outcome<Vec<VerdictRow>> {
    seals.rows(conn, &VERDICT.query("WHERE conversation = ? ORDER BY number"), params![int(id.0)], read)
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<VerdictRow> {
    Ok(VerdictRow {
        number: uint(row.get(1)?),
        seq: Seq(uint(row.get(2)?)),
        line: row.get(3)?,
        why: row.get(4)?,
        instead: row.get(5)?,
        author: row.get(6)?,
        made: Timestamp(row.get(7)?),
        withdrawn: row.get::<Option<i64>>(8)?.map(Timestamp),
    })
}

/// See [`crate::Summaries::put_verdict`].
pub(super) fn put(tx: &Connection, id: ConversationId, verdict: &VerdictRow) -> Outcome<u64> {
    let newest: Option<i64> = tx
        .prepare_cached("SELECT max(number) FROM verdict WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let number = verdict.number.max(newest.map_or(0, uint) + 1);
    write(tx, id, &VerdictRow { number, withdrawn: None, ..verdict.clone() })?;
    Ok(number)
}

fn write(tx: &Connection, id: ConversationId, verdict: &VerdictRow) -> Outcome<()> {
    VERDICT.writer(tx, SameName::Goes)?.put(params![
        int(id.0),
        int(verdict.number),
        int(verdict.seq.0),
        verdict.line,
        verdict.why,
        verdict.instead,
        verdict.author,
        verdict.made.0,
        verdict.withdrawn.map(|at| at.0),
    ])?;
    Ok(())
}

/// See [`crate::Summaries::withdraw_verdict`].
pub(super) fn withdraw(
    tx: &Connection,
    seals: &Seals,
    id: ConversationId,
    number: u64,
    now: Timestamp,
) -> Outcome<bool> {
    let query = VERDICT.query("WHERE conversation = ? AND number = ?");
    let key = params![int(id.0), int(number)];
    match seals.row(tx, &query, key, read)? {
        Some(row) if row.is_standing() => {
            write(tx, id, &VerdictRow { withdrawn: Some(now), ..row })?;
            Ok(true)
        }
        Some(_) => Ok(false),
        // Nothing of a broken one can be kept.
        None => Ok(seals.drop_broken(tx, &query, key)? > 0),
    }
}

/// Deletes the verdicts on purged entries: they quote what is gone. A broken one goes too: its entry is not known.
pub(super) fn purge(tx: &Connection, seals: &Seals, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    seals.drop_broken(tx, &VERDICT.query("WHERE conversation = ?"), params![int(id.0)])?;
    tx.execute(
        "DELETE FROM verdict WHERE conversation = ? AND seq >= ? AND seq < ?",
        [int(id.0), int(seqs.start), int(seqs.end)],
    )?;
    Ok(())
}
