//! Connections for reading: they see committed states and never wait for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::Outcome;

/// Most idle connections kept open.
const IDLE: usize = 4;

/// A pool of read-only connections, opened on demand.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), idle: Mutex::new(Vec::new()) }
    }

    /// Runs `work` in one read transaction, which ends before this returns, so that no reader holds back the
    /// write-ahead log.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => open_reading(&self.path)?,
        };
        let outcome = {
            let tx = conn.unchecked_transaction()?;
            work(&tx)
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(conn);
        }
        outcome
    }
}

/// Makes query plans depend on the statement alone. Otherwise SQLite recompiles many of them for every bound value.
pub(super) fn steady_plans(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// A connection that cannot write.
pub(super) fn open_reading(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(2))?;
    conn.set_prepared_statement_cache_capacity(48);
    steady_plans(&conn)?;
    conn.execute_batch(
        "PRAGMA query_only = 1; PRAGMA cache_size = -4096; PRAGMA mmap_size = 0; PRAGMA temp_store = 2;",
    )?;
    Ok(conn)
}
