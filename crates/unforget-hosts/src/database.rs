//! A host's database, opened for reading.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::opencode;
use crate::row::RowRecord;
use crate::session::{HostDatabaseError, HostSession};

/// First bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Longest wait for a host that holds its database locked.
const BUSY: Duration = Duration::from_secs(3);

/// Tables by which the database of a host is known that is not read yet.
const OTHERS: [OtherHost; 7] = [
    OtherHost { host: "Cursor", tables: &["ItemTable", "cursorDiskKV"] },
    OtherHost { host: "VS Code", tables: &["ItemTable"] },
    OtherHost { host: "Crush", tables: &["sessions", "messages", "files", "goose_db_version"] },
    OtherHost { host: "Goose", tables: &["schema_version", "sessions", "messages"] },
    OtherHost { host: "Zed", tables: &["threads"] },
    OtherHost { host: "LangGraph", tables: &["checkpoints", "writes"] },
    OtherHost { host: "OpenAI Agents SDK", tables: &["agent_sessions", "agent_messages"] },
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
        let tables = tables(&connection)?;
        let has = |wanted: &&str| tables.iter().any(|table| table == wanted);
        if opencode::TABLES.iter().all(has) {
            opencode::check(&connection)?;
            return Ok(Self { connection, path: path.to_owned() });
        }
        let other = OTHERS.iter().find(|other| other.tables.iter().all(has));
        Err(match other {
            Some(other) => HostDatabaseError::Unsupported { host: other.host },
            None => HostDatabaseError::Unknown { tables: tables.into_iter().take(8).collect() },
        })
    }

    /// Name of the transcript format of its sessions.
    pub const fn format(&self) -> &'static str {
        "opencode"
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All sessions, the oldest first.
    ///
    /// Cost: one pass over the indexes of the rows.
    pub fn sessions(&self) -> Result<Vec<HostSession>, HostDatabaseError> {
        Ok(opencode::sessions(&self.connection)?)
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
        opencode::read(&self.connection.transaction()?, session, each)
    }

    /// Ids of the records of a session, in the order of the conversation.
    pub fn ids(&self, session: &str) -> Result<Vec<String>, HostDatabaseError> {
        Ok(opencode::ids(&self.connection, session)?)
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut found =
        connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    found.query_map([], |row| row.get(0))?.collect()
}
