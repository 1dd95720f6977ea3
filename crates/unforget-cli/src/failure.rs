//! Failures of a command: for people, for scripts, and as an exit code.

use std::io;
use std::process::ExitCode;

use unforget_engine::EngineError;
use unforget_server::failed::{Blame, Failed, FailureKind};
use unforget_store::StoreError;

/// The result of a command. Of several results, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// The command found problems, and these are its result.
    Problems,
    /// The requested thing does not exist, or the request is wrong.
    Usage,
    /// A file is unsuitable.
    Input,
    /// The store is busy, full or damaged.
    Store,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its kind, in kebab-case, for scripts.
    pub(crate) kind: &'static str,
    /// The event and its place.
    pub(crate) message: String,
    /// The advised next step; may be empty.
    pub(crate) hint: String,
    /// The exit code.
    pub(crate) exit: Exit,
}

/// Result of a command.
pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

impl Failure {
    /// Wrong usage, or an unknown name.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: "usage", message: message.into(), hint: hint.into(), exit: Exit::Usage }
    }

    /// An unsuitable file.
    pub(crate) fn input(kind: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into(), exit: Exit::Input }
    }

    /// An unreadable or unwritable file.
    pub(crate) fn file(path: &std::path::Path, error: &io::Error) -> Self {
        Failed::file(path, error).into()
    }

    /// Whether the reader of our output has gone away. Such a failure needs no report.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.kind == "closed-pipe"
    }
}

impl From<io::Error> for Failure {
    /// For errors on stdout; other files use [`Failure::file`].
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::BrokenPipe { "closed-pipe" } else { "output" };
        Self::input(kind, format!("writing the output: {error}"), "")
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

impl From<Blame> for Exit {
    fn from(blame: Blame) -> Self {
        match blame {
            Blame::Asker => Self::Usage,
            Blame::Input => Self::Input,
            Blame::Store => Self::Store,
        }
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Self {
        let Failed { kind, message, hint } = failed;
        // Scripts know an unknown pin as wrong usage.
        let name = if kind == FailureKind::NoPin { FailureKind::Usage.name() } else { kind.name() };
        Self { kind: name, message, hint, exit: kind.blame().into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failed::from(error).into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failed::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use unforget_wire::ReadError;

    use super::*;

    #[test]
    fn exit_codes_table() {
        let path = PathBuf::from("x");
        let table: [(EngineError, Exit, &str); 6] = [
            (StoreError::Busy { path: path.clone(), pid: 7 }.into(), Exit::Store, "another process owns it"),
            (StoreError::Full { path: path.clone() }.into(), Exit::Store, "no room"),
            (EngineError::NoConversation { name: "x".into(), near: vec![] }, Exit::Usage, "a wrong name"),
            (EngineError::Usage { what: "x".into(), hint: "y".into() }, Exit::Usage, "a wrong pattern"),
            (EngineError::File { path, source: io::ErrorKind::NotFound.into() }, Exit::Input, "a wrong file"),
            (
                EngineError::Read {
                    path: PathBuf::new(),
                    source: ReadError::NotATranscript { what: "an image".into(), is_begun: false },
                },
                Exit::Input,
                "a file of another kind",
            ),
        ];
        for (error, want, why) in table {
            assert_eq!(Failure::from(error).exit, want, "{why}");
        }
    }

    #[test]
    fn a_closed_pipe_is_told_apart() {
        assert!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).is_closed_pipe());
        assert!(!Failure::from(io::Error::from(io::ErrorKind::StorageFull)).is_closed_pipe());
    }

    #[test]
    fn causes_are_told_once() {
        let failure = Failure::from(EngineError::Store(StoreError::Backend {
            operation: "append",
            source: "disk on fire".into(),
        }));
        assert_eq!(failure.message, "the database failed during `append`: disk on fire");
    }
}
