//! The port: what every store does. The plain values that go in and out are in `values`.

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

/// The port. Every method is atomic; every write is durable when it returns ([`Durability::OnReturn`]). A method may say
/// that what it writes is derived: that is durable with the next write that is not ([`Durability::WithNext`]).
///
/// Unless said otherwise, methods that take a conversation fail with [`StoreError::NoConversation`]
/// if it is not there, and nothing is written on an error.
pub trait Store: Jobs + Send + Sync {
    /// Finds the conversation with this key, or makes it. Derived: it has nothing yet that could be lost.
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

    /// The latest snapshot that was read from this path, in any conversation.
    fn snapshot_of_path(&self, path: &str) -> Result<Option<(ConversationId, Snapshot)>>;

    /// Writes entries, snapshot and context in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Moved`] if `target` is `Extend` with a length that is not the generation's (0 for
    /// one that is not there), `Open` at a fork beyond the parent's path, or if the snapshot is longer
    /// than the path that it is of. [`StoreError::Full`] if there is no room.
    fn append(&self, append: Append) -> Result<Receipt>;

    /// The entries that have one of these names: by name, then seq; several entries may have one. O(names), each
    /// counted once.
    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<(Name, Seq)>>;

    /// Adds names to stored entries. Those that are there stay; an entry may have many. Derived: who delivers the same again
    /// gives the same names again.
    ///
    /// * `haste` - how soon.
    fn put_names(&self, id: ConversationId, names: &[(Name, Seq)], haste: Haste) -> Result<()>;

    /// Finds the entry after which the raw chain has this head, in any generation; the earliest of several.
    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>>;

    /// Raw chain heads of a generation's path, `positions` clamped to it; none for a generation that is
    /// not there. O(asked).
    fn chains(&self, id: ConversationId, generation: Generation, positions: Range<u64>)
    -> Result<Vec<Chain>>;

    /// Seqs of the first `length` entries of a generation's path in path order, as runs that are as long
    /// as they can be; `length` is clamped, a generation that is not there has none. O(runs).
    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>>;

    /// Rows of a range of seqs, ascending, clamped to what is there.
    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>>;

    /// Bytes of a range of seqs, ascending, clamped to what is there. Purged entries have empty leads
    /// and bodies. Memory: what is asked for.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first entry that cannot be read back whole.
    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>>;

    /// All filters of a conversation, chunks ascending, then blobs in order of arrival. An empty filter
    /// says nothing: what it is of may contain anything.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the entry that holds a blob but is in no chunk.
    fn filters(&self, id: ConversationId) -> Result<Vec<Filter>>;

    /// One chunk for a scan.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`].
    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes>;

    /// Looks into one chunk, and gives it if it is wanted. Much cheaper than [`Store::chunk`] if it is not.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`]: of what had to be read only. What it gets from
    /// `wants` and `holed` was all of the chunk.
    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned>;

    /// One blob's bytes and the entries that hold it, ascending, each once.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`].
    fn blob(&self, id: ConversationId, digest: Digest) -> Result<(Vec<u8>, Vec<Seq>)>;

    /// Looks into one blob, and gives the entries that hold it, ascending, each once; none if it is not wanted.
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

    /// Adds a segment of the search index and removes those that it replaces; unknown ones are passed
    /// over. Returns its number: from 0, never used twice. Derived.
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

    /// Writes summaries and, with them, the state of a prompt. A key that is there already stays as it is. Derived.
    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()>;

    /// One summary.
    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>>;

    /// The summary beside this one that ends last before an entry: of the same thread, grain and level. It may be of
    /// another path.
    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>>;

    /// All summaries of a conversation, by span, then level, then the rest of the key.
    fn summaries(&self, id: ConversationId) -> Result<Vec<SummaryRow>>;

    /// State of the prompt of one view.
    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>>;

    /// All pins of a conversation, by number.
    fn pins(&self, id: ConversationId) -> Result<Vec<PinRow>>;

    /// Writes pins over those that are there, by number.
    ///
    /// * `before` - what [`Store::pins`] gave.
    /// * `after` - the same with what changed, and new ones.
    ///
    /// # Errors
    /// [`StoreError::PinsMoved`] if the stored pins are not `before`.
    fn put_pins(&self, id: ConversationId, before: &[PinRow], after: &[PinRow]) -> Result<()>;

    /// Keeps how a prompt was composed, and drops all but the newest `keep` recipes with the contexts that only they
    /// used. Returns its number. Derived.
    ///
    /// * `turn` - what was decided about the turn that begins with it, and how many decisions to keep: see
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

    /// What purging these entries would take, without doing it.
    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged>;

    /// Takes the bytes of these entries, their large parts, the summaries and index segments over them,
    /// prompt states and recipes of the conversation, names of these entries, words pinned from them (the pin is retired), and half-written lines that snapshots kept of them.
    /// Rows and chain heads stay as tombstones, so that the chain still verifies around them. Blobs that
    /// an entry outside the range holds too stay. Entries purged before do not count again.
    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged>;

    /// Reads everything back: chains, chunks, blobs, rows, the database itself.
    ///
    /// * `progress` - called with entries checked and entries in all.
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>>;

    /// Writes a verified copy to a new file.
    ///
    /// # Errors
    /// [`StoreError::Backend`] if `to` exists or this store has no file; [`StoreError::Corrupt`] if the
    /// copy does not verify: then there is no file at `to`.
    fn backup(&self, to: &std::path::Path) -> Result<()>;

    /// Bytes on disk by table group, largest first.
    fn sizes(&self) -> Result<Vec<(String, u64)>>;

    /// Housekeeping that keeps later work fast: train a dictionary, checkpoint. Short; safe at any time.
    fn maintain(&self) -> Result<()>;

    /// The trained dictionary that [`crate::Packer`] should use for small chunks, once there is one.
    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        None
    }
}
