//! What a lane in memory is compared with, in one round trip.

use unforget_core::id::ConversationId;
use unforget_store::backend::int;
use unforget_store::{ContextRow, LaneLook, LaneRows, StoreError};

use crate::columns::Columns as _;
use crate::conn::{Conn, Values};
use crate::conversations::{self, COLUMNS};
use crate::entries;
use crate::fault::Outcome;

/// See [`unforget_store::Summaries::lane_rows`]. The statements travel together and run in this order: names that come in
/// between are found, and the next comparison notices them.
pub(crate) async fn rows(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    look: LaneLook<'_>,
) -> Outcome<LaneRows> {
    let LaneLook { thread, budget, names } = look;
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT state FROM unforget.context
           WHERE tenant = $1 AND conversation = $2 AND thread = $3 AND budget = $4)
         FROM unforget.conversation WHERE tenant = $1 AND id = $2"
    );
    let (conversation, of_thread, of_budget) = (int(id.0), int(thread.0), int(budget));
    let values: Values<'_> = &[&tenant, &conversation, &of_thread, &of_budget];
    let head = conn.row(&sql, values);
    let (head, named) = if names.is_empty() {
        (head.await?, Vec::new())
    } else {
        // Otherwise the first of them would wait for its own preparation, and the others not.
        conn.prepare(&sql).await?;
        conn.prepare(entries::NAMED).await?;
        let (head, named) = tokio::join!(biased; head, entries::named(conn, tenant, id, names));
        (head?, named?)
    };
    let head = head.ok_or(StoreError::NoConversation { id })?;
    let state: Option<Vec<u8>> = head.at(14)?;
    Ok(LaneRows {
        conversation: conversations::read(&head)?,
        context: state.map(|state| ContextRow { thread, budget, state }),
        named: named.iter().map(entries::read_named).collect::<Outcome<_>>()?,
    })
}
