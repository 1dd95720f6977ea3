//! Pins, the files that they follow, and the recipes of prompts.

use std::ops::Range;

use rusqlite::{Connection, params};
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::pin::{Pin, PinFile, PinId, PinState, Trouble};

use super::derived::{PIN, PIN_FILE, RECIPE, RECIPE_CONTEXT};
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, Seals};
use crate::codes::{after, int, uint};
use crate::error::StoreError;
use crate::port::{NewRecipe, Page, PinFileRow, PinRow, RecipeRow};

/// The pins of a conversation, by number.
///
/// Pins are numbered without gaps and name each other, so a broken one keeps its number and loses its words.
pub(super) fn all(conn: &Connection, seals: &Seals, id: ConversationId) -> Outcome<Vec<PinRow>> {
    let query = PIN.query("WHERE conversation = ? ORDER BY number");
    let found = seals.rows(conn, &query, params![int(id.0)], read)?;
    let named = found.iter().map(|row| match row.pin.state {
        PinState::SupersededBy(by) => by.0.max(row.pin.id.0),
        PinState::Active | PinState::Retired => row.pin.id.0,
    });
    // An absurd number can only be damage, and those have no seal.
    let last = named.max().unwrap_or(0);
    let mut found = found.into_iter().peekable();
    let whole = (1..=last).map(|number| match found.next_if(|row| row.pin.id.0 == number) {
        Some(row) => row,
        None => lost(number),
    });
    Ok(whole.collect())
}

/// What stands for a broken pin.
fn lost(number: u64) -> PinRow {
    let (text, source) = (PinRow::BROKEN.to_owned(), None);
    let pin = Pin { id: PinId(number), text, source, state: PinState::Retired, order: number };
    PinRow { pin, made: Timestamp(0), changed: Timestamp(0) }
}

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<PinRow> {
    let state = match (row.get::<i64>(4)?, row.get::<Option<i64>>(5)?) {
        (0, None) => PinState::Active,
        (1, None) => PinState::Retired,
        (2, Some(by)) => PinState::SupersededBy(PinId(uint(by))),
        _ => return Err(rusqlite::Error::IntegralValueOutOfRange(4, row.get(4)?)),
    };
    let pin = Pin {
        id: PinId(uint(row.get(1)?)),
        text: row.get(2)?,
        source: row.get::<Option<i64>>(3)?.map(|seq| Seq(uint(seq))),
        state,
        order: uint(row.get(6)?),
    };
    Ok(PinRow { pin, made: Timestamp(row.get(7)?), changed: Timestamp(row.get(8)?) })
}

/// The files of a conversation's pins, by place. A file whose pin is broken is left out too: it follows nothing.
pub(super) fn files(conn: &Connection, seals: &Seals, id: ConversationId) -> Outcome<Vec<PinFileRow>> {
    let sound = seals.rows(conn, &PIN.query("WHERE conversation = ?"), params![int(id.0)], read)?;
    let rows: i64 = conn
        .prepare_cached("SELECT count(*) FROM pin WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let is_whole = uint(rows) == sound.len() as u64;
    let has_pin = |row: &PinFileRow| is_whole || sound.iter().any(|one| one.pin.id == row.file.pin);
    let query = PIN_FILE.query("WHERE conversation = ? ORDER BY place");
    let files = seals.rows(conn, &query, params![int(id.0)], read_file)?;
    Ok(files.into_iter().filter(has_pin).collect())
}

fn read_file(row: &SealedRow<'_, '_>) -> rusqlite::Result<PinFileRow> {
    let number: i64 = row.get(5)?;
    let known = usize::try_from(number - 1).ok().and_then(|at| Trouble::ALL.get(at)).copied();
    if number != 0 && known.is_none() {
        return Err(rusqlite::Error::IntegralValueOutOfRange(5, number));
    }
    let file = PinFile {
        place: uint(row.get(1)?),
        path: row.get(2)?,
        pin: PinId(uint(row.get(3)?)),
        digest: Digest(row.get(4)?),
        trouble: known,
    };
    Ok(PinFileRow { file, read: Timestamp(row.get(6)?) })
}

/// A change of the pins of a conversation.
#[derive(Clone, Copy)]
pub(super) struct PinChange<'a> {
    pub(super) before: &'a [PinRow],
    pub(super) after: &'a [PinRow],
    pub(super) files: &'a [PinFileRow],
}

/// See [`crate::Summaries::put_pins`].
pub(super) fn put(tx: &Connection, seals: &Seals, id: ConversationId, change: PinChange<'_>) -> Outcome<()> {
    let PinChange { before, after, files } = change;
    if all(tx, seals, id)? != before {
        return Err(StoreError::PinsMoved { id }.into());
    }
    for row in after.iter().filter(|row| !before.contains(row)) {
        write(tx, id, row)?;
    }
    let mut write = PIN_FILE.writer(tx, SameName::Goes)?;
    for row in files {
        let of =
            |trouble: Trouble| Trouble::ALL.iter().position(|one| *one == trouble).map_or(0, |at| at + 1);
        write.put(params![
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

fn write(tx: &Connection, id: ConversationId, row: &PinRow) -> Outcome<()> {
    let (state, successor) = match row.pin.state {
        PinState::Active => (0, None),
        PinState::Retired => (1, None),
        PinState::SupersededBy(by) => (2, Some(int(by.0))),
    };
    PIN.writer(tx, SameName::Goes)?.put(params![
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
    Ok(())
}

/// Takes the words of pins that come from entries which are purged, and all recipes. A broken pin is dropped: its source
/// is not known.
pub(super) fn purge(tx: &Connection, seals: &Seals, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    for mut row in all(tx, seals, id)? {
        if row.pin.text == PinRow::BROKEN && row.made == Timestamp(0) {
            write(tx, id, &row)?;
        } else if row.pin.source.is_some_and(|source| seqs.contains(&source.0)) {
            PinRow::PURGED.clone_into(&mut row.pin.text);
            if row.pin.state == PinState::Active {
                row.pin.state = PinState::Retired;
            }
            write(tx, id, &row)?;
        }
    }
    tx.execute("DELETE FROM recipe WHERE conversation = ?", [int(id.0)])?;
    tx.execute("DELETE FROM recipe_context WHERE conversation = ?", [int(id.0)])?;
    Ok(())
}

/// Adds a recipe and its context, and drops older ones. Returns its number.
pub(super) fn put_recipe(
    tx: &Connection,
    id: ConversationId,
    NewRecipe { row: recipe, keep }: NewRecipe<'_>,
) -> Outcome<u64> {
    let newest: Option<i64> = tx
        .prepare_cached("SELECT max(number) FROM recipe WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    let number = recipe.number.max(newest.map_or(0, uint) + 1);
    RECIPE_CONTEXT.writer(tx, SameName::Stays)?.put(params![int(id.0), recipe.context, recipe.state])?;
    RECIPE.writer(tx, SameName::Goes)?.put(params![int(id.0), int(number), recipe.context, recipe.body])?;
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
pub(super) fn recipes(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<RecipeRow>> {
    let query = RECIPE.query("WHERE conversation = ? AND number > ? ORDER BY number LIMIT ?");
    seals.page(conn, &query.limit(page.limit), params![int(id.0), after(page.after)], |row| {
        Ok(RecipeRow { number: uint(row.get(1)?), context: row.get(2)?, body: row.get(3)? })
    })
}

/// See [`crate::Summaries::recipe_state`].
pub(super) fn recipe_state(
    conn: &Connection,
    seals: &Seals,
    id: ConversationId,
    context: &[u8; 16],
) -> Outcome<Option<Vec<u8>>> {
    let query = RECIPE_CONTEXT.query("WHERE conversation = ? AND name = ?");
    seals.row(conn, &query, params![int(id.0), context], |row| row.get(2))
}
