//! The errors of the store.

use std::path::PathBuf;

use unforget_core::id::{ConversationId, Generation, Seq};

/// A driver's error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store operation failed. Unless a variant says otherwise, nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process owns the database.
    #[error("the database {} is in use by {}", path.display(), process(*pid))]
    Busy {
        /// The database.
        path: PathBuf,
        /// The owner's process id, 0 if it could not be read.
        pid: u32,
    },
    /// The file was written by a newer version.
    #[error("a newer version wrote the database {}: it has schema {found}, this program knows up to {known}", path.display())]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its `user_version`.
        found: u32,
        /// The newest version that we know.
        known: u32,
    },
    /// The file was written by an older version and is opened for reading only: it has to be opened for writing once.
    #[error("an older version wrote the database {}: it has schema {found}, this program reads {known}", path.display())]
    OlderSchema {
        /// The database.
        path: PathBuf,
        /// Its `user_version`.
        found: u32,
        /// The version that we need.
        known: u32,
    },
    /// The file is not a database of ours.
    #[error("{} is not a database of unforget: {detail}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// A description of the file's content.
        detail: String,
    },
    /// The linked SQLite has a known data-loss bug.
    #[error("SQLite {version} can lose committed writes when its log begins anew; 3.51.3 or newer is needed")]
    UnsafeSqlite {
        /// The linked version.
        version: String,
    },
    /// No such conversation.
    #[error("the database has no conversation {id}")]
    NoConversation {
        /// The requested conversation.
        id: ConversationId,
    },
    /// Another append came in between; plan again.
    #[error(
        "somebody else wrote to generation {generation} meanwhile: it has {found} entries, {expected} were expected"
    )]
    Moved {
        /// The generation.
        generation: Generation,
        /// The length for which the plan was made.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// Another append came in between; plan again.
    #[error(
        "somebody else wrote to conversation {id} meanwhile: it has {found} entries, {expected} were expected"
    )]
    Overtaken {
        /// The conversation.
        id: ConversationId,
        /// The number of entries for which the append was planned.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// Somebody else changed the pins in the meantime; look again.
    #[error("somebody else changed the pins of conversation {id} meanwhile")]
    PinsMoved {
        /// Whose.
        id: ConversationId,
    },
    /// Somebody else purged entries of the conversation meanwhile. What was made from what was read before is not stored;
    /// read again.
    #[error(
        "somebody else purged entries of conversation {id} meanwhile, so what was made of them is not stored"
    )]
    PurgedMeanwhile {
        /// Whose.
        id: ConversationId,
    },
    /// Stored bytes cannot be read back.
    #[error("entry {seq} of conversation {id} is damaged: {detail}")]
    Damaged {
        /// The conversation.
        id: ConversationId,
        /// The first affected entry.
        seq: Seq,
        /// A description of the damage.
        detail: String,
    },
    /// The row of a conversation is damaged: its key or another column. Its entries may be sound.
    #[error("conversation {id} is damaged: {detail}")]
    DamagedConversation {
        /// The conversation.
        id: ConversationId,
        /// A description of the damage.
        detail: String,
    },
    /// A chunk, blob, segment or block requested by name does not exist.
    #[error("conversation {id} has no {what}")]
    Missing {
        /// The conversation.
        id: ConversationId,
        /// The missing thing, such as `chunk 7`.
        what: String,
    },
    /// The database file itself is malformed. Writing has stopped; restore a backup or `verify`.
    #[error("the database {} is malformed: {detail}", path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The driver's message.
        detail: String,
    },
    /// The database file was replaced or removed while it was open. Writing has stopped.
    #[error("the database {} was replaced or removed while it was open", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The owner's lock file was removed or replaced while the database was open: a second owner may have it. Writing
    /// has stopped.
    #[error("the lock file {} was removed or replaced while its database was open, so another process may own that too", path.display())]
    LockLost {
        /// The lock file.
        path: PathBuf,
    },
    /// The database file has several names. Each name has a log and a lock of its own, so two owners would corrupt it.
    #[error("the database {} has {names} names (hard links), and its owner by another name would corrupt it", path.display())]
    Linked {
        /// The database.
        path: PathBuf,
        /// Number of names.
        names: u64,
    },
    /// The store was opened for reading only.
    #[error("the database {} is open for reading only", path.display())]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// The operation needs the whole store, but this is a view of some conversations.
    #[error("`{operation}` needs the whole database, and only some of its conversations are visible here")]
    OutOfScope {
        /// Name of the store method.
        operation: &'static str,
    },
    /// The file system cannot be trusted with a database: locks and shared memory do not work there.
    #[error("the database {} is on a network or user-space file system ({kind}), where locks cannot be trusted", path.display())]
    NetworkFilesystem {
        /// The database.
        path: PathBuf,
        /// The file system, as the kernel names it.
        kind: String,
    },
    /// The server of the database does not answer, or refuses the connection.
    #[error("the database {place} cannot be reached: {detail}")]
    Unreachable {
        /// The database, without its password.
        place: String,
        /// The driver's message.
        detail: String,
    },
    /// A setting of the server lets it lose what it acknowledged.
    #[error("the server of {place} runs with {setting} = {value} and can lose what it acknowledged")]
    UnsafeServer {
        /// The database, without its password.
        place: String,
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
    },
    /// This kind of database has no such operation yet.
    #[error("{place} is a database on a server, which has no `{operation}`: {why}")]
    Unsupported {
        /// The database, without its password.
        place: String,
        /// Name of the store method or the command.
        operation: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The disk or the quota is full. Everything acknowledged is safe; try again when there is room.
    #[error("the disk has no room left while writing {}", path.display())]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// The database failed, and it is unknown whether it wrote. Repeating the operation is safe.
    #[error("the database failed during `{operation}`")]
    Backend {
        /// Name of the store method, for logs.
        operation: &'static str,
        /// The driver's error.
        #[source]
        source: BoxError,
    },
}

impl StoreError {
    /// Whether somebody else wrote to the conversation meanwhile: what is read and planned again may succeed.
    pub const fn is_overtaken(&self) -> bool {
        matches!(self, Self::Moved { .. } | Self::Overtaken { .. } | Self::PurgedMeanwhile { .. })
    }
}

/// The owner of a database, for messages.
fn process(pid: u32) -> String {
    if pid == 0 { "another process".to_owned() } else { format!("process {pid}") }
}
