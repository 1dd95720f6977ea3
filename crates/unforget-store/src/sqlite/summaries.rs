//! Summaries and prompt states.

use std::collections::BTreeSet;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use zstd::bulk::Compressor;

use super::derived::{CONTEXT, REWRITE, SUMMARY};
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, SealedTable, Seals};
use crate::codes::{after, digest, int, limit, uint};
use crate::port::{ContextRow, Page, SummaryKey, SummaryPlace, SummaryRow};
use crate::sources::{decode_sources, encode_sources};

/// zstd level for bodies, which are written once and rarely read.
const BODY_LEVEL: i32 = 6;

/// Upper bound of a body's size in bytes; a damaged length must not ask for more memory.
const BODY_BYTES_MAX: u32 = 256 << 20;

/// One of the two tables of summaries, which have equal columns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Table {
    Summary,
    Rewrite,
}

impl Table {
    const fn sealed(self) -> &'static SealedTable {
        match self {
            Self::Summary => &SUMMARY,
            Self::Rewrite => &REWRITE,
        }
    }
}

/// Writes summaries; a stored one of an equal key stays.
pub(super) fn put(tx: &Connection, table: Table, id: ConversationId, rows: &[SummaryRow]) -> Outcome<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut insert = table.sealed().writer(tx, SameName::Stays)?;
    // Creating a compressor costs more than most bodies.
    let mut packer = Compressor::new(BODY_LEVEL).ok();
    for row in rows {
        insert.put(params![
            int(id.0),
            int(row.key.thread.0),
            row.key.grain,
            row.key.level,
            row.key.end.0,
            int(row.span.0.0),
            int(row.span.1.0),
            int(row.count),
            encode_sources(&row.sources),
            row.writer,
            encode_body(&row.body, packer.as_mut()),
            int(row.tokens.0),
            int(row.tokens.1),
            row.time.0
        ])?;
    }
    Ok(())
}

/// Writes the state of a prompt over the existing one.
pub(super) fn put_context(tx: &Connection, id: ConversationId, context: &ContextRow) -> Outcome<()> {
    CONTEXT.writer(tx, SameName::Goes)?.put(params![
        int(id.0),
        int(context.thread.0),
        int(context.budget),
        context.state
    ])?;
    Ok(())
}

/// See [`crate::Summaries::context`].
pub(super) fn context(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    thread: Thread,
    budget: u64,
) -> Outcome<Option<ContextRow>> {
    let query = CONTEXT.query("WHERE conversation = ? AND thread = ? AND budget = ?");
    let state = seals.row(conn, &query, params![int(id.0), int(thread.0), int(budget)], |row| row.get(3))?;
    Ok(state.map(|state| ContextRow { thread, budget, state }))
}

/// See [`crate::Summaries::contexts`].
pub(super) fn contexts(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    thread: Thread,
    page: Page<u64>,
) -> Outcome<Vec<ContextRow>> {
    let query = CONTEXT
        .query("WHERE conversation = ? AND thread = ? AND budget > ? ORDER BY budget LIMIT ?")
        .limit(page.limit);
    let place = params![int(id.0), int(thread.0), after(page.after)];
    seals.page(conn, &query, place, |row| {
        Ok(ContextRow { thread, budget: uint(row.get(2)?), state: row.get(3)? })
    })
}

/// See [`crate::Summaries::context_threads`].
pub(super) fn context_threads(
    conn: &Connection,
    id: ConversationId,
    page: Page<Thread>,
) -> Outcome<Vec<Thread>> {
    let mut select = conn.prepare_cached(
        "SELECT DISTINCT thread FROM context WHERE conversation = ? AND thread > ? ORDER BY thread LIMIT ?",
    )?;
    let from = after(page.after.map(|thread| thread.0));
    let rows =
        select.query_map(params![int(id.0), from, limit(page.limit)], |row| Ok(Thread(uint(row.get(0)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// See [`crate::Summaries::summaries_of`].
pub(super) fn of(
    conn: &Connection,
    seals: &Seals,
    table: Table,
    id: ConversationId,
    keys: &[SummaryKey],
) -> Outcome<Vec<SummaryRow>> {
    let query =
        table.sealed().query("WHERE conversation = ? AND end = ? AND level = ? AND grain = ? AND thread = ?");
    let mut found = Vec::with_capacity(keys.len());
    for key in keys.iter().collect::<BTreeSet<_>>() {
        let key = params![int(id.0), key.end.0, key.level, key.grain, int(key.thread.0)];
        found.extend(seals.row(conn, &query, key, read)?);
    }
    Ok(found)
}

/// See [`crate::Summaries::summaries`].
pub(super) fn page(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<SummaryPlace>,
) -> Outcome<Vec<SummaryRow>> {
    let query = SUMMARY.query(
        "WHERE conversation = ? AND (first_seq, last_seq, level, thread, grain, end) > (?, ?, ?, ?, ?, ?)
         ORDER BY first_seq, last_seq, level, thread, grain, end LIMIT ?",
    );
    let [first, last] = page.after.map_or([-1, -1], |place| [int(place.span.0.0), int(place.span.1.0)]);
    let key = page.after.map_or(SummaryKey::FIRST, |place| place.key);
    let place = params![int(id.0), first, last, key.level, int(key.thread.0), key.grain, key.end.0];
    seals.page(conn, &query.limit(page.limit), place, read)
}

/// See [`crate::Summaries::count_summaries`].
pub(super) fn count(conn: &Connection, id: ConversationId) -> Outcome<u64> {
    let count = conn
        .prepare_cached("SELECT count(*) FROM summary WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    Ok(uint(count))
}

/// See [`crate::Jobs::rewrites`].
pub(super) fn rewrite_keys(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<SummaryKey>,
) -> Outcome<Vec<SummaryKey>> {
    let query = REWRITE.query(
        "WHERE conversation = ? AND (thread, grain, level, end) > (?, ?, ?, ?)
         ORDER BY thread, grain, level, end LIMIT ?",
    );
    let thread = after(page.after.map(|key| key.thread.0));
    let key = page.after.unwrap_or(SummaryKey::FIRST);
    let place = params![int(id.0), thread, key.grain, key.level, key.end.0];
    seals.page(conn, &query.limit(page.limit), place, read_key)
}

/// See [`crate::Summaries::summary_before`].
pub(super) fn before(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    key: &SummaryKey,
    seq: Seq,
) -> Outcome<Option<SummaryRow>> {
    let query = SUMMARY.query(
        "WHERE conversation = ? AND level = ? AND grain = ? AND thread = ? AND last_seq < ?
         ORDER BY last_seq DESC, end LIMIT ?",
    );
    let near = params![int(id.0), key.level, key.grain, int(key.thread.0), int(seq.0)];
    Ok(seals.page(conn, &query.limit(1), near, read)?.pop())
}

/// A key, from the columns behind the first.
fn read_key(row: &SealedRow<'_, '_>) -> rusqlite::Result<SummaryKey> {
    let end = digest(row.bytes(4)?).ok_or_else(|| {
        let why = "a summary's key has a wrong length";
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Blob, why.into())
    })?;
    Ok(SummaryKey { thread: Thread(uint(row.get(1)?)), grain: row.get(2)?, level: row.get(3)?, end })
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<SummaryRow> {
    let sources = decode_sources(row.bytes(8)?).ok_or_else(|| {
        let why = "a summary's sources have a wrong length";
        rusqlite::Error::FromSqlConversionFailure(8, rusqlite::types::Type::Blob, why.into())
    })?;
    Ok(SummaryRow {
        key: read_key(row)?,
        span: (Seq(uint(row.get(5)?)), Seq(uint(row.get(6)?))),
        count: uint(row.get(7)?),
        sources,
        writer: row.get(9)?,
        body: decode_body(row.value(10)?)?,
        tokens: (uint(row.get(11)?), uint(row.get(12)?)),
        time: Timestamp(row.get(13)?),
    })
}

/// The stored form of a body: text or, where that is smaller, a blob of its length (u32, little endian) and zstd.
fn encode_body(body: &str, packer: Option<&mut Compressor<'_>>) -> Value {
    let packed = packer.and_then(|packer| packer.compress(body.as_bytes()).ok());
    match (packed, u32::try_from(body.len())) {
        (Some(packed), Ok(length)) if packed.len() + 4 < body.len() => {
            Value::Blob(length.to_le_bytes().into_iter().chain(packed).collect())
        }
        _ => Value::Text(body.to_owned()),
    }
}

fn decode_body(stored: ValueRef<'_>) -> rusqlite::Result<String> {
    let wrong = |why: &str| {
        rusqlite::Error::FromSqlConversionFailure(10, rusqlite::types::Type::Blob, why.to_owned().into())
    };
    let ValueRef::Blob(bytes) = stored else { return Ok(stored.as_str()?.to_owned()) };
    let (length, packed) = bytes.split_first_chunk().ok_or_else(|| wrong("a summary's body is cut off"))?;
    let length = u32::from_le_bytes(*length).min(BODY_BYTES_MAX) as usize;
    let body = zstd::bulk::decompress(packed, length).map_err(|_| wrong("a summary's body is damaged"))?;
    if body.len() != length {
        return Err(wrong("a summary's body has another length"));
    }
    String::from_utf8(body).map_err(|_| wrong("a summary's body is not text"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn bodies_come_back_and_damage_is_an_error() {
        for body in [String::new(), "short".to_owned(), "a line of a summary, again and again\n".repeat(500)]
        {
            let stored = encode_body(&body, Compressor::new(BODY_LEVEL).ok().as_mut());
            assert_eq!(decode_body(ValueRef::from(&stored)).unwrap(), body);
            let Value::Blob(bytes) = stored else {
                assert!(body.len() < 100, "a long body is packed");
                continue;
            };
            assert!(bytes.len() * 4 < body.len());
            for cut in [0, 3, 4, bytes.len() / 2] {
                assert!(decode_body(ValueRef::Blob(bytes.get(..cut).unwrap())).is_err(), "cut at {cut}");
            }
        }
    }
}
