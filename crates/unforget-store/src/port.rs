//! The port: the contract of every store. Its plain values are in `values`.

mod jobs;
mod values;

use std::ops::Range;
use std::sync::Arc;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread};

use crate::error::StoreError;
use crate::pack::Dictionary;
use crate::unpack::Scratch;

pub use jobs::*;
pub use values::*;

/// Result of a store method.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The port. Every method is atomic, and every write is durable when it returns ([`Durability::OnReturn`]). The
/// exception are methods that write derived data, as their documentation says: these writes become durable with the
/// next other write ([`Durability::WithNext`]).
///
/// Unless said otherwise, methods with a conversation fail with [`StoreError::NoConversation`] if it does not exist,
/// and nothing is written on an error.
pub trait Store: Jobs + Send + Sync {
    /// Finds the conversation with this key, or creates it. Derived: an empty conversation has nothing to lose.
    fn ensure(&self, new: &NewConversation) -> Result<Conversation>;

    /// The conversation with this key.
    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>>;

    /// One conversation.
    fn conversation(&self, id: ConversationId) -> Result<Conversation>;

    /// All conversations, by id.
    fn conversations(&self) -> Result<Vec<Conversation>>;

    /// All generations of a conversation, by number.
    fn generations(&self, id: ConversationId) -> Result<Vec<GenerationRow>>;

    /// All snapshots, by number.
    fn snapshots(&self, id: ConversationId) -> Result<Vec<Snapshot>>;

    /// The latest snapshot read from this path, in any conversation.
    fn snapshot_of_path(&self, path: &str) -> Result<Option<(ConversationId, Snapshot)>>;

    /// Writes entries, snapshot and context in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Moved`] if `target` is `Extend` with a length other than the generation's (0 for a missing one),
    /// if it is `Open` with a fork beyond the parent's path, or if the snapshot is longer than its path.
    /// [`StoreError::Full`] if there is no room.
    fn append(&self, append: Append) -> Result<Receipt>;

    /// The entries that have one of these names, ordered by name, then seq; several entries may share a name. O(names),
    /// duplicates included.
    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<(Name, Seq)>>;

    /// Adds names to stored entries. Existing names stay, and an entry may have many. Derived: a host that delivers an
    /// entry again gives its names again.
    ///
    /// * `haste` - the urgency of the write.
    fn put_names(&self, id: ConversationId, names: &[(Name, Seq)], haste: Haste) -> Result<()>;

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
    /// [`StoreError::Damaged`] with the first entry that cannot be restored completely.
    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>>;

    /// All filters of a conversation: chunks ascending, then blobs in order of arrival. An empty filter excludes
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the entry that holds a blob but belongs to no chunk.
    fn filters(&self, id: ConversationId) -> Result<Vec<Filter>>;

    /// One chunk for a scan.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`].
    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes>;

    /// Inspects one chunk and returns its bytes on request. Much cheaper than [`Store::chunk`] if it is not.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`], both only for bytes that had to be read. `wants` and `holed`
    /// have then seen the whole chunk.
    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned>;

    /// One blob's bytes and the entries that hold it, ascending, without duplicates.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`].
    fn blob(&self, id: ConversationId, digest: Digest) -> Result<(Vec<u8>, Vec<Seq>)>;

    /// Inspects one blob and returns the entries that hold it, ascending, without duplicates; none if the blob is not
    /// wanted.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`].
    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>>;

    /// Adds a segment of the search index and removes the segments that it replaces; unknown numbers are ignored.
    /// Returns its number: from 0, never reused. Derived.
    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64>;

    /// Heads of all segments, by first seq, then number.
    fn segments(&self, id: ConversationId) -> Result<Vec<SegmentHead>>;

    /// One block of a segment.
    ///
    /// # Errors
    /// [`StoreError::Missing`].
    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>>;

    /// Drops the search index of a conversation; it is derived.
    fn drop_segments(&self, id: ConversationId) -> Result<()>;

    /// Writes summaries and, with them, the state of a prompt. A summary with an existing key is not replaced. Derived.
    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()>;

    /// One summary.
    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>>;

    /// The last summary that ends before an entry, with the thread, grain and level of `key`. It may belong to another
    /// path.
    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>>;

    /// All summaries of a conversation, ordered by span, then level, then the rest of the key.
    fn summaries(&self, id: ConversationId) -> Result<Vec<SummaryRow>>;

    /// State of the prompt of one view.
    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>>;

    /// All pins of a conversation, by number.
    fn pins(&self, id: ConversationId) -> Result<Vec<PinRow>>;

    /// All files that are or were pinned in a conversation, by place.
    fn pin_files(&self, id: ConversationId) -> Result<Vec<PinFileRow>>;

    /// Writes pins over those that are there, by number, and files over those that are there, by place.
    ///
    /// * `before` - what [`Store::pins`] gave.
    /// * `after` - the same with what changed, and new ones.
    /// * `files` - changed and new files; the others stay.
    ///
    /// # Errors
    /// [`StoreError::PinsMoved`] if the stored pins are not `before`.
    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()>;

    /// Stores how a prompt was composed, and drops all but the newest `keep` recipes together with the contexts that
    /// only they used. Returns its number. Derived.
    ///
    /// * `turn` - the decision about the turn that begins with this prompt, and how many decisions to keep: see
    ///   [`Jobs::decide`].
    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<(&DecisionRow, u64)>,
    ) -> Result<u64>;

    /// All recipes of a conversation, by number.
    fn recipes(&self, id: ConversationId) -> Result<Vec<RecipeRow>>;

    /// The context that recipes refer to by this name.
    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>>;

    /// The extent of purging these entries, without doing it.
    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged>;

    /// Takes the bytes of these entries, their large parts, the summaries and index segments over them,
    /// prompt states and recipes of the conversation, names of these entries, words pinned from them (the pin is retired), and half-written lines that snapshots kept of them.
    /// Rows and chain heads stay as tombstones, so that the chain still verifies around them. Blobs that
    /// an entry outside the range holds too stay. Entries purged before do not count again.
    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged>;

    /// Reads everything back: chains, chunks, blobs, rows, the database itself.
    ///
    /// * `progress` - called with the number of checked entries and of all entries.
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>>;

    /// Writes a verified copy to a new file.
    ///
    /// # Errors
    /// [`StoreError::Backend`] if `to` exists or this store has no file; [`StoreError::Corrupt`] if the copy fails
    /// verification: then there is no file at `to`.
    fn backup(&self, to: &std::path::Path) -> Result<()>;

    /// Bytes on disk by table group, largest first.
    fn sizes(&self) -> Result<Vec<(String, u64)>>;

    /// Housekeeping that keeps later work fast: trains a dictionary, runs a checkpoint. Short; safe at any time.
    fn maintain(&self) -> Result<()>;

    /// The trained dictionary that [`crate::Packer`] should use for small chunks, once there is one.
    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        None
    }
}
