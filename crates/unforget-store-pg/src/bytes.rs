//! Chunks and blobs as bytes, and entries assembled from them.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::Row;
use unforget_core::digest::Digest;
use unforget_core::id::ConversationId;
use unforget_store::backend::{Checked, Stored, damaged, fill, int, open_blob};
use unforget_store::{Raw, Scratch};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

/// Most bytes of bodies that are asked for at once.
const PART: u64 = 8 << 20;

/// See [`unforget_store::Log::raw`].
pub(crate) async fn raw(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    stored: &[Stored],
) -> Outcome<Vec<Raw>> {
    let mut all = Vec::with_capacity(stored.len());
    for part in parts(stored) {
        for (entry, raw) in part.iter().zip(assemble(conn, tenant, id, part).await?) {
            all.push(raw.map_err(|detail| damaged(id, entry.row.seq.0, detail))?);
        }
    }
    Ok(all)
}

/// Neighbouring entries of [`PART`] bytes, or one larger one.
pub(crate) fn parts(stored: &[Stored]) -> Vec<&[Stored]> {
    let mut parts = Vec::new();
    let (mut rest, mut at, mut bytes) = (stored, 0, 0_u64);
    for entry in stored {
        bytes = bytes
            .saturating_add(entry.lead_len)
            .saturating_add(entry.row.bytes.end - entry.row.bytes.start.min(entry.row.bytes.end));
        at += 1;
        if bytes >= PART {
            let (part, after) = rest.split_at(at);
            parts.push(part);
            (rest, at, bytes) = (after, 0, 0);
        }
    }
    parts.push(rest);
    parts
}

/// Leads and bodies of entries; empty once purged. Reads each chunk and each large part once.
pub(crate) async fn assemble(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    stored: &[Stored],
) -> Outcome<Vec<Checked<Raw>>> {
    let numbers: BTreeSet<u64> = stored.iter().filter_map(|entry| entry.chunk).collect();
    let chunks = chunks(conn, tenant, id, &numbers).await?;
    let holes = holes(conn, tenant, id, stored).await?;
    let missing = |number: u64| Err(format!("chunk {number} is missing"));
    let one = |entry: &Stored| {
        let seq = entry.row.seq;
        let Some(number) = entry.chunk else { return Ok(Raw { seq, lead: Vec::new(), body: Vec::new() }) };
        let chunk = chunks
            .get(&number)
            .map_or_else(|| missing(number), |chunk| chunk.as_ref().map_err(Clone::clone))?;
        let (lead, body) = entry.spans(chunk.len())?;
        let lead = chunk.get(lead).unwrap_or_default().to_vec();
        let body = holes.whole(entry, chunk.get(body).unwrap_or_default())?;
        Ok(Raw { seq, lead, body })
    };
    Ok(stored.iter().map(one).collect())
}

/// The uncompressed bytes of chunks, by number.
async fn chunks(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    numbers: &BTreeSet<u64>,
) -> Outcome<BTreeMap<u64, Checked<Vec<u8>>>> {
    if numbers.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sql = "SELECT number, raw_len, data FROM unforget.chunk
        WHERE tenant = $1 AND conversation = $2 AND number = ANY($3)";
    let wanted: Vec<i64> = numbers.iter().copied().map(int).collect();
    let mut scratch = Scratch::default();
    let mut all = BTreeMap::new();
    for row in conn.rows(sql, &[&tenant, &int(id.0), &wanted]).await? {
        let number = row.number(0)?;
        let opened = open_chunk(number, row.number(1)?, row.at(2)?, &mut scratch);
        all.insert(number, opened.map(|()| std::mem::take(&mut scratch.bytes)));
    }
    Ok(all)
}

/// Decompresses a chunk.
pub(crate) fn open_chunk(number: u64, raw_len: u64, data: &[u8], scratch: &mut Scratch) -> Checked<()> {
    scratch.decode(data, raw_len, None).map_err(|detail| format!("chunk {number} {detail}"))
}

/// The large parts of some entries.
#[derive(Default)]
pub(crate) struct Holes {
    /// Offsets and digests by seq, ascending.
    places: BTreeMap<u64, Vec<(u64, Digest)>>,
    blobs: BTreeMap<Digest, Checked<Vec<u8>>>,
}

impl Holes {
    /// A body with its large parts.
    pub(crate) fn whole(&self, entry: &Stored, body: &[u8]) -> Checked<Vec<u8>> {
        let places = self.places.get(&entry.row.seq.0).map(Vec::as_slice).unwrap_or_default();
        if places.len() as u64 != entry.holes {
            return Err(format!("it has {} large parts, not {}", places.len(), entry.holes));
        }
        let mut holes = Vec::with_capacity(places.len());
        for (at, digest) in places {
            let blob = self.blobs.get(digest);
            let blob = blob.ok_or_else(|| format!("its large part at byte {at} is missing"))?;
            holes.push((*at, blob.clone()?));
        }
        fill(body, &holes)
    }
}

/// Reads the large parts of entries.
pub(crate) async fn holes(conn: &Conn, tenant: i32, id: ConversationId, stored: &[Stored]) -> Outcome<Holes> {
    let seqs: Vec<i64> =
        stored.iter().filter(|entry| entry.holes > 0).map(|entry| int(entry.row.seq.0)).collect();
    let mut holes = Holes::default();
    if seqs.is_empty() {
        return Ok(holes);
    }
    let sql =
        "SELECT seq, at, digest FROM unforget.hole WHERE tenant = $1 AND conversation = $2 AND seq = ANY($3)
        ORDER BY seq, at";
    let mut wanted = BTreeSet::new();
    for row in conn.rows(sql, &[&tenant, &int(id.0), &seqs]).await? {
        let digest = row.digest(2)?;
        holes.places.entry(row.number(0)?).or_default().push((row.number(1)?, digest));
        wanted.insert(digest);
    }
    let sql = "SELECT digest, raw_len, data FROM unforget.blob
        WHERE tenant = $1 AND conversation = $2 AND digest = ANY($3)";
    let wanted: Vec<&[u8]> = wanted.iter().map(|digest| digest.0.as_slice()).collect();
    let mut scratch = Scratch::default();
    for row in conn.rows(sql, &[&tenant, &int(id.0), &wanted]).await? {
        let (digest, blob) = blob(&row, &mut scratch)?;
        holes.blobs.insert(digest, blob);
    }
    Ok(holes)
}

/// A blob from the columns digest, length and data.
fn blob(row: &Row, scratch: &mut Scratch) -> Outcome<(Digest, Checked<Vec<u8>>)> {
    let digest = row.digest(0)?;
    let opened = open_blob(digest, row.number(1)?, row.at(2)?, scratch);
    Ok((digest, opened.map(|()| std::mem::take(&mut scratch.bytes))))
}
