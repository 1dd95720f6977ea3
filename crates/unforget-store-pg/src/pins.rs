//! Pins and the files that they follow.

use std::ops::Range;

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::pin::{Pin, PinFile, PinId, PinState, Trouble};
use unforget_store::backend::int;
use unforget_store::{PinFileRow, PinRow, StoreError};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// The pins of a conversation, by number.
pub(crate) const ALL: &str = "SELECT number, text, source, state, successor, place, made_ms, changed_ms
    FROM unforget.pin WHERE tenant = $1 AND conversation = $2 ORDER BY number";

/// The files of a conversation's pins, by place.
pub(crate) const FILES: &str = "SELECT place, path, pin, digest, trouble, read_ms
    FROM unforget.pin_file WHERE tenant = $1 AND conversation = $2 ORDER BY place";

/// A row of [`ALL`].
pub(crate) fn read(row: &Row) -> Outcome<PinRow> {
    let state = match (row.number(3)?, row.number_if(4)?) {
        (0, None) => PinState::Active,
        (1, None) => PinState::Retired,
        (2, Some(by)) => PinState::SupersededBy(PinId(by)),
        _ => return Err(Fault::Column("state")),
    };
    let pin = Pin {
        id: PinId(row.number(0)?),
        text: row.words(1)?,
        source: row.number_if(2)?.map(Seq),
        state,
        order: row.number(5)?,
    };
    Ok(PinRow { pin, made: Timestamp(row.at(6)?), changed: Timestamp(row.at(7)?) })
}

/// A row of [`FILES`].
pub(crate) fn read_file(row: &Row) -> Outcome<PinFileRow> {
    let number: i64 = row.at(4)?;
    let trouble = usize::try_from(number - 1).ok().and_then(|at| Trouble::ALL.get(at)).copied();
    if number != 0 && trouble.is_none() {
        return Err(Fault::Column("trouble"));
    }
    let file = PinFile {
        place: row.number(0)?,
        path: row.words(1)?,
        pin: PinId(row.number(2)?),
        digest: row.digest(3)?,
        trouble,
    };
    Ok(PinFileRow { file, read: Timestamp(row.at(5)?) })
}

async fn all(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<Vec<PinRow>> {
    conn.rows(ALL, &[&tenant, &int(id.0)]).await?.iter().map(read).collect()
}

/// A change of the pins of a conversation.
#[derive(Clone, Copy)]
pub(crate) struct PinChange<'a> {
    pub(crate) before: &'a [PinRow],
    pub(crate) after: &'a [PinRow],
    pub(crate) files: &'a [PinFileRow],
}

/// See [`unforget_store::Summaries::put_pins`].
pub(crate) async fn put(conn: &Conn, tenant: i32, id: ConversationId, change: PinChange<'_>) -> Outcome<()> {
    let PinChange { before, after, files } = change;
    if all(conn, tenant, id).await? != before {
        return Err(StoreError::PinsMoved { id }.into());
    }
    for row in after.iter().filter(|row| !before.contains(row)) {
        write(conn, tenant, id, row).await?;
    }
    let sql = "INSERT INTO unforget.pin_file VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (tenant, conversation, place) DO UPDATE SET path = excluded.path, pin = excluded.pin,
          digest = excluded.digest, trouble = excluded.trouble, read_ms = excluded.read_ms";
    for row in files {
        let of =
            |trouble: Trouble| Trouble::ALL.iter().position(|one| *one == trouble).map_or(0, |at| at + 1);
        let trouble = row.file.trouble.map_or(0, of) as i64;
        let (place, pin, read) = (int(row.file.place), int(row.file.pin.0), row.read.0);
        let (path, digest) = (row.file.path.as_bytes(), row.file.digest.0.as_slice());
        conn.run(sql, &[&tenant, &int(id.0), &place, &path, &pin, &digest, &trouble, &read]).await?;
    }
    Ok(())
}

async fn write(conn: &Conn, tenant: i32, id: ConversationId, row: &PinRow) -> Outcome<()> {
    let (state, successor): (i64, Option<i64>) = match row.pin.state {
        PinState::Active => (0, None),
        PinState::Retired => (1, None),
        PinState::SupersededBy(by) => (2, Some(int(by.0))),
    };
    let sql = "INSERT INTO unforget.pin VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (tenant, conversation, number) DO UPDATE SET text = excluded.text, source = excluded.source,
          state = excluded.state, successor = excluded.successor, place = excluded.place,
          made_ms = excluded.made_ms, changed_ms = excluded.changed_ms";
    let (number, text, source) =
        (int(row.pin.id.0), row.pin.text.as_bytes(), row.pin.source.map(|seq| int(seq.0)));
    let (place, made, changed) = (int(row.pin.order), row.made.0, row.changed.0);
    conn.run(
        sql,
        &[&tenant, &int(id.0), &number, &text, &source, &state, &successor, &place, &made, &changed],
    )
    .await?;
    Ok(())
}

/// Takes the words of pins that come from entries which are purged.
pub(crate) async fn purge(conn: &Conn, tenant: i32, id: ConversationId, seqs: &Range<u64>) -> Outcome<()> {
    for mut row in all(conn, tenant, id).await? {
        if row.pin.source.is_some_and(|source| seqs.contains(&source.0)) {
            PinRow::PURGED.clone_into(&mut row.pin.text);
            if row.pin.state == PinState::Active {
                row.pin.state = PinState::Retired;
            }
            write(conn, tenant, id, &row).await?;
        }
    }
    Ok(())
}
