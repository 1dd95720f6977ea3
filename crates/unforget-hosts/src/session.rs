//! A session in a host's database, and why it was not read.

use rusqlite::ErrorCode;

/// Why a host's database was not read. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum HostDatabaseError {
    /// It is the database of a host that is not read yet.
    #[error("it is a SQLite database of {host}, which is not supported yet")]
    Unsupported {
        /// Name of the host.
        host: &'static str,
    },
    /// Its tables are not those of any known host.
    #[error("it is a SQLite database of no known host; its tables: {}", if tables.is_empty() { "none".to_owned() } else { tables.join(", ") })]
    Unknown {
        /// The first of its tables.
        tables: Vec<String>,
    },
    /// It is the database of a known host, with another schema.
    #[error(
        "it is a database of {host}, with schema {version}, whose table {table} has no column {column}: this version is not supported yet"
    )]
    Schema {
        /// Name of the host.
        host: &'static str,
        /// Version of the schema, as the host counts it; `?` if it tells none.
        version: String,
        /// The table.
        table: &'static str,
        /// The missing column.
        column: &'static str,
    },
    /// A row could not be read.
    #[error("its {kind} {number} cannot be read: {source}")]
    Row {
        /// Kind of the record.
        kind: &'static str,
        /// Place among the records of its kind, from 1.
        number: usize,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Two records of a session have the same id, which no host writes.
    #[error("its {kind} {number} has the id of an earlier one: {id:?}")]
    Twice {
        /// Kind of the record.
        kind: &'static str,
        /// Place among the records of its kind, from 1.
        number: usize,
        /// The id.
        id: String,
    },
    /// It begins like a SQLite database, and its pages are damaged or missing.
    #[error("it begins like a SQLite database, but is damaged or cut off: {0}")]
    Damaged(#[source] rusqlite::Error),
    /// SQLite could not read it.
    #[error("it is a SQLite database that cannot be read now: {0}")]
    Sqlite(#[source] rusqlite::Error),
    /// The receiver of the records failed.
    #[error("its records cannot be passed on: {0}")]
    Receiver(#[from] std::io::Error),
}

impl From<rusqlite::Error> for HostDatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged(error),
            _ => Self::Sqlite(error),
        }
    }
}

impl HostDatabaseError {
    /// Whether the file is the database of another program, or of a host that is not read.
    pub const fn is_other(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Unsupported { .. })
    }

    /// Whether the file cannot be read again later either.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Row { source, .. } => !is_passing(source),
            Self::Damaged(_) | Self::Twice { .. } => true,
            _ => false,
        }
    }

    /// Whether a newer version of this program may read it.
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::Schema { .. })
    }
}

/// Whether the host or the machine was only busy.
fn is_passing(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
        )
    )
}

/// A session in a host's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSession {
    /// The host's id.
    pub id: String,
    /// A number that changes with every change of the session's rows: the newest time of a change in ns since 1970, with the number of
    /// rows in its last six digits.
    pub stamp: i64,
}
