//! The store on a PostgreSQL server of the tests' own. Where none is installed, every test says so and is skipped.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod contract;
mod doubt;
mod history;
mod opening;
mod peers;
mod shared;
mod words;

use std::sync::Arc;

use unforget_core::digest::Digest;
use unforget_store_pg::{PgClock, PgOptions, PgPlace, PgStore};
use unforget_testkit::Postgres;

/// Options with the filter of the suite's tapes, for a database that is thrown away.
fn options() -> PgOptions {
    PgOptions {
        filter: Some(Arc::new(|bytes| Digest::of(bytes).0.to_vec())),
        is_throwaway: true,
        may_make: true,
        clock: PgClock::Caller,
        ..PgOptions::default()
    }
}

/// Opens a database.
fn open(address: &str) -> PgStore {
    PgStore::open(&place(address), options()).unwrap()
}

fn place(address: &str) -> PgPlace {
    address.parse().unwrap()
}

/// A store in a new database.
fn fresh(server: &Postgres) -> PgStore {
    open(&server.database())
}
