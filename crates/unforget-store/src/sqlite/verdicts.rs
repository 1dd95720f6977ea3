//! Verdicts on entries.

use rusqlite::{Connection, Row, params};
use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::codes::{after, int, limit, uint};
use super::fault::Outcome;
use crate::port::{Page, VerdictRow};

/// See [`crate::Summaries::verdicts`].
pub(super) fn page(conn: &Connection, id: ConversationId, page: Page<u64>) -> Outcome<Vec<VerdictRow>> {
    let rows = conn
        .prepare_cached(
            "SELECT number, seq, line, why, instead, author, made_ms, withdrawn_ms FROM verdict
             WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?",
        )?
        .query_map([int(id.0), after(page.after), limit(page.limit)], read)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn read(row: &Row<'_>) -> rusqlite::Result<VerdictRow> {
    Ok(VerdictRow {
        number: uint(row.get(0)?),
        seq: Seq(uint(row.get(1)?)),
        line: row.get(2)?,
        why: row.get(3)?,
        instead: row.get(4)?,
        author: row.get(5)?,
        made: Timestamp(row.get(6)?),
        withdrawn: row.get::<_, Option<i64>>(7)?.map(Timestamp),
    })
}

/// See [`crate::Summaries::put_verdict`].
pub(super) fn put(tx: &Connection, id: ConversationId, verdict: &VerdictRow) -> Outcome<u64> {
    let newest: Option<i64> = tx
        .prepare_cached("SELECT max(number) FROM verdict WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let number = newest.map_or(0, uint) + 1;
    tx.prepare_cached("INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)")?.execute(params![
        int(id.0),
        int(number),
        int(verdict.seq.0),
        verdict.line,
        verdict.why,
        verdict.instead,
        verdict.author,
        verdict.made.0,
    ])?;
    Ok(number)
}

/// See [`crate::Summaries::withdraw_verdict`].
pub(super) fn withdraw(tx: &Connection, id: ConversationId, number: u64, now: Timestamp) -> Outcome<bool> {
    let changed = tx
        .prepare_cached(
            "UPDATE verdict SET withdrawn_ms = ?3
             WHERE conversation = ?1 AND number = ?2 AND withdrawn_ms IS NULL",
        )?
        .execute([int(id.0), int(number), now.0])?;
    Ok(changed > 0)
}

/// Deletes the verdicts on purged entries: they quote what is gone.
pub(super) fn purge(tx: &Connection, id: ConversationId, from: i64, to: i64) -> Outcome<()> {
    tx.execute("DELETE FROM verdict WHERE conversation = ? AND seq >= ? AND seq < ?", [int(id.0), from, to])?;
    Ok(())
}
