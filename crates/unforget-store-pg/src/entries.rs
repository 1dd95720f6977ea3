//! Entry rows and their names.

use std::ops::Range;

use tokio_postgres::Row;
use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, Seq};
use unforget_store::backend::{Stored, damaged, int, limit};
use unforget_store::{EntryRow, Name, NamedEntry, Page, StoreError};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::conversations;
use crate::facts::{EntryColumns, decode, encode};
use crate::fault::Outcome;

const COLUMNS: &str = "SELECT seq, chunk, chain, facts FROM unforget.entry";

/// Rows of a range of seqs with the place of their bytes, ascending; none may be missing.
pub(crate) async fn stored(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Vec<Stored>> {
    let mut all = Vec::new();
    for (expected, stored) in (seqs.start..).zip(stored_each(conn, tenant, id, seqs).await?) {
        let stored = stored?;
        if stored.row.seq.0 != expected {
            return Err(damaged(id, expected, "its row is missing").into());
        }
        all.push(stored);
    }
    Ok(all)
}

/// [`stored`] for the part of a range that exists, by one statement.
pub(crate) async fn stored_within(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Vec<Stored>> {
    let sql = "SELECT seq, chunk, chain, facts,
          (SELECT entries FROM unforget.conversation WHERE tenant = $1 AND id = $2)
        FROM unforget.entry WHERE tenant = $1 AND conversation = $2 AND seq >= $3 AND seq < $4 ORDER BY seq";
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &int(seqs.start), &int(seqs.end)]).await?;
    let entries = match rows.first() {
        Some(row) => row.number(4)?,
        None => conversations::get(conn, tenant, id).await?.entries,
    };
    let end = seqs.end.min(entries);
    let mut all = Vec::with_capacity(rows.len());
    for (expected, row) in (seqs.start..end).zip(&rows) {
        let stored = read(id, row)??;
        if stored.row.seq.0 != expected {
            return Err(damaged(id, expected, "its row is missing").into());
        }
        all.push(stored);
    }
    let next = seqs.start.saturating_add(all.len() as u64);
    if next < end {
        return Err(damaged(id, next, "its row is missing").into());
    }
    Ok(all)
}

/// Rows of a range of seqs, each decoded on its own: a damaged one does not hide the others.
pub(crate) async fn stored_each(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Vec<Result<Stored, StoreError>>> {
    let sql =
        format!("{COLUMNS} WHERE tenant = $1 AND conversation = $2 AND seq >= $3 AND seq < $4 ORDER BY seq");
    let rows = conn.rows(&sql, &[&tenant, &int(id.0), &int(seqs.start), &int(seqs.end)]).await?;
    rows.iter().map(|row| read(id, row)).collect()
}

/// An entry from the columns seq, chunk, chain and facts.
pub(crate) fn read(id: ConversationId, row: &Row) -> Outcome<Result<Stored, StoreError>> {
    let seq = row.number(0)?;
    let columns =
        EntryColumns { seq, chunk: row.number_if(1)?, chain: Chain(row.digest(2)?), facts: row.at(3)? };
    Ok(decode(id, &columns).ok_or_else(|| damaged(id, seq, "its row was changed")))
}

/// See [`unforget_store::Log::by_chain`].
pub(crate) async fn by_chain(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    chain: Chain,
) -> Outcome<Option<EntryRow>> {
    let sql = format!(
        "{COLUMNS} WHERE tenant = $1 AND conversation = $2 AND chain_head = $3 AND chain = $4 ORDER BY seq LIMIT 1"
    );
    let head = chain.short() as i32;
    match conn.row(&sql, &[&tenant, &int(id.0), &head, &chain.0.0.as_slice()]).await? {
        Some(row) => Ok(Some(read(id, &row)??.row)),
        None => Ok(None),
    }
}

/// Raw chain heads of a range of seqs.
pub(crate) async fn chains(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    seqs: Range<u64>,
) -> Outcome<Vec<Chain>> {
    let sql = "SELECT chain FROM unforget.entry
        WHERE tenant = $1 AND conversation = $2 AND seq >= $3 AND seq < $4 ORDER BY seq";
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &int(seqs.start), &int(seqs.end)]).await?;
    if rows.len() as u64 != seqs.end.saturating_sub(seqs.start) {
        return Err(damaged(id, seqs.start + rows.len() as u64, "its row is missing").into());
    }
    rows.iter().map(|row| row.digest(0).map(Chain)).collect()
}

/// Writes rows over those with their seqs.
pub(crate) async fn replace(conn: &Conn, tenant: i32, id: ConversationId, all: &[Stored]) -> Outcome<()> {
    let sql = "UPDATE unforget.entry SET chunk = u.chunk, facts = u.facts
        FROM unnest($3::bigint[], $4::bigint[], $5::bytea[]) u(seq, chunk, facts)
        WHERE tenant = $1 AND conversation = $2 AND entry.seq = u.seq";
    let seqs: Vec<i64> = all.iter().map(|stored| int(stored.row.seq.0)).collect();
    let chunks: Vec<Option<i64>> = all.iter().map(|stored| stored.chunk.map(int)).collect();
    let facts: Vec<Vec<u8>> = all.iter().map(|stored| encode(id, stored)).collect();
    conn.run(sql, &[&tenant, &int(id.0), &seqs, &chunks, &facts]).await?;
    Ok(())
}

/// The entries under names.
pub(crate) const NAMED: &str = "SELECT name, seq FROM unforget.name WHERE tenant = $1 AND conversation = $2
    AND name = ANY($3) ORDER BY name, seq";

/// See [`unforget_store::Log::named`].
pub(crate) async fn named(conn: &Conn, tenant: i32, id: ConversationId, names: &[Name]) -> Outcome<Vec<Row>> {
    let names: Vec<&[u8]> = names.iter().map(|name| name.0.as_slice()).collect();
    conn.rows(NAMED, &[&tenant, &int(id.0), &names]).await
}

/// See [`unforget_store::Log::names`].
pub(crate) async fn names(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<NamedEntry>,
) -> Outcome<Vec<Row>> {
    let sql = "SELECT name, seq FROM unforget.name
        WHERE tenant = $1 AND conversation = $2 AND (name, seq) > ($3, $4) ORDER BY name, seq LIMIT $5";
    // No name is empty, so the first page begins before all of them.
    let name = page.after.as_ref().map_or(&[][..], |after| after.name.0.as_slice());
    let seq = page.after.map_or(0, |after| int(after.seq.0));
    conn.rows(sql, &[&tenant, &int(id.0), &name, &seq, &limit(page.limit)]).await
}

/// A named entry from the columns of [`named`].
pub(crate) fn read_named(row: &Row) -> Outcome<NamedEntry> {
    Ok(NamedEntry { name: Name(row.half_digest(0)?), seq: Seq(row.number(1)?) })
}

/// Adds names. See [`unforget_store::Log::put_names`].
pub(crate) const PUT_NAMES: &str = "WITH n AS (INSERT INTO unforget.name (tenant, conversation, name, seq)
      SELECT $1::int, $2::bigint, u.* FROM unnest($3::bytea[], $4::bigint[]) u ON CONFLICT DO NOTHING)
    UPDATE unforget.conversation SET names = names + least(1, cardinality($4::bigint[])) WHERE tenant = $1 AND id = $2
    RETURNING names";
