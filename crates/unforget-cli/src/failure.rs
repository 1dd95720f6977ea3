//! Why a command did not do what was asked: for people, for scripts, and as an exit code.

use std::io;
use std::process::ExitCode;

use unforget_core::pin::PinError;
use unforget_engine::{EngineError, causes};
use unforget_store::StoreError;
use unforget_wire::ReadError;

/// How a command ended. Of several, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// It did what was asked.
    Done,
    /// It found problems, and that is its result.
    Problems,
    /// It was asked for something that is not there, or in the wrong way.
    Usage,
    /// A file is not what it should be.
    Input,
    /// The store is busy, full or damaged.
    Store,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What kind, in kebab-case, for scripts.
    pub(crate) kind: &'static str,
    /// What happened and where.
    pub(crate) message: String,
    /// What to do next; may be empty.
    pub(crate) hint: String,
    /// The exit code.
    pub(crate) exit: Exit,
}

/// Result of a command.
pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

impl Failure {
    /// Wrong usage, or a name that nothing answers to.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: "usage", message: message.into(), hint: hint.into(), exit: Exit::Usage }
    }

    /// A file that is not what it should be.
    pub(crate) fn input(kind: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into(), exit: Exit::Input }
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(path: &std::path::Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "check the permissions",
            io::ErrorKind::StorageFull => "make room on the disk and run the same command again",
            io::ErrorKind::AlreadyExists => "name a file that is not there yet",
            _ => "",
        };
        Self::input("file", format!("{}: {error}", path.display()), hint)
    }

    /// Whether the reader of our output went away: no error, there is just nobody to tell.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.kind == "closed-pipe"
    }
}

impl From<io::Error> for Failure {
    /// For writing to stdout; other files go through [`Failure::file`].
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (kind, exit, hint) = of_store(&error);
        Self { kind, message: causes(&error), hint, exit }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let message = causes(&error);
        match error {
            EngineError::Store(store) => store.into(),
            EngineError::Index(_) => Self {
                kind: "index",
                message,
                hint: "the search index is derived: unforget doctor says how to build it again".to_owned(),
                exit: Exit::Store,
            },
            EngineError::Read { source: ReadError::NotATranscript { .. }, .. } => {
                Self::input("not-a-transcript", message, "give a JSON or JSON-lines history of an agent host")
            }
            EngineError::Read { .. } => Self::input("file", message, "check the disk and run it again"),
            EngineError::File { path, source } => Self::file(&path, &source),
            EngineError::NoConversation { near, .. } => {
                let hint = match near.as_slice() {
                    [] => "unforget list shows what there is".to_owned(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                Self { kind: "no-conversation", message, hint, exit: Exit::Usage }
            }
            EngineError::Ambiguous { .. } => {
                let hint = "write more of it".to_owned();
                Self { kind: "ambiguous", message, hint, exit: Exit::Usage }
            }
            EngineError::MissingSummary { .. } => Self {
                kind: "damaged",
                message,
                hint: "unforget verify says what is missing".to_owned(),
                exit: Exit::Store,
            },
            EngineError::Irreducible(_) => {
                Self::input("irreducible", message, "name a larger window with --window")
            }
            EngineError::Pin(PinError::Damaged { .. }) => Self {
                kind: "damaged",
                message,
                hint: "unforget restore puts a backup in its place".to_owned(),
                exit: Exit::Store,
            },
            EngineError::Pin(_) => Self::usage(message, "unforget pins CONVERSATION lists them"),
            EngineError::Usage { hint, .. } => Self::usage(message, hint),
            _ => Self { kind: "engine", message, hint: String::new(), exit: Exit::Store },
        }
    }
}

fn of_store(error: &StoreError) -> (&'static str, Exit, String) {
    let (kind, hint) = match error {
        StoreError::Busy { pid, .. } => {
            let owner = if *pid == 0 { "the other process".to_owned() } else { format!("process {pid}") };
            let hint = format!(
                "wait for {owner} or end it; list, show, search, grep and export work meanwhile, \
                 and --db names another database"
            );
            ("busy", hint)
        }
        StoreError::NewerSchema { .. } => ("newer-schema", "update unforget".to_owned()),
        StoreError::OlderSchema { .. } => {
            ("older-schema", "open it for writing once, for instance with: unforget import".to_owned())
        }
        StoreError::NotAStore { .. } => ("not-a-store", "name another file with --db".to_owned()),
        StoreError::UnsafeSqlite { .. } => {
            ("unsafe-sqlite", "build unforget with the SQLite that it brings along".to_owned())
        }
        StoreError::NoConversation { .. } => {
            return ("no-conversation", Exit::Usage, "unforget list shows what there is".to_owned());
        }
        StoreError::Damaged { .. } | StoreError::Corrupt { .. } | StoreError::Missing { .. } => (
            "damaged",
            "unforget verify shows all of it; unforget restore puts a backup in its place".to_owned(),
        ),
        StoreError::Replaced { .. } => {
            ("replaced", "run the command again on the file that is there now".to_owned())
        }
        StoreError::ReadOnly { .. } => {
            ("read-only", "run it while no other process owns the database".to_owned())
        }
        StoreError::NetworkFilesystem { .. } => {
            ("network-file-system", "put the database on a local disk: --db PATH".to_owned())
        }
        StoreError::Full { .. } => {
            ("full", "make room and run the same command again; what was acknowledged is safe".to_owned())
        }
        StoreError::Moved { .. } | StoreError::PinsMoved { .. } => {
            ("moved", "run the same command again".to_owned())
        }
        _ => {
            ("store", "running the same command again is safe; unforget doctor looks at the place".to_owned())
        }
    };
    (kind, Exit::Store, hint)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

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
                    source: ReadError::NotATranscript { what: "an image".into() },
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
        assert_eq!(failure.message, "store failed during append: disk on fire");
    }
}
