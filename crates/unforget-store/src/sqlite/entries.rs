//! Entry rows: appending and reading them.

use std::ops::Range;

use rusqlite::{CachedStatement, Connection, Row, params};
use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, Generation, Position, Seq, Thread, Timestamp};
use unforget_core::tokens::Tokens;

use super::conversations;
use super::derived::{BLOB_FILTER, CHUNK_FILTER};
use super::fault::Outcome;
use super::paths::PathEnd;
use super::seal::SameName;
use super::{names, paths, summaries};
use crate::codes::{int, origin, origin_code, role, role_code, status, status_code, uint};
use crate::counters::AddedPath;
use crate::error::StoreError;
use crate::pack::{Packed, PackedEntry, chunk_spans};
use crate::port::{Append, EntryRow, Receipt, Snapshot};
use crate::stored::{CONTENT_BYTES, Stored, damaged, join_content};

/// Most entries of a conversation.
const SEQS_MAX: u64 = 1 << 32;

/// The key of an entry's row. A seq above the limit gives the first key of the next conversation.
fn key(id: ConversationId, seq: u64) -> i64 {
    int(id.0.min(1 << 30)) * SEQS_MAX as i64 + int(seq.min(SEQS_MAX))
}

/// The first key of a range of seqs, and the one after its last.
pub(super) fn keys(id: ConversationId, seqs: &Range<u64>) -> [i64; 2] {
    [key(id, seqs.start), key(id, seqs.end)]
}

/// Carries out one append inside the caller's transaction.
pub(super) fn append(tx: &Connection, append: Append) -> Outcome<Receipt> {
    let Append { conversation: id, entries, target, packed, snapshot, contexts, names, .. } = append;
    let mut counters = conversations::counters(tx, id)?;
    counters.expect(id, entries)?;
    let count = packed.len() as u64;
    let PathEnd { generation, length } = paths::enter(tx, id, target, &mut counters)?;
    let first_seq = counters.entries;
    if first_seq.saturating_add(count) > SEQS_MAX {
        let source = "the conversation has 2^32 entries and can have no more".into();
        return Err(StoreError::Backend { operation: "append", source }.into());
    }
    let place = Place { id, generation, position: length, seq: first_seq };
    let path = PathEnd { generation, length: length + count };
    let added = AddedPath {
        generation,
        length: path.length,
        raw_bytes: packed.raw_bytes,
        chunks: packed.chunks.len() as u64,
    };
    let first_chunk = counters.chunks;
    counters.add(added, packed.entries.iter().map(|entry| &entry.row), snapshot.as_ref());
    write_packed(tx, place, packed, first_chunk)?;
    paths::grow(tx, id, generation, length, first_seq..first_seq + count)?;
    if let Some(snapshot) = snapshot {
        write_snapshot(tx, id, path, &snapshot, counters.snapshots)?;
    }
    for context in &contexts {
        summaries::put_context(tx, id, context)?;
    }
    names::put(tx, id, &names)?;
    conversations::put_counters(tx, id, &counters)?;
    Ok(Receipt { generation: Generation(generation), first_seq: Seq(first_seq), revision: counters.revision })
}

/// The place of a batch's first entry.
#[derive(Clone, Copy)]
struct Place {
    id: ConversationId,
    generation: u64,
    position: u64,
    seq: u64,
}

/// * `first_chunk` - number of the batch's first chunk.
fn write_packed(tx: &Connection, place: Place, packed: Packed, first_chunk: u64) -> Outcome<()> {
    write_blobs(tx, place.id, &packed)?;
    write_chunks(tx, place, &packed, first_chunk)?;
    let mut insert = insert_entry(tx)?;
    for (index, entry) in (0..).zip(packed.entries) {
        let PackedEntry { mut row, chunk, offset, lead_len, body_len, holes } = entry;
        row.seq = Seq(place.seq + index);
        row.generation = Generation(place.generation);
        row.position = Position(place.position + index);
        for (at, digest) in &holes {
            tx.prepare_cached(
                "INSERT INTO hole SELECT ?1, ?2, ?3, id FROM blob WHERE conversation = ?1 AND digest = ?4",
            )?
            .execute(params![int(place.id.0), int(row.seq.0), int(*at), digest.0])?;
        }
        let chunk = chunk.map(|chunk| first_chunk + chunk as u64);
        let stored = Stored { row, chunk, offset, lead_len, body_len, holes: holes.len() as u64 };
        bind_entry(&mut insert, place.id, &stored)?;
    }
    Ok(())
}

fn write_blobs(tx: &Connection, id: ConversationId, packed: &Packed) -> Outcome<()> {
    for blob in &packed.blobs {
        let added = tx
            .prepare_cached(
                "INSERT OR IGNORE INTO blob (conversation, digest, raw_len, data) VALUES (?, ?, ?, ?)",
            )?
            .execute(params![int(id.0), blob.digest.0, int(blob.raw_len), blob.data])?;
        if added > 0 && !blob.filter.is_empty() {
            BLOB_FILTER.writer(tx, SameName::Goes)?.put(params![
                tx.last_insert_rowid(),
                blob.filter,
                int(id.0),
                blob.digest.0,
                int(blob.raw_len)
            ])?;
        }
    }
    Ok(())
}

fn write_chunks(tx: &Connection, place: Place, packed: &Packed, first_chunk: u64) -> Outcome<()> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO chunk (conversation, number, first_seq, entries, raw_len, dictionary, data)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    let spans = chunk_spans(&packed.entries, place.seq, packed.chunks.len());
    for ((number, chunk), span) in (first_chunk..).zip(&packed.chunks).zip(spans) {
        let (first, count) = (span.start, int(span.end - span.start));
        if let Some(dictionary) = chunk.dictionary {
            require_dictionary(tx, dictionary)?;
        }
        insert.execute(params![
            int(place.id.0),
            int(number),
            int(first),
            count,
            int(chunk.raw_len),
            chunk.dictionary,
            chunk.data
        ])?;
        if !chunk.filter.is_empty() {
            CHUNK_FILTER.writer(tx, SameName::Goes)?.put(params![
                tx.last_insert_rowid(),
                chunk.filter,
                int(place.id.0),
                int(number),
                int(first),
                count,
                int(chunk.raw_len)
            ])?;
        }
    }
    Ok(())
}

/// Fails if a purge removed the dictionary after the batch was packed: such a chunk would be unreadable.
fn require_dictionary(tx: &Connection, dictionary: u32) -> Outcome<()> {
    if tx.prepare_cached("SELECT 1 FROM dictionary WHERE id = ?")?.exists([dictionary])? {
        return Ok(());
    }
    let source = format!("dictionary {dictionary} was purged after packing; pack again").into();
    Err(StoreError::Backend { operation: "append", source }.into())
}

/// Records a snapshot.
///
/// * `path` - the generation written to.
/// * `number` - the snapshot's.
fn write_snapshot(
    tx: &Connection,
    id: ConversationId,
    path: PathEnd,
    snapshot: &Snapshot,
    number: u64,
) -> Outcome<()> {
    let PathEnd { generation, length } = path;
    if snapshot.length > length {
        let generation = Generation(generation);
        return Err(StoreError::Moved { generation, expected: snapshot.length, found: length }.into());
    }
    tx.prepare_cached(
        "INSERT INTO snapshot (conversation, number, generation, length, trailer, file_bytes, path, modified_ns, time_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        int(id.0),
        int(number),
        int(generation),
        int(snapshot.length),
        snapshot.trailer,
        int(snapshot.file_bytes),
        snapshot.path,
        snapshot.modified_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
        snapshot.time.0
    ])?;
    Ok(())
}

/// The stored columns without the key.
const COLUMNS: &str = "seal, generation, position, follows, thread, role, origin, status, host_id, time_ms, \
    tokens, tokens_over, stubbed, stubbed_over, chain_head, chain_rest, content, byte_start, byte_len, \
    chunk, offset, lead_len, body_len, holes";

fn insert_entry(tx: &Connection) -> Outcome<CachedStatement<'_>> {
    let sql = format!(
        "INSERT INTO entry (id, {COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    );
    Ok(tx.prepare_cached(&sql)?)
}

/// Writes the row over the one with its seq.
pub(super) fn replace(tx: &Connection, id: ConversationId, stored: &Stored) -> Outcome<()> {
    tx.prepare_cached("DELETE FROM entry WHERE id = ?")?.execute([key(id, stored.row.seq.0)])?;
    bind_entry(&mut insert_entry(tx)?, id, stored)
}

fn bind_entry(insert: &mut CachedStatement<'_>, id: ConversationId, stored: &Stored) -> Outcome<()> {
    let row = &stored.row;
    let (head, rest) = split_chain(row.chain);
    let same = row.stubbed == row.tokens;
    insert.execute(params![
        key(id, row.seq.0),
        i64::from(stored.seal(id)),
        int(row.generation.0),
        int(row.position.0),
        row.parent.map(|parent| int(row.seq.0) - int(parent.0)),
        int(row.thread.0),
        role_code(row.role),
        origin_code(row.origin),
        status_code(row.status),
        row.host_id,
        row.time.map(|time| time.0),
        int(row.tokens.expected),
        int(row.tokens.upper) - int(row.tokens.expected),
        (!same).then(|| int(row.stubbed.expected)),
        (!same).then(|| int(row.stubbed.upper) - int(row.stubbed.expected)),
        head,
        rest,
        row.content.0.first_chunk::<CONTENT_BYTES>(),
        int(row.bytes.start),
        int(row.bytes.end) - int(row.bytes.start),
        stored.chunk.map(int),
        int(stored.offset),
        int(stored.lead_len),
        int(stored.body_len),
        int(stored.holes),
    ])?;
    Ok(())
}

/// Rows of a range of seqs, with the place of their bytes.
pub(super) fn stored(conn: &Connection, id: ConversationId, seqs: Range<u64>) -> Outcome<Vec<Stored>> {
    let sql = format!("SELECT seq, {COLUMNS} FROM entry WHERE id >= ? AND id < ? ORDER BY id");
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query(keys(id, &seqs))?;
    let mut all = Vec::new();
    let mut expected = seqs.start;
    while let Some(row) = rows.next()? {
        let stored = read_entry(id, row)?;
        if stored.row.seq.0 != expected {
            return Err(damaged(id, expected, "its row is missing").into());
        }
        expected += 1;
        all.push(stored);
    }
    Ok(all)
}

/// Rows of a range of seqs, each decoded on its own: a damaged one does not hide the others.
pub(super) fn stored_each(
    conn: &Connection,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Vec<std::result::Result<Stored, StoreError>>> {
    let sql = format!("SELECT seq, {COLUMNS} FROM entry WHERE id >= ? AND id < ? ORDER BY id");
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query(keys(id, &seqs))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read_entry(id, row));
    }
    Ok(all)
}

/// See [`crate::Log::by_chain`].
pub(super) fn by_chain(conn: &Connection, id: ConversationId, chain: Chain) -> Outcome<Option<EntryRow>> {
    let (head, rest) = split_chain(chain);
    let sql = format!(
        "SELECT seq, {COLUMNS} FROM entry INDEXED BY entry_chain
         WHERE chain_head = ? AND id >= ? AND id < ? AND chain_rest = ? ORDER BY id LIMIT 1"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let [start, end] = keys(id, &(0..u64::MAX));
    let mut rows = select.query(params![head, start, end, rest])?;
    Ok(match rows.next()? {
        Some(row) => Some(read_entry(id, row)?.row),
        None => None,
    })
}

/// Raw chain heads of a range of seqs.
pub(super) fn chains(conn: &Connection, id: ConversationId, seqs: Range<u64>) -> Outcome<Vec<Chain>> {
    let mut select =
        conn.prepare_cached("SELECT chain_head, chain_rest FROM entry WHERE id >= ? AND id < ? ORDER BY id")?;
    let mut rows = select.query(keys(id, &seqs))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let chain = join_chain(row.get(0)?, row.get_ref(1)?.as_bytes().unwrap_or_default());
        all.push(
            chain
                .ok_or_else(|| damaged(id, seqs.start + all.len() as u64, "its chain has a wrong length"))?,
        );
    }
    if all.len() as u64 != seqs.end.saturating_sub(seqs.start) {
        return Err(damaged(id, seqs.start + all.len() as u64, "its row is missing").into());
    }
    Ok(all)
}

fn read_entry(id: ConversationId, row: &Row<'_>) -> std::result::Result<Stored, StoreError> {
    let seq = uint(row.get(0).unwrap_or(-1));
    let seal_found: i64 = row.get(1).unwrap_or(-1);
    let stored = decode_entry(row, seq).ok().flatten();
    match stored {
        Some(stored) if i64::from(stored.seal(id)) == seal_found => Ok(stored),
        _ => Err(damaged(id, seq, "its row was changed")),
    }
}

/// `None` if a column holds an impossible value.
fn decode_entry(row: &Row<'_>, seq: u64) -> rusqlite::Result<Option<Stored>> {
    let tokens = tokens(row.get(11)?, row.get(12)?);
    let stubbed = match row.get::<_, Option<i64>>(13)? {
        Some(expected) => self::tokens(expected, row.get::<_, Option<i64>>(14)?.unwrap_or(0)),
        None => tokens,
    };
    let codes = (role(row.get(6)?), origin(row.get(7)?), status(row.get(8)?));
    let chain = join_chain(row.get(15)?, row.get_ref(16)?.as_bytes().unwrap_or_default());
    let content = join_content(row.get_ref(17)?.as_bytes().unwrap_or_default());
    let ((Some(role), Some(origin), Some(status)), Some(chain), Some(content)) = (codes, chain, content)
    else {
        return Ok(None);
    };
    let chunk = row.get::<_, Option<i64>>(20)?.map(uint);
    let start: i64 = row.get(18)?;
    Ok(Some(Stored {
        row: EntryRow {
            seq: Seq(seq),
            generation: Generation(uint(row.get(2)?)),
            position: Position(uint(row.get(3)?)),
            parent: row.get::<_, Option<i64>>(4)?.map(|back| Seq(uint(int(seq).saturating_sub(back)))),
            thread: Thread(uint(row.get(5)?)),
            role,
            origin,
            status,
            host_id: row.get(9)?,
            time: row.get::<_, Option<i64>>(10)?.map(Timestamp),
            tokens,
            stubbed,
            chain,
            content,
            bytes: uint(start)..uint(start.saturating_add(row.get(19)?)),
            purged: chunk.is_none(),
        },
        chunk,
        offset: uint(row.get(21)?),
        lead_len: uint(row.get(22)?),
        body_len: uint(row.get(23)?),
        holes: uint(row.get(24)?),
    }))
}

fn tokens(expected: i64, over: i64) -> Tokens {
    Tokens { expected: uint(expected), upper: uint(expected.saturating_add(over)) }
}

/// Bytes of a chain outside the index.
const REST_BYTES: usize = 28;

/// Splits a chain into an indexed number, which nearly always tells chains apart, and the rest.
fn split_chain(chain: Chain) -> (i32, [u8; REST_BYTES]) {
    let mut rest = [0; REST_BYTES];
    for (to, from) in rest.iter_mut().zip(chain.0.0.iter().skip(4)) {
        *to = *from;
    }
    (chain.short() as i32, rest)
}

fn join_chain(head: i64, rest: &[u8]) -> Option<Chain> {
    let mut whole = [0; 32];
    let head = i32::try_from(head).ok()?;
    if rest.len() != REST_BYTES {
        return None;
    }
    for (to, from) in whole.iter_mut().zip(head.to_le_bytes().iter().chain(rest)) {
        *to = *from;
    }
    Some(Chain(Digest(whole)))
}
