//! The schema and its steps.

use tokio_postgres::error::SqlState;
use unforget_core::digest::Digest;
use unforget_store::StoreError;

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// The steps in order. A step never changes after its release.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_purges.sql"),
    include_str!("../migrations/0003_raised.sql"),
    include_str!("../migrations/0004_name_count.sql"),
    include_str!("../migrations/0005_label.sql"),
    include_str!("../migrations/0006_peers.sql"),
    include_str!("../migrations/0007_saying.sql"),
];

/// The tenant of a database with one.
const TENANT: &[u8] = b"default";

/// How a database is opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// For messages.
    pub(crate) place: &'a str,
    /// Whether the caller only looks.
    pub(crate) is_reader: bool,
    /// Whether missing tables are made.
    pub(crate) may_make: bool,
}

/// An open database.
pub(crate) struct Opened {
    pub(crate) tenant: i32,
    pub(crate) made: Option<MadeSchema>,
}

/// The schema was made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeSchema {
    /// Number of tables of others in the database. They are never touched.
    pub others: u64,
}

/// Makes or renews the tables.
pub(crate) async fn open(conn: &Conn, opening: Opening<'_>) -> Outcome<Opened> {
    let Opening { place, is_reader, may_make } = opening;
    let version = version(conn, place).await?;
    let known = STEPS.len() as u32;
    if version > known {
        return Err(StoreError::NewerSchema { path: place.into(), found: version, known }.into());
    }
    let is_new = version == 0;
    if version < known {
        if is_reader || is_new && !may_make {
            return Err(older(place, version, known).into());
        }
        renew(conn, place).await?;
    }
    let made = if is_new { Some(MadeSchema { others: others(conn).await? }) } else { None };
    Ok(Opened { tenant: tenant(conn, is_reader).await?, made })
}

/// Number of tables that are neither ours nor the server's.
async fn others(conn: &Conn) -> Outcome<u64> {
    let sql = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('unforget', 'information_schema')
          AND n.nspname NOT LIKE 'pg\\_%'";
    conn.row(sql, &[]).await?.map_or(Ok(0), |row| row.number(0))
}

fn older(place: &str, found: u32, known: u32) -> StoreError {
    if found == 0 {
        let detail = "it has no tables of unforget yet; `unforget import` makes them".to_owned();
        return StoreError::NotAStore { path: place.into(), detail };
    }
    StoreError::OlderSchema { path: place.into(), found, known }
}

/// Number of the last step; 0 without tables.
async fn version(conn: &Conn, place: &str) -> Outcome<u32> {
    let sql = "SELECT to_regclass('unforget.migration') IS NOT NULL, to_regnamespace('unforget') IS NOT NULL
        AND EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('unforget') AND relkind = 'r')";
    let Some(row) = conn.row(sql, &[]).await? else { return Ok(0) };
    if !row.at::<bool>(0)? {
        if row.at::<bool>(1)? {
            let detail = "its schema `unforget` has tables of somebody else".to_owned();
            return Err(StoreError::NotAStore { path: place.into(), detail }.into());
        }
        return Ok(0);
    }
    let rows = conn.rows("SELECT number, digest FROM unforget.migration ORDER BY number", &[]).await?;
    for (row, step) in rows.iter().zip(STEPS) {
        if row.digest(1)? != Digest::of(step.as_bytes()) {
            let detail = format!("step {} of its schema is another one", row.at::<i32>(0)?);
            return Err(StoreError::NotAStore { path: place.into(), detail }.into());
        }
    }
    Ok(rows.len() as u32)
}

/// Takes the missing steps, each program after the other.
async fn renew(conn: &Conn, place: &str) -> Outcome<()> {
    let first = "CREATE SCHEMA IF NOT EXISTS unforget;
        CREATE TABLE IF NOT EXISTS unforget.migration (number int PRIMARY KEY, digest bytea NOT NULL)";
    // Two programs that make it at once clash in the catalogue.
    for _ in 0..4 {
        match conn.batch(first).await {
            Err(fault) if fault.is_clash() || is_duplicate(&fault) => {}
            done => {
                done?;
                break;
            }
        }
    }
    conn.batch("BEGIN; LOCK TABLE unforget.migration IN EXCLUSIVE MODE").await?;
    let done = steps(conn, place).await;
    conn.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn steps(conn: &Conn, place: &str) -> Outcome<()> {
    let done = version(conn, place).await? as usize;
    for (number, step) in (1_i32..).zip(STEPS).skip(done) {
        conn.batch(step).await?;
        let digest = Digest::of(step.as_bytes()).0;
        conn.run("INSERT INTO unforget.migration VALUES ($1, $2)", &[&number, &digest.as_slice()]).await?;
    }
    Ok(())
}

fn is_duplicate(fault: &Fault) -> bool {
    let duplicate = [SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    matches!(fault, Fault::Driver(error) if error.code().is_some_and(|code| duplicate.contains(code)))
}

/// The number of the only tenant.
async fn tenant(conn: &Conn, is_reader: bool) -> Outcome<i32> {
    let find = "SELECT id FROM unforget.tenant WHERE name = $1";
    if let Some(row) = conn.row(find, &[&TENANT]).await? {
        return row.at(0);
    }
    if is_reader {
        return Ok(1);
    }
    let make = "INSERT INTO unforget.tenant SELECT coalesce(max(id), 0) + 1, $1, 1 FROM unforget.tenant ON CONFLICT DO NOTHING";
    conn.run(make, &[&TENANT]).await?;
    match conn.row(find, &[&TENANT]).await? {
        Some(row) => row.at(0),
        None => Err(Fault::Column("tenant")),
    }
}
