//! Purge: the only deletion of delivered data.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use unforget_core::id::ConversationId;
use unforget_store::backend::{Stored, compress, damaged, int};
use unforget_store::{Purged, Scratch};

use crate::bytes::open_chunk;
use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};
use crate::store::FilterFn;
use crate::{conversations, entries, pins};

/// The existing part of a range.
pub(crate) async fn clamped(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Range<u64>> {
    let end = seqs.end.min(conversations::get(conn, tenant, id).await?.entries);
    Ok(seqs.start.min(end)..end)
}

/// See [`unforget_store::Log::purge_plan`].
pub(crate) async fn plan(conn: &Conn, tenant: i32, id: ConversationId, seqs: Range<u64>) -> Outcome<Purged> {
    let seqs = clamped(conn, tenant, id, seqs).await?;
    let stored = entries::stored(conn, tenant, id, seqs.clone()).await?;
    let going: Vec<&Stored> = stored.iter().filter(|entry| entry.chunk.is_some()).collect();
    let plain: u64 = going.iter().map(|entry| entry.lead_len + entry.body_len).sum();
    let sql = "SELECT coalesce((SELECT sum(b.raw_len)::bigint FROM unforget.hole h
            JOIN unforget.blob b USING (tenant, conversation, digest)
            WHERE h.tenant = $1 AND h.conversation = $2 AND h.seq >= $3 AND h.seq < $4), 0),
          (SELECT count(DISTINCT digest) FROM unforget.hole h
            WHERE tenant = $1 AND conversation = $2 AND seq >= $3 AND seq < $4
              AND NOT EXISTS (SELECT 1 FROM unforget.hole o WHERE o.tenant = $1 AND o.conversation = $2
                AND o.digest = h.digest AND (o.seq < $3 OR o.seq >= $4))),
          (SELECT count(*) FROM unforget.summary WHERE tenant = $1 AND conversation = $2
            AND first_seq < $4 AND last_seq >= $3 AND $3 < $4)";
    let row = conn.row(sql, &[&tenant, &int(id.0), &int(seqs.start), &int(seqs.end)]).await?;
    let row = row.ok_or(Fault::Column("count"))?;
    Ok(Purged {
        entries: going.len() as u64,
        bytes: plain + row.number(0)?,
        blobs: row.number(1)?,
        summaries: row.number(2)?,
    })
}

/// See [`unforget_store::Log::purge`]. Inside the caller's transaction, which has the conversation.
pub(crate) async fn carry_out(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: Range<u64>,
    filter: Option<&Arc<FilterFn>>,
) -> Outcome<Purged> {
    let seqs = clamped(conn, tenant, id, seqs).await?;
    let purged = plan(conn, tenant, id, seqs.clone()).await?;
    if seqs.is_empty() {
        return Ok(purged);
    }
    take_bytes(conn, tenant, id, &seqs, filter).await?;
    take_derived(conn, tenant, id, &seqs).await?;
    pins::purge(conn, tenant, id, &seqs).await?;
    if purged.entries > 0 {
        let sql = "UPDATE unforget.conversation SET revision = revision + 1, purged = purged + 1
            WHERE tenant = $1 AND id = $2";
        conn.run(sql, &[&tenant, &int(id.0)]).await?;
    }
    Ok(purged)
}

/// Turns the entries into tombstones, and rewrites or drops their chunks and blobs.
async fn take_bytes(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: &Range<u64>,
    filter: Option<&Arc<FilterFn>>,
) -> Outcome<()> {
    let mut stored = entries::stored(conn, tenant, id, seqs.clone()).await?;
    let positions: Vec<i64> = stored.iter().map(|entry| int(entry.row.position.0)).collect();
    let chunks: BTreeSet<u64> = stored.iter().filter_map(|entry| entry.chunk).collect();
    stored.retain(|entry| entry.chunk.is_some());
    stored.iter_mut().for_each(Stored::purge);
    entries::replace(conn, tenant, id, &stored).await?;
    for chunk in chunks {
        rewrite_chunk(conn, tenant, id, chunk, filter).await?;
    }
    let conversation = int(id.0);
    // A half-written line in a snapshot is the beginning of the entry at that position.
    let sql = "UPDATE unforget.snapshot SET trailer = '' WHERE tenant = $1 AND conversation = $2 AND length = ANY($3)
        AND btrim(trailer, '\\x090a0c0d20'::bytea) <> ''";
    conn.run(sql, &[&tenant, &conversation, &positions]).await?;
    let sql = "DELETE FROM unforget.hole WHERE tenant = $1 AND conversation = $2 AND seq >= $3 AND seq < $4";
    conn.run(sql, &[&tenant, &conversation, &int(seqs.start), &int(seqs.end)]).await?;
    let sql = "DELETE FROM unforget.blob b WHERE tenant = $1 AND conversation = $2
        AND NOT EXISTS (SELECT 1 FROM unforget.hole h
          WHERE h.tenant = $1 AND h.conversation = $2 AND h.digest = b.digest)";
    conn.run(sql, &[&tenant, &conversation]).await?;
    Ok(())
}

/// Removes the bytes of a chunk that no entry uses any more.
async fn rewrite_chunk(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    number: u64,
    filter: Option<&Arc<FilterFn>>,
) -> Outcome<()> {
    let (conversation, chunk) = (int(id.0), int(number));
    let sql = "SELECT first_seq, entries, raw_len, data FROM unforget.chunk
        WHERE tenant = $1 AND conversation = $2 AND number = $3";
    let Some(row) = conn.row(sql, &[&tenant, &conversation, &chunk]).await? else { return Ok(()) };
    let first = row.number(0)?;
    let seqs = first..first.saturating_add(row.number(1)?);
    let mut kept = entries::stored(conn, tenant, id, seqs).await?;
    kept.retain(|entry| entry.chunk == Some(number));
    if kept.is_empty() {
        let sql = "DELETE FROM unforget.chunk WHERE tenant = $1 AND conversation = $2 AND number = $3";
        conn.run(sql, &[&tenant, &conversation, &chunk]).await?;
        return Ok(());
    }
    let mut old = Scratch::default();
    open_chunk(number, row.number(2)?, row.at(3)?, &mut old).map_err(|detail| damaged(id, first, detail))?;
    let mut new = Vec::new();
    for entry in &mut kept {
        let from = entry.offset as usize;
        let to = from.saturating_add((entry.lead_len + entry.body_len) as usize);
        let bytes = old.bytes.get(from..to).ok_or_else(|| {
            damaged(id, entry.row.seq.0, format!("it reaches beyond the end of chunk {number}"))
        })?;
        entry.offset = new.len() as u64;
        new.extend_from_slice(bytes);
    }
    entries::replace(conn, tenant, id, &kept).await?;
    let sql = "UPDATE unforget.chunk SET raw_len = $4, data = $5, filter = $6
        WHERE tenant = $1 AND conversation = $2 AND number = $3";
    let filter = filter.map(|filter| filter(&new)).unwrap_or_default();
    let (raw_len, data) = (int(new.len() as u64), compress(&new));
    conn.run(sql, &[&tenant, &conversation, &chunk, &raw_len, &data, &filter]).await?;
    Ok(())
}

/// Drops the data derived from the entries, verdicts that quote them, raised spans and sayings that they were all of.
async fn take_derived(conn: &Conn, tenant: i32, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    let conversation = int(id.0);
    let blocks = "DELETE FROM unforget.segment_block b USING unforget.segment s
        WHERE b.tenant = $1 AND b.conversation = $2 AND s.tenant = $1 AND s.conversation = $2
          AND s.number = b.segment AND s.first_seq < $4 AND s.end_seq > $3";
    let over = ["unforget.summary", "unforget.rewrite", "unforget.job"].map(|table| {
        format!("DELETE FROM {table} WHERE tenant = $1 AND conversation = $2 AND first_seq < $4 AND last_seq >= $3")
    });
    let of = ["unforget.name", "unforget.verdict"].map(|table| {
        format!("DELETE FROM {table} WHERE tenant = $1 AND conversation = $2 AND seq >= $3 AND seq < $4")
    });
    let heads = "DELETE FROM unforget.segment
        WHERE tenant = $1 AND conversation = $2 AND first_seq < $4 AND end_seq > $3";
    let raised = "DELETE FROM unforget.raised
        WHERE tenant = $1 AND conversation = $2 AND first_seq >= $3 AND last_seq < $4";
    let sayings = "DELETE FROM unforget.saying
        WHERE tenant = $1 AND conversation = $2 AND first_seq >= $3 AND last_seq < $4";
    let ranged = over.iter().chain(&of).map(String::as_str).chain([blocks, heads, raised, sayings]);
    for sql in ranged {
        conn.run(sql, &[&tenant, &conversation, &int(seqs.start), &int(seqs.end)]).await?;
    }
    for table in ["context", "decision", "recipe", "recipe_context"] {
        let sql = format!("DELETE FROM unforget.{table} WHERE tenant = $1 AND conversation = $2");
        conn.run(&sql, &[&tenant, &conversation]).await?;
    }
    Ok(())
}
