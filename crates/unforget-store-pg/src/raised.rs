//! Spans of entries that people put back.

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::RaisedRow;
use unforget_store::backend::int;

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// The spans of a conversation, by number.
pub(crate) const ALL: &str = "SELECT number, first_seq, last_seq, author, made_ms, withdrawn_ms
    FROM unforget.raised WHERE tenant = $1 AND conversation = $2 ORDER BY number";

/// A row of [`ALL`].
pub(crate) fn read(row: &Row) -> Outcome<RaisedRow> {
    Ok(RaisedRow {
        number: row.number(0)?,
        span: (row.seq(1)?, row.seq(2)?),
        author: row.words(3)?,
        made: Timestamp(row.at(4)?),
        withdrawn: row.at::<Option<i64>>(5)?.map(Timestamp),
    })
}

/// See [`unforget_store::Summaries::put_raised`].
pub(crate) async fn put(conn: &Conn, tenant: i32, id: ConversationId, raised: &RaisedRow) -> Outcome<u64> {
    let sql =
        "INSERT INTO unforget.raised SELECT $1::int, $2::bigint, greatest(coalesce(max(number), 0) + 1, $7::bigint), $3::bigint,
          $4::bigint, $5::bytea, $6::bigint, NULL
        FROM unforget.raised WHERE tenant = $1 AND conversation = $2 RETURNING number";
    let (first, last) = (int(raised.span.0.0), int(raised.span.1.0));
    let (author, made) = (raised.author.as_bytes(), raised.made.0);
    let row =
        conn.row(sql, &[&tenant, &int(id.0), &first, &last, &author, &made, &int(raised.number)]).await?;
    row.ok_or(Fault::Column("raised"))?.number(0)
}

/// See [`unforget_store::Summaries::withdraw_raised`].
pub(crate) async fn withdraw(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    number: u64,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "UPDATE unforget.raised SET withdrawn_ms = $4
        WHERE tenant = $1 AND conversation = $2 AND number = $3 AND withdrawn_ms IS NULL";
    Ok(conn.run(sql, &[&tenant, &int(id.0), &int(number), &now.0]).await? > 0)
}
