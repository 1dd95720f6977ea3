//! Opening a store: every check before the first write.

use std::fmt;
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::Outcome;
use super::identity::{Identity, has_one_name};
use super::lock::{LockFile, unmade};
use super::migrate::{Found, STEPS, check_done, inspect, migrate};
use super::mount::untrusted_filesystem;
use super::readers::{Readers, steady_plans};
use super::seal::Seals;
use super::writer::Writer;
use super::{Dictionaries, SqliteStore, jobs, maintain};
use crate::error::{BoxError, StoreError};
use crate::port::{Durability, Result};

/// The first version without the bug that loses committed writes (WAL reset).
const SAFE_SQLITE: i32 = 3_051_003;

/// Page size of a new database in bytes. A turn changes a dozen pages a little, and every changed page goes into the
/// log whole.
const PAGE_BYTES: u32 = 4096;

/// Makes the filter for the uncompressed bytes of a chunk or blob.
pub type FilterFn = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// How to open a SQLite store. The default suits people's own machines.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Accepts network and user-space file systems, where SQLite may corrupt the file.
    pub allow_network_fs: bool,
    /// Does not wait for the disk at each commit: a power loss may lose the last ones. A crash of the process alone
    /// loses nothing.
    pub relaxed_durability: bool,
    /// Makes new filters for chunks that `purge` rewrites. Without it they get empty ones.
    pub filter: Option<Arc<FilterFn>>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("allow_network_fs", &self.allow_network_fs)
            .field("relaxed_durability", &self.relaxed_durability)
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the store at `path` for reading and writing, and creates a missing file. The folder must exist.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if another process owns it, [`StoreError::NotAStore`], [`StoreError::NewerSchema`],
    /// [`StoreError::UnsafeSqlite`], [`StoreError::NetworkFilesystem`], [`StoreError::Linked`].
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = checked_path(path.as_ref(), options)?;
        let lock = LockFile::claim(&path)?;
        make_private(&path).map_err(|error| unmade(&path, "open", error))?;
        has_one_name(&path)?;
        let conn = open_writing(&path).map_err(|fault| fault.into_store(&path, "open"))?;
        let identity = Identity::of(&path, &lock);
        let writer =
            Writer::new(conn, most(options), identity).map_err(|fault| fault.into_store(&path, "open"))?;
        Self::assemble(path, Some(writer), options, Some(lock))
    }

    /// Opens the store at `path` for reading only, beside its owner or without one. Writing methods fail
    /// with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// As [`SqliteStore::open`] except `Busy`; [`StoreError::Backend`] if there is no file, [`StoreError::OlderSchema`]
    /// if an older program wrote it.
    pub fn open_reader(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = checked_path(path.as_ref(), options)?;
        has_one_name(&path)?;
        let store = Self::assemble(path.clone(), None, options, None)?;
        store.read("open", |conn| match inspect(conn, &path, STEPS.len())? {
            Found::Version(done) if done as usize == STEPS.len() => check_done(conn, &path, &STEPS),
            Found::Version(found) => {
                let known = STEPS.len() as u32;
                Err(StoreError::OlderSchema { path: path.clone(), found, known }.into())
            }
            Found::Empty => {
                let detail = "it is empty: open it once for writing".to_owned();
                Err(StoreError::NotAStore { path: path.clone(), detail }.into())
            }
        })?;
        Ok(store)
    }

    fn assemble(
        path: PathBuf,
        writer: Option<Writer>,
        options: &OpenOptions,
        lock: Option<LockFile>,
    ) -> Result<Self> {
        let readers = Readers::new(&path);
        let (filter, seals) = (options.filter.clone(), Seals::default());
        let (dictionaries, changes) = (Dictionaries::default(), AtomicU64::new(0));
        let store = Self { path, writer, readers, dictionaries, filter, seals, changes, _lock: lock };
        if store.writer.is_some() {
            store.write_derived("open", |tx| jobs::end_leases(tx, &store.seals))?;
            store.read("open", |conn| maintain::load_newest(conn, &store.dictionaries))?;
        }
        Ok(store)
    }
}

/// Creates a missing file, readable by its owner only, since agents' sessions are private. SQLite gives its log equal
/// permissions.
///
/// An existing file is not opened: closing it would cancel SQLite's locks.
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The canonical path, if the library and the file system are safe to use.
fn checked_path(path: &Path, options: &OpenOptions) -> Result<PathBuf> {
    check_version(rusqlite::version(), rusqlite::version_number())?;
    // SQLite follows symbolic links, and our lock must stand beside the file that it opens.
    let canonical = match std::fs::canonicalize(path) {
        Ok(canonical) => canonical,
        Err(_) => beside_nothing(path).map_err(|source| StoreError::Backend { operation: "open", source })?,
    };
    if let Some(detail) = std::fs::metadata(&canonical).ok().and_then(|found| not_a_file(found.file_type())) {
        return Err(StoreError::NotAStore { path: canonical, detail: detail.to_owned() });
    }
    if !options.allow_network_fs
        && let Some(kind) = untrusted_filesystem(&canonical)
    {
        return Err(StoreError::NetworkFilesystem { path: canonical, kind });
    }
    Ok(canonical)
}

/// Why a path that is taken by something else cannot be a database; `None` for a file.
fn not_a_file(kind: FileType) -> Option<&'static str> {
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => None,
        (false, true) => Some("it is a folder"),
        (false, false) => Some("it is a pipe, a device or a socket"),
    }
}

/// The canonical path of a file that does not exist yet.
fn beside_nothing(path: &Path) -> std::result::Result<PathBuf, BoxError> {
    let name = path.file_name().ok_or("the path names no file")?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Ok(std::fs::canonicalize(folder)?.join(name))
}

/// Refuses a SQLite version that can lose committed writes.
///
/// * `number` - as returned by `sqlite3_libversion_number`: 3.51.3 is 3051003.
pub(super) fn check_version(version: &str, number: i32) -> Result<()> {
    if number < SAFE_SQLITE {
        return Err(StoreError::UnsafeSqlite { version: version.to_owned() });
    }
    Ok(())
}

/// The greatest durability that a transaction can ask for.
const fn most(options: &OpenOptions) -> Durability {
    if options.relaxed_durability { Durability::WithNext } else { Durability::OnReturn }
}

fn open_writing(path: &Path) -> Outcome<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite would take the first bytes of a truncated database for an empty one, and we would create a new store
    // there.
    let length = std::fs::metadata(path).map_or(0, |found| found.len());
    if (1..512).contains(&length) {
        let detail = format!("it has {length} bytes");
        return Err(StoreError::NotAStore { path: path.to_path_buf(), detail }.into());
    }
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(2))?;
    conn.set_prepared_statement_cache_capacity(64);
    steady_plans(&conn)?;
    // Classified before any change: the file may belong to another program.
    let found = inspect(&conn, path, STEPS.len())?;
    if found == Found::Empty {
        conn.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"))?;
    }
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.execute_batch(
        "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0;
         PRAGMA temp_store = 2; PRAGMA secure_delete = FAST; PRAGMA journal_size_limit = 67108864;
         PRAGMA foreign_keys = OFF;",
    )?;
    if found == Found::Version(STEPS.len() as u32) {
        check_done(&conn, path, &STEPS)?;
    } else {
        migrate(&mut conn, path, &STEPS)?;
    }
    Ok(conn)
}
