//! Verdicts on entries.

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::VerdictRow;
use unforget_store::backend::int;

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// The verdicts of a conversation, by number.
pub(crate) const ALL: &str = "SELECT number, seq, line, why, instead, author, made_ms, withdrawn_ms
    FROM unforget.verdict WHERE tenant = $1 AND conversation = $2 ORDER BY number";

/// A row of [`ALL`].
pub(crate) fn read(row: &Row) -> Outcome<VerdictRow> {
    Ok(VerdictRow {
        number: row.number(0)?,
        seq: row.seq(1)?,
        line: row.words_if(2)?,
        why: row.words(3)?,
        instead: row.words_if(4)?,
        author: row.words(5)?,
        made: Timestamp(row.at(6)?),
        withdrawn: row.at::<Option<i64>>(7)?.map(Timestamp),
    })
}

/// See [`unforget_store::Summaries::put_verdict`].
pub(crate) async fn put(conn: &Conn, tenant: i32, id: ConversationId, verdict: &VerdictRow) -> Outcome<u64> {
    let sql =
        "INSERT INTO unforget.verdict SELECT $1::int, $2::bigint, greatest(coalesce(max(number), 0) + 1, $9::bigint), $3::bigint,
          $4::bytea, $5::bytea, $6::bytea, $7::bytea, $8::bigint, NULL
        FROM unforget.verdict WHERE tenant = $1 AND conversation = $2 RETURNING number";
    let (line, instead) =
        (verdict.line.as_ref().map(String::as_bytes), verdict.instead.as_ref().map(String::as_bytes));
    let (why, author) = (verdict.why.as_bytes(), verdict.author.as_bytes());
    let (seq, made) = (int(verdict.seq.0), verdict.made.0);
    let row = conn
        .row(sql, &[&tenant, &int(id.0), &seq, &line, &why, &instead, &author, &made, &int(verdict.number)])
        .await?;
    row.ok_or(Fault::Column("verdict"))?.number(0)
}

/// See [`unforget_store::Summaries::withdraw_verdict`].
pub(crate) async fn withdraw(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    number: u64,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "UPDATE unforget.verdict SET withdrawn_ms = $4
        WHERE tenant = $1 AND conversation = $2 AND number = $3 AND withdrawn_ms IS NULL";
    Ok(conn.run(sql, &[&tenant, &int(id.0), &int(number), &now.0]).await? > 0)
}
