//! An entry as it enters the store, and the facts that are read back without its bytes.

use std::ops::Range;

use unforget_core::digest::{Chain, Digest};
use unforget_core::entry::{Origin, Role, Status};
use unforget_core::id::{Generation, Position, Seq, Thread, Timestamp};
use unforget_core::tokens::Tokens;

/// The facts of an entry that need no decoding of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRow {
    /// Order of arrival.
    pub seq: Seq,
    /// The generation in which it arrived.
    pub generation: Generation,
    /// Its place in that generation's path.
    pub position: Position,
    /// Seq of the preceding entry in the model's view; `None` at a root.
    pub parent: Option<Seq>,
    /// Side lane.
    pub thread: Thread,
    /// Who speaks.
    pub role: Role,
    /// Its origin.
    pub origin: Origin,
    /// How it ended.
    pub status: Status,
    /// The host's id.
    pub host_id: Option<String>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Tokens of the model-visible text.
    pub tokens: Tokens,
    /// Tokens of the model-visible text with every large tool result replaced by a stub.
    pub stubbed: Tokens,
    /// Head of the raw chain after this entry.
    pub chain: Chain,
    /// Digest of its content. The store keeps the first 16 bytes; the rest reads back as zeros. See [`kept_content`].
    pub content: Digest,
    /// Byte range of the body in the transcript of its generation.
    pub bytes: Range<u64>,
    /// Whether `purge` removed the bytes.
    pub purged: bool,
}

/// A content digest as the store returns it: half of it, which still tells contents apart.
#[must_use]
pub fn kept_content(content: Digest) -> Digest {
    let mut kept = [0; 32];
    for (to, from) in kept.iter_mut().zip(content.0.iter().take(16)) {
        *to = *from;
    }
    Digest(kept)
}

/// An entry to append. Export writes `lead ‖ body`.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// Bytes between the previous record and this one.
    pub lead: Vec<u8>,
    /// The record as received.
    pub body: Vec<u8>,
    /// Ranges of `body` that deserve a blob of their own, ascending, not overlapping.
    pub large: Vec<Range<usize>>,
    /// Facts; the store sets `seq`, `generation`, `position` and `purged`.
    pub row: EntryRow,
}
