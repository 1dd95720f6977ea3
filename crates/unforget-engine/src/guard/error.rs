//! Why a transcript was not inspected or mended.

use std::io;
use std::path::PathBuf;

use unforget_wire::ReadError;

/// Why a transcript was not inspected or mended. The file is as it was, except where a [`GuardError::File`] says
/// that appending to it or syncing its folder failed: then the mended file is in its place, behind its
/// backup, and whether that survives a loss of power is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The file cannot be read as a transcript.
    #[error("{}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// A file cannot be opened, written or renamed.
    #[error("{operation} {}", path.display())]
    File {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The path is a symbolic link; putting a file in its place would cut it.
    #[error("{} is a symbolic link", path.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads, if anywhere.
        target: Option<PathBuf>,
    },
    /// The file has several names; putting a file in the place of one would part them.
    #[error("{} has {names} names (hard links)", path.display())]
    Names {
        /// The file.
        path: PathBuf,
        /// How many.
        names: u64,
    },
    /// Something else than a file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// What it is called.
        path: PathBuf,
    },
    /// The host, or another repair, is at work on the file.
    #[error("{} is in use by {owner}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// Who holds the lock, as far as it says.
        owner: String,
    },
    /// The file changed while it was being mended.
    #[error("{} changed meanwhile", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// More records than are held in memory.
    #[error("{} has more than {max} records", path.display())]
    TooManyRecords {
        /// The file.
        path: PathBuf,
        /// How many are read.
        max: usize,
    },
    /// A line has to be changed and cannot be taken apart.
    #[error("line {line} of {} cannot be changed safely", path.display())]
    Unmendable {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The mended copy would still have findings that mending claims to mend. A bug of ours.
    #[error("the mended copy of {} would not be sound: {left}", path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
        /// What would be left.
        left: String,
    },
    /// There is no backup that belongs to the file as it is now.
    #[error("{} has no backup that repair could undo", path.display())]
    NothingToUndo {
        /// The file.
        path: PathBuf,
        /// Whether there are backups, of other states of the file.
        has_others: bool,
    },
}

impl GuardError {
    /// Makes a [`GuardError::File`] of what the system said.
    pub(super) fn file(operation: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { operation, path, source }
    }
}
