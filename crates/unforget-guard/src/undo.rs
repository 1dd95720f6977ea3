//! Restores the original from its backup.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::GuardError;
use super::in_place::{beside, folder, like};
use super::lock::Lock;
use super::stamp::{Stamp, digest, must_be_plain, sync_folder};

/// Separates the name of a file from the number of its backup.
const MARK: &str = ".unforget-backup-";

/// Number of digits of the digest in the name of a backup.
const DIGITS: usize = 16;

/// Name of a backup: the name of the file, a number, and the digest of the mended file.
pub(super) fn backup_path(path: &Path, number: u64, mended: &blake3::Hash) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    let digest = mended.to_hex();
    name.push(format!("{MARK}{number}-{}", digest.get(..DIGITS).unwrap_or_default()));
    PathBuf::from(name)
}

/// Number and path of every backup of a file, ascending.
///
/// # Errors
/// [`GuardError::File`] if the folder cannot be read.
pub fn backups(path: &Path) -> Result<Vec<(u64, PathBuf)>, GuardError> {
    let folder = folder(path);
    let failed = || GuardError::file("reading", folder);
    let mut start = path.file_name().unwrap_or_default().to_owned();
    start.push(MARK);
    let mut found = Vec::new();
    for item in fs::read_dir(folder).map_err(failed())? {
        let item = item.map_err(failed())?;
        let name = item.file_name();
        let Some(rest) = name.as_encoded_bytes().strip_prefix(start.as_encoded_bytes()) else { continue };
        let number = std::str::from_utf8(rest).ok().and_then(|rest| rest.split_once('-')?.0.parse().ok());
        if let Some(number) = number {
            found.push((number, path.with_file_name(&name)));
        }
    }
    found.sort();
    Ok(found)
}

/// Restores the newest backup that belongs to the current content of the file, and removes the backup. Refused unless
/// the file is exactly as the repair left it: bytes appended since the repair are never discarded.
///
/// Returns the path of the backup.
///
/// # Errors
/// [`GuardError::NothingToUndo`], [`GuardError::Busy`], [`GuardError::Changed`], [`GuardError::File`]; the file is
/// unchanged in each case.
pub fn undo(path: &Path) -> Result<PathBuf, GuardError> {
    must_be_plain(path)?;
    let _lock = Lock::take(path)?;
    let failed = || GuardError::file("restoring", path);
    let file = File::open(path).map_err(failed())?;
    let stamp = Stamp::of(&file.metadata().map_err(failed())?);
    let now = digest(&file).map_err(failed())?;
    let all = backups(path)?;
    let belongs = |(number, backup): &&(u64, PathBuf)| *backup == backup_path(path, *number, &now);
    let Some((_, backup)) = all.iter().rev().find(belongs) else {
        return Err(GuardError::NothingToUndo { path: path.into(), has_others: !all.is_empty() });
    };
    let original = File::open(backup).map_err(GuardError::file("opening", backup))?;
    let mut copy = beside(path).map_err(failed())?;
    io::copy(&mut &original, copy.as_file_mut()).map_err(failed())?;
    like(&original, copy.as_file(), Duration::ZERO).map_err(failed())?;
    copy.as_file().sync_all().map_err(failed())?;
    let there = Stamp::of(&fs::metadata(path).map_err(failed())?);
    if there != stamp || digest(&file).map_err(failed())? != now {
        return Err(GuardError::Changed { path: path.into() });
    }
    copy.persist(path).map_err(|error| failed()(error.error))?;
    sync_folder(folder(path)).map_err(failed())?;
    fs::remove_file(backup).map_err(GuardError::file("removing", backup))?;
    Ok(backup.clone())
}
