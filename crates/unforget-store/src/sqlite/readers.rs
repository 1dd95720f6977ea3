//! Connections for reading: they see committed states and never wait for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::ffi::{SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::Outcome;
use super::lock::has_no_owner;

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

/// A way to read a file that others may have open.
#[derive(Clone, Copy)]
enum ReadWay {
    /// Beside its owner and other readers, by an index of the log in a file that all share.
    Shared,
    /// While nobody else has it open, by an index in memory: a full disk has no room for the shared one.
    Alone,
    /// Without a log, where nobody can write.
    Fixed,
}

/// A connection that writes no data. It asks for room on the disk only if it has to share the log with others.
pub(super) fn open_reading(path: &Path) -> rusqlite::Result<Connection> {
    let refused = match open_as(path, ReadWay::Shared) {
        Err(error) if wants_to_write(&error) && path.exists() => error,
        opened => return opened,
    };
    if let Ok(alone) = open_as(path, ReadWay::Alone) {
        return Ok(alone);
    }
    let fixed = is_fixed(path).then(|| open_as(path, ReadWay::Fixed).ok()).flatten();
    fixed.ok_or(refused)
}

fn open_as(path: &Path, way: ReadWay) -> rusqlite::Result<Connection> {
    let base = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match way {
        ReadWay::Shared => Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        // Its lock on the file needs the permission to write.
        ReadWay::Alone => {
            let flags = base | OpenFlags::SQLITE_OPEN_READ_WRITE;
            Connection::open_with_flags_and_vfs(path, flags, ALONE)?
        }
        ReadWay::Fixed => {
            let flags = base | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(fixed_uri(path), flags)?
        }
    };
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(Duration::from_secs(2))?;
    conn.set_prepared_statement_cache_capacity(48);
    steady_plans(&conn)?;
    conn.execute_batch(
        "PRAGMA query_only = 1; PRAGMA cache_size = -4096; PRAGMA mmap_size = 0; PRAGMA temp_store = 2;",
    )?;
    // The log is not looked at before the first read.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

/// SQLite's file layer that locks a file for one process and keeps the index of its log in memory.
#[cfg(unix)]
const ALONE: &std::ffi::CStr = c"unix-excl";
/// As on Unix, but without such a layer.
#[cfg(not(unix))]
const ALONE: &std::ffi::CStr = c"win32";

/// Whether reading failed because something had to be made beside the file first.
fn wants_to_write(error: &rusqlite::Error) -> bool {
    const OF_INDEX: [i32; 3] = [SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP];
    let extended = error.sqlite_error().map_or(0, |inner| inner.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull) => true,
        _ => OF_INDEX.contains(&extended),
    }
}

/// Whether nobody can write the file: its file system is read-only. A log that was left has to be empty, since only a
/// writer can bring it in.
fn is_fixed(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    !has_log && has_no_owner(path)
}

/// The address of a file that does not change.
fn fixed_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            // Writing to a String cannot fail.
            other => write!(uri, "%{other:02x}").unwrap_or_default(),
        }
    }
    uri + "?immutable=1"
}
