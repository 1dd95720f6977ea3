//! Chunks, blobs and filters, and entries assembled from them.

use std::ops::Range;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};

use super::derived::{BLOB_FILTER, CHUNK_FILTER};
use super::entries;
use super::fault::Outcome;
use super::seal::{SameName, SealedTable, Seals, Unfiltered};
use super::{Dictionaries, SqliteStore};
use crate::codes::{after, digest, int, limit, uint};
use crate::error::StoreError;
use crate::port::{BlobBytes, ChunkBytes, Filter, FilterOf, Holed, Page, Raw, Scan, Scanned};
use crate::stored::{Stored, damaged};
use crate::unpack::{Checked, Scratch, fill, open_blob};

/// A chunk by its conversation and number.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkAt {
    pub(super) id: ConversationId,
    pub(super) number: u64,
}

/// Offsets of large parts in a body as received, ascending, and their bytes.
type Holes = Vec<(u64, Vec<u8>)>;

/// See [`crate::Log::raw`].
pub(super) fn raw(
    conn: &Connection,
    dictionaries: &Dictionaries,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Vec<Raw>> {
    let stored = entries::stored(conn, id, seqs)?;
    let mut assembler = Assembler::new(conn, dictionaries, id);
    let mut all = Vec::with_capacity(stored.len());
    for entry in &stored {
        let seq = entry.row.seq.0;
        all.push(assembler.raw(entry)?.map_err(|detail| damaged(id, seq, detail))?);
    }
    Ok(all)
}

/// Assembles entries, caching the last chunk.
pub(super) struct Assembler<'a> {
    conn: &'a Connection,
    dictionaries: &'a Dictionaries,
    id: ConversationId,
    open: Option<(u64, Checked<Vec<u8>>)>,
    scratch: Scratch,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(conn: &'a Connection, dictionaries: &'a Dictionaries, id: ConversationId) -> Self {
        Self { conn, dictionaries, id, open: None, scratch: Scratch::default() }
    }

    /// Lead and body of an entry; empty once purged.
    pub(super) fn raw(&mut self, entry: &Stored) -> Outcome<Checked<Raw>> {
        let seq = entry.row.seq;
        let Some(number) = entry.chunk else {
            return Ok(Ok(Raw { seq, lead: Vec::new(), body: Vec::new() }));
        };
        let holes = if entry.holes == 0 {
            Ok(Vec::new())
        } else {
            holes(self.conn, self.id, entry, &mut self.scratch)?
        };
        let chunk = match self.chunk(number)? {
            Ok(chunk) => chunk,
            Err(detail) => return Ok(Err(detail.clone())),
        };
        let slice = |from: u64, len: u64| {
            let from = usize::try_from(from).ok()?;
            chunk.get(from..from.checked_add(usize::try_from(len).ok()?)?)
        };
        let lead = slice(entry.offset, entry.lead_len);
        let body = slice(entry.offset.saturating_add(entry.lead_len), entry.body_len);
        let (Some(lead), Some(body)) = (lead, body) else {
            return Ok(Err(format!("it reaches beyond the end of chunk {number}")));
        };
        Ok(holes.and_then(|holes| fill(body, &holes)).map(|body| Raw { seq, lead: lead.to_vec(), body }))
    }

    fn chunk(&mut self, number: u64) -> Outcome<&Checked<Vec<u8>>> {
        let open = match self.open.take() {
            Some(open) if open.0 == number => open,
            _ => (number, read_chunk(self.conn, self.dictionaries, ChunkAt { id: self.id, number })?),
        };
        Ok(&self.open.insert(open).1)
    }
}

/// Offsets and bytes of an entry's large parts.
fn holes(
    conn: &Connection,
    id: ConversationId,
    entry: &Stored,
    scratch: &mut Scratch,
) -> Outcome<Checked<Holes>> {
    let mut select = conn.prepare_cached(
        "SELECT hole.at, blob.digest, blob.raw_len, blob.data FROM hole LEFT JOIN blob ON blob.id = hole.blob
         WHERE hole.conversation = ? AND hole.seq = ? ORDER BY hole.at",
    )?;
    let mut rows = select.query([int(id.0), int(entry.row.seq.0)])?;
    let mut holes = Vec::new();
    while let Some(row) = rows.next()? {
        let at = uint(row.get(0)?);
        let Some(wanted) = row.get_ref(1)?.as_bytes().ok().and_then(digest) else {
            return Ok(Err(format!("its large part at byte {at} is missing")));
        };
        let data = row.get_ref(3)?.as_bytes().unwrap_or_default();
        match open_blob(wanted, uint(row.get(2)?), data, scratch) {
            Ok(()) => holes.push((at, std::mem::take(&mut scratch.bytes))),
            Err(detail) => return Ok(Err(detail)),
        }
    }
    if holes.len() as u64 != entry.holes {
        return Ok(Err(format!("it has {} large parts, not {}", holes.len(), entry.holes)));
    }
    Ok(Ok(holes))
}

/// The uncompressed bytes of a chunk.
pub(super) fn read_chunk(
    conn: &Connection,
    dictionaries: &Dictionaries,
    of: ChunkAt,
) -> Outcome<Checked<Vec<u8>>> {
    let mut scratch = Scratch::default();
    let read = read_into(conn, dictionaries, of, &mut scratch)?;
    Ok(read.map(|()| scratch.bytes))
}

/// Reads the uncompressed bytes of a chunk.
pub(super) fn read_into(
    conn: &Connection,
    dictionaries: &Dictionaries,
    ChunkAt { id, number }: ChunkAt,
    scratch: &mut Scratch,
) -> Outcome<Checked<()>> {
    let mut select = conn.prepare_cached(
        "SELECT raw_len, dictionary, data FROM chunk WHERE conversation = ? AND number = ?",
    )?;
    let mut rows = select.query([int(id.0), int(number)])?;
    let Some(row) = rows.next()? else {
        return Ok(Err(format!("chunk {number} is missing")));
    };
    let raw_len = uint(row.get(0)?);
    let dictionary = match row.get::<_, Option<u32>>(1)? {
        None => None,
        Some(id) => match dictionaries.get(conn, id)? {
            Ok(dictionary) => Some(dictionary),
            Err(detail) => return Ok(Err(detail)),
        },
    };
    let data = row.get_ref(2)?.as_bytes().unwrap_or_default();
    let decoded = scratch.decode(data, raw_len, dictionary.as_deref());
    Ok(decoded.map_err(|detail| format!("chunk {number} {detail}")))
}

/// See [`crate::Index::chunk`].
pub(super) fn chunk(conn: &Connection, dictionaries: &Dictionaries, of: ChunkAt) -> Outcome<ChunkBytes> {
    let mut wants = |_: &[u8], _: Option<&[Range<usize>]>| Some(true);
    let all = Scan { wants: &mut wants, holed: None };
    let scanned = scan(conn, dictionaries, of, &mut Scratch::default(), all)?;
    scanned.chunk.ok_or_else(|| missing_chunk(of).into())
}

fn missing_chunk(ChunkAt { id, number }: ChunkAt) -> StoreError {
    StoreError::Missing { id, what: format!("chunk {number}") }
}

/// See [`crate::Index::scan`].
pub(super) fn scan(
    conn: &Connection,
    dictionaries: &Dictionaries,
    of: ChunkAt,
    scratch: &mut Scratch,
    scan: Scan<'_>,
) -> Outcome<Scanned> {
    let ChunkAt { id, number } = of;
    let seqs = chunk_seqs(conn, of)?.ok_or_else(|| missing_chunk(of))?;
    read_into(conn, dictionaries, of, scratch)?.map_err(|detail| damaged(id, seqs.start, detail))?;
    let entries = seqs.end - seqs.start;
    let wanted = match (scan.wants)(&scratch.bytes, None) {
        Some(wanted) => wanted,
        None => match places(conn, of, &seqs, scratch.bytes.len())? {
            Some(places) => (scan.wants)(&scratch.bytes, Some(&places)).unwrap_or(true),
            // Rows that do not match the chunk are damaged, or a purge removed some: only rows with checked seals can
            // tell.
            None => true,
        },
    };
    if let Some(asked) = scan.holed {
        // The chunk's bytes stay in place while its blobs are read.
        let mut blobs = scratch.beside();
        let done = holed(conn, of, &scratch.bytes, &mut blobs, asked);
        scratch.rejoin(blobs);
        done?;
    }
    if !wanted {
        return Ok(Scanned { entries, chunk: None });
    }
    let mut places = Vec::new();
    for entry in entries::stored(conn, id, seqs)? {
        if entry.chunk != Some(number) {
            continue;
        }
        let (_, body) =
            entry.spans(scratch.bytes.len()).map_err(|detail| damaged(id, entry.row.seq.0, detail))?;
        places.push((entry.row.seq, body));
    }
    let bytes = std::mem::take(&mut scratch.bytes);
    Ok(Scanned { entries, chunk: Some(ChunkBytes { chunk: number, bytes, entries: places }) })
}

/// Places of the leads and bodies of a chunk, from rows with unchecked seals. Valid only if together they make up all
/// of its bytes, so that nothing can hide.
fn places(
    conn: &Connection,
    ChunkAt { id, number }: ChunkAt,
    seqs: &Range<u64>,
    length: usize,
) -> Outcome<Option<Vec<Range<usize>>>> {
    let mut select = conn.prepare_cached(
        "SELECT offset, lead_len, body_len FROM entry WHERE id >= ? AND id < ? AND chunk = ? ORDER BY id",
    )?;
    let [from, to] = entries::keys(id, seqs);
    let mut rows = select.query([from, to, int(number)])?;
    let mut places = Vec::new();
    let mut next = 0;
    while let Some(row) = rows.next()? {
        let start = uint(row.get(0)?);
        let body = start.saturating_add(uint(row.get(1)?));
        let end = body.saturating_add(uint(row.get(2)?));
        if start != next || end > length as u64 {
            return Ok(None);
        }
        places.extend([start as usize..body as usize, body as usize..end as usize]);
        next = end;
    }
    Ok((next == length as u64).then_some(places))
}

/// Passes the requested entries of a chunk on as whole bodies.
fn holed(
    conn: &Connection,
    ChunkAt { id, number }: ChunkAt,
    chunk: &[u8],
    scratch: &mut Scratch,
    asked: Holed<'_>,
) -> Outcome<()> {
    let Holed { seqs, wants, each } = asked;
    for seq in seqs {
        let seq = seq.0;
        for entry in entries::stored(conn, id, seq..seq.saturating_add(1))? {
            if entry.chunk != Some(number) || entry.holes == 0 {
                continue;
            }
            let (_, body) = entry.spans(chunk.len()).map_err(|detail| damaged(id, seq, detail))?;
            let closed = chunk.get(body).unwrap_or_default();
            if !wants(entry.row.seq, closed) {
                continue;
            }
            let whole = holes(conn, id, &entry, scratch)?
                .and_then(|holes| fill(closed, &holes))
                .map_err(|detail| damaged(id, seq, detail))?;
            each(&entry.row, &whole);
        }
    }
    Ok(())
}

/// The seqs for which a chunk was made; `None` if it is missing.
pub(super) fn chunk_seqs(conn: &Connection, of: ChunkAt) -> Outcome<Option<Range<u64>>> {
    let found: Option<(i64, i64)> = conn
        .prepare_cached("SELECT first_seq, entries FROM chunk WHERE conversation = ? AND number = ?")?
        .query_row([int(of.id.0), int(of.number)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.map(|(first, count)| span(first, count)))
}

fn span(first: i64, entries: i64) -> Range<u64> {
    uint(first)..uint(first.saturating_add(entries))
}

/// See [`crate::Index::blob`].
pub(super) fn blob(conn: &Connection, id: ConversationId, wanted: Digest) -> Outcome<BlobBytes> {
    let mut scratch = Scratch::default();
    let holders = scan_blob(conn, id, wanted, &mut scratch, &mut |_| true)?;
    Ok(BlobBytes { bytes: scratch.bytes, holders })
}

/// See [`crate::Index::scan_blob`].
pub(super) fn scan_blob(
    conn: &Connection,
    id: ConversationId,
    wanted: Digest,
    scratch: &mut Scratch,
    wants: &mut dyn FnMut(&[u8]) -> bool,
) -> Outcome<Vec<Seq>> {
    let mut select =
        conn.prepare_cached("SELECT id, raw_len, data FROM blob WHERE conversation = ? AND digest = ?")?;
    let mut rows = select.query(params![int(id.0), wanted.0])?;
    let Some(row) = rows.next()? else {
        return Err(StoreError::Missing { id, what: format!("blob {wanted:?}") }.into());
    };
    let number: i64 = row.get(0)?;
    let data = row.get_ref(2)?.as_bytes().unwrap_or_default();
    if let Err(detail) = open_blob(wanted, uint(row.get(1)?), data, scratch) {
        let holders = blob_holders(conn, number)?;
        return Err(damaged(id, holders.first().map_or(0, |seq| seq.0), detail).into());
    }
    if wants(&scratch.bytes) { blob_holders(conn, number) } else { Ok(Vec::new()) }
}

/// Entries that hold a blob, ascending, without duplicates.
///
/// * `blob` - its row.
pub(super) fn blob_holders(conn: &Connection, blob: i64) -> Outcome<Vec<Seq>> {
    let mut select = conn.prepare_cached("SELECT DISTINCT seq FROM hole WHERE blob = ? ORDER BY seq")?;
    let seqs = select.query_map([blob], |row| Ok(Seq(uint(row.get(0)?))))?;
    Ok(seqs.collect::<rusqlite::Result<_>>()?)
}

/// See [`crate::Index::filters`]. Without a sound filter, anything may be in the bytes.
pub(super) fn filters(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<FilterOf>,
) -> Outcome<Vec<Filter>> {
    let mut all = match page.after {
        None => chunk_filters(conn, seals, id, Page::first(page.limit))?,
        Some(FilterOf::Chunk(number)) => {
            chunk_filters(conn, seals, id, Page { after: Some(number), limit: page.limit })?
        }
        Some(FilterOf::Blob(_)) => Vec::new(),
    };
    let limit = page.limit.saturating_sub(all.len());
    if limit > 0 {
        let after = match page.after {
            Some(FilterOf::Blob(digest)) => Some(digest),
            Some(FilterOf::Chunk(_)) | None => None,
        };
        all.extend(blob_filters(conn, seals, id, Page { after, limit })?);
    }
    Ok(all)
}

/// The bytes of a filter; empty if there is none that is sound.
fn filter_bytes(seals: &Seals, table: &'static SealedTable, row: &Row<'_>) -> rusqlite::Result<Vec<u8>> {
    if row.get_ref(0)? == ValueRef::Null {
        return Ok(Vec::new());
    }
    seals.look(table, row)?.map_or(Ok(Vec::new()), |sealed| sealed.get(1))
}

/// Makes the filters of chunks and blobs again from their bytes. Without a filter function, and for bytes that are damaged
/// themselves, there is none.
pub(super) fn filter_again(tx: &Connection, store: &SqliteStore, lost: &Unfiltered) -> Outcome<()> {
    let Some(filter) = &store.filter else { return Ok(()) };
    for row in &lost.chunks {
        let found: Option<(i64, i64)> = tx
            .prepare_cached("SELECT conversation, number FROM chunk WHERE id = ?")?
            .query_row([row], |found| Ok((found.get(0)?, found.get(1)?)))
            .optional()?;
        let Some((conversation, number)) = found else { continue };
        let of = ChunkAt { id: ConversationId(uint(conversation)), number: uint(number) };
        let (Some(seqs), Ok(bytes)) = (chunk_seqs(tx, of)?, read_chunk(tx, &store.dictionaries, of)?) else {
            continue;
        };
        CHUNK_FILTER.writer(tx, SameName::Stays)?.put(params![
            row,
            filter(&bytes),
            conversation,
            number,
            int(seqs.start),
            int(seqs.end - seqs.start),
            int(bytes.len() as u64)
        ])?;
    }
    for row in &lost.blobs {
        let mut select =
            tx.prepare_cached("SELECT conversation, digest, raw_len, data FROM blob WHERE id = ?")?;
        let mut rows = select.query([row])?;
        let Some(found) = rows.next()? else { continue };
        let Some(wanted) = found.get_ref(1)?.as_bytes().ok().and_then(digest) else { continue };
        let (conversation, raw_len): (i64, i64) = (found.get(0)?, found.get(2)?);
        let mut scratch = Scratch::default();
        let data = found.get_ref(3)?.as_bytes().unwrap_or_default();
        if open_blob(wanted, uint(raw_len), data, &mut scratch).is_ok() {
            let values = params![row, filter(&scratch.bytes), conversation, wanted.0, raw_len];
            BLOB_FILTER.writer(tx, SameName::Stays)?.put(values)?;
        }
    }
    Ok(())
}

fn chunk_filters(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<Filter>> {
    let mut select = conn.prepare_cached(&format!(
        "SELECT {} FROM chunk LEFT JOIN chunk_filter ON chunk_filter.chunk = chunk.id
         WHERE chunk.conversation = ? AND chunk.number > ? ORDER BY chunk.number LIMIT ?",
        CHUNK_FILTER.selected()
    ))?;
    let rows = select.query_map([int(id.0), after(page.after), limit(page.limit)], |row| {
        Ok(Filter {
            of: FilterOf::Chunk(uint(row.get(3)?)),
            bytes: filter_bytes(seals, &CHUNK_FILTER, row)?,
            seqs: span(row.get(4)?, row.get(5)?),
            holders: Vec::new(),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn blob_filters(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<Digest>,
) -> Outcome<Vec<Filter>> {
    // Below all digests.
    let after = page.after.as_ref().map_or([].as_slice(), |digest| &digest.0);
    let mut blobs = conn.prepare_cached(&format!(
        "SELECT {}, blob.id FROM blob LEFT JOIN blob_filter ON blob_filter.blob = blob.id
         WHERE blob.conversation = ? AND blob.digest > ? ORDER BY blob.digest LIMIT ?",
        BLOB_FILTER.selected()
    ))?;
    let mut rows = blobs.query(params![int(id.0), after, limit(page.limit)])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(wanted) = row.get_ref(3)?.as_bytes().ok().and_then(digest) else { continue };
        let bytes = filter_bytes(seals, &BLOB_FILTER, row)?;
        let holders = blob_holders(conn, row.get(6)?)?;
        all.push(Filter { of: FilterOf::Blob(wanted), bytes, seqs: 0..0, holders });
    }
    Ok(all)
}
