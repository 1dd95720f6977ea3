//! A lock file beside the database: one process of a kind.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::app::App;
use crate::failure::{Failure, Outcome};

/// What one process at a time does.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnlyOne<'a> {
    /// Keeps the sessions of a database.
    Keep,
    /// Watches folders, by their digest.
    Watch(&'a str),
}

impl OnlyOne<'_> {
    /// The lock file: `history.sqlite.keep.lock`, or `watch-1f2e3d….lock`.
    fn path(self, database: &Path) -> PathBuf {
        match self {
            Self::Keep => {
                let mut path = database.as_os_str().to_owned();
                path.push(".keep.lock");
                path.into()
            }
            Self::Watch(folders) => database.with_file_name(format!("watch-{folders}.lock")),
        }
    }
}

/// Takes a lock. Held until the file is dropped or the process ends, however it ends.
///
/// * `what` - the message if another process has the lock.
///
/// # Errors
/// `in-use`, with the number of the other process if that is known.
pub(super) fn lock(app: &App, one: OnlyOne<'_>, what: &str) -> Outcome<File> {
    let path = one.path(&app.settings.db.value.local_path()?);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = opened.map_err(|error| Failure::file(&path, &error))?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).ok();
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let owner = owner_in(file).map_or_else(String::new, |pid| format!(": process {pid}"));
            Err(Failure::input("in-use", format!("{what}{owner}"), "end it first"))
        }
        Err(TryLockError::Error(error)) => Err(Failure::file(&path, &error)),
    }
}

/// Who has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockOwner {
    /// Nobody.
    Nobody,
    /// A process, with its number if that is known.
    Process(Option<u32>),
}

/// Who has a lock.
pub(super) fn owner(app: &App, one: OnlyOne<'_>) -> LockOwner {
    let Ok(beside) = app.settings.db.value.local_path() else { return LockOwner::Nobody };
    match File::options().read(true).write(true).open(one.path(&beside)) {
        Ok(file) if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) => {
            LockOwner::Process(owner_in(file))
        }
        _ => LockOwner::Nobody,
    }
}

/// The process that has the lock. Unknown where a locked file cannot be read, and before the owner has written its number.
fn owner_in(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
