//! The owner's lock: a file of our own beside the database.
//!
//! SQLite's own POSIX locks vanish when any descriptor of the file is closed, so they cannot show the owner of the
//! database. Locks on a separate file can, and they end with the process.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::identity::number;
use super::open::make_private;
use crate::error::{BoxError, StoreError};
use crate::port::Result;

/// An exclusive claim on a database, held until dropped or until the process ends.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
}

impl LockFile {
    /// Claims `db`.
    ///
    /// # Errors
    /// [`StoreError::Busy`] with the owner's process id if it is already claimed, even by this process.
    pub(super) fn claim(db: &Path) -> Result<Self> {
        let path = lock_path(db);
        // Every process that can read the file can also lock it.
        let failed = |error| unmade(db, "lock", error);
        let mut file = loop {
            make_private(&path).map_err(failed)?;
            let file = match File::options().read(true).write(true).open(&path) {
                // Removed in between.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                opened => opened.map_err(failed)?,
            };
            match file.try_lock() {
                // A file that lost its name before it was locked keeps nobody out.
                Ok(()) if number(&path) != number_of(&file) => {}
                Ok(()) => break file,
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    file.take(32).read_to_string(&mut text).ok();
                    let pid = text.trim().parse().unwrap_or(0);
                    return Err(StoreError::Busy { path: db.to_path_buf(), pid });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        };
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).ok();
        // The number is for people; on a full disk the lock holds without it.
        file.set_len(0).ok();
        file.rewind().ok();
        write!(file, "{}", std::process::id()).ok();
        Ok(Self { file })
    }

    /// Device and inode of the file.
    pub(super) fn number(&self) -> Option<(u64, u64)> {
        number_of(&self.file)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // A process that is just being started holds a copy of our descriptor until it executes its program. Closing
        // our descriptor would leave the lock with that copy.
        self.file.unlock().ok();
    }
}

/// Device and inode of an open file, as [`number`] says them.
#[cfg(unix)]
fn number_of(file: &File) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn number_of(_: &File) -> Option<(u64, u64)> {
    None
}

/// Whether nobody can own `db`: its file system is read-only.
pub(super) fn has_no_owner(db: &Path) -> bool {
    let path = lock_path(db);
    let opened = match File::options().write(true).open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make_private(&path),
        opened => opened.map(|_| ()),
    };
    opened.is_err_and(|error| error.kind() == std::io::ErrorKind::ReadOnlyFilesystem)
}

/// `db` with `.lock` added.
pub(super) fn lock_path(db: &Path) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push(".lock");
    PathBuf::from(path)
}

/// The error for a file beside the database that could not be made or opened.
pub(super) fn unmade(path: &Path, operation: &'static str, error: std::io::Error) -> StoreError {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let path = path.to_path_buf();
    match error.kind() {
        StorageFull | QuotaExceeded => StoreError::Full { path },
        ReadOnlyFilesystem | PermissionDenied => StoreError::ReadOnly { path },
        _ => StoreError::Backend { operation, source: BoxError::from(error) },
    }
}
