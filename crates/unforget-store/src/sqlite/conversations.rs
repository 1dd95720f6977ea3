//! Conversations, their counters, generations and snapshots.

use rusqlite::{Connection, OptionalExtension, Row, params};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Timestamp};

use super::fault::Outcome;
use crate::codes::{after, int, limit, opened_by, uint};
use crate::counters::Counters;
use crate::error::StoreError;
use crate::port::{Conversation, FoundSnapshot, GenerationRow, NewConversation, OpenedBy, Page, Snapshot};

const COLUMNS: &str = "id, key, format, title, parent, revision, entries, current, length, tokens, raw_bytes, \
    first_ms, last_ms, names";

/// See [`crate::Log::find`].
pub(super) fn find(conn: &Connection, key: &ConversationKey) -> Outcome<Option<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE key = ?");
    Ok(conn.prepare_cached(&sql)?.query_row([&key.0], read).optional()?)
}

/// Makes a conversation.
pub(super) fn insert(tx: &Connection, new: &NewConversation) -> Outcome<()> {
    tx.prepare_cached(
        "INSERT INTO conversation (key, format, title, parent, revision, entries, generations, chunks, segments,
           snapshots, current, length, tokens, raw_bytes)
         VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
    )?
    .execute(params![new.key.0, new.format, new.title, new.parent.as_ref().map(|key| &key.0)])?;
    Ok(())
}

/// See [`crate::Log::conversation`].
pub(super) fn get(conn: &Connection, id: ConversationId) -> Outcome<Conversation> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE id = ?");
    let found = conn.prepare_cached(&sql)?.query_row([int(id.0)], read).optional()?;
    Ok(found.ok_or(StoreError::NoConversation { id })?)
}

/// Counts an addition of names. Returns the number of them.
pub(super) fn count_names(tx: &Connection, id: ConversationId, is_any: bool) -> Outcome<u64> {
    let sql = "UPDATE conversation SET names = names + ?2 WHERE id = ?1 RETURNING names";
    let sql = if is_any { sql } else { "SELECT names FROM conversation WHERE id = ?1 AND ?2 = 0" };
    let count = tx.prepare_cached(sql)?.query_row(params![int(id.0), is_any], |row| row.get(0)).optional()?;
    Ok(count.map(uint).ok_or(StoreError::NoConversation { id })?)
}

/// Fails if the conversation does not exist.
pub(super) fn require(conn: &Connection, id: ConversationId) -> Outcome<()> {
    let found = conn.prepare_cached("SELECT 1 FROM conversation WHERE id = ?")?.exists([int(id.0)])?;
    if found { Ok(()) } else { Err(StoreError::NoConversation { id }.into()) }
}

/// See [`crate::Log::conversations`].
pub(super) fn page(conn: &Connection, page: Page<ConversationId>) -> Outcome<Vec<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE id > ? ORDER BY id LIMIT ?");
    let place = [after(page.after.map(|id| id.0)), limit(page.limit)];
    let rows = conn.prepare_cached(&sql)?.query_map(place, read)?.collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    let first: Option<i64> = row.get(11)?;
    let last: Option<i64> = row.get(12)?;
    Ok(Conversation {
        id: ConversationId(uint(row.get(0)?)),
        key: ConversationKey(row.get(1)?),
        format: row.get(2)?,
        title: row.get(3)?,
        parent: row.get::<_, Option<String>>(4)?.map(ConversationKey),
        revision: uint(row.get(5)?),
        names: uint(row.get(13)?),
        entries: uint(row.get(6)?),
        current: Generation(uint(row.get(7)?)),
        length: uint(row.get(8)?),
        tokens: uint(row.get(9)?),
        raw_bytes: uint(row.get(10)?),
        time: first.zip(last).map(|(first, last)| (Timestamp(first), Timestamp(last))),
    })
}

/// The counters of a conversation; [`StoreError::NoConversation`] if it does not exist.
pub(super) fn counters(conn: &Connection, id: ConversationId) -> Outcome<Counters> {
    let found = conn
        .prepare_cached(
            "SELECT revision, entries, generations, chunks, snapshots, current, length, tokens, raw_bytes,
               first_ms, last_ms FROM conversation WHERE id = ?",
        )?
        .query_row([int(id.0)], |row| {
            Ok(Counters {
                revision: uint(row.get(0)?),
                entries: uint(row.get(1)?),
                generations: uint(row.get(2)?),
                chunks: uint(row.get(3)?),
                snapshots: uint(row.get(4)?),
                current: uint(row.get(5)?),
                length: uint(row.get(6)?),
                tokens: uint(row.get(7)?),
                raw_bytes: uint(row.get(8)?),
                first_ms: row.get(9)?,
                last_ms: row.get(10)?,
            })
        })
        .optional()?;
    Ok(found.ok_or(StoreError::NoConversation { id })?)
}

/// Writes the counters back.
pub(super) fn put_counters(tx: &Connection, id: ConversationId, counters: &Counters) -> Outcome<()> {
    tx.prepare_cached(
        "UPDATE conversation SET revision = ?2, entries = ?3, generations = ?4, chunks = ?5, snapshots = ?6,
           current = ?7, length = ?8, tokens = ?9, raw_bytes = ?10, first_ms = ?11, last_ms = ?12 WHERE id = ?1",
    )?
    .execute(params![
        int(id.0),
        int(counters.revision),
        int(counters.entries),
        int(counters.generations),
        int(counters.chunks),
        int(counters.snapshots),
        int(counters.current),
        int(counters.length),
        int(counters.tokens),
        int(counters.raw_bytes),
        counters.first_ms,
        counters.last_ms
    ])?;
    Ok(())
}

/// See [`crate::Log::generations`].
pub(super) fn generations(
    conn: &Connection,
    id: ConversationId,
    page: Page<Generation>,
) -> Outcome<Vec<GenerationRow>> {
    let mut select = conn.prepare_cached(
        "SELECT number, parent, fork, opened_by, length FROM generation
         WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?",
    )?;
    let place = [int(id.0), after(page.after.map(|number| number.0)), limit(page.limit)];
    let rows = select.query_map(place, |row| {
        let parent: Option<i64> = row.get(1)?;
        let fork: Option<i64> = row.get(2)?;
        Ok(GenerationRow {
            number: Generation(uint(row.get(0)?)),
            parent: parent.zip(fork).map(|(parent, fork)| (Generation(uint(parent)), Position(uint(fork)))),
            opened_by: opened_by(row.get(3)?).unwrap_or(OpenedBy::Rotation),
            length: uint(row.get(4)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

const SNAPSHOT: &str =
    "number, generation, length, trailer, file_bytes, path, modified_ns, time_ms, conversation FROM snapshot";

/// See [`crate::Log::snapshots`].
pub(super) fn snapshots(conn: &Connection, id: ConversationId, page: Page<u64>) -> Outcome<Vec<Snapshot>> {
    let sql = format!("SELECT {SNAPSHOT} WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?");
    let place = [int(id.0), after(page.after), limit(page.limit)];
    let rows =
        conn.prepare_cached(&sql)?.query_map(place, read_snapshot)?.collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

/// See [`crate::Log::latest_snapshot`].
pub(super) fn latest_snapshot(conn: &Connection, id: ConversationId) -> Outcome<Option<Snapshot>> {
    let sql = format!("SELECT {SNAPSHOT} WHERE conversation = ? ORDER BY number DESC LIMIT 1");
    Ok(conn.prepare_cached(&sql)?.query_row([int(id.0)], read_snapshot).optional()?)
}

/// See [`crate::Log::snapshot_of_path`].
pub(super) fn snapshot_of_path(conn: &Connection, path: &str) -> Outcome<Option<FoundSnapshot>> {
    let sql = format!("SELECT {SNAPSHOT} WHERE path = ? ORDER BY id DESC LIMIT 1");
    let found = conn.prepare_cached(&sql)?.query_row([path], |row| {
        Ok(FoundSnapshot { conversation: ConversationId(uint(row.get(8)?)), snapshot: read_snapshot(row)? })
    });
    Ok(found.optional()?)
}

fn read_snapshot(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    Ok(Snapshot {
        number: uint(row.get(0)?),
        generation: Generation(uint(row.get(1)?)),
        length: uint(row.get(2)?),
        trailer: row.get(3)?,
        file_bytes: uint(row.get(4)?),
        path: row.get(5)?,
        modified_ns: i128::from(row.get::<_, i64>(6)?),
        time: Timestamp(row.get(7)?),
    })
}
