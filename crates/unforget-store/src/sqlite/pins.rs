//! Pins, the files that they follow, and the recipes of prompts.

use rusqlite::{Connection, OptionalExtension, Row, params};
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::pin::{Pin, PinFile, PinId, PinState, Trouble};

use super::codes::{after, int, limit, uint};
use super::fault::Outcome;
use crate::error::StoreError;
use crate::port::{Page, PinFileRow, PinRow, Recipe, RecipeRow};

/// See [`crate::Summaries::pins`].
pub(super) fn page(conn: &Connection, id: ConversationId, page: Page<PinId>) -> Outcome<Vec<PinRow>> {
    let rows = conn
        .prepare_cached(
            "SELECT number, text, source, state, successor, place, made_ms, changed_ms FROM pin
             WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?",
        )?
        .query_map([int(id.0), after(page.after.map(|pin| pin.0)), limit(page.limit)], read)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn read(row: &Row<'_>) -> rusqlite::Result<PinRow> {
    let state = match (row.get::<_, i64>(3)?, row.get::<_, Option<i64>>(4)?) {
        (0, None) => PinState::Active,
        (1, None) => PinState::Retired,
        (2, Some(by)) => PinState::SupersededBy(PinId(uint(by))),
        _ => return Err(rusqlite::Error::IntegralValueOutOfRange(3, row.get(3)?)),
    };
    let pin = Pin {
        id: PinId(uint(row.get(0)?)),
        text: row.get(1)?,
        source: row.get::<_, Option<i64>>(2)?.map(|seq| Seq(uint(seq))),
        state,
        order: uint(row.get(5)?),
    };
    Ok(PinRow { pin, made: Timestamp(row.get(6)?), changed: Timestamp(row.get(7)?) })
}

/// See [`crate::Summaries::pin_files`].
pub(super) fn files(conn: &Connection, id: ConversationId, page: Page<u64>) -> Outcome<Vec<PinFileRow>> {
    let rows = conn
        .prepare_cached(
            "SELECT place, path, pin, digest, trouble, read_ms FROM pin_file
             WHERE conversation = ? AND place > ? ORDER BY place LIMIT ?",
        )?
        .query_map([int(id.0), after(page.after), limit(page.limit)], read_file)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

fn read_file(row: &Row<'_>) -> rusqlite::Result<PinFileRow> {
    let number: i64 = row.get(4)?;
    let known = usize::try_from(number - 1).ok().and_then(|at| Trouble::ALL.get(at)).copied();
    if number != 0 && known.is_none() {
        return Err(rusqlite::Error::IntegralValueOutOfRange(4, number));
    }
    let file = PinFile {
        place: uint(row.get(0)?),
        path: row.get(1)?,
        pin: PinId(uint(row.get(2)?)),
        digest: Digest(row.get(3)?),
        trouble: known,
    };
    Ok(PinFileRow { file, read: Timestamp(row.get(5)?) })
}

/// See [`crate::Summaries::put_pins`].
pub(super) fn put(
    tx: &Connection,
    id: ConversationId,
    before: &[PinRow],
    changed: &[PinRow],
    files: &[PinFileRow],
) -> Outcome<()> {
    if page(tx, id, Page::first(usize::MAX))? != before {
        return Err(StoreError::PinsMoved { id }.into());
    }
    let mut write = tx.prepare_cached("INSERT OR REPLACE INTO pin VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for row in changed.iter().filter(|row| !before.contains(row)) {
        let (state, successor) = match row.pin.state {
            PinState::Active => (0, None),
            PinState::Retired => (1, None),
            PinState::SupersededBy(by) => (2, Some(int(by.0))),
        };
        write.execute(params![
            int(id.0),
            int(row.pin.id.0),
            row.pin.text,
            row.pin.source.map(|seq| int(seq.0)),
            state,
            successor,
            int(row.pin.order),
            row.made.0,
            row.changed.0
        ])?;
    }
    let mut write = tx.prepare_cached("INSERT OR REPLACE INTO pin_file VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    for row in files {
        let of =
            |trouble: Trouble| Trouble::ALL.iter().position(|one| *one == trouble).map_or(0, |at| at + 1);
        write.execute(params![
            int(id.0),
            int(row.file.place),
            row.file.path,
            int(row.file.pin.0),
            row.file.digest.0,
            row.file.trouble.map_or(0, of) as i64,
            row.read.0
        ])?;
    }
    Ok(())
}

/// Takes the words of pins that come from entries which are purged, and all recipes.
pub(super) fn purge(tx: &Connection, id: ConversationId, from: i64, to: i64) -> Outcome<()> {
    tx.execute(
        "UPDATE pin SET text = ?4, state = CASE state WHEN 0 THEN 1 ELSE state END
         WHERE conversation = ?1 AND source >= ?2 AND source < ?3",
        params![int(id.0), from, to, PinRow::PURGED],
    )?;
    tx.execute("DELETE FROM recipe WHERE conversation = ?", [int(id.0)])?;
    tx.execute("DELETE FROM recipe_context WHERE conversation = ?", [int(id.0)])?;
    Ok(())
}

/// See [`crate::Summaries::put_recipe`].
pub(super) fn put_recipe(tx: &Connection, id: ConversationId, recipe: &Recipe, keep: u64) -> Outcome<u64> {
    let newest: Option<i64> = tx
        .prepare_cached("SELECT max(number) FROM recipe WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let number = newest.map_or(0, uint) + 1;
    tx.prepare_cached("INSERT OR IGNORE INTO recipe_context VALUES (?, ?, ?)")?.execute(params![
        int(id.0),
        recipe.context,
        recipe.state
    ])?;
    tx.prepare_cached("INSERT INTO recipe VALUES (?, ?, ?, ?)")?.execute(params![
        int(id.0),
        int(number),
        recipe.context,
        recipe.body
    ])?;
    let old = int(number.saturating_sub(keep.max(1)));
    let gone = tx
        .prepare_cached("DELETE FROM recipe WHERE conversation = ? AND number <= ?")?
        .execute([int(id.0), old])?;
    if gone > 0 {
        tx.prepare_cached(
            "DELETE FROM recipe_context WHERE conversation = ?1
               AND name NOT IN (SELECT context FROM recipe WHERE conversation = ?1)",
        )?
        .execute([int(id.0)])?;
    }
    Ok(number)
}

/// See [`crate::Summaries::recipes`].
pub(super) fn recipes(conn: &Connection, id: ConversationId, page: Page<u64>) -> Outcome<Vec<RecipeRow>> {
    let rows = conn
        .prepare_cached(
            "SELECT number, context, body FROM recipe
             WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?",
        )?
        .query_map([int(id.0), after(page.after), limit(page.limit)], |row| {
            Ok(RecipeRow { number: uint(row.get(0)?), context: row.get(1)?, body: row.get(2)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows)
}

/// See [`crate::Summaries::recipe_state`].
pub(super) fn recipe_state(
    conn: &Connection,
    id: ConversationId,
    context: &[u8; 16],
) -> Outcome<Option<Vec<u8>>> {
    let state = conn
        .prepare_cached("SELECT state FROM recipe_context WHERE conversation = ? AND name = ?")?
        .query_row(params![int(id.0), context], |row| row.get(0))
        .optional()?;
    Ok(state)
}
