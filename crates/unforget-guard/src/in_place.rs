//! A copy that takes the place of a file.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

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
