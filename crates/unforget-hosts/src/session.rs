//! A session in a host's database, and why it was not read.

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
        "it is a database of {host} whose table {table} has no column {column}: its version is not supported yet"
    )]
    Schema {
        /// Name of the host.
        host: &'static str,
        /// The table.
        table: &'static str,
        /// The missing column.
        column: &'static str,
    },
    /// SQLite could not read it.
    #[error("it is a SQLite database that cannot be read now: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The receiver of the records failed.
    #[error("its records cannot be passed on: {0}")]
    Receiver(#[from] std::io::Error),
}

impl HostDatabaseError {
    /// Whether the file is the database of another program, or of a host that is not read.
    pub const fn is_other(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Unsupported { .. })
    }
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
