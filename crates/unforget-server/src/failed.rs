//! Failures for people and scripts: one home for the error kinds and hints of the command line and the HTTP API.

use std::io;
use std::path::Path;

use unforget_core::pin::PinError;
use unforget_engine::{EngineError, causes};
use unforget_store::StoreError;
use unforget_wire::ReadError;

/// Who has to fix a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The requester: the thing does not exist, or the request is wrong.
    Asker,
    /// The author of a file or of sent data.
    Input,
    /// The store: busy, full or damaged.
    Store,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its kind, in kebab-case, for scripts.
    pub kind: &'static str,
    /// The event and its place.
    pub message: String,
    /// The advised next step; may be empty.
    pub hint: String,
    /// Who has to fix it.
    pub blame: Blame,
}

impl Failed {
    /// A wrong request, or an unknown name.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: "usage", message: message.into(), hint: hint.into(), blame: Blame::Asker }
    }

    /// An unsuitable file or unsuitable data.
    pub fn input(kind: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into(), blame: Blame::Input }
    }

    /// A model is needed, but none is configured.
    pub fn no_model() -> Self {
        let hint = "name one in the settings file: docs/models.md".to_owned();
        let message = "no model is configured that can be called from here".to_owned();
        Self { kind: "no-model", message, hint, blame: Blame::Asker }
    }

    /// A failure of the store.
    fn store(kind: &'static str, message: String, hint: impl Into<String>) -> Self {
        Self { kind, message, hint: hint.into(), blame: Blame::Store }
    }

    /// An unreadable or unwritable file.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "check the permissions",
            io::ErrorKind::StorageFull => "make room on the disk and run the same command again",
            io::ErrorKind::AlreadyExists => "name a file that is not there yet",
            _ => "",
        };
        Self::input("file", format!("{}: {error}", path.display()), hint)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        let (kind, blame, hint) = of_store(&error);
        Self { kind, message: causes(&error), hint, blame }
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        let message = causes(&error);
        match error {
            EngineError::Store(store) => store.into(),
            EngineError::Index(_) => Self::store(
                "index",
                message,
                "the search index is derived: unforget doctor says how to build it again",
            ),
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
                Self { kind: "no-conversation", message, hint, blame: Blame::Asker }
            }
            EngineError::Ambiguous { .. } => {
                let hint = "write more of it".to_owned();
                Self { kind: "ambiguous", message, hint, blame: Blame::Asker }
            }
            EngineError::MissingSummary { .. } => {
                Self::store("damaged", message, "unforget verify says what is missing")
            }
            EngineError::Irreducible(_) => {
                Self::input("irreducible", message, "name a larger window with --window")
            }
            EngineError::Pin(PinError::Damaged { .. }) => {
                Self::store("damaged", message, "unforget restore puts a backup in its place")
            }
            EngineError::PinFile { trouble, .. } => Self::input("file", message, trouble.hint()),
            EngineError::Pin(_) => Self::usage(message, "unforget pins CONVERSATION lists them"),
            EngineError::Usage { hint, .. } => Self::usage(message, hint),
            _ => Self::store("engine", message, ""),
        }
    }
}

fn of_store(error: &StoreError) -> (&'static str, Blame, String) {
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
            return ("no-conversation", Blame::Asker, "unforget list shows what there is".to_owned());
        }
        StoreError::OutOfScope { .. } => {
            return ("forbidden", Blame::Asker, "ask the owner of the daemon".to_owned());
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
    (kind, Blame::Store, hint)
}
