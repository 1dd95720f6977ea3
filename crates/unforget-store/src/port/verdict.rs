//! What people and agents said of stored entries.

use unforget_core::id::{Seq, Timestamp};

/// A word on an entry: it is wrong, or superseded. Never changed, only taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictRow {
    /// Its number within the conversation, from 1, ascending with time. 0 for a new one, see
    /// [`put_verdict`](crate::Summaries::put_verdict).
    pub number: u64,
    /// The entry.
    pub seq: Seq,
    /// The words that are meant, verbatim; `None` for the whole entry.
    pub line: Option<String>,
    /// The reason, in the author's words.
    pub why: String,
    /// The name of an entry that holds now.
    pub instead: Option<String>,
    /// The author: a person, or the name of an agent.
    pub author: String,
    /// The time of the verdict.
    pub made: Timestamp,
    /// The time at which it was taken back.
    pub withdrawn: Option<Timestamp>,
}

impl VerdictRow {
    /// Whether it counts: nobody took it back.
    pub const fn is_standing(&self) -> bool {
        self.withdrawn.is_none()
    }
}
