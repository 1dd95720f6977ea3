//! Where arriving answers lie until they are stored.

use std::fs::{DirBuilder, File, TryLockError};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::{Failure, Outcome};

/// Most daemons of one machine on a database that several may write.
const DAEMONS: usize = 64;

/// The name of the lock in a folder.
const LOCK: &str = "lock";

/// A folder for arriving answers that no other process uses.
pub(in crate::commands) enum SpoolFolder {
    /// Gone with the process.
    Temporary(TempDir),
    /// Beside a database. The next daemon stores what is left in it.
    Kept {
        /// The folder.
        path: PathBuf,
        /// Keeps other daemons out. None is needed where the database has one owner.
        _lock: Option<File>,
    },
}

impl SpoolFolder {
    /// A folder for a database in memory.
    pub(super) fn temporary() -> Outcome<Self> {
        Ok(Self::Temporary(tempfile::tempdir()?))
    }

    /// The folder beside a database: `NAME.spool`. Where several daemons may have the database, the first one of `NAME.spool`,
    /// `NAME.spool-1`, … that none of them has.
    ///
    /// * `is_shared` - whether several daemons may have it.
    pub(super) fn beside(db: &Path, is_shared: bool) -> Outcome<Self> {
        if !is_shared {
            return Ok(Self::Kept { path: place(db, 0), _lock: None });
        }
        for number in 0..DAEMONS {
            let path = place(db, number);
            if let Some(lock) = locked(&path)? {
                return Ok(Self::Kept { path, _lock: Some(lock) });
            }
        }
        let what = format!("{DAEMONS} daemons of this machine serve this database already");
        Err(Failure::input("in-use", what, "end one of them"))
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept { path, .. } => path,
        }
    }
}

/// The spool folders of a database that exist, also those that a running daemon uses.
pub(in crate::commands) fn spool_folders(db: &Path) -> Vec<PathBuf> {
    (0..DAEMONS).map(|number| place(db, number)).filter(|folder| folder.is_dir()).collect()
}

fn place(db: &Path, number: usize) -> PathBuf {
    let mut name = db.file_name().unwrap_or_default().to_owned();
    name.push(".spool");
    if number > 0 {
        name.push(format!("-{number}"));
    }
    db.with_file_name(name)
}

/// Makes a folder for its owner only, and takes its lock; `None` if another process has it.
fn locked(folder: &Path) -> Outcome<Option<File>> {
    let mut make = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
    make.recursive(true).create(folder).map_err(|error| Failure::file(folder, &error))?;
    let path = folder.join(LOCK);
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let file = opened.map_err(|error| Failure::file(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Failure::file(&path, &error)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn daemons_of_one_machine_have_folders_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("servers").join("postgres-1");
        let name = |one: &SpoolFolder| one.path().file_name().unwrap().to_owned();
        let first = SpoolFolder::beside(&db, true).unwrap();
        let second = SpoolFolder::beside(&db, true).unwrap();
        assert_eq!((name(&first), name(&second)), ("postgres-1.spool".into(), "postgres-1.spool-1".into()));
        drop(first);
        let third = SpoolFolder::beside(&db, true).unwrap();
        assert_eq!(name(&third), "postgres-1.spool", "what a daemon left is found by the next one");
    }
}
