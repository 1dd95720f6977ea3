//! Reads the sessions that agent hosts keep in SQLite databases.
//!
//! | module | does |
//! |---|---|
//! | `database` | opens a host's database for reading and recognises its host |
//! | `opencode` | the sessions of opencode, row by row |
//! | `row` | one row as one line of JSON, from which the row can be made again |
//! | `session` | what is told of a session, and why a database was not read |
//!
//! A database is opened for reading only and is never written. Readers see one state of a session: everything is read in one
//! short transaction, which no writer waits for in WAL mode. Rows are not interpreted here: what a row means is a transcript
//! format, in `unforget-wire`.

mod database;
mod opencode;
mod row;
mod session;

pub use database::{HostDatabase, is_sqlite};
pub use row::RowRecord;
pub use session::{HostDatabaseError, HostSession};
