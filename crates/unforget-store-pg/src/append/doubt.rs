//! Commits with an unknown outcome: the stored rows decide.

use tokio_postgres::Row;
use unforget_core::digest::Digest;
use unforget_core::id::ConversationId;
use unforget_store::Receipt;
use unforget_store::backend::int;

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

/// What a commit leaves that nobody else would: seq, chain and facts of its last entry; number, path and time of its
/// snapshot; number, parent, fork and reason of the generation that it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(super) last: Option<(i64, [u8; 32], Vec<u8>)>,
    pub(super) snapshot: Option<(i64, Digest, i64)>,
    pub(super) opened: Option<(i64, [Option<i64>; 3])>,
    pub(super) receipt: Receipt,
}

/// The receipt of the commit that is stored, if one is. Waits for a statement of before that still runs.
pub(super) async fn stored(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    traces: &[Trace],
) -> Outcome<Option<Receipt>> {
    let probe = "UPDATE unforget.conversation SET probed = probed + 1 WHERE tenant = $1 AND id = $2";
    conn.run(probe, &[&tenant, &int(id.0)]).await?;
    for trace in traces {
        if is_stored(conn, tenant, id, trace).await? {
            return Ok(Some(trace.receipt));
        }
    }
    Ok(None)
}

async fn is_stored(conn: &Conn, tenant: i32, id: ConversationId, trace: &Trace) -> Outcome<bool> {
    let id = int(id.0);
    if let Some((seq, chain, facts)) = &trace.last {
        let sql =
            "SELECT chain, facts FROM unforget.entry WHERE tenant = $1 AND conversation = $2 AND seq = $3";
        let row = conn.row(sql, &[&tenant, &id, seq]).await?;
        let Some(row) = row else { return Ok(false) };
        return Ok(row.at::<&[u8]>(0)? == chain && row.at::<&[u8]>(1)? == facts);
    }
    if let Some((number, path, time)) = &trace.snapshot {
        let sql = "SELECT path_digest, time_ms FROM unforget.snapshot
            WHERE tenant = $1 AND conversation = $2 AND number = $3";
        let row = conn.row(sql, &[&tenant, &id, number]).await?;
        let Some(row) = row else { return Ok(false) };
        return Ok(row.digest(0)? == *path && row.at::<i64>(1)? == *time);
    }
    if let Some((number, columns)) = &trace.opened {
        let sql = "SELECT parent, fork, opened_by FROM unforget.generation
            WHERE tenant = $1 AND conversation = $2 AND number = $3";
        let row = conn.row(sql, &[&tenant, &id, number]).await?;
        return row.map_or(Ok(false), |row| Ok(opened(&row)? == *columns));
    }
    // It adds nothing that doing it again would add twice.
    Ok(false)
}

fn opened(row: &Row) -> Outcome<[Option<i64>; 3]> {
    Ok([row.at(0)?, row.at(1)?, row.at(2)?])
}
