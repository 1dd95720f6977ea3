//! A host's database, opened for reading.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::functions::FunctionFlags;
use rusqlite::limits::Limit;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OpenFlags};

use crate::hosts::HOSTS;
use crate::records;
use crate::row::{RowRecord, VALUE_BYTES_MAX, unpacked};
use crate::schema::{HostSchema, KnownTable};
use crate::session::{HostDatabaseError, HostSession};

/// First bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Longest wait for a host that holds its database locked.
const BUSY: Duration = Duration::from_secs(3);

/// Tables by which the database of a program is known that is not read.
const OTHERS: [OtherHost; 2] = [
    OtherHost { host: "VS Code", tables: &["ItemTable"] },
    OtherHost { host: "LangGraph", tables: &["checkpoints", "writes"] },
];

/// A host whose database is recognised and not read.
struct OtherHost {
    host: &'static str,
    /// Tables that its database has, all of them.
    tables: &'static [&'static str],
}

/// A host's database, open for reading.
#[derive(Debug)]
pub struct HostDatabase {
    connection: Connection,
    path: PathBuf,
    schema: &'static HostSchema,
}

/// Whether a file is a SQLite database, by its first bytes.
///
/// The file is opened and closed. A process must not do so with a database that it has open itself: that would cancel its locks.
pub fn is_sqlite(path: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == MAGIC
}

impl HostDatabase {
    /// Opens the database of a known host.
    ///
    /// # Errors
    /// See [`HostDatabaseError`].
    pub fn open(path: &Path) -> Result<Self, HostDatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "query_only", true)?;
        // The schema is the host's, or anybody's: its own expressions call nothing, and every page is checked.
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(VALUE_BYTES_MAX).unwrap_or(i32::MAX))?;
        add_unpacking(&connection)?;
        let schema = recognise(&connection)?;
        Ok(Self { connection, path: path.to_owned(), schema })
    }

    /// Name of the transcript format of its sessions.
    pub const fn format(&self) -> &'static str {
        self.schema.format
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All sessions, the oldest first.
    ///
    /// Cost: one pass over the indexes of the rows.
    pub fn sessions(&self) -> Result<Vec<HostSession>, HostDatabaseError> {
        records::sessions(&self.connection, self.schema)
    }

    /// Reads the rows of a session as records, in the order of the conversation, in one transaction.
    ///
    /// * `each` - called with every record.
    ///
    /// Cost: O(bytes of the session); memory for one record.
    pub fn read(
        &mut self,
        session: &str,
        each: &mut dyn FnMut(RowRecord) -> std::io::Result<()>,
    ) -> Result<(), HostDatabaseError> {
        records::read(&self.connection.transaction()?, self.schema, session, each)
    }

    /// Ids of the records of a session, in the order of the conversation.
    pub fn ids(&self, session: &str) -> Result<Vec<String>, HostDatabaseError> {
        records::ids(&self.connection, self.schema, session)
    }
}

/// The host of a database, by its tables and their columns.
fn recognise(connection: &Connection) -> Result<&'static HostSchema, HostDatabaseError> {
    let tables = tables(connection)?;
    let has = |wanted: &str| tables.iter().any(|table| table == wanted);
    let mut nearest: Option<Lacking> = None;
    for schema in HOSTS.iter().filter(|schema| schema.tables.iter().all(|table| has(table.name))) {
        let Some(lacking) = Lacking::of(schema, connection)? else { return Ok(schema) };
        if nearest.as_ref().is_none_or(|known| lacking.number < known.number) {
            nearest = Some(lacking);
        }
    }
    if let Some(Lacking { schema, table, column, .. }) = nearest {
        let version = version(schema, connection);
        return Err(HostDatabaseError::Schema { host: schema.host, version, table, column });
    }
    let other = OTHERS.iter().find(|other| other.tables.iter().all(|table| has(table)));
    Err(match other {
        Some(other) => HostDatabaseError::Unsupported { host: other.host },
        None => HostDatabaseError::Unknown { tables: tables.into_iter().take(8).collect() },
    })
}

/// What a database lacks of a schema whose tables it has.
struct Lacking {
    schema: &'static HostSchema,
    /// Number of columns.
    number: usize,
    /// Table of the first of them.
    table: &'static str,
    column: &'static str,
}

impl Lacking {
    fn of(schema: &'static HostSchema, connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let mut lacking: Option<Self> = None;
        for KnownTable { name, columns } in schema.tables {
            let has = columns_of(connection, name)?;
            for column in columns.iter().filter(|column| !has.iter().any(|one| one == *column)) {
                let first = Self { schema, number: 0, table: name, column };
                lacking.get_or_insert(first).number += 1;
            }
        }
        Ok(lacking)
    }
}

fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut found = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    found.query_map([table], |row| row.get(0))?.collect()
}

/// Version of the schema, as the host counts it; `?` if it tells none.
fn version(schema: &HostSchema, connection: &Connection) -> String {
    let found: rusqlite::Result<Value> = connection.query_row(schema.version, [], |row| row.get(0));
    match found {
        Ok(Value::Integer(number)) => number.to_string(),
        Ok(Value::Text(text)) => text,
        _ => "?".to_owned(),
    }
}

/// Adds the function `unpacked(value)`: the text that is compressed in bytes, bytes that are text as text, and everything else as it is.
fn add_unpacking(connection: &Connection) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("unpacked", 1, flags, |context| {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        Ok(match context.get_raw(0) {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let found = unpacked(bytes).or_else(|| text(bytes));
                found.map_or_else(|| Value::Blob(bytes.into()), Value::Text)
            }
        })
    })
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found =
        connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    found.query_map([], |row| row.get(0))?.collect()
}
