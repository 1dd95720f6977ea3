//! Errors of the guardian.

use std::io;
use std::path::PathBuf;

use unforget_wire::ReadError;

/// Why a transcript was not inspected or mended. The file is unchanged with one exception: a [`GuardError::File`] that
/// reports a failure to append to the mended file or to sync its folder. In this case the mended file is in place, with
/// its backup, and may not survive a loss of power.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The file cannot be read as a transcript.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: ReadError,
    },
    /// A file cannot be opened, written or renamed.
    #[error("{operation} {} failed", path.display())]
    File {
        /// The operation that failed.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The path is a symbolic link; a rename would replace the link.
    #[error("{} is a symbolic link, and a repair would replace the link", path.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// Target of the link, if it has one.
        target: Option<PathBuf>,
    },
    /// The file has several hard links; a rename would separate them.
    #[error("{} has {names} hard links, and a repair would change one of them only", path.display())]
    Names {
        /// The file.
        path: PathBuf,
        /// Number of hard links.
        names: u64,
    },
    /// The path is not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The host, or another repair, is working on the file.
    #[error("{} is in use by {owner}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// The holder of the lock, as far as the lock names it.
        owner: String,
    },
    /// The file changed during the repair.
    #[error("another program changed {} during the repair", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file has more records than fit into memory.
    #[error("{} has more than {max} records, the most that a repair can hold in memory", path.display())]
    TooManyRecords {
        /// The file.
        path: PathBuf,
        /// Maximum number of records.
        max: usize,
    },
    /// A line that must change cannot be parsed.
    #[error("line {line} of {} needs a change, but cannot be parsed well enough to change it safely", path.display())]
    Unmendable {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The mended copy still has findings that the repair should have removed: a defect of ours.
    #[error("{} was left alone, because its mended copy would still have problems: {left}", path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
        /// The remaining findings.
        left: String,
    },
    /// No backup belongs to the current content of the file.
    #[error("no backup belongs to the present content of {}, so there is no repair to undo", path.display())]
    NothingToUndo {
        /// The file.
        path: PathBuf,
        /// Whether backups of other states of the file exist.
        has_others: bool,
    },
}

impl GuardError {
    /// Makes a [`GuardError::File`] from a system error.
    pub(super) fn file(operation: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { operation, path, source }
    }
}
