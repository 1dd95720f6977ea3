//! Segments of the search index: opaque, derived.

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::id::ConversationId;

use super::derived::{SEGMENT, SEGMENT_BLOCK};
use super::fault::Outcome;
use super::seal::{SameName, Seals};
use crate::codes::{after, int, uint};
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
    let place = [int(id.0), int(number), int(segment.seqs.start), int(segment.seqs.end)];
    let [conversation, number_of, first, end] = place;
    SEGMENT.writer(tx, SameName::Goes)?.put(params![
        conversation,
        number_of,
        first,
        end,
        segment.header,
        int(segment.blocks.len() as u64)
    ])?;
    let row = tx.last_insert_rowid();
    let mut blocks = SEGMENT_BLOCK.writer(tx, SameName::Goes)?;
    for (place, block) in (0_i64..).zip(&segment.blocks) {
        blocks.put(params![row, place, block, conversation, number_of, first, end])?;
    }
    Ok(number)
}

/// See [`crate::Index::segments`].
pub(super) fn heads(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<SegmentHead>> {
    let query =
        SEGMENT.query("WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?").limit(page.limit);
    let mut from = after(page.after);
    let mut all = Vec::new();
    // A short page ends a list, so segments that are left out make room for others.
    while all.len() < page.limit {
        let heads = seals.page(conn, &query, params![int(id.0), from], |row| {
            Ok(SegmentHead {
                number: uint(row.get(1)?),
                seqs: uint(row.get(2)?)..uint(row.get(3)?),
                header: row.get(4)?,
            })
        })?;
        let Some(last) = heads.last() else { break };
        let is_full = heads.len() >= page.limit;
        from = int(last.number);
        all.extend(heads.into_iter().filter(|head| !seals.is_left_out(id, head.number)));
        if !is_full {
            break;
        }
    }
    all.truncate(page.limit);
    Ok(all)
}

/// See [`crate::Index::block`].
pub(super) fn block(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    segment: u64,
    block: usize,
) -> Outcome<Vec<u8>> {
    let query = SEGMENT_BLOCK.query(
        "WHERE segment_block.number = ?3
           AND segment = (SELECT id FROM segment WHERE conversation = ?1 AND number = ?2)",
    );
    let place = params![int(id.0), int(segment), int(block as u64)];
    if let Some(found) = seals.row(conn, &query, place, |row| row.get(2))? {
        return Ok(found);
    }
    let head = SEGMENT.query("WHERE conversation = ? AND number = ?");
    let blocks = seals.row(conn, &head, params![int(id.0), int(segment)], |row| row.get(5))?;
    if blocks.is_some_and(|blocks: i64| (block as u64) < uint(blocks)) {
        seals.note_segment(id, segment);
    }
    Err(StoreError::Missing { id, what: format!("block {block} of segment {segment}") }.into())
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
