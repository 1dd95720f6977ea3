//! Notices when the database is replaced while open.

use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The identities of the database and its write-ahead log at the time of opening.
pub(super) struct Identity {
    db: PathBuf,
    files: Vec<(PathBuf, Option<(u64, u64)>)>,
}

impl Identity {
    /// For an open database in WAL mode.
    pub(super) fn of(db: &Path) -> Self {
        let mut wal = db.as_os_str().to_owned();
        wal.push("-wal");
        let files = [db.to_path_buf(), PathBuf::from(wal)];
        let files = files.into_iter().map(|path| (path.clone(), number(&path))).collect();
        Self { db: db.to_path_buf(), files }
    }

    /// The database.
    pub(super) fn db(&self) -> &Path {
        &self.db
    }

    /// Fails with [`StoreError::Replaced`] if a path now names another file, or none. Costs two `stat` calls.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        for (path, known) in &self.files {
            if number(path) != *known {
                return Err(StoreError::Replaced { path: path.clone() });
            }
        }
        Ok(())
    }
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
