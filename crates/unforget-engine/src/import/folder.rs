//! Outcomes of the files of a folder.

use unforget_wire::ReadError;

use super::Imported;
use crate::EngineError;

/// Outcome of one file.
#[derive(Debug)]
pub enum Found {
    /// It is in the store.
    Imported(Imported),
    /// A file in a folder that is not a transcript, with the reason; skipped.
    Skipped(String),
    /// The file could not be read or stored.
    Failed(EngineError),
}

impl Found {
    /// The outcome for the result of an import.
    ///
    /// * `asked` - the caller named the file itself, not its folder. Then a file that is not a transcript is an error.
    pub fn of(outcome: Result<Imported, EngineError>, asked: bool) -> Self {
        match outcome {
            Ok(imported) => Self::Imported(imported),
            Err(EngineError::Read { source: ReadError::NotATranscript { what }, .. }) if !asked => {
                Self::Skipped(what)
            }
            Err(error) => Self::Failed(error),
        }
    }
}
