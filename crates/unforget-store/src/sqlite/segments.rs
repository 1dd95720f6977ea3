//! Segments of the search index: opaque, derived.

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::id::ConversationId;

use super::codes::{after, int, limit, uint};
use super::fault::Outcome;
use crate::error::StoreError;
use crate::port::{Page, Segment, SegmentHead};

/// See [`crate::Index::put_segment`].
pub(super) fn put(tx: &Connection, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Outcome<u64> {
    let number: Option<i64> = tx
        .prepare_cached(
            "UPDATE conversation SET segments = segments + 1 WHERE id = ? RETURNING segments - 1",
        )?
        .query_row([int(id.0)], |row| row.get(0))
        .optional()?;
    let number = uint(number.ok_or(StoreError::NoConversation { id })?);
    for replaced in replaces {
        drop_where(tx, "conversation = ? AND number = ?", &[int(id.0), int(*replaced)])?;
    }
    tx.prepare_cached(
        "INSERT INTO segment (conversation, number, first_seq, end_seq, header) VALUES (?, ?, ?, ?, ?)",
    )?
    .execute(params![
        int(id.0),
        int(number),
        int(segment.seqs.start),
        int(segment.seqs.end),
        segment.header
    ])?;
    let row = tx.last_insert_rowid();
    let mut insert =
        tx.prepare_cached("INSERT INTO segment_block (segment, number, data) VALUES (?, ?, ?)")?;
    for (place, block) in (0_i64..).zip(&segment.blocks) {
        insert.execute(params![row, place, block])?;
    }
    Ok(number)
}

/// See [`crate::Index::segments`].
pub(super) fn heads(conn: &Connection, id: ConversationId, page: Page<u64>) -> Outcome<Vec<SegmentHead>> {
    let mut select = conn.prepare_cached(
        "SELECT number, first_seq, end_seq, header FROM segment
         WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?",
    )?;
    let rows = select.query_map([int(id.0), after(page.after), limit(page.limit)], |row| {
        Ok(SegmentHead {
            number: uint(row.get(0)?),
            seqs: uint(row.get(1)?)..uint(row.get(2)?),
            header: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// See [`crate::Index::block`].
pub(super) fn block(conn: &Connection, id: ConversationId, segment: u64, block: usize) -> Outcome<Vec<u8>> {
    let found = conn
        .prepare_cached(
            "SELECT data FROM segment_block WHERE number = ?3
             AND segment = (SELECT id FROM segment WHERE conversation = ?1 AND number = ?2)",
        )?
        .query_row([int(id.0), int(segment), int(block as u64)], |row| row.get(0))
        .optional()?;
    Ok(found
        .ok_or_else(|| StoreError::Missing { id, what: format!("block {block} of segment {segment}") })?)
}

/// See [`crate::Index::drop_segments`].
pub(super) fn drop_all(tx: &Connection, id: ConversationId) -> Outcome<()> {
    drop_where(tx, "conversation = ?", &[int(id.0)])
}

/// Drops the segments of a conversation that satisfy a condition.
pub(super) fn drop_where(tx: &Connection, condition: &str, values: &[i64]) -> Outcome<()> {
    let blocks =
        format!("DELETE FROM segment_block WHERE segment IN (SELECT id FROM segment WHERE {condition})");
    tx.prepare_cached(&blocks)?.execute(rusqlite::params_from_iter(values))?;
    let heads = format!("DELETE FROM segment WHERE {condition}");
    tx.prepare_cached(&heads)?.execute(rusqlite::params_from_iter(values))?;
    Ok(())
}
