//! What people say of conversations.

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::backend::{after, int, limit};
use unforget_store::{LabelRow, Page};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

const COLUMNS: &str = "conversation, title, starred, tags, changed_ms";

/// See [`unforget_store::Log::labels`].
pub(crate) async fn page(conn: &Conn, tenant: i32, page: Page<ConversationId>) -> Outcome<Vec<LabelRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM unforget.label WHERE tenant = $1 AND conversation > $2 ORDER BY conversation LIMIT $3"
    );
    let from = after(page.after.map(|id| id.0));
    conn.rows(&sql, &[&tenant, &from, &limit(page.limit)]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Outcome<LabelRow> {
    Ok(LabelRow {
        conversation: ConversationId(row.number(0)?),
        title: row.words_if(1)?,
        is_starred: row.at(2)?,
        tags: LabelRow::tags_of(&row.words(3)?),
        changed: Timestamp(row.at(4)?),
    })
}

/// See [`unforget_store::Log::put_label`]. The conversation is locked.
pub(crate) async fn put(conn: &Conn, tenant: i32, before: &LabelRow, after: &LabelRow) -> Outcome<bool> {
    let id = int(after.conversation.0);
    let sql = format!("SELECT {COLUMNS} FROM unforget.label WHERE tenant = $1 AND conversation = $2");
    let stored = conn.row(&sql, &[&tenant, &id]).await?.as_ref().map(read).transpose()?;
    if stored.unwrap_or(LabelRow::blank(after.conversation)) != *before {
        return Ok(false);
    }
    if after.is_blank() {
        let sql = "DELETE FROM unforget.label WHERE tenant = $1 AND conversation = $2";
        conn.run(sql, &[&tenant, &id]).await?;
        return Ok(true);
    }
    let sql = "INSERT INTO unforget.label VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant, conversation)
        DO UPDATE SET title = $3, starred = $4, tags = $5, changed_ms = $6";
    let (title, tags) = (after.title.as_ref().map(String::as_bytes), after.tags_text());
    conn.run(sql, &[&tenant, &id, &title, &after.is_starred, &tags.as_bytes(), &after.changed.0]).await?;
    Ok(true)
}
