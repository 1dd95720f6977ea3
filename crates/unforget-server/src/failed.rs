//! Failures, classified once for every protocol. A kind tells scripts what happened, and encoders what to answer: the
//! command line an exit code (`unforget-cli`), the HTTP API a status (`api/problem`), JSON-RPC a code
//! (`rpc/protocol/error`), MCP a text for a model (`mcp/trouble`). An encoder may replace advice that its callers cannot
//! follow.

use std::io;
use std::path::Path;

use unforget_core::pin::{PinError, Pins};
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

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The request is wrong.
    Usage,
    /// No conversation has the name.
    NoConversation,
    /// Several conversations match the name.
    Ambiguous,
    /// No active pin has the number.
    NoPin,
    /// The requester may not see or do this.
    Forbidden,
    /// A model is needed, but none is configured.
    NoModel,
    /// A file cannot be read or written.
    File,
    /// A file is no history of an agent host.
    NotATranscript,
    /// The request does not fit the window, however it is shortened.
    Irreducible,
    /// Somebody else changed the conversation meanwhile.
    Moved,
    /// Another process owns the database.
    Busy,
    /// The database is open for reading only.
    ReadOnly,
    /// The disk is full.
    Full,
    /// The server of the database does not answer.
    Unreachable,
    /// The server of the database may lose what it acknowledged.
    UnsafeServer,
    /// The database has no such operation.
    Unsupported,
    /// The database was written by a newer program.
    NewerSchema,
    /// The database was written by an older program.
    OlderSchema,
    /// The file is no database of this program.
    NotAStore,
    /// The SQLite library can lose writes.
    UnsafeSqlite,
    /// The database file was replaced while it was open.
    Replaced,
    /// The database is on a file system without reliable locks.
    NetworkFileSystem,
    /// The database has several names.
    Linked,
    /// Stored data is damaged or missing.
    Damaged,
    /// The search index is damaged.
    Index,
    /// The database failed. Whether it wrote is unknown.
    Store,
    /// The engine failed in a way that has no kind of its own.
    Engine,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 27] = [
        Self::Usage,
        Self::NoConversation,
        Self::Ambiguous,
        Self::NoPin,
        Self::Forbidden,
        Self::NoModel,
        Self::File,
        Self::NotATranscript,
        Self::Irreducible,
        Self::Moved,
        Self::Busy,
        Self::ReadOnly,
        Self::Full,
        Self::Unreachable,
        Self::UnsafeServer,
        Self::Unsupported,
        Self::NewerSchema,
        Self::OlderSchema,
        Self::NotAStore,
        Self::UnsafeSqlite,
        Self::Replaced,
        Self::NetworkFileSystem,
        Self::Linked,
        Self::Damaged,
        Self::Index,
        Self::Store,
        Self::Engine,
    ];

    /// Its name, in kebab-case, for scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NoConversation => "no-conversation",
            Self::Ambiguous => "ambiguous",
            Self::NoPin => "no-pin",
            Self::Forbidden => "forbidden",
            Self::NoModel => "no-model",
            Self::File => "file",
            Self::NotATranscript => "not-a-transcript",
            Self::Irreducible => "irreducible",
            Self::Moved => "moved",
            Self::Busy => "busy",
            Self::ReadOnly => "read-only",
            Self::Full => "full",
            Self::Unreachable => "unreachable",
            Self::UnsafeServer => "unsafe-server",
            Self::Unsupported => "unsupported",
            Self::NewerSchema => "newer-schema",
            Self::OlderSchema => "older-schema",
            Self::NotAStore => "not-a-store",
            Self::UnsafeSqlite => "unsafe-sqlite",
            Self::Replaced => "replaced",
            Self::NetworkFileSystem => "network-file-system",
            Self::Linked => "linked",
            Self::Damaged => "damaged",
            Self::Index => "index",
            Self::Store => "store",
            Self::Engine => "engine",
        }
    }

    /// Who has to fix it.
    pub const fn blame(self) -> Blame {
        match self {
            Self::Usage
            | Self::NoConversation
            | Self::Ambiguous
            | Self::NoPin
            | Self::Forbidden
            | Self::NoModel
            | Self::Unsupported => Blame::Asker,
            Self::File | Self::NotATranscript | Self::Irreducible => Blame::Input,
            _ => Blame::Store,
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::NoConversation | Self::NoPin => 404,
            Self::Forbidden => 403,
            Self::Ambiguous | Self::Moved | Self::NoModel => 409,
            Self::Busy | Self::ReadOnly | Self::Unreachable => 503,
            Self::Full => 507,
            _ => match self.blame() {
                Blame::Asker => 400,
                Blame::Input => 422,
                Blame::Store => 500,
            },
        }
    }

    /// Whether the same request may succeed later, without a change to it.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Moved | Self::Busy | Self::ReadOnly | Self::Full | Self::Unreachable | Self::Store
        )
    }
}

/// Most characters of a path in a failure: as long as a path of Linux.
const PATH_CHARS: usize = 4096;

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its kind.
    pub kind: FailureKind,
    /// The event and its place.
    pub message: String,
    /// The advised next step, in terms of the command line; may be empty.
    pub hint: String,
}

impl Failed {
    fn new(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }

    /// A model is needed, but none is configured.
    pub fn no_model() -> Self {
        let message = "no model that can be called from here is configured";
        Self::new(FailureKind::NoModel, message, "name a model in the settings file (see docs/models.md)")
    }

    /// An unreadable or unwritable file.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "check the permissions of the file and its folders",
            io::ErrorKind::StorageFull => "free some space on the disk and run the same command again",
            io::ErrorKind::AlreadyExists if path.is_dir() => "name a file in it",
            io::ErrorKind::AlreadyExists => "choose a file name that is not taken yet",
            _ => "",
        };
        let what = match error.kind() {
            io::ErrorKind::AlreadyExists if path.is_dir() => "this is a folder".to_owned(),
            io::ErrorKind::AlreadyExists => "there is a file of this name already".to_owned(),
            io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
            _ => error.to_string(),
        };
        // A name may hold line ends, and a failure is told on one line.
        let path = unforget_text::visible_name(&path.display().to_string(), PATH_CHARS);
        Self::new(FailureKind::File, format!("{path}: {what}"), hint)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        let kind = of_store(&error);
        let hint = match &error {
            StoreError::Busy { pid, .. } => {
                let owner = if *pid == 0 { "the other process".to_owned() } else { format!("process {pid}") };
                format!(
                    "wait for {owner} to end, or end it; list, show, search, grep and export work meanwhile, and \
                     --db names another database"
                )
            }
            _ => store_hint(kind).to_owned(),
        };
        Self::new(kind, causes(&error), hint)
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        let message = causes(&error);
        match error {
            EngineError::Store(store) => store.into(),
            EngineError::Index(_) => {
                let hint = "run unforget doctor: it tells how to build the search index again";
                Self::new(FailureKind::Index, message, hint)
            }
            EngineError::Read { source: ReadError::NotATranscript { .. }, .. } => {
                let hint = "name a JSON or JSON Lines file with the history of an agent host";
                Self::new(FailureKind::NotATranscript, message, hint)
            }
            EngineError::Read { .. } => {
                Self::new(FailureKind::File, message, "check the disk and run the same command again")
            }
            EngineError::HostDatabase { source, .. } if source.is_other() => {
                let hint = "docs/formats.md lists the hosts that are read";
                Self::new(FailureKind::NotATranscript, message, hint)
            }
            EngineError::HostDatabase { source, .. } if source.is_damage() => {
                let hint = "give a copy from a backup, or what sqlite3's .recover saves of it";
                Self::new(FailureKind::File, message, hint)
            }
            EngineError::HostDatabase { .. } => {
                let hint =
                    "run the command again, while the host is not busy; nothing was written to its database";
                Self::new(FailureKind::File, message, hint)
            }
            EngineError::File { path, source } => Self::file(&path, &source),
            EngineError::NoConversation { near, .. } => {
                let hint = match near.as_slice() {
                    [] => "unforget list shows all conversations".to_owned(),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                Self::new(FailureKind::NoConversation, message, hint)
            }
            EngineError::Ambiguous { .. } => {
                Self::new(FailureKind::Ambiguous, message, "write more of the key, or all of it")
            }
            EngineError::MissingSummary { .. } => {
                Self::new(FailureKind::Damaged, message, "unforget verify lists everything that is missing")
            }
            EngineError::Irreducible(_) => {
                Self::new(FailureKind::Irreducible, message, "name a larger window with --window")
            }
            EngineError::Pin(error) => of_pin(&error, message),
            EngineError::PinFile { trouble, .. } => Self::new(FailureKind::File, message, trouble.hint()),
            EngineError::Usage { hint, .. } => Self::new(FailureKind::Usage, message, hint),
            _ => Self::new(FailureKind::Engine, message, ""),
        }
    }
}

fn of_pin(error: &PinError, message: String) -> Failed {
    match error {
        PinError::Damaged { .. } => {
            Failed::new(FailureKind::Damaged, message, store_hint(FailureKind::Damaged))
        }
        PinError::Unknown { .. } | PinError::NotActive { .. } => {
            Failed::new(FailureKind::NoPin, message, "unforget pins CONVERSATION lists the pins")
        }
        PinError::Blank => Failed::new(FailureKind::Usage, message, "give the words of the rule"),
        PinError::TooLong { .. } => Failed::new(FailureKind::Usage, message, "pin only the rules themselves"),
        PinError::TooMany => {
            let hint = format!("unpin a rule first: at most {} can be active", Pins::ACTIVE_MAX);
            Failed::new(FailureKind::Usage, message, hint)
        }
        PinError::Elsewhere { .. } => {
            Failed::new(FailureKind::Usage, message, "unpin that pin first, or leave the file where it is")
        }
    }
}

const fn of_store(error: &StoreError) -> FailureKind {
    match error {
        StoreError::Busy { .. } => FailureKind::Busy,
        StoreError::NewerSchema { .. } => FailureKind::NewerSchema,
        StoreError::OlderSchema { .. } => FailureKind::OlderSchema,
        StoreError::NotAStore { .. } => FailureKind::NotAStore,
        StoreError::UnsafeSqlite { .. } => FailureKind::UnsafeSqlite,
        StoreError::NoConversation { .. } => FailureKind::NoConversation,
        StoreError::OutOfScope { .. } => FailureKind::Forbidden,
        StoreError::Damaged { .. }
        | StoreError::DamagedConversation { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Missing { .. } => FailureKind::Damaged,
        StoreError::Replaced { .. } | StoreError::LockLost { .. } => FailureKind::Replaced,
        StoreError::Linked { .. } => FailureKind::Linked,
        StoreError::ReadOnly { .. } => FailureKind::ReadOnly,
        StoreError::NetworkFilesystem { .. } => FailureKind::NetworkFileSystem,
        StoreError::Full { .. } => FailureKind::Full,
        StoreError::Unreachable { .. } => FailureKind::Unreachable,
        StoreError::UnsafeServer { .. } => FailureKind::UnsafeServer,
        StoreError::Unsupported { .. } => FailureKind::Unsupported,
        StoreError::Moved { .. }
        | StoreError::Overtaken { .. }
        | StoreError::PinsMoved { .. }
        | StoreError::PurgedMeanwhile { .. } => FailureKind::Moved,
        _ => FailureKind::Store,
    }
}

const fn store_hint(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NewerSchema => "update unforget",
        FailureKind::OlderSchema => "open the database for writing once, for instance with unforget import",
        FailureKind::NotAStore => "name another file with --db",
        FailureKind::UnsafeSqlite => "build unforget with the SQLite that it brings along",
        FailureKind::NoConversation => "unforget list shows all conversations",
        FailureKind::Forbidden => "ask the owner of the daemon",
        FailureKind::Damaged => {
            "run unforget verify to see all of the damage; unforget restore puts a backup in place of the database"
        }
        FailureKind::Replaced => "run the same command again, on the file that is there now",
        FailureKind::ReadOnly => {
            "run the command when no other process owns the database, on a disk and with a user that may write it"
        }
        FailureKind::Linked => {
            "remove its other names (find DIR -samefile PATH shows them), or make a copy of the file and name that with --db"
        }
        FailureKind::NetworkFileSystem => "put the database on a local disk: --db PATH",
        FailureKind::Full => {
            "free some space on the disk and run the same command again; what was acknowledged is safe"
        }
        FailureKind::Unreachable => {
            "check that the server runs, and its address, user and password in --db or UNFORGET_DB"
        }
        FailureKind::UnsafeServer => {
            "let the server run with fsync, full_page_writes and synchronous_commit on"
        }
        FailureKind::Unsupported => {
            "docs/postgres.md says what a database on a server can do; --db names a file"
        }
        FailureKind::Moved => "run the same command again",
        _ => "it is safe to run the same command again; if that fails too, run unforget doctor",
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use unforget_core::id::ConversationId;
    use unforget_core::pin::PinId;

    use super::*;

    #[test]
    fn kinds_table() {
        let path = PathBuf::from("x");
        let id = ConversationId(1);
        let table: [(EngineError, FailureKind, &str); 10] = [
            (
                EngineError::NoConversation { name: "x".into(), near: vec![] },
                FailureKind::NoConversation,
                "no such name",
            ),
            (
                StoreError::NoConversation { id }.into(),
                FailureKind::NoConversation,
                "purged meanwhile: one kind, whoever notices",
            ),
            (
                EngineError::Ambiguous { name: "x".into(), candidates: vec![] },
                FailureKind::Ambiguous,
                "a name that two have",
            ),
            (
                StoreError::OutOfScope { operation: "sizes" }.into(),
                FailureKind::Forbidden,
                "another tenant's",
            ),
            (
                StoreError::Overtaken { id, expected: 1, found: 2 }.into(),
                FailureKind::Moved,
                "a second writer",
            ),
            (StoreError::PinsMoved { id }.into(), FailureKind::Moved, "a second person"),
            (StoreError::Full { path }.into(), FailureKind::Full, "no room"),
            (PinError::Unknown { id: PinId(9) }.into(), FailureKind::NoPin, "no such pin"),
            (PinError::Damaged { id: PinId(9) }.into(), FailureKind::Damaged, "stored pins"),
            (PinError::Blank.into(), FailureKind::Usage, "no words"),
        ];
        for (error, want, why) in table {
            let failed = Failed::from(error);
            assert_eq!(failed.kind, want, "{why}");
            assert!(!failed.hint.is_empty(), "{why}: advice");
        }
    }

    #[test]
    fn a_kind_has_a_name_and_a_status_that_agree() {
        for (at, kind) in FailureKind::ALL.into_iter().enumerate() {
            assert!(
                FailureKind::ALL.iter().skip(at + 1).all(|other| other.name() != kind.name()),
                "{kind:?}"
            );
            let is_client = kind.status() < 500;
            assert!(is_client || kind.blame() == Blame::Store, "{kind:?}: a 5xx is ours");
            assert!(
                !kind.is_retryable() || kind.blame() == Blame::Store,
                "{kind:?}: a wrong request stays wrong"
            );
        }
    }
}
