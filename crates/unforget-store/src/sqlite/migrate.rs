//! Migrates a database to the schema of this program.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::derived::SEALED;
use super::fault::Outcome;
use super::seal::seal_all;
use crate::error::StoreError;

/// Marks a SQLite file as ours: `UnFg`.
pub(super) const APPLICATION_ID: i32 = 0x556E_4667;

/// One step of the schema.
#[derive(Clone, Copy)]
pub(super) struct MigrationStep {
    /// Its SQL, never changed once released.
    pub(super) sql: &'static str,
    /// What SQL cannot do, carried out behind it.
    pub(super) then: fn(&Connection) -> Outcome<()>,
}

impl MigrationStep {
    pub(super) const fn of(sql: &'static str) -> Self {
        Self { sql, then: |_| Ok(()) }
    }
}

/// All steps; step `n` leads to `user_version` n + 1.
pub(super) const STEPS: [MigrationStep; 13] = [
    MigrationStep::of(include_str!("../../migrations/0001_first.sql")),
    MigrationStep::of(include_str!("../../migrations/0002_names.sql")),
    MigrationStep::of(include_str!("../../migrations/0003_jobs.sql")),
    MigrationStep::of(include_str!("../../migrations/0004_pins.sql")),
    MigrationStep::of(include_str!("../../migrations/0005_grants.sql")),
    MigrationStep::of(include_str!("../../migrations/0006_pin_files.sql")),
    MigrationStep::of(include_str!("../../migrations/0007_verdicts.sql")),
    MigrationStep { sql: include_str!("../../migrations/0008_seals.sql"), then: seal_rows },
    MigrationStep::of(include_str!("../../migrations/0009_meaning.sql")),
    MigrationStep::of(include_str!("../../migrations/0010_raised.sql")),
    MigrationStep::of(include_str!("../../migrations/0011_name_count.sql")),
    MigrationStep::of(include_str!("../../migrations/0012_label.sql")),
    MigrationStep::of(include_str!("../../migrations/0013_saying.sql")),
];

/// The classification of a file, made without changing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No tables yet.
    Empty,
    /// Ours, at this `user_version`.
    Version(u32),
}

/// Classifies a file.
///
/// # Errors
/// [`StoreError::NotAStore`] if it belongs to another program, [`StoreError::NewerSchema`] if it is ours but newer.
pub(super) fn inspect(conn: &Connection, path: &Path, known: usize) -> Outcome<Found> {
    let application: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let not_ours = |detail: String| StoreError::NotAStore { path: path.to_path_buf(), detail };
    if application != APPLICATION_ID {
        return if application == 0 && version == 0 && tables == 0 {
            Ok(Found::Empty)
        } else {
            Err(not_ours(format!("a SQLite database of another program (application id {application})"))
                .into())
        };
    }
    let found = u32::try_from(version).map_err(|_| not_ours(format!("user_version is {version}")))?;
    let known = known as u32;
    if found > known {
        return Err(StoreError::NewerSchema { path: path.to_path_buf(), found, known }.into());
    }
    Ok(Found::Version(found))
}

/// Carries out the missing steps, and checks that the earlier ones are known.
///
/// Everything, including `user_version`, is one exclusive transaction: the schema is either the old or the new one.
pub(super) fn migrate(conn: &mut Connection, path: &Path, steps: &[MigrationStep]) -> Outcome<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // Another process may have been faster, so classify again inside.
    let done = match inspect(&tx, path, steps.len())? {
        Found::Empty => {
            tx.execute_batch(
                "CREATE TABLE migration (number INTEGER PRIMARY KEY, digest BLOB NOT NULL) STRICT;",
            )?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
            0
        }
        Found::Version(done) => done as usize,
    };
    check_done(&tx, path, steps.get(..done).unwrap_or_default())?;
    for (number, step) in (1_u32..).zip(steps).skip(done) {
        tx.execute_batch(step.sql)?;
        (step.then)(&tx)?;
        tx.execute(
            "INSERT INTO migration VALUES (?, ?)",
            params![number, blake3::hash(step.sql.as_bytes()).as_bytes()],
        )?;
    }
    if done < steps.len() {
        tx.pragma_update(None, "user_version", steps.len() as u32)?;
    }
    Ok(tx.commit()?)
}

/// Seals the rows of the tables that are there: later steps make tables whose rows are sealed from the first on.
fn seal_rows(tx: &Connection) -> Outcome<()> {
    let mut is_there = tx.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")?;
    for table in SEALED {
        if is_there.exists([table.name])? {
            seal_all(tx, table)?;
        }
    }
    Ok(())
}

/// Fails with [`StoreError::NotAStore`] unless exactly these steps made the schema.
pub(super) fn check_done(conn: &Connection, path: &Path, done: &[MigrationStep]) -> Outcome<()> {
    for (number, step) in (1_u32..).zip(done) {
        let found: Option<Vec<u8>> = conn
            .query_row("SELECT digest FROM migration WHERE number = ?", [number], |row| row.get(0))
            .optional()?;
        if found.as_deref() != Some(blake3::hash(step.sql.as_bytes()).as_bytes()) {
            let detail = format!("its migration {number} is not the one this program knows");
            return Err(StoreError::NotAStore { path: path.to_path_buf(), detail }.into());
        }
    }
    Ok(())
}
