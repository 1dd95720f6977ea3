//! Scans: chunks and blobs looked at as a whole, and their filters.

use std::ops::Range;

use tokio_postgres::Row;
use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, Seq};
use unforget_store::backend::{Stored, after, damaged, int, limit, open_blob};
use unforget_store::{ChunkBytes, Filter, FilterOf, Holed, Page, Scan, Scanned, Scratch, StoreError};

use crate::bytes::{Holes, holes, open_chunk};
use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::facts::{EntryColumns, decode};
use crate::fault::{Fault, Outcome};
use crate::store::{PgStore, require};

/// A chunk and its entries, read in one statement: a purge cannot come in between.
pub(crate) struct Read {
    number: u64,
    seqs: Range<u64>,
    raw_len: u64,
    data: Vec<u8>,
    entries: Vec<Stored>,
}

/// Reads a chunk and its entries.
async fn read(conn: &Conn, tenant: i32, id: ConversationId, number: u64) -> Outcome<Read> {
    let of = "FROM unforget.entry e WHERE e.tenant = $1 AND e.conversation = $2 AND e.seq >= k.first_seq
        AND e.seq < k.first_seq + k.entries AND e.chunk = k.number ORDER BY e.seq";
    let sql = format!(
        "SELECT first_seq, entries, raw_len, data, ARRAY(SELECT e.seq {of}), ARRAY(SELECT e.chain {of}),
           ARRAY(SELECT e.facts {of})
         FROM unforget.chunk k WHERE tenant = $1 AND conversation = $2 AND number = $3"
    );
    let Some(row) = conn.row(&sql, &[&tenant, &int(id.0), &int(number)]).await? else {
        require(conn, tenant, id).await?;
        return Err(StoreError::Missing { id, what: format!("chunk {number}") }.into());
    };
    let first = row.number(0)?;
    let (seqs, chains, facts): (Vec<i64>, Vec<&[u8]>, Vec<&[u8]>) = (row.at(4)?, row.at(5)?, row.at(6)?);
    let mut entries = Vec::with_capacity(seqs.len());
    for ((seq, chain), facts) in seqs.into_iter().zip(chains).zip(facts) {
        let chain = Chain(Digest(chain.try_into().map_err(|_| Fault::Column("chain"))?));
        let columns = EntryColumns { seq: seq as u64, chunk: Some(number), chain, facts };
        let stored = decode(id, &columns);
        entries.push(stored.ok_or_else(|| damaged(id, seq as u64, "its row was changed"))?);
    }
    let seqs = first..first.saturating_add(row.number(1)?);
    Ok(Read { number, seqs, raw_len: row.number(2)?, data: row.at(3)?, entries })
}

impl PgStore {
    /// See [`unforget_store::Index::scan`]. The questions are asked on the calling thread, between the reads.
    pub(crate) fn scanned(
        &self,
        id: ConversationId,
        number: u64,
        scratch: &mut Scratch,
        scan: Scan<'_>,
    ) -> Result<Scanned, StoreError> {
        let read = self.of("scan", id, async |conn| read(conn, self.tenant, id, number).await)?;
        let damage = |detail: String| damaged(id, read.seqs.start, detail);
        open_chunk(number, read.raw_len, &read.data, scratch).map_err(damage)?;
        let wanted = match (scan.wants)(&scratch.bytes, None) {
            Some(wanted) => wanted,
            None => match places(&read, scratch.bytes.len()) {
                Some(places) => (scan.wants)(&scratch.bytes, Some(&places)).unwrap_or(true),
                None => true,
            },
        };
        if let Some(asked) = scan.holed {
            self.holed(id, &read, &scratch.bytes, asked)?;
        }
        let entries = read.seqs.end - read.seqs.start;
        if !wanted {
            return Ok(Scanned { entries, chunk: None });
        }
        let mut bodies = Vec::with_capacity(read.entries.len());
        for entry in &read.entries {
            let seq = entry.row.seq;
            let (_, body) = entry.spans(scratch.bytes.len()).map_err(|detail| damaged(id, seq.0, detail))?;
            bodies.push((seq, body));
        }
        let bytes = std::mem::take(&mut scratch.bytes);
        Ok(Scanned { entries, chunk: Some(ChunkBytes { chunk: read.number, bytes, entries: bodies }) })
    }

    /// Passes the requested entries of a chunk on as whole bodies.
    fn holed(
        &self,
        id: ConversationId,
        read: &Read,
        chunk: &[u8],
        asked: Holed<'_>,
    ) -> Result<(), StoreError> {
        let Holed { seqs, wants, each } = asked;
        let mut wanted: Vec<(Stored, Range<usize>)> = Vec::new();
        for entry in read.entries.iter().filter(|entry| entry.holes > 0) {
            let seq = entry.row.seq;
            if seqs.binary_search(&seq).is_err() {
                continue;
            }
            let (_, body) = entry.spans(chunk.len()).map_err(|detail| damaged(id, seq.0, detail))?;
            if wants(seq, chunk.get(body.clone()).unwrap_or_default()) {
                wanted.push((entry.clone(), body));
            }
        }
        for (entry, body) in wanted {
            let one = std::slice::from_ref(&entry);
            let holes = self.of("scan", id, async |conn| large_parts(conn, self.tenant, id, one).await)?;
            // A purge that came in between took the entry as a whole.
            let Some(holes) = holes else { continue };
            let whole = holes.whole(&entry, chunk.get(body).unwrap_or_default());
            each(&entry.row, &whole.map_err(|detail| damaged(id, entry.row.seq.0, detail))?);
        }
        Ok(())
    }

    /// See [`unforget_store::Index::scan_blob`].
    pub(crate) fn scanned_blob(
        &self,
        id: ConversationId,
        wanted: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>, StoreError> {
        let (raw_len, data, holders) =
            self.of("scan_blob", id, async |conn| blob(conn, self.tenant, id, wanted).await)?;
        open_blob(wanted, raw_len, &data, scratch)
            .map_err(|detail| damaged(id, holders.first().map_or(0, |seq| seq.0), detail))?;
        Ok(if wants(&scratch.bytes) { holders } else { Vec::new() })
    }
}

/// Large parts of an entry; `None` if it is purged by now.
async fn large_parts(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    entry: &[Stored],
) -> Outcome<Option<Holes>> {
    let found = holes(conn, tenant, id, entry).await?;
    let sql = "SELECT chunk IS NULL FROM unforget.entry WHERE tenant = $1 AND conversation = $2 AND seq = $3";
    let seq = entry.first().map_or(0, |entry| entry.row.seq.0);
    let row = conn.row(sql, &[&tenant, &int(id.0), &int(seq)]).await?;
    let is_purged = row.map_or(Ok(false), |row| row.at(0))?;
    Ok((!is_purged).then_some(found))
}

/// Places of the leads and bodies of a chunk. Valid only if together they make up all of its bytes, so that nothing can
/// hide.
fn places(read: &Read, length: usize) -> Option<Vec<Range<usize>>> {
    let (mut places, mut next) = (Vec::new(), 0);
    for entry in &read.entries {
        let (lead, body) = entry.spans(length).ok()?;
        if lead.start != next {
            return None;
        }
        next = body.end;
        places.extend([lead, body]);
    }
    (next == length).then_some(places)
}

/// Length, frame and holders of a blob.
async fn blob(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    wanted: Digest,
) -> Outcome<(u64, Vec<u8>, Vec<Seq>)> {
    let sql = format!(
        "SELECT raw_len, data, {HOLDERS} FROM unforget.blob b WHERE tenant = $1 AND conversation = $2 AND digest = $3"
    );
    let Some(row) = conn.row(&sql, &[&tenant, &int(id.0), &wanted.0.as_slice()]).await? else {
        require(conn, tenant, id).await?;
        return Err(StoreError::Missing { id, what: format!("blob {wanted:?}") }.into());
    };
    Ok((row.number(0)?, row.at(1)?, holders(&row, 2)?))
}

/// The entries that hold a blob, ascending, without duplicates.
const HOLDERS: &str = "ARRAY(SELECT DISTINCT h.seq FROM unforget.hole h
    WHERE h.tenant = b.tenant AND h.conversation = b.conversation AND h.digest = b.digest ORDER BY h.seq)";

fn holders(row: &Row, at: usize) -> Outcome<Vec<Seq>> {
    Ok(row.at::<Vec<i64>>(at)?.into_iter().map(|seq| Seq(seq as u64)).collect())
}

/// See [`unforget_store::Index::filters`].
pub(crate) async fn filters(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<FilterOf>,
) -> Outcome<Vec<Filter>> {
    let chunks_after = match page.after {
        None => Some(None),
        Some(FilterOf::Chunk(number)) => Some(Some(number)),
        Some(FilterOf::Blob(_)) => None,
    };
    let mut all = Vec::new();
    if let Some(from) = chunks_after {
        let sql = "SELECT number, first_seq, entries, filter FROM unforget.chunk
            WHERE tenant = $1 AND conversation = $2 AND number > $3 ORDER BY number LIMIT $4";
        for row in conn.rows(sql, &[&tenant, &int(id.0), &after(from), &limit(page.limit)]).await? {
            let first = row.number(1)?;
            all.push(Filter {
                of: FilterOf::Chunk(row.number(0)?),
                bytes: row.at(3)?,
                seqs: first..first.saturating_add(row.number(2)?),
                holders: Vec::new(),
            });
        }
    }
    let room = page.limit.saturating_sub(all.len());
    if room > 0 {
        let from = match &page.after {
            Some(FilterOf::Blob(digest)) => digest.0.as_slice(),
            Some(FilterOf::Chunk(_)) | None => &[],
        };
        let sql = format!(
            "SELECT digest, filter, {HOLDERS} FROM unforget.blob b
             WHERE tenant = $1 AND conversation = $2 AND digest > $3 ORDER BY digest LIMIT $4"
        );
        for row in conn.rows(&sql, &[&tenant, &int(id.0), &from, &limit(room)]).await? {
            let (of, bytes) = (FilterOf::Blob(row.digest(0)?), row.at(1)?);
            all.push(Filter { of, bytes, seqs: 0..0, holders: holders(&row, 2)? });
        }
    }
    if all.is_empty() {
        require(conn, tenant, id).await?;
    }
    Ok(all)
}
