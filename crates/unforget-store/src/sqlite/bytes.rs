//! Bytes: chunks, blobs, filters, and entries put together from them.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};

use super::Dictionaries;
use super::codes::{digest, int, uint};
use super::entries::{self, Stored, damaged};
use super::fault::Outcome;
use crate::error::StoreError;
use crate::pack::decode;
use crate::port::{ChunkBytes, Filter, FilterOf, Raw};

/// Either a value or, in words, why the stored bytes are not good.
pub(super) type Checked<T> = Result<T, String>;

/// Offsets of large parts in a body as received, ascending, and their bytes.
type Holes = Vec<(u64, Vec<u8>)>;

/// See [`crate::Store::raw`].
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

/// Puts entries together; keeps the chunk of the last one.
pub(super) struct Assembler<'a> {
    conn: &'a Connection,
    dictionaries: &'a Dictionaries,
    id: ConversationId,
    open: Option<(u64, Checked<Vec<u8>>)>,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(conn: &'a Connection, dictionaries: &'a Dictionaries, id: ConversationId) -> Self {
        Self { conn, dictionaries, id, open: None }
    }

    /// Lead and body of an entry; empty once purged.
    pub(super) fn raw(&mut self, entry: &Stored) -> Outcome<Checked<Raw>> {
        let seq = entry.row.seq;
        let Some(number) = entry.chunk else {
            return Ok(Ok(Raw { seq, lead: Vec::new(), body: Vec::new() }));
        };
        let holes = if entry.holes == 0 { Ok(Vec::new()) } else { self.holes(entry)? };
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
            _ => (number, read_chunk(self.conn, self.dictionaries, self.id, number)?),
        };
        Ok(&self.open.insert(open).1)
    }

    /// Offsets and bytes of an entry's large parts.
    fn holes(&self, entry: &Stored) -> Outcome<Checked<Holes>> {
        let mut select = self.conn.prepare_cached(
            "SELECT hole.at, blob.digest, blob.raw_len, blob.data FROM hole LEFT JOIN blob ON blob.id = hole.blob
             WHERE hole.conversation = ? AND hole.seq = ? ORDER BY hole.at",
        )?;
        let mut rows = select.query([int(self.id.0), int(entry.row.seq.0)])?;
        let mut holes = Vec::new();
        while let Some(row) = rows.next()? {
            let at = uint(row.get(0)?);
            let Some(wanted) = row.get_ref(1)?.as_bytes().ok().and_then(digest) else {
                return Ok(Err(format!("its large part at byte {at} is missing")));
            };
            let data = row.get_ref(3)?.as_bytes().unwrap_or_default();
            match open_blob(wanted, uint(row.get(2)?), data) {
                Ok(bytes) => holes.push((at, bytes)),
                Err(detail) => return Ok(Err(detail)),
            }
        }
        if holes.len() as u64 != entry.holes {
            return Ok(Err(format!("it has {} large parts, not {}", holes.len(), entry.holes)));
        }
        Ok(Ok(holes))
    }
}

/// Puts the large parts back.
///
/// * `holes` - offsets in the result, ascending.
fn fill(body: &[u8], holes: &[(u64, Vec<u8>)]) -> Checked<Vec<u8>> {
    let total = body.len() + holes.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let mut whole = Vec::with_capacity(total);
    let mut rest = body;
    for (at, bytes) in holes {
        let before = usize::try_from(*at).ok().and_then(|at| at.checked_sub(whole.len()));
        let Some((piece, after)) = before.and_then(|before| rest.split_at_checked(before)) else {
            return Err(format!("its large part at byte {at} is out of place"));
        };
        whole.extend_from_slice(piece);
        whole.extend_from_slice(bytes);
        rest = after;
    }
    whole.extend_from_slice(rest);
    Ok(whole)
}

/// The uncompressed bytes of a chunk.
pub(super) fn read_chunk(
    conn: &Connection,
    dictionaries: &Dictionaries,
    id: ConversationId,
    number: u64,
) -> Outcome<Checked<Vec<u8>>> {
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
    Ok(decode(data, raw_len, dictionary.as_deref()).map_err(|detail| format!("chunk {number} {detail}")))
}

/// Decompresses a blob and proves that it is what its digest says.
fn open_blob(wanted: Digest, raw_len: u64, data: &[u8]) -> Checked<Vec<u8>> {
    let bytes = decode(data, raw_len, None).map_err(|detail| format!("blob {wanted:?} {detail}"))?;
    if Digest::of(&bytes) == wanted { Ok(bytes) } else { Err(format!("blob {wanted:?} has other content")) }
}

/// See [`crate::Store::chunk`].
pub(super) fn chunk(
    conn: &Connection,
    dictionaries: &Dictionaries,
    id: ConversationId,
    number: u64,
) -> Outcome<ChunkBytes> {
    let seqs = chunk_seqs(conn, id, number)?;
    let Some(seqs) = seqs else {
        return Err(StoreError::Missing { id, what: format!("chunk {number}") }.into());
    };
    let bytes =
        read_chunk(conn, dictionaries, id, number)?.map_err(|detail| damaged(id, seqs.start, detail))?;
    let mut places = Vec::new();
    for entry in entries::stored(conn, id, seqs)? {
        if entry.chunk != Some(number) {
            continue;
        }
        let start = entry.offset.saturating_add(entry.lead_len);
        let end = start.saturating_add(entry.body_len);
        if end > bytes.len() as u64 {
            return Err(
                damaged(id, entry.row.seq.0, format!("it reaches beyond the end of chunk {number}")).into()
            );
        }
        places.push((entry.row.seq, start as usize..end as usize));
    }
    Ok(ChunkBytes { chunk: number, bytes, entries: places })
}

/// The seqs that a chunk was made for; `None` if it is not there.
pub(super) fn chunk_seqs(conn: &Connection, id: ConversationId, number: u64) -> Outcome<Option<Range<u64>>> {
    let found: Option<(i64, i64)> = conn
        .prepare_cached("SELECT first_seq, entries FROM chunk WHERE conversation = ? AND number = ?")?
        .query_row([int(id.0), int(number)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.map(|(first, count)| uint(first)..uint(first.saturating_add(count))))
}

/// See [`crate::Store::blob`].
pub(super) fn blob(conn: &Connection, id: ConversationId, wanted: Digest) -> Outcome<(Vec<u8>, Vec<Seq>)> {
    let mut select =
        conn.prepare_cached("SELECT id, raw_len, data FROM blob WHERE conversation = ? AND digest = ?")?;
    let mut rows = select.query(params![int(id.0), wanted.0])?;
    let Some(row) = rows.next()? else {
        return Err(StoreError::Missing { id, what: format!("blob {wanted:?}") }.into());
    };
    let number: i64 = row.get(0)?;
    let holders = blob_holders(conn, number)?;
    let data = row.get_ref(2)?.as_bytes().unwrap_or_default();
    let bytes = open_blob(wanted, uint(row.get(1)?), data)
        .map_err(|detail| damaged(id, holders.first().map_or(0, |seq| seq.0), detail))?;
    Ok((bytes, holders))
}

/// Entries that hold a blob, ascending, each once.
///
/// * `blob` - its row.
pub(super) fn blob_holders(conn: &Connection, blob: i64) -> Outcome<Vec<Seq>> {
    let mut select = conn.prepare_cached("SELECT DISTINCT seq FROM hole WHERE blob = ? ORDER BY seq")?;
    let seqs = select.query_map([blob], |row| Ok(Seq(uint(row.get(0)?))))?;
    Ok(seqs.collect::<rusqlite::Result<_>>()?)
}

/// See [`crate::Store::filters`].
pub(super) fn filters(conn: &Connection, id: ConversationId) -> Outcome<Vec<Filter>> {
    let mut all = Vec::new();
    let mut chunks = conn.prepare_cached(
        "SELECT chunk.number, chunk_filter.data FROM chunk LEFT JOIN chunk_filter ON chunk_filter.chunk = chunk.id
         WHERE chunk.conversation = ? ORDER BY chunk.number",
    )?;
    let mut rows = chunks.query([int(id.0)])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get::<_, Option<Vec<u8>>>(1)?.unwrap_or_default();
        all.push(Filter { of: FilterOf::Chunk(uint(row.get(0)?)), bytes });
    }
    let mut blobs = conn.prepare_cached(
        "SELECT blob.digest, blob_filter.data FROM blob LEFT JOIN blob_filter ON blob_filter.blob = blob.id
         WHERE blob.conversation = ? ORDER BY blob.id",
    )?;
    let mut rows = blobs.query([int(id.0)])?;
    while let Some(row) = rows.next()? {
        let Some(wanted) = row.get_ref(0)?.as_bytes().ok().and_then(digest) else { continue };
        let bytes = row.get::<_, Option<Vec<u8>>>(1)?.unwrap_or_default();
        all.push(Filter { of: FilterOf::Blob(wanted), bytes });
    }
    Ok(all)
}
