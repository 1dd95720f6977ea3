//! Conversations, their counters, generations and snapshots.

use std::borrow::Cow;

use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Timestamp};

use super::fault::Outcome;
use super::seal::Seals;
use crate::codes::{after, int, limit, opened_by, uint};
use crate::counters::Counters;
use crate::error::StoreError;
use crate::port::{
    BrokenRows, Conversation, FoundSnapshot, GenerationRow, NewConversation, OpenedBy, Page, Snapshot,
};

/// The last column tells whether the index of keys has the row under its key: a lookup in that index alone.
const COLUMNS: &str = "id, key, format, title, parent, revision, entries, current, length, tokens, raw_bytes, \
    first_ms, last_ms, names, \
    EXISTS (SELECT 1 FROM conversation AS named INDEXED BY sqlite_autoindex_conversation_1 \
      WHERE named.key = conversation.key AND +named.id = conversation.id)";

/// See [`crate::Log::find`].
pub(super) fn find(conn: &Connection, key: &ConversationKey) -> Outcome<Option<Conversation>> {
    // The index has the key once more, so that damage of either shows.
    let sql = "SELECT id FROM conversation INDEXED BY sqlite_autoindex_conversation_1 WHERE key = ?";
    let id: Option<i64> = conn.prepare_cached(sql)?.query_row([&key.0], |row| row.get(0)).optional()?;
    id.map(|id| get(conn, ConversationId(uint(id)))).transpose()
}

/// Makes a conversation.
pub(super) fn insert(tx: &Connection, new: &NewConversation) -> Outcome<()> {
    tx.prepare_cached(
        "INSERT INTO conversation (key, format, title, parent, revision, entries, generations, chunks, segments,
           snapshots, current, length, tokens, raw_bytes)
         VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
    )?
    .execute(params![new.key.0, new.format, new.title, new.parent.as_ref().map(|key| &key.0)])?;
    Ok(())
}

/// See [`crate::Log::conversation`].
pub(super) fn get(conn: &Connection, id: ConversationId) -> Outcome<Conversation> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE id = ?");
    let found = conn.prepare_cached(&sql)?.query_row([int(id.0)], |row| Ok(FoundConversation::read(row)));
    let found = found.optional()?.ok_or(StoreError::NoConversation { id })?;
    match found.defect {
        None => Ok(found.conversation),
        Some(detail) => Err(StoreError::DamagedConversation { id, detail }.into()),
    }
}

/// Counts an addition of names. Returns the number of them.
pub(super) fn count_names(tx: &Connection, id: ConversationId, is_any: bool) -> Outcome<u64> {
    let sql = "UPDATE conversation SET names = names + ?2 WHERE id = ?1 RETURNING names";
    let sql = if is_any { sql } else { "SELECT names FROM conversation WHERE id = ?1 AND ?2 = 0" };
    let count = tx.prepare_cached(sql)?.query_row(params![int(id.0), is_any], |row| row.get(0)).optional()?;
    Ok(count.map(uint).ok_or(StoreError::NoConversation { id })?)
}

/// Fails if the conversation does not exist.
pub(super) fn require(conn: &Connection, id: ConversationId) -> Outcome<()> {
    let found = conn.prepare_cached("SELECT 1 FROM conversation WHERE id = ?")?.exists([int(id.0)])?;
    if found { Ok(()) } else { Err(StoreError::NoConversation { id }.into()) }
}

/// See [`crate::Log::conversations`]. A damaged row is noted and passed over, and makes room for another: a short page
/// ends a list.
pub(super) fn page(
    conn: &Connection,
    seals: &Seals,
    page: Page<ConversationId>,
) -> Outcome<Vec<Conversation>> {
    let mut all = Vec::new();
    if page.limit == 0 {
        return Ok(all);
    }
    each(conn, page.after, |found| {
        match &found.defect {
            None => all.push(found.conversation),
            Some(_) => seals.note_row(CONVERSATION, found.conversation.id.0),
        }
        all.len() < page.limit
    })?;
    Ok(all)
}

/// All rows, the damaged ones too: what of them is no text is replaced by `�`.
pub(super) fn all(conn: &Connection) -> Outcome<Vec<FoundConversation>> {
    let mut all = Vec::new();
    each(conn, None, |found| {
        all.push(found);
        true
    })?;
    Ok(all)
}

/// Reads rows in the order of their numbers, as long as `take` wants more.
fn each(
    conn: &Connection,
    after_id: Option<ConversationId>,
    mut take: impl FnMut(FoundConversation) -> bool,
) -> Outcome<()> {
    let sql = format!("SELECT {COLUMNS} FROM conversation WHERE id > ? ORDER BY id");
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query([after(after_id.map(|id| id.0))])?;
    while let Some(row) = rows.next()? {
        if !take(FoundConversation::read(row)) {
            break;
        }
    }
    Ok(())
}

/// What a person reads of damaged rows.
const CONVERSATION: BrokenRows = BrokenRows {
    kind: "conversation",
    what: "conversations whose own row is damaged, which are passed over; unforget verify names them",
    rows: 0,
};

/// A row of the table, and its damage.
pub(super) struct FoundConversation {
    pub(super) conversation: Conversation,
    /// The damage, in words; `None` if the row is sound.
    pub(super) defect: Option<String>,
}

impl FoundConversation {
    fn read(row: &Row<'_>) -> Self {
        let mut columns = Columns { row, defect: None };
        let first = columns.get::<Option<i64>>(11);
        let last = columns.get::<Option<i64>>(12);
        let conversation = Conversation {
            id: ConversationId(columns.number(0)),
            key: ConversationKey(columns.text(1).unwrap_or_default()),
            format: columns.text(2).unwrap_or_default(),
            title: columns.text(3),
            parent: columns.text(4).map(ConversationKey),
            revision: columns.number(5),
            entries: columns.number(6),
            current: Generation(columns.number(7)),
            length: columns.number(8),
            tokens: columns.number(9),
            raw_bytes: columns.number(10),
            time: first.zip(last).map(|(first, last)| (Timestamp(first), Timestamp(last))),
            names: columns.number(13),
        };
        let is_indexed = columns.get::<bool>(14);
        let unnamed = "its key is another one than in the index of keys".to_owned();
        Self { conversation, defect: columns.defect.or((!is_indexed).then_some(unnamed)) }
    }
}

/// The columns of a row. What cannot be read is a defect.
struct Columns<'a, 's> {
    row: &'a Row<'s>,
    defect: Option<String>,
}

impl Columns<'_, '_> {
    fn get<T: FromSql + Default>(&mut self, at: usize) -> T {
        self.row.get(at).unwrap_or_else(|error| {
            self.defect.get_or_insert_with(|| error.to_string());
            T::default()
        })
    }

    fn number(&mut self, at: usize) -> u64 {
        uint(self.get(at))
    }

    /// Text, with `�` in place of what is none; `None` if there is no value.
    fn text(&mut self, at: usize) -> Option<String> {
        let Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = self.row.get_ref(at) else {
            return self.get(at);
        };
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            let name = self.row.as_ref().column_name(at).unwrap_or("text");
            self.defect.get_or_insert_with(|| format!("its {name} is not UTF-8"));
        }
        Some(text.into_owned())
    }
}

/// The counters of a conversation; [`StoreError::NoConversation`] if it does not exist.
pub(super) fn counters(conn: &Connection, id: ConversationId) -> Outcome<Counters> {
    let found = conn
        .prepare_cached(
            "SELECT revision, entries, generations, chunks, snapshots, current, length, tokens, raw_bytes,
               first_ms, last_ms FROM conversation WHERE id = ?",
        )?
        .query_row([int(id.0)], |row| {
            Ok(Counters {
                revision: uint(row.get(0)?),
                entries: uint(row.get(1)?),
                generations: uint(row.get(2)?),
                chunks: uint(row.get(3)?),
                snapshots: uint(row.get(4)?),
                current: uint(row.get(5)?),
                length: uint(row.get(6)?),
                tokens: uint(row.get(7)?),
                raw_bytes: uint(row.get(8)?),
                first_ms: row.get(9)?,
                last_ms: row.get(10)?,
            })
        })
        .optional()?;
    Ok(found.ok_or(StoreError::NoConversation { id })?)
}

/// Writes the counters back.
pub(super) fn put_counters(tx: &Connection, id: ConversationId, counters: &Counters) -> Outcome<()> {
    tx.prepare_cached(
        "UPDATE conversation SET revision = ?2, entries = ?3, generations = ?4, chunks = ?5, snapshots = ?6,
           current = ?7, length = ?8, tokens = ?9, raw_bytes = ?10, first_ms = ?11, last_ms = ?12 WHERE id = ?1",
    )?
    .execute(params![
        int(id.0),
        int(counters.revision),
        int(counters.entries),
        int(counters.generations),
        int(counters.chunks),
        int(counters.snapshots),
        int(counters.current),
        int(counters.length),
        int(counters.tokens),
        int(counters.raw_bytes),
        counters.first_ms,
        counters.last_ms
    ])?;
    Ok(())
}

/// See [`crate::Log::generations`].
pub(super) fn generations(
    conn: &Connection,
    id: ConversationId,
    page: Page<Generation>,
) -> Outcome<Vec<GenerationRow>> {
    let mut select = conn.prepare_cached(
        "SELECT number, parent, fork, opened_by, length FROM generation
         WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?",
    )?;
    let place = [int(id.0), after(page.after.map(|number| number.0)), limit(page.limit)];
    let rows = select.query_map(place, |row| {
        let parent: Option<i64> = row.get(1)?;
        let fork: Option<i64> = row.get(2)?;
        Ok(GenerationRow {
            number: Generation(uint(row.get(0)?)),
            parent: parent.zip(fork).map(|(parent, fork)| (Generation(uint(parent)), Position(uint(fork)))),
            opened_by: opened_by(row.get(3)?).unwrap_or(OpenedBy::Rotation),
            length: uint(row.get(4)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

const SNAPSHOT: &str =
    "number, generation, length, trailer, file_bytes, path, modified_ns, time_ms, conversation FROM snapshot";

/// See [`crate::Log::snapshots`].
pub(super) fn snapshots(conn: &Connection, id: ConversationId, page: Page<u64>) -> Outcome<Vec<Snapshot>> {
    let sql = format!("SELECT {SNAPSHOT} WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?");
    let place = [int(id.0), after(page.after), limit(page.limit)];
    let rows =
        conn.prepare_cached(&sql)?.query_map(place, read_snapshot)?.collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

/// See [`crate::Log::latest_snapshot`].
pub(super) fn latest_snapshot(conn: &Connection, id: ConversationId) -> Outcome<Option<Snapshot>> {
    let sql = format!("SELECT {SNAPSHOT} WHERE conversation = ? ORDER BY number DESC LIMIT 1");
    Ok(conn.prepare_cached(&sql)?.query_row([int(id.0)], read_snapshot).optional()?)
}

/// See [`crate::Log::snapshot_of_path`].
pub(super) fn snapshot_of_path(conn: &Connection, path: &str) -> Outcome<Option<FoundSnapshot>> {
    let sql = format!("SELECT {SNAPSHOT} WHERE path = ? ORDER BY id DESC LIMIT 1");
    let found = conn.prepare_cached(&sql)?.query_row([path], |row| {
        Ok(FoundSnapshot { conversation: ConversationId(uint(row.get(8)?)), snapshot: read_snapshot(row)? })
    });
    Ok(found.optional()?)
}

fn read_snapshot(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    Ok(Snapshot {
        number: uint(row.get(0)?),
        generation: Generation(uint(row.get(1)?)),
        length: uint(row.get(2)?),
        trailer: row.get(3)?,
        file_bytes: uint(row.get(4)?),
        path: row.get(5)?,
        modified_ns: i128::from(row.get::<_, i64>(6)?),
        time: Timestamp(row.get(7)?),
    })
}
