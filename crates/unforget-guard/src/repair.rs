//! Mends a file in place.

use std::fs::{self, File, FileTimes};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

use super::inspect::{Inspection, inspection};
use super::lock::Lock;
use super::plan::{Action, Edit, carry_out, edits};
use super::read::read;
use super::stamp::{Digesting, Stamp, digest, must_be_plain, sync_folder};
use super::undo::backup_path;
use super::walk::open_now;
use super::{GuardError, Problem};

/// A repair, planned or carried out.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The inspection before the repair.
    pub inspection: Inspection,
    /// The changes, in the order of lines.
    pub actions: Vec<Action>,
    /// The changes as edits of bytes, ascending.
    pub edits: Vec<Edit>,
    /// Outcome of the repair.
    pub outcome: Outcome,
}

/// Outcome of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No problems. Nothing was written.
    Sound,
    /// There are problems. Nothing was written.
    Planned,
    /// The file was mended.
    Mended {
        /// Path of the backup, which has the original bytes.
        backup: PathBuf,
        /// Number of bytes that the host appended at the last moment and that were carried over.
        carried: u64,
    },
}

/// A stage of a repair, for logs and for tests that inject failures there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The lock is held.
    Locked,
    /// The mended copy is written, checked and synced to disk.
    Written,
    /// The backup is in place and synced to disk.
    BackedUp,
    /// The original is unchanged. The rename follows.
    Checked,
    /// The mended copy is in place.
    Renamed,
}

/// Plans a repair without writing.
///
/// # Errors
/// As [`super::inspect()`], and [`GuardError::Unmendable`].
pub fn plan(path: &Path) -> Result<Repair, GuardError> {
    let file = open_now(path).map_err(GuardError::file("opening", path))?;
    plan_of(&file, path)
}

fn plan_of(file: &File, path: &Path) -> Result<Repair, GuardError> {
    let reading = read(file, path)?;
    let examination = reading.examine();
    let inspection = inspection(path, &reading, &examination);
    let planned = edits(file, path, &reading, &examination)?;
    let outcome = if planned.edits.is_empty() { Outcome::Sound } else { Outcome::Planned };
    Ok(Repair { inspection, actions: planned.actions, edits: planned.edits, outcome })
}

/// Mends a file: takes the lock, writes a mended copy in the same folder, checks the copy, makes a backup, checks that
/// the original did not change, and renames. Lines without an edit keep their bytes.
///
/// # Errors
/// Any [`GuardError`]; the file is unchanged in this case, with the exception stated there.
pub fn repair(path: &Path) -> Result<Repair, GuardError> {
    repair_with(path, &mut |_| ())
}

/// [`repair`] with a callback for each stage.
pub fn repair_with(path: &Path, on: &mut dyn FnMut(Step)) -> Result<Repair, GuardError> {
    must_be_plain(path)?;
    let _lock = Lock::take(path)?;
    on(Step::Locked);
    let file = File::open(path).map_err(GuardError::file("opening", path))?;
    let stamp = stamp_of(&file, path)?;
    let original = digest(&file).map_err(GuardError::file("reading", path))?;
    let mut repair = plan_of(&file, path)?;
    if repair.edits.is_empty() {
        return Ok(repair);
    }
    let (copy, mended) = write_copy(&file, path, &repair.edits, original)?;
    must_be_sound(copy.as_file(), path)?;
    on(Step::Written);
    let backup = back_up(&file, path, original, mended)?;
    on(Step::BackedUp);
    let put = must_be_unchanged(&file, path, &stamp, original).and_then(|()| {
        on(Step::Checked);
        copy.persist(path).map_err(|error| GuardError::file("renaming onto", path)(error.error))
    });
    let written = match put {
        Ok(written) => written,
        Err(error) => {
            // There is nothing to undo: a backup of a repair that did not happen would only confuse.
            fs::remove_file(&backup).ok();
            return Err(error);
        }
    };
    let carried = carry_over(&file, stamp.bytes, &written).map_err(GuardError::file("appending to", path))?;
    sync_folder(folder(path)).map_err(GuardError::file("syncing the folder of", path))?;
    on(Step::Renamed);
    repair.outcome = Outcome::Mended { backup, carried };
    Ok(repair)
}

fn stamp_of(file: &File, path: &Path) -> Result<Stamp, GuardError> {
    Ok(Stamp::of(&file.metadata().map_err(GuardError::file("looking at", path))?))
}

/// Writes the mended copy beside the original, with the same permissions and owner, and syncs it to disk.
fn write_copy(
    file: &File,
    path: &Path,
    edits: &[Edit],
    original: blake3::Hash,
) -> Result<(NamedTempFile, blake3::Hash), GuardError> {
    let failed = || GuardError::file("writing a copy of", path);
    let copy = beside(path).map_err(failed())?;
    let mut handle = file;
    handle.rewind().map_err(failed())?;
    let mut from = Digesting::new(io::BufReader::with_capacity(1 << 18, handle));
    let mut to = Digesting::new(BufWriter::with_capacity(1 << 18, copy.as_file()));
    carry_out(&mut from, edits, &mut to).and_then(|()| to.flush()).map_err(failed())?;
    if from.digest() != original {
        return Err(GuardError::Changed { path: path.into() });
    }
    let mended = to.digest();
    drop(to);
    like(file, copy.as_file(), Duration::from_millis(1)).map_err(failed())?;
    copy.as_file().sync_all().map_err(failed())?;
    Ok((copy, mended))
}

/// Checks that the copy has no findings left that a repair removes.
fn must_be_sound(copy: &File, path: &Path) -> Result<(), GuardError> {
    let reading = read(copy, path)?;
    let inspection = inspection(path, &reading, &reading.examine());
    let left: Vec<Problem> = inspection
        .findings
        .iter()
        .filter(|finding| finding.is_mended)
        .map(|finding| finding.problem)
        .collect();
    match left.first() {
        None => Ok(()),
        Some(first) => {
            let left = format!("{} left, the first {}", left.len(), first.name());
            Err(GuardError::Unsettled { path: path.into(), left })
        }
    }
}

/// Copies the original beside itself, under a name that identifies the repair.
fn back_up(
    file: &File,
    path: &Path,
    original: blake3::Hash,
    mended: blake3::Hash,
) -> Result<PathBuf, GuardError> {
    let failed = || GuardError::file("backing up", path);
    let mut copy = beside(path).map_err(failed())?;
    let mut handle = file;
    handle.rewind().map_err(failed())?;
    let mut from = Digesting::new(handle);
    io::copy(&mut from, copy.as_file_mut()).map_err(failed())?;
    if from.digest() != original {
        return Err(GuardError::Changed { path: path.into() });
    }
    like(file, copy.as_file(), Duration::ZERO).map_err(failed())?;
    copy.as_file().sync_all().map_err(failed())?;
    let mut number = 1;
    loop {
        let backup = backup_path(path, number, &mended);
        // A number is never used twice, not even for different repairs.
        let is_taken = super::undo::backups(path)?.iter().any(|(taken, _)| *taken >= number);
        if is_taken {
            number += 1;
            continue;
        }
        match copy.persist_noclobber(&backup) {
            Ok(_) => {
                sync_folder(folder(path)).map_err(failed())?;
                return Ok(backup);
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                copy = error.file;
                number += 1;
            }
            Err(error) => return Err(failed()(error.error)),
        }
    }
}

/// Checks that the path still leads to the same file with the same bytes.
fn must_be_unchanged(
    file: &File,
    path: &Path,
    stamp: &Stamp,
    original: blake3::Hash,
) -> Result<(), GuardError> {
    let changed = || GuardError::Changed { path: path.into() };
    must_be_plain(path)?;
    let there = Stamp::of(&fs::metadata(path).map_err(GuardError::file("looking at", path))?);
    if there != *stamp || stamp_of(file, path)? != *stamp {
        return Err(changed());
    }
    if digest(file).map_err(GuardError::file("reading", path))? != original {
        return Err(changed());
    }
    // Reading a long file takes a while, so the stamp is compared again.
    if stamp_of(file, path)? == *stamp { Ok(()) } else { Err(changed()) }
}

/// Appends to the new file the bytes that the host appended to the old file between the last check and the rename.
fn carry_over(old: &File, length: u64, new: &File) -> io::Result<u64> {
    if old.metadata()?.len() <= length {
        return Ok(0);
    }
    let (mut old, mut new) = (old, new);
    old.seek(SeekFrom::Start(length))?;
    let mut late = Vec::new();
    old.read_to_end(&mut late)?;
    new.seek(SeekFrom::End(0))?;
    new.write_all(&late)?;
    new.sync_all()?;
    Ok(late.len() as u64)
}

/// A new hidden file in the same folder; it is removed unless it is renamed into place.
pub(super) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".unforget-").suffix(".tmp").tempfile_in(folder(path))
}

/// The folder of a path.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a copy the permissions, owner and time of the original.
///
/// * `later` - offset of the copy's time. Hosts resume the newest file, so the time must stay nearly the same; caches
///   compare time and size, so the time must not stay exactly the same.
pub(super) fn like(original: &File, copy: &File, later: Duration) -> io::Result<()> {
    let facts = original.metadata()?;
    own(&facts, copy)?;
    copy.set_permissions(facts.permissions())?;
    if let Ok(modified) = facts.modified() {
        copy.set_times(FileTimes::new().set_modified(modified + later))?;
    }
    Ok(())
}

#[cfg(unix)]
fn own(original: &fs::Metadata, copy: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let now = copy.metadata()?;
    let is_other = |then: u32, now: u32| (then != now).then_some(then);
    let (owner, group) = (is_other(original.uid(), now.uid()), is_other(original.gid(), now.gid()));
    if owner.is_none() && group.is_none() { Ok(()) } else { fchown(copy, owner, group) }
}

#[cfg(not(unix))]
fn own(_: &fs::Metadata, _: &File) -> io::Result<()> {
    Ok(())
}

/// The current time in UTC, to the second, in the format of lock files.
pub(super) fn now_iso() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.000Z", time / 3600, time / 60 % 60, time % 60)
}

/// Converts days since 1970-01-01 to year, month and day of the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years that start in March have their leap day at the end.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_table() {
        let table = [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_454, (2026, 1, 1)),
            (20_779, (2026, 11, 22)),
        ];
        for (days, want) in table {
            assert_eq!(civil(days), want, "{days}");
        }
    }
}
