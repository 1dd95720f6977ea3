//! The counters of a conversation's row: what an append makes of them, on every database.

use unforget_core::id::{ConversationId, Timestamp};

use crate::error::StoreError;
use crate::port::{EntryRow, Snapshot};

/// The columns of a conversation's row that an append changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Committed appends and purges.
    pub revision: u64,
    /// The next seq.
    pub entries: u64,
    /// The next number of a generation.
    pub generations: u64,
    /// The next number of a chunk.
    pub chunks: u64,
    /// Number of the last snapshot.
    pub snapshots: u64,
    /// The current generation.
    pub current: u64,
    /// Active entries of its path.
    pub length: u64,
    /// Sum of the tokens of all entries.
    pub tokens: u64,
    /// Sum of the bytes as received.
    pub raw_bytes: u64,
    /// Smallest host time, in ms since 1970.
    pub first_ms: Option<i64>,
    /// Largest host time.
    pub last_ms: Option<i64>,
}

/// What an append adds to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedPath {
    /// The generation written to.
    pub generation: u64,
    /// Length of its path behind the append.
    pub length: u64,
    /// Bytes as received.
    pub raw_bytes: u64,
    /// Number of chunks.
    pub chunks: u64,
}

impl Counters {
    /// Whether an append was planned for this number of entries.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`].
    pub const fn expect(&self, id: ConversationId, entries: u64) -> Result<(), StoreError> {
        if entries == self.entries {
            return Ok(());
        }
        Err(StoreError::Overtaken { id, expected: entries, found: self.entries })
    }

    /// The counters behind an append, but for a generation that it opens.
    ///
    /// * `rows` - the new entries.
    pub fn add<'a>(
        &mut self,
        added: AddedPath,
        rows: impl Iterator<Item = &'a EntryRow>,
        snapshot: Option<&Snapshot>,
    ) {
        for row in rows {
            self.entries += 1;
            self.tokens = self.tokens.saturating_add(row.tokens.expected);
            if let Some(Timestamp(time)) = row.time {
                self.first_ms = Some(self.first_ms.map_or(time, |first| first.min(time)));
                self.last_ms = Some(self.last_ms.map_or(time, |last| last.max(time)));
            }
        }
        self.revision += 1;
        self.chunks += added.chunks;
        self.raw_bytes = self.raw_bytes.saturating_add(added.raw_bytes);
        if self.current == added.generation {
            self.length = added.length;
        }
        if let Some(snapshot) = snapshot {
            self.snapshots += 1;
            (self.current, self.length) = (added.generation, snapshot.length);
        }
    }
}
