//! Notices when the database is replaced while open.

use std::path::{Path, PathBuf};

use super::lock::{LockFile, lock_path};
use crate::error::StoreError;

/// The identities of the database, its write-ahead log and its owner's lock at the time of opening.
pub(super) struct Identity {
    db: PathBuf,
    files: Vec<(PathBuf, Option<(u64, u64)>)>,
    lock: PathBuf,
    locked: Option<(u64, u64)>,
}

impl Identity {
    /// For an open database in WAL mode, and the lock that is held on it.
    pub(super) fn of(db: &Path, held: &LockFile) -> Self {
        let mut wal = db.as_os_str().to_owned();
        wal.push("-wal");
        let files = [db.to_path_buf(), PathBuf::from(wal)];
        let files = files.into_iter().map(|path| (path.clone(), number(&path))).collect();
        Self { db: db.to_path_buf(), files, lock: lock_path(db), locked: held.number() }
    }

    /// The database.
    pub(super) fn db(&self) -> &Path {
        &self.db
    }

    /// Fails with [`StoreError::Replaced`] or [`StoreError::LockLost`] if a path now names another file, or none. Costs
    /// three `stat` calls.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        for (path, known) in &self.files {
            if number(path) != *known {
                return Err(StoreError::Replaced { path: path.clone() });
            }
        }
        // A lock on a file that has lost its name keeps nobody out.
        if number(&self.lock) != self.locked {
            return Err(StoreError::LockLost { path: self.lock.clone() });
        }
        Ok(())
    }
}

/// Fails with [`StoreError::Linked`] if a database has a second name. SQLite finds the log by the name, and so do we the
/// lock: an owner by the other name would see neither.
#[cfg(unix)]
pub(super) fn has_one_name(db: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(db) {
        Ok(found) if found.nlink() > 1 => {
            Err(StoreError::Linked { path: db.to_path_buf(), names: found.nlink() })
        }
        _ => Ok(()),
    }
}

/// Names are not counted on this system.
#[cfg(not(unix))]
pub(super) fn has_one_name(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Device and inode, by `stat`: opening and closing the file would drop SQLite's locks.
#[cfg(unix)]
pub(super) fn number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// On systems where an open file cannot be replaced, there is nothing to notice.
#[cfg(not(unix))]
pub(super) fn number(_: &Path) -> Option<(u64, u64)> {
    None
}
