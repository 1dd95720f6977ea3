//! Reads the sessions that agent hosts keep in SQLite databases.
//!
//! | module | does |
//! |---|---|
//! | `database` | opens a host's database for reading and recognises its host |
//! | `schema` | what differs between hosts: tables, and the queries of sessions and records |
//! | `hosts` | one module for each host, with its schema |
//! | `records` | reads sessions and records by the queries of a schema |
//! | `row` | one row as JSON, from which the row can be made again |
//! | `session` | what is told of a session, and why a database was not read |
//!
//! A database is opened for reading only and is never written. Readers see one state of a session: everything is read in one
//! short transaction, which no writer waits for in WAL mode. Rows are not interpreted here: what a row means is a transcript
//! format, in `unforget-wire`.

mod database;
mod hosts;
mod records;
mod row;
mod schema;
mod session;

pub use database::{HostDatabase, is_sqlite};
pub use row::RowRecord;
pub use session::{HostDatabaseError, HostSession};
