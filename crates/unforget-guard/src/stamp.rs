//! Identifies the state of a file, so that changes by others are noticed.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::SystemTime;

use super::GuardError;

/// Identity of a state of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Length in bytes.
    pub(super) bytes: u64,
    /// Time of the last modification.
    pub(super) modified: Option<SystemTime>,
    /// Device and inode number, on systems that have them.
    pub(super) inode: (u64, u64),
}

impl Stamp {
    /// The stamp of an open file.
    pub(super) fn of(facts: &Metadata) -> Self {
        Self { bytes: facts.len(), modified: facts.modified().ok(), inode: inode(facts) }
    }
}

#[cfg(unix)]
fn inode(facts: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (facts.dev(), facts.ino())
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(unix)]
fn names(facts: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    facts.nlink()
}

#[cfg(not(unix))]
fn names(_: &Metadata) -> u64 {
    1
}

/// Checks that the path is a regular file with one name, which a rename replaces as a whole.
///
/// # Errors
/// [`GuardError::Link`], [`GuardError::Names`], [`GuardError::NotAFile`], [`GuardError::File`].
pub(super) fn must_be_plain(path: &Path) -> Result<(), GuardError> {
    let facts = std::fs::symlink_metadata(path).map_err(GuardError::file("looking at", path))?;
    if facts.file_type().is_symlink() {
        return Err(GuardError::Link { path: path.into(), target: std::fs::canonicalize(path).ok() });
    }
    if !facts.is_file() {
        return Err(GuardError::NotAFile { path: path.into() });
    }
    match names(&facts) {
        0 | 1 => Ok(()),
        names => Err(GuardError::Names { path: path.into(), names }),
    }
}

/// The digest of an open file, from its start to its end.
pub(super) fn digest(file: &File) -> io::Result<blake3::Hash> {
    let mut handle = file;
    handle.rewind()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match handle.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
    }
}

/// A reader that computes the digest of the bytes it passes on.
pub(super) struct Digesting<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R> Digesting<R> {
    /// Starts with no bytes read.
    pub(super) fn new(inner: R) -> Self {
        Self { inner, hasher: blake3::Hasher::new() }
    }

    /// The digest of all bytes so far.
    pub(super) fn digest(&self) -> blake3::Hash {
        self.hasher.finalize()
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl<W: io::Write> io::Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Makes a rename in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
