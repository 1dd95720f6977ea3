//! What people say of conversations.

use rusqlite::{Connection, params};
use unforget_core::id::{ConversationId, Timestamp};

use super::derived::LABEL;
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, Seals};
use crate::codes::{after, int, uint};
use crate::port::{LabelRow, Page};

/// See [`crate::Log::labels`].
pub(super) fn page(conn: &Connection, seals: &Seals, page: Page<ConversationId>) -> Outcome<Vec<LabelRow>> {
    let query = LABEL.query("WHERE conversation > ? ORDER BY conversation LIMIT ?");
    seals.page(conn, &query.limit(page.limit), params![after(page.after.map(|id| id.0))], read)
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<LabelRow> {
    Ok(LabelRow {
        conversation: ConversationId(uint(row.get(0)?)),
        title: row.get(1)?,
        is_starred: row.get(2)?,
        tags: LabelRow::tags_of(&row.get::<String>(3)?),
        changed: Timestamp(row.get(4)?),
    })
}

/// See [`crate::Log::put_label`]. A broken row counts as none, and is replaced.
pub(super) fn put(tx: &Connection, seals: &Seals, before: &LabelRow, after: &LabelRow) -> Outcome<bool> {
    let id = int(after.conversation.0);
    let stored = seals.row(tx, &LABEL.query("WHERE conversation = ?"), params![id], read)?;
    if stored.unwrap_or(LabelRow::blank(after.conversation)) != *before {
        return Ok(false);
    }
    if after.is_blank() {
        tx.execute("DELETE FROM label WHERE conversation = ?", [id])?;
        return Ok(true);
    }
    LABEL.writer(tx, SameName::Goes)?.put(params![
        id,
        after.title,
        after.is_starred,
        after.tags_text(),
        after.changed.0
    ])?;
    Ok(true)
}
