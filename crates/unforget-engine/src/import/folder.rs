//! Outcomes of the files of a folder.

use std::path::Path;

use unforget_wire::ReadError;

use super::Imported;
use crate::EngineError;

/// Endings of pages for people. Such a page may show a transcript, and is none.
const PAGES: [&str; 7] = ["adoc", "htm", "html", "md", "mdx", "rst", "txt"];

/// Why a file of a folder is passed over by its name alone; `None` for one that has to be read. A person who names the file itself
/// gets it imported.
pub fn passed_over(file: &Path) -> Option<&'static str> {
    let end = file.extension()?.to_str()?.to_ascii_lowercase();
    PAGES.contains(&end.as_str()).then_some("a page for people: name the file itself to import it")
}

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
            Err(EngineError::Read { source: ReadError::NotATranscript { what, .. }, .. }) if !asked => {
                Self::Skipped(what)
            }
            Err(EngineError::HostDatabase { source, .. }) if !asked && source.is_other() => {
                Self::Skipped(source.to_string())
            }
            Err(error) => Self::Failed(error),
        }
    }
}
