//! Mends a file in place.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use super::in_place::{beside, folder, like};
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
