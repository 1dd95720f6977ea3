//! Why histories were not synchronised.

use std::path::PathBuf;

use unforget_engine::EngineError;
use unforget_store::StoreError;

/// Why a step of a synchronisation failed. What was stored before stays, and the next run goes on behind it.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// An error of this machine's database or of an import.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file of the folder cannot be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The folder is not there, and neither is the one in which it would be made.
    #[error("{} cannot be made: the folder that it would be in does not exist", path.display())]
    NoParent {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds other things, and no histories.
    #[error("{} is no folder of synchronised histories, and not empty", path.display())]
    OtherFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder was made by a newer version.
    #[error("{} has the format {version}; this program knows {known}", path.display())]
    NewerFolder {
        /// The folder.
        path: PathBuf,
        /// Its format.
        version: u64,
        /// The newest format that is known.
        known: u64,
    },
    /// The folder is encrypted and no passphrase was given, or the wrong one.
    #[error("{}: {what}", path.display())]
    Passphrase {
        /// The folder.
        path: PathBuf,
        /// What is wrong with the passphrase.
        what: &'static str,
    },
    /// Bytes that are not what their name says. Of their session at most a beginning was stored, every record of it checked.
    #[error("{place} is damaged: {what}")]
    Damaged {
        /// The file, or the conversation at the other machine.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// Records that the source has no more, since they were purged there.
    #[error("{}", purged_words(*purged))]
    Purged {
        /// How many.
        purged: u64,
    },
    /// The other machine ended early or said something else.
    #[error("the other machine {what}")]
    Pipe {
        /// What happened.
        what: String,
    },
    /// The writing side of this machine refused.
    #[error("{what}")]
    Intake {
        /// What it said.
        what: String,
        /// Whether it would refuse everything else too.
        is_of_everything: bool,
    },
    /// No random numbers for encryption.
    #[error("the system gives no random numbers")]
    NoRandom,
}

fn purged_words(entries: u64) -> String {
    if entries == 1 {
        return "1 entry of it was purged".to_owned();
    }
    format!("{entries} entries of it were purged")
}

impl From<StoreError> for SyncError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl SyncError {
    /// Whether every other conversation would fail in the same way.
    pub(crate) const fn is_of_everything(&self) -> bool {
        match self {
            Self::Engine(EngineError::Store(error)) => !matches!(
                error,
                StoreError::Damaged { .. }
                    | StoreError::Missing { .. }
                    | StoreError::Moved { .. }
                    | StoreError::Overtaken { .. }
                    | StoreError::PurgedMeanwhile { .. }
                    | StoreError::NoConversation { .. }
            ),
            Self::Pipe { .. } | Self::NoRandom => true,
            Self::Intake { is_of_everything, .. } => *is_of_everything,
            _ => false,
        }
    }
}

/// Result of a step.
pub(crate) type Result<T> = std::result::Result<T, SyncError>;
