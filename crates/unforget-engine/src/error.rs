//! Why the engine did not do what was asked.

use std::path::PathBuf;

use unforget_core::admit::Irreducible;
use unforget_core::pin::PinError;
use unforget_recall::segment::SegmentError;
use unforget_store::StoreError;
use unforget_wire::ReadError;

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

/// Why the engine did not do what was asked. Nothing is lost in any of these cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The search index is damaged or too large. It is derived: `reindex` builds it again.
    #[error(transparent)]
    Index(#[from] SegmentError),
    /// A transcript cannot be read.
    #[error("{}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// A file cannot be opened or written.
    #[error("{}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// No conversation answers to this name.
    #[error("no conversation is called {name}")]
    NoConversation {
        /// What was asked for.
        name: String,
        /// Keys that look like it, best first, at most five.
        near: Vec<String>,
    },
    /// Several conversations answer to this name.
    #[error("{name} can mean {}", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Their keys, at most ten.
        candidates: Vec<String>,
    },
    /// A summary that the prompt shows is not in the store. `unforget verify` says why.
    #[error("summary {name} is missing")]
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
    /// A query, pattern or id is not usable.
    #[error("{what}")]
    Usage {
        /// What is wrong with it.
        what: String,
        /// What to do instead.
        hint: String,
    },
}

impl From<Irreducible> for EngineError {
    fn from(irreducible: Irreducible) -> Self {
        Self::Irreducible(Box::new(irreducible))
    }
}
