//! Errors of the engine.

use std::path::{Path, PathBuf};

use unforget_core::admit::Irreducible;
use unforget_core::pin::{PinError, Trouble};
use unforget_hosts::HostDatabaseError;
use unforget_recall::segment::SegmentError;
use unforget_store::StoreError;
use unforget_text::visible_name;
use unforget_wire::ReadError;

/// Most characters of a path in an error: as long as a path of Linux.
const PATH_CHARS: usize = 4096;

/// A path on one line: a name may hold line ends.
fn on_one_line(path: &Path) -> String {
    visible_name(&path.display().to_string(), PATH_CHARS)
}

/// An error and its causes in one line, for a person.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    message
}

/// Why the engine did not carry out a request. Nothing stored is lost in any of these cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The search index is damaged or too large. It is derived: `reindex` builds it again.
    #[error(transparent)]
    Index(#[from] SegmentError),
    /// A transcript cannot be read.
    #[error("cannot read {}", on_one_line(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: ReadError,
    },
    /// A file cannot be opened or written.
    #[error("cannot open or write {}", on_one_line(path))]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The database of a host cannot be read.
    #[error("cannot read {}", on_one_line(path))]
    HostDatabase {
        /// The database.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        source: HostDatabaseError,
    },
    /// No conversation has this name.
    #[error("no conversation is called {name}")]
    NoConversation {
        /// The name that was looked up.
        name: String,
        /// Similar keys, best first, at most five.
        near: Vec<String>,
    },
    /// Several conversations match this name.
    #[error("{name} can mean several conversations: {}", candidates.join(", "))]
    Ambiguous {
        /// The name that was looked up.
        name: String,
        /// Their keys, at most ten.
        candidates: Vec<String>,
    },
    /// A summary shown by the prompt is not in the store. `unforget verify` reports the cause.
    #[error("the prompt shows summary {name}, which the database does not have")]
    MissingSummary {
        /// Its name.
        name: String,
    },
    /// The request cannot be made to fit.
    #[error(transparent)]
    Irreducible(Box<Irreducible>),
    /// Pins were not changed, or what is stored of them is damaged.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// A file cannot be pinned as it is. Nothing changed.
    #[error("{} {}", path.display(), trouble.words())]
    PinFile {
        /// The file.
        path: PathBuf,
        /// Why.
        trouble: Trouble,
    },
    /// The caller ended the reading of a history. Nothing was written.
    #[error("the history was not read to its end")]
    Stopped,
    /// A query, pattern or id cannot be used.
    #[error("{what}")]
    Usage {
        /// Description of the mistake.
        what: String,
        /// Suggestion for a correct call.
        hint: String,
    },
}

impl From<Irreducible> for EngineError {
    fn from(irreducible: Irreducible) -> Self {
        Self::Irreducible(Box::new(irreducible))
    }
}
