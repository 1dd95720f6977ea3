//! What people said of conversations, as records that machines exchange.

use std::ops::Range;

use rusqlite::{Connection, params};
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};

use super::derived::SAYING;
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, Seals};
use crate::codes::{after, int, uint};
use crate::port::{Page, SayingRow};

/// See [`crate::Summaries::sayings`].
pub(super) fn page(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<SayingRow>> {
    let query = SAYING.query("WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?");
    seals.page(conn, &query.limit(page.limit), params![int(id.0), after(page.after)], read)
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<SayingRow> {
    let seq = |at| Ok::<_, rusqlite::Error>(row.get::<Option<i64>>(at)?.map(|seq| Seq(uint(seq))));
    Ok(SayingRow {
        number: uint(row.get(1)?),
        digest: Digest(row.get(2)?),
        span: seq(3)?.zip(seq(4)?),
        body: row.get(5)?,
    })
}

/// See [`crate::Summaries::put_sayings`]. A broken row of this digest is replaced.
pub(super) fn put(tx: &Connection, seals: &Seals, id: ConversationId, sayings: &[SayingRow]) -> Outcome<u64> {
    let newest: Option<i64> = tx
        .prepare_cached("SELECT max(number) FROM saying WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let (mut number, mut added) = (newest.map_or(0, uint), 0);
    for saying in sayings {
        let query = SAYING.query("WHERE conversation = ? AND digest = ?");
        let key = params![int(id.0), saying.digest.0];
        if seals.row(tx, &query, key, read)?.is_some() {
            continue;
        }
        seals.drop_broken(tx, &query, key)?;
        number += 1;
        added += 1;
        SAYING.writer(tx, SameName::Goes)?.put(params![
            int(id.0),
            int(number),
            saying.digest.0,
            saying.span.map(|span| int(span.0.0)),
            saying.span.map(|span| int(span.1.0)),
            saying.body,
        ])?;
    }
    Ok(added)
}

/// Deletes the sayings of which every entry is purged: they quote what is gone. A broken one goes too: its entries are not known.
pub(super) fn purge(tx: &Connection, seals: &Seals, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    seals.drop_broken(tx, &SAYING.query("WHERE conversation = ?"), params![int(id.0)])?;
    tx.execute(
        "DELETE FROM saying WHERE conversation = ? AND first_seq >= ? AND last_seq < ?",
        [int(id.0), int(seqs.start), int(seqs.end)],
    )?;
    Ok(())
}
