//! What lanes in memory are compared with, in one round trip.

use futures_util::future::join_all;
use unforget_core::id::ConversationId;
use unforget_store::backend::int;
use unforget_store::{ContextRow, LaneLook, LaneRows, NamedEntry, SaidRows, StoreError};

use crate::columns::Columns as _;
use crate::conn::{Conn, Values};
use crate::conversations::{self, COLUMNS};
use crate::fault::Outcome;
use crate::{entries, said};

/// See [`unforget_store::Summaries::lane_rows`]. The statements travel together and run in this order: what comes in between
/// is found, and the next comparison notices it.
pub(crate) async fn rows(conn: &Conn, tenant: i32, looks: &[LaneLook<'_>]) -> Outcome<Vec<LaneRows>> {
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT state FROM unforget.context
           WHERE tenant = $1 AND conversation = $2 AND thread = $3 AND budget = $4)
         FROM unforget.conversation WHERE tenant = $1 AND id = $2"
    );
    // Otherwise the first of them would wait for its own preparation, and the others not.
    conn.prepare(&sql).await?;
    if looks.iter().any(|look| !look.names.is_empty()) {
        conn.prepare(entries::NAMED).await?;
    }
    if looks.iter().any(|look| look.reads_said) {
        said::prepare(conn).await?;
    }
    // Polled in this order, and so sent in this order.
    let all = join_all(looks.iter().map(|look| one(conn, tenant, &sql, *look)));
    all.await.into_iter().collect()
}

async fn one(conn: &Conn, tenant: i32, sql: &str, look: LaneLook<'_>) -> Outcome<LaneRows> {
    let LaneLook { conversation: id, thread, budget, .. } = look;
    let (conversation, of_thread, of_budget) = (int(id.0), int(thread.0), int(budget));
    let values: Values<'_> = &[&tenant, &conversation, &of_thread, &of_budget];
    let (head, named, said) =
        tokio::join!(biased; conn.row(sql, values), named(conn, tenant, look), said(conn, tenant, look));
    let head = head?.ok_or(StoreError::NoConversation { id })?;
    let state: Option<Vec<u8>> = head.at(14)?;
    Ok(LaneRows {
        conversation: conversations::read(&head)?,
        context: state.map(|state| ContextRow { thread, budget, state }),
        named: named?,
        said: said?,
    })
}

async fn named(conn: &Conn, tenant: i32, look: LaneLook<'_>) -> Outcome<Vec<NamedEntry>> {
    if look.names.is_empty() {
        return Ok(Vec::new());
    }
    let rows = entries::named(conn, tenant, look.conversation, look.names).await?;
    rows.iter().map(entries::read_named).collect()
}

async fn said(conn: &Conn, tenant: i32, look: LaneLook<'_>) -> Outcome<Option<SaidRows>> {
    let of: ConversationId = look.conversation;
    Ok(if look.reads_said { Some(said::all(conn, tenant, of).await?) } else { None })
}
