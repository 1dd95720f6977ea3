//! What people said of conversations, as records that machines exchange.

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Seq};
use unforget_store::backend::{after, int, limit};
use unforget_store::{Page, SayingRow};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

/// See [`unforget_store::Summaries::sayings`].
pub(crate) async fn page(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<SayingRow>> {
    let sql = "SELECT number, digest, first_seq, last_seq, body FROM unforget.saying
        WHERE tenant = $1 AND conversation = $2 AND number > $3 ORDER BY number LIMIT $4";
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &after(page.after), &limit(page.limit)]).await?;
    let saying = |row: &Row| {
        let (first, last) = (row.number_if(2)?, row.number_if(3)?);
        Ok(SayingRow {
            number: row.number(0)?,
            digest: row.digest(1)?,
            span: first.zip(last).map(|(first, last)| (Seq(first), Seq(last))),
            body: row.at::<&[u8]>(4)?.to_vec(),
        })
    };
    rows.iter().map(saying).collect()
}

/// See [`unforget_store::Summaries::put_sayings`]. The conversation is locked.
pub(crate) async fn put(conn: &Conn, tenant: i32, id: ConversationId, sayings: &[SayingRow]) -> Outcome<u64> {
    let sql =
        "INSERT INTO unforget.saying SELECT $1::int, $2::bigint, coalesce(max(number), 0) + 1, $3::bytea,
          $4::bigint, $5::bigint, $6::bytea
        FROM unforget.saying WHERE tenant = $1 AND conversation = $2
        ON CONFLICT (tenant, conversation, digest) DO NOTHING";
    let mut added = 0;
    for saying in sayings {
        let digest = saying.digest.0.as_slice();
        let (first, last) = (saying.span.map(|span| int(span.0.0)), saying.span.map(|span| int(span.1.0)));
        let body = saying.body.as_slice();
        added += conn.run(sql, &[&tenant, &int(id.0), &digest, &first, &last, &body]).await?;
    }
    Ok(added)
}
