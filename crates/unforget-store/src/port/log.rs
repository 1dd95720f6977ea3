//! The part of the port for received data: conversations, entries, their names, chains and bytes.

use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq};

use super::{
    Append, Conversation, EntryRow, GenerationRow, LabelRow, Name, NewConversation, Page, Purged, Raw,
    Receipt, Result, Snapshot, WriteLatency,
};

/// An entry and one of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedEntry {
    /// The name.
    pub name: Name,
    /// The entry.
    pub seq: Seq,
}

impl NamedEntry {
    /// This entry under this name.
    pub const fn new(name: Name, seq: Seq) -> Self {
        Self { name, seq }
    }
}

/// A snapshot and the conversation that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSnapshot {
    /// The conversation.
    pub conversation: ConversationId,
    /// The snapshot.
    pub snapshot: Snapshot,
}

/// Received data, as it came.
pub trait Log {
    /// Finds the conversation with this key, or creates it. Derived: an empty conversation has nothing to lose.
    fn ensure(&self, new: &NewConversation) -> Result<Conversation>;

    /// The conversation with this key.
    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>>;

    /// One conversation.
    fn conversation(&self, id: ConversationId) -> Result<Conversation>;

    /// Conversations, by id.
    fn conversations(&self, page: Page<ConversationId>) -> Result<Vec<Conversation>>;

    /// What people say of conversations, by id. A conversation of which nobody says anything has no row.
    fn labels(&self, page: Page<ConversationId>) -> Result<Vec<LabelRow>>;

    /// Stores what a person says of a conversation from now on. No change of the conversation, and no purge takes it away:
    /// the words are not the conversation's. Returns false, without a write, if the stored label is not `before`.
    ///
    /// * `before` - as [`Log::labels`] gave it, or [`LabelRow::blank`].
    /// * `after` - of this conversation. A blank one takes the row away.
    fn put_label(&self, id: ConversationId, before: &LabelRow, after: &LabelRow) -> Result<bool>;

    /// Generations of a conversation, by number.
    fn generations(&self, id: ConversationId, page: Page<Generation>) -> Result<Vec<GenerationRow>>;

    /// Snapshots, by number.
    fn snapshots(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<Snapshot>>;

    /// The snapshot with the greatest number.
    fn latest_snapshot(&self, id: ConversationId) -> Result<Option<Snapshot>>;

    /// The latest snapshot read from this path, in any conversation.
    fn snapshot_of_path(&self, path: &str) -> Result<Option<FoundSnapshot>>;

    /// Writes entries, snapshot, contexts and names in one transaction. An entry that was purged before it came here
    /// ([`EntryRow::purged`]) is written as the tombstone that it is.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] if the conversation does not have [`Append::entries`] entries. [`StoreError::Moved`] if
    /// `target` is `Extend` with a length other than the generation's (0 for a missing one), if it is `Open` with a
    /// fork beyond the parent's path, or if the snapshot is longer than its path. [`StoreError::Full`] if there is no
    /// room.
    ///
    /// [`StoreError::Overtaken`]: crate::StoreError::Overtaken
    /// [`StoreError::Moved`]: crate::StoreError::Moved
    /// [`StoreError::Full`]: crate::StoreError::Full
    fn append(&self, append: Append) -> Result<Receipt>;

    /// The entries that have one of these names, ordered by name, then seq; several entries may share a name. O(names),
    /// duplicates included.
    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<NamedEntry>>;

    /// All names of a conversation, by name, then seq.
    fn names(&self, id: ConversationId, page: Page<NamedEntry>) -> Result<Vec<NamedEntry>>;

    /// Adds names to stored entries. Existing names stay, and an entry may have many. Derived: a host that delivers an
    /// entry again gives its names again.
    ///
    /// Returns [`Conversation::names`] behind it: one more than before, or the same number if `names` is empty.
    fn put_names(&self, id: ConversationId, names: &[NamedEntry], latency: WriteLatency) -> Result<u64>;

    /// Finds the entry with this head of the raw chain behind it, in any generation; the earliest of several.
    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>>;

    /// Raw chain heads of a generation's path. `positions` is clamped to the path; a missing generation has none.
    /// O(positions).
    fn chains(&self, id: ConversationId, generation: Generation, positions: Range<u64>)
    -> Result<Vec<Chain>>;

    /// Seqs of the first `length` entries of a generation's path, in path order, as maximal runs. `length` is clamped;
    /// a missing generation has none. O(runs).
    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>>;

    /// Rows of a range of seqs, ascending, clamped to the existing ones.
    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>>;

    /// Bytes of a range of seqs, ascending, clamped to the existing ones. Purged entries have empty leads and bodies.
    /// Memory: the bytes of the range.
    ///
    /// # Errors
    /// [`StoreError::Damaged`](crate::StoreError::Damaged) with the first entry that cannot be restored completely.
    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>>;

    /// The extent of purging these entries, without doing it.
    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged>;

    /// Removes the bytes and large parts of these entries, the summaries, jobs, rewrites and index segments over them,
    /// their names, and half-written lines that snapshots kept of them. Removes prompt states, recipes and decisions of
    /// the conversation. Removes words pinned from these entries and retires the pins. Rows and chain heads stay as
    /// tombstones, so that the chain still verifies around them. A blob stays if an entry outside the range holds it
    /// too. Entries purged before do not count again.
    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged>;
}
