//! Purge: the only deletion of delivered data.

use std::collections::BTreeSet;
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::id::ConversationId;

use super::bytes::ChunkAt;
use super::derived::CHUNK_FILTER;
use super::entries;
use super::fault::Outcome;
use super::maintain::vacuum_pages;
use super::port::clamped;
use super::seal::{SameName, Seals};
use super::{
    Dictionaries, SqliteStore, bytes, conversations, jobs, names, pins, raised, sayings, segments, verdicts,
};
use crate::codes::{int, uint};
use crate::pack::Encoder;
use crate::port::{Purged, Result};
use crate::stored::{Stored, damaged};

/// See [`crate::Log::purge_plan`].
///
/// * `seqs` - clamped.
pub(super) fn plan(conn: &Connection, id: ConversationId, seqs: &Range<u64>) -> Outcome<Purged> {
    let ours = [int(id.0), int(seqs.start), int(seqs.end)];
    let (entries, plain): (i64, i64) = conn.query_row(
        "SELECT count(*), coalesce(sum(lead_len + body_len), 0) FROM entry
         WHERE id >= ? AND id < ? AND chunk IS NOT NULL",
        entries::keys(id, seqs),
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let large: i64 = conn.query_row(
        "SELECT coalesce(sum(blob.raw_len), 0) FROM hole JOIN blob ON blob.id = hole.blob
         WHERE hole.conversation = ? AND hole.seq >= ? AND hole.seq < ?",
        ours,
        |row| row.get(0),
    )?;
    let blobs: i64 = conn.query_row(
        "SELECT count(DISTINCT blob) FROM hole WHERE conversation = ?1 AND seq >= ?2 AND seq < ?3
           AND NOT EXISTS (SELECT 1 FROM hole AS other WHERE other.blob = hole.blob AND (other.seq < ?2 OR other.seq >= ?3))",
        ours,
        |row| row.get(0),
    )?;
    let summaries: i64 = conn.query_row(
        "SELECT count(*) FROM summary WHERE conversation = ?1 AND first_seq < ?3 AND last_seq >= ?2 AND ?2 < ?3",
        ours,
        |row| row.get(0),
    )?;
    Ok(Purged {
        entries: uint(entries),
        bytes: uint(plain + large),
        blobs: uint(blobs),
        summaries: uint(summaries),
    })
}

/// See [`crate::Log::purge`].
pub(super) fn carry_out(store: &SqliteStore, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
    let purged = store.write("purge", |tx| {
        let counters = conversations::counters(tx, id)?;
        let seqs = clamped(counters.entries, seqs);
        // Deleted cells are overwritten, and so are whole pages, not only where that is free.
        tx.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
        let purged = plan(tx, id, &seqs)?;
        take_bytes(store, tx, id, &seqs)?;
        take_derived(tx, &store.seals, id, &seqs)?;
        if purged.entries > 0 {
            // A dictionary contains pieces of its training samples.
            retire_dictionaries(tx, &store.dictionaries)?;
            tx.execute("UPDATE conversation SET revision = revision + 1 WHERE id = ?", [int(id.0)])?;
        }
        Ok(purged)
    });
    if matches!(&purged, Ok(purged) if purged.entries > 0) {
        store.dictionaries.retire();
    }
    let swept = store.writer()?.bare(|conn| {
        conn.query_row("PRAGMA secure_delete = FAST", [], |_| Ok(()))?;
        vacuum_pages(conn, "PRAGMA incremental_vacuum")?;
        // Waits for readers up to the busy timeout; if one stays longer, a later checkpoint clears the log.
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    });
    let purged = purged?;
    swept.map_err(|fault| fault.into_store(&store.path, "purge"))?;
    Ok(purged)
}

/// Turns the entries into tombstones, and rewrites or drops their chunks and blobs.
fn take_bytes(store: &SqliteStore, tx: &Connection, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    let mut chunks = BTreeSet::new();
    let mut positions = BTreeSet::new();
    for mut entry in entries::stored(tx, id, seqs.clone())? {
        positions.insert(entry.row.position.0);
        let Some(chunk) = entry.chunk else { continue };
        chunks.insert(chunk);
        entry.purge();
        entries::replace(tx, id, &entry)?;
    }
    for chunk in chunks {
        rewrite_chunk(store, tx, id, chunk)?;
    }
    for position in positions {
        // A half-written line in a snapshot is the beginning of the entry at that position.
        tx.prepare_cached(
            "UPDATE snapshot SET trailer = x'' WHERE conversation = ? AND length = ?
               AND trim(CAST(trailer AS TEXT), char(9, 10, 12, 13, 32)) <> ''",
        )?
        .execute([int(id.0), int(position)])?;
    }
    tx.execute(
        "DELETE FROM hole WHERE conversation = ? AND seq >= ? AND seq < ?",
        [int(id.0), int(seqs.start), int(seqs.end)],
    )?;
    let unused = "SELECT id FROM blob WHERE conversation = ? AND NOT EXISTS (SELECT 1 FROM hole WHERE hole.blob = blob.id)";
    tx.execute(&format!("DELETE FROM blob_filter WHERE blob IN ({unused})"), [int(id.0)])?;
    tx.execute(&format!("DELETE FROM blob WHERE id IN ({unused})"), [int(id.0)])?;
    Ok(())
}

/// Removes the bytes of a chunk that no entry uses any more.
fn rewrite_chunk(store: &SqliteStore, tx: &Connection, id: ConversationId, number: u64) -> Outcome<()> {
    let key = [int(id.0), int(number)];
    let row: Option<i64> = tx
        .prepare_cached("SELECT id FROM chunk WHERE conversation = ? AND number = ?")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let (Some(row), Some(seqs)) = (row, bytes::chunk_seqs(tx, ChunkAt { id, number })?) else {
        return Ok(());
    };
    tx.prepare_cached("DELETE FROM chunk_filter WHERE chunk = ?")?.execute([row])?;
    let mut kept: Vec<Stored> = entries::stored(tx, id, seqs.clone())?;
    kept.retain(|entry| entry.chunk == Some(number));
    if kept.is_empty() {
        tx.prepare_cached("DELETE FROM chunk WHERE id = ?")?.execute([row])?;
        return Ok(());
    }
    let old = bytes::read_chunk(tx, &store.dictionaries, ChunkAt { id, number })?
        .map_err(|detail| damaged(id, seqs.start, detail))?;
    let mut new = Vec::new();
    for mut entry in kept {
        let from = entry.offset as usize;
        let to = from.saturating_add((entry.lead_len + entry.body_len) as usize);
        let Some(bytes) = old.get(from..to) else {
            return Err(
                damaged(id, entry.row.seq.0, format!("it reaches beyond the end of chunk {number}")).into()
            );
        };
        entry.offset = new.len() as u64;
        new.extend_from_slice(bytes);
        entries::replace(tx, id, &entry)?;
    }
    let (data, _) = Encoder::new(None).encode_plain(&new);
    tx.prepare_cached("UPDATE chunk SET raw_len = ?, dictionary = NULL, data = ? WHERE id = ?")?
        .execute(params![int(new.len() as u64), data, row])?;
    let filter = store.filter.as_ref().map(|filter| filter(&new)).unwrap_or_default();
    if !filter.is_empty() {
        CHUNK_FILTER.writer(tx, SameName::Goes)?.put(params![
            row,
            filter,
            int(id.0),
            int(number),
            int(seqs.start),
            int(seqs.end - seqs.start),
            int(new.len() as u64)
        ])?;
    }
    Ok(())
}

/// Drops the data derived from the entries.
fn take_derived(tx: &Connection, seals: &Seals, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    if seqs.is_empty() {
        return Ok(());
    }
    let ours = [int(id.0), int(seqs.start), int(seqs.end)];
    tx.execute("DELETE FROM summary WHERE conversation = ?1 AND first_seq < ?3 AND last_seq >= ?2", ours)?;
    segments::drop_where(tx, "conversation = ?1 AND first_seq < ?3 AND end_seq > ?2", &ours)?;
    tx.execute("DELETE FROM context WHERE conversation = ?", [int(id.0)])?;
    jobs::purge(tx, ours)?;
    pins::purge(tx, seals, id, seqs)?;
    verdicts::purge(tx, seals, id, seqs)?;
    raised::purge(tx, seals, id, seqs)?;
    sayings::purge(tx, seals, id, seqs)?;
    names::purge(tx, id, int(seqs.start), int(seqs.end))
}

/// Rewrites every chunk that uses a dictionary, and drops the dictionaries.
fn retire_dictionaries(tx: &Connection, dictionaries: &Dictionaries) -> Outcome<()> {
    let mut select = tx.prepare("SELECT id, conversation, number FROM chunk WHERE dictionary IS NOT NULL")?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let chunks: Vec<(i64, i64, i64)> = rows.collect::<rusqlite::Result<_>>()?;
    let mut encoder = Encoder::new(None);
    for (row, conversation, number) in chunks {
        let id = ConversationId(uint(conversation));
        let of = ChunkAt { id, number: uint(number) };
        let first = || bytes::chunk_seqs(tx, of).ok().flatten().map_or(0, |seqs| seqs.start);
        let bytes =
            bytes::read_chunk(tx, dictionaries, of)?.map_err(|detail| damaged(id, first(), detail))?;
        let (data, _) = encoder.encode_plain(&bytes);
        tx.prepare_cached("UPDATE chunk SET dictionary = NULL, data = ? WHERE id = ?")?
            .execute(params![data, row])?;
    }
    tx.execute("DELETE FROM dictionary", [])?;
    Ok(())
}
