//! Segments of the search index: opaque, derived.

use unforget_core::id::ConversationId;
use unforget_store::backend::{after, int, limit};
use unforget_store::{Page, Segment, SegmentHead, StoreError};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};
use crate::store::require;

/// See [`unforget_store::Index::put_segment`].
///
/// * `replaces` - numbers of segments.
pub(crate) async fn put(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    segment: &Segment,
    replaces: &[u64],
) -> Outcome<u64> {
    let conversation = int(id.0);
    let sql = "UPDATE unforget.conversation SET segments = segments + 1 WHERE tenant = $1 AND id = $2
        RETURNING segments - 1";
    let row = conn.row(sql, &[&tenant, &conversation]).await?;
    let number = row.ok_or(Fault::Column("segments"))?.number(0)?;
    let replaced: Vec<i64> = replaces.iter().copied().map(int).collect();
    let tables: &[&str] = &[
        "DELETE FROM unforget.segment_block WHERE tenant = $1 AND conversation = $2 AND segment = ANY($3)",
        "DELETE FROM unforget.segment WHERE tenant = $1 AND conversation = $2 AND number = ANY($3)",
    ];
    for sql in tables.iter().filter(|_| !replaced.is_empty()) {
        conn.run(sql, &[&tenant, &conversation, &replaced]).await?;
    }
    let sql = "WITH s AS (INSERT INTO unforget.segment VALUES ($1, $2, $3, $4, $5, $6) RETURNING number)
        INSERT INTO unforget.segment_block SELECT $1, $2, s.number, u.place - 1, u.data
        FROM s, unnest($7::bytea[]) WITH ORDINALITY u(data, place)";
    let (first, end) = (int(segment.seqs.start), int(segment.seqs.end));
    conn.run(sql, &[&tenant, &conversation, &int(number), &first, &end, &segment.header, &segment.blocks])
        .await?;
    Ok(number)
}

/// See [`unforget_store::Index::segments`].
pub(crate) async fn heads(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<SegmentHead>> {
    let sql = "SELECT number, first_seq, end_seq, header FROM unforget.segment
        WHERE tenant = $1 AND conversation = $2 AND number > $3 ORDER BY number LIMIT $4";
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &after(page.after), &limit(page.limit)]).await?;
    let mut heads = Vec::new();
    for row in rows {
        let seqs = row.number(1)?..row.number(2)?;
        heads.push(SegmentHead { number: row.number(0)?, seqs, header: row.at(3)? });
    }
    Ok(heads)
}

/// See [`unforget_store::Index::block`].
pub(crate) async fn block(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    segment: u64,
    block: usize,
) -> Outcome<Vec<u8>> {
    let sql = "SELECT data FROM unforget.segment_block
        WHERE tenant = $1 AND conversation = $2 AND segment = $3 AND number = $4";
    if let Some(row) = conn.row(sql, &[&tenant, &int(id.0), &int(segment), &int(block as u64)]).await? {
        return row.at(0);
    }
    require(conn, tenant, id).await?;
    Err(StoreError::Missing { id, what: format!("block {block} of segment {segment}") }.into())
}

/// See [`unforget_store::Index::drop_segments`].
pub(crate) async fn drop_all(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<()> {
    for sql in [
        "DELETE FROM unforget.segment_block WHERE tenant = $1 AND conversation = $2",
        "DELETE FROM unforget.segment WHERE tenant = $1 AND conversation = $2",
    ] {
        conn.run(sql, &[&tenant, &int(id.0)]).await?;
    }
    Ok(())
}
