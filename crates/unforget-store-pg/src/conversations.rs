//! Conversations, generations and snapshots.

use tokio_postgres::Row;
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Timestamp};
use unforget_store::backend::{after, int, limit, opened_by, uint};
use unforget_store::{
    Conversation, FoundSnapshot, GenerationRow, NewConversation, OpenedBy, Page, Snapshot, StoreError,
};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

/// The columns of a conversation, as [`read`] takes them.
pub(crate) const COLUMNS: &str = "id, key, format, title, parent, revision, entries, current, length, tokens, raw_bytes, \
    first_ms, last_ms, names";

/// See [`unforget_store::Log::find`].
pub(crate) async fn find(conn: &Conn, tenant: i32, key: &ConversationKey) -> Outcome<Option<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM unforget.conversation WHERE tenant = $1 AND key_digest = $2");
    let digest = Digest::of(key.0.as_bytes());
    conn.row(&sql, &[&tenant, &digest.0.as_slice()]).await?.as_ref().map(read).transpose()
}

/// Makes a conversation, unless its key exists.
pub(crate) async fn insert(conn: &Conn, tenant: i32, new: &NewConversation) -> Outcome<()> {
    let sql = "WITH t AS (UPDATE unforget.tenant SET next = next + 1 WHERE id = $1 AND NOT EXISTS
          (SELECT 1 FROM unforget.conversation WHERE tenant = $1 AND key_digest = $2) RETURNING next - 1 AS id)
        INSERT INTO unforget.conversation (tenant, id, key_digest, key, format, title, parent, revision, entries,
          generations, chunks, segments, snapshots, current, length, tokens, raw_bytes, probed)
        SELECT $1, t.id, $2, $3::bytea, $4::bytea, $5::bytea, $6::bytea, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM t ON CONFLICT DO NOTHING";
    let digest = Digest::of(new.key.0.as_bytes());
    let title = new.title.as_ref().map(String::as_bytes);
    let parent = new.parent.as_ref().map(|key| key.0.as_bytes());
    let (key, format) = (new.key.0.as_bytes(), new.format.as_bytes());
    conn.run(sql, &[&tenant, &digest.0.as_slice(), &key, &format, &title, &parent]).await?;
    Ok(())
}

/// See [`unforget_store::Log::conversation`].
pub(crate) async fn get(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<Conversation> {
    let sql = format!("SELECT {COLUMNS} FROM unforget.conversation WHERE tenant = $1 AND id = $2");
    let row = conn.row(&sql, &[&tenant, &int(id.0)]).await?;
    read(&row.ok_or(StoreError::NoConversation { id })?)
}

/// See [`unforget_store::Log::conversations`].
pub(crate) async fn page(conn: &Conn, tenant: i32, page: Page<ConversationId>) -> Outcome<Vec<Conversation>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM unforget.conversation WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3"
    );
    let from = after(page.after.map(|id| id.0));
    conn.rows(&sql, &[&tenant, &from, &limit(page.limit)]).await?.iter().map(read).collect()
}

/// A conversation from [`COLUMNS`].
pub(crate) fn read(row: &Row) -> Outcome<Conversation> {
    let (first, last): (Option<i64>, Option<i64>) = (row.at(11)?, row.at(12)?);
    Ok(Conversation {
        id: ConversationId(row.number(0)?),
        key: ConversationKey(row.words(1)?),
        format: row.words(2)?,
        title: row.words_if(3)?,
        parent: row.words_if(4)?.map(ConversationKey),
        revision: row.number(5)?,
        names: row.number(13)?,
        entries: row.number(6)?,
        current: Generation(row.number(7)?),
        length: row.number(8)?,
        tokens: row.number(9)?,
        raw_bytes: row.number(10)?,
        time: first.zip(last).map(|(first, last)| (Timestamp(first), Timestamp(last))),
    })
}

/// See [`unforget_store::Log::generations`].
pub(crate) async fn generations(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<Generation>,
) -> Outcome<Vec<GenerationRow>> {
    let sql = "SELECT number, parent, fork, opened_by, length FROM unforget.generation
        WHERE tenant = $1 AND conversation = $2 AND number > $3 ORDER BY number LIMIT $4";
    let from = after(page.after.map(|number| number.0));
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &from, &limit(page.limit)]).await?;
    let generation = |row: &Row| {
        let parent = row.number_if(1)?.zip(row.number_if(2)?);
        Ok(GenerationRow {
            number: Generation(row.number(0)?),
            parent: parent.map(|(parent, fork)| (Generation(parent), Position(fork))),
            opened_by: opened_by(row.at(3)?).unwrap_or(OpenedBy::Rotation),
            length: row.number(4)?,
        })
    };
    rows.iter().map(generation).collect()
}

const SNAPSHOT: &str = "SELECT number, generation, length, trailer, file_bytes, path, modified_ns, time_ms, \
    conversation FROM unforget.snapshot";

/// See [`unforget_store::Log::snapshots`].
pub(crate) async fn snapshots(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<Snapshot>> {
    let sql = format!(
        "{SNAPSHOT} WHERE tenant = $1 AND conversation = $2 AND number > $3 ORDER BY number LIMIT $4"
    );
    let rows = conn.rows(&sql, &[&tenant, &int(id.0), &after(page.after), &limit(page.limit)]).await?;
    rows.iter().map(read_snapshot).collect()
}

/// See [`unforget_store::Log::latest_snapshot`].
pub(crate) async fn latest_snapshot(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
) -> Outcome<Option<Snapshot>> {
    let sql = format!("{SNAPSHOT} WHERE tenant = $1 AND conversation = $2 ORDER BY number DESC LIMIT 1");
    conn.row(&sql, &[&tenant, &int(id.0)]).await?.as_ref().map(read_snapshot).transpose()
}

/// See [`unforget_store::Log::snapshot_of_path`].
pub(crate) async fn snapshot_of_path(conn: &Conn, tenant: i32, path: &str) -> Outcome<Option<FoundSnapshot>> {
    let sql = format!("{SNAPSHOT} WHERE tenant = $1 AND path_digest = $2 ORDER BY stored DESC LIMIT 1");
    let digest = Digest::of(path.as_bytes());
    let row = conn.row(&sql, &[&tenant, &digest.0.as_slice()]).await?;
    let found = |row: &Row| {
        let conversation = ConversationId(uint(row.at(8)?));
        Ok(FoundSnapshot { conversation, snapshot: read_snapshot(row)? })
    };
    row.as_ref().map(found).transpose()
}

fn read_snapshot(row: &Row) -> Outcome<Snapshot> {
    Ok(Snapshot {
        number: row.number(0)?,
        generation: Generation(row.number(1)?),
        length: row.number(2)?,
        trailer: row.at(3)?,
        file_bytes: row.number(4)?,
        path: row.words(5)?,
        modified_ns: i128::from(row.at::<i64>(6)?),
        time: Timestamp(row.at(7)?),
    })
}
