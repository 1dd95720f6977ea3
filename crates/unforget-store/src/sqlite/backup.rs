//! Backup: a copy made by SQLite itself, and verified before it gets its name.

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::fault::Outcome;
use super::open::{OpenOptions, make_private};
use super::{SqliteStore, verify};
use crate::error::{BoxError, StoreError};
use crate::port::Result;

/// See [`crate::Upkeep::backup`].
pub(super) fn backup(store: &SqliteStore, to: &Path) -> Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(failed(format!("{} is there already", to.display())));
    }
    remove_abandoned(to);
    let mut unfinished = to.as_os_str().to_owned();
    unfinished.push(format!(".{}{UNFINISHED}", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    let held = hold(&unfinished).map_err(failed)?;
    let outcome = copy_and_prove(store, &unfinished).and_then(|()| publish(&unfinished, to));
    // Only the copy is written, so a full disk is its disk.
    let outcome = outcome.map_err(|error| match error {
        StoreError::Full { .. } => StoreError::Full { path: to.to_path_buf() },
        other => other,
    });
    // Closing it before would cancel SQLite's locks on the copy.
    drop(held);
    if outcome.is_err() {
        // The unfinished copy is ours and worthless; only the first error matters.
        std::fs::remove_file(&unfinished).ok();
        let mut journal = unfinished.into_os_string();
        journal.push("-journal");
        std::fs::remove_file(journal).ok();
    }
    outcome
}

/// End of the name of a copy that is not proven yet.
const UNFINISHED: &str = ".unfinished";

/// Makes the file of a copy, and holds a lock on it as long as this process works on it.
fn hold(copy: &Path) -> std::io::Result<File> {
    make_private(copy)?;
    let file = File::options().read(true).write(true).open(copy)?;
    #[cfg(unix)]
    file.lock()?;
    Ok(file)
}

/// Removes what killed backups left beside `to`: whole copies, also of what is purged later. Nobody holds them.
fn remove_abandoned(to: &Path) {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for found in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_abandoned(&found.path()) {
            std::fs::remove_file(found.path()).ok();
        }
    }
}

/// Whether a file is a copy that no process works on. Those of this process are not looked at: closing them would cancel
/// SQLite's locks.
fn is_abandoned(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let pid = name.strip_suffix(UNFINISHED).and_then(|name| name.rsplit_once('.')).map(|(_, pid)| pid);
    let is_others = pid
        .and_then(|pid| pid.parse::<u32>().ok())
        .is_some_and(|pid| cfg!(unix) && pid != std::process::id());
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_others && is_file && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

fn copy_and_prove(store: &SqliteStore, copy: &Path) -> Result<()> {
    store.read("backup", |conn| copy_pages(conn, copy))?;
    // The place was good enough for writing; for a single read its file system does not matter.
    let options = OpenOptions { allow_network_fs: true, ..OpenOptions::default() };
    let opened = SqliteStore::open_reader(copy, &options)?;
    // Broken rows of derived data, if any, were in the original too: they are made again from the log of the copy.
    let problems = verify::store(&opened, &mut |_, _| {})?;
    match problems.into_iter().find(|problem| !problem.is_derived()) {
        None => Ok(()),
        Some(problem) => {
            let detail = format!("the copy does not verify: {}: {}", problem.kind, problem.detail);
            Err(StoreError::Corrupt { path: copy.to_path_buf(), detail })
        }
    }
}

/// Copies one consistent state, that of the caller's read transaction.
fn copy_pages(conn: &Connection, copy: &Path) -> Outcome<()> {
    // A read begins the transaction; without it a writer could restart the copy.
    conn.query_row("SELECT count(*) FROM conversation", [], |_| Ok(()))?;
    let mut to = Connection::open(copy)?;
    {
        let backup = Backup::new(conn, &mut to)?;
        while backup.step(1024)? != StepResult::Done {}
    }
    // A single file, without a log beside it.
    to.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    to.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Makes the copy durable, then gives it its name, then makes the name durable.
fn publish(unfinished: &Path, to: &Path) -> Result<()> {
    let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
    sync(unfinished).map_err(failed)?;
    std::fs::rename(unfinished, to).map_err(failed)?;
    if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        // Not every system can sync a folder, but the file itself is safe.
        sync(folder).ok();
    }
    Ok(())
}

fn failed(source: impl Into<BoxError>) -> StoreError {
    StoreError::Backend { operation: "backup", source: source.into() }
}
