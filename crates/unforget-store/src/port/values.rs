//! What goes into a store and comes out, as plain values.

use std::fmt;
use std::ops::Range;

use unforget_core::digest::{Chain, Digest};
use unforget_core::entry::{Origin, Role, Status};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Seq, Thread, Timestamp};
use unforget_core::pin::Pin;
use unforget_core::tokens::Tokens;

use crate::pack::Packed;

/// A conversation as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The store's number.
    pub id: ConversationId,
    /// The stable name.
    pub key: ConversationKey,
    /// Name of the transcript format, as `unforget-wire` spells it.
    pub format: String,
    /// A title, if the transcript gives one.
    pub title: Option<String>,
    /// The conversation that started this one as a sub-agent.
    pub parent: Option<ConversationKey>,
    /// Counts committed appends and purges. Derived things (segments, summaries, contexts) do not count.
    pub revision: u64,
    /// Number of entries ever stored: the next [`Seq`].
    pub entries: u64,
    /// The generation that is now.
    pub current: Generation,
    /// How many entries of the current generation's path count; fewer than it has after a rewind.
    pub length: u64,
    /// Sum of expected tokens over all entries ever stored, purged ones included.
    pub tokens: u64,
    /// Bytes as received, leads and bodies, purged ones included.
    pub raw_bytes: u64,
    /// Smallest and largest host time seen.
    pub time: Option<(Timestamp, Timestamp)>,
}

/// A conversation to be made if its key is not there yet.
#[derive(Clone, Debug)]
pub struct NewConversation {
    /// The stable name.
    pub key: ConversationKey,
    /// Name of the transcript format.
    pub format: String,
    /// A title.
    pub title: Option<String>,
    /// The conversation that started this one.
    pub parent: Option<ConversationKey>,
}

/// Why a generation was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    /// The first transcript of the conversation.
    FirstSight,
    /// The transcript was rewritten from some entry on.
    Branch,
    /// Nothing in the transcript is known, though its name is.
    Rotation,
}

/// One incarnation of a transcript. Its path is the parent's path up to `fork`, then its own entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationRow {
    /// Its number.
    pub number: Generation,
    /// Where its path begins; `None` for an empty start.
    pub parent: Option<(Generation, Position)>,
    /// What opened it.
    pub opened_by: OpenedBy,
    /// Length of its whole path, shared prefix included.
    pub length: u64,
}

/// The facts of an entry that need no decoding of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRow {
    /// Order of arrival.
    pub seq: Seq,
    /// The generation that it arrived in.
    pub generation: Generation,
    /// Its place in that generation's path.
    pub position: Position,
    /// Seq of the entry that it follows in the model's view; `None` at a root.
    pub parent: Option<Seq>,
    /// Side lane.
    pub thread: Thread,
    /// Who speaks.
    pub role: Role,
    /// Where it came from.
    pub origin: Origin,
    /// How it ended.
    pub status: Status,
    /// The host's id.
    pub host_id: Option<String>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Tokens of the model-visible text.
    pub tokens: Tokens,
    /// The same with every large tool result replaced by a stub.
    pub stubbed: Tokens,
    /// Head of the raw chain after this entry.
    pub chain: Chain,
    /// Digest of what it says. The store keeps the first 16 bytes; the rest reads back as zeros. See
    /// [`kept_content`].
    pub content: Digest,
    /// Byte range of the body in the transcript of its generation.
    pub bytes: Range<u64>,
    /// True once `purge` took the bytes.
    pub purged: bool,
}

/// A content digest as the store gives it back: half of it, which tells contents apart as well.
#[must_use]
pub fn kept_content(content: Digest) -> Digest {
    let mut kept = [0; 32];
    for (to, from) in kept.iter_mut().zip(content.0.iter().take(16)) {
        *to = *from;
    }
    Digest(kept)
}

/// What a live host calls an entry: the first 16 bytes of a digest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub [u8; 16]);

/// An entry to be appended. `lead ‖ body` is what export writes.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// Bytes between the previous record and this one.
    pub lead: Vec<u8>,
    /// The record as received.
    pub body: Vec<u8>,
    /// Ranges of `body` that are worth a blob of their own, ascending, not overlapping.
    pub large: Vec<Range<usize>>,
    /// Facts; `seq`, `generation`, `position` and `purged` are set by the store.
    pub row: EntryRow,
}

/// Where appended entries go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// At the end of this generation, whose path now has this length. It becomes longer; if it is the
    /// current one, the current length becomes its whole length.
    Extend(Generation, u64),
    /// Into a new generation that shares `fork` entries with its parent. The first generation of a
    /// conversation is current at once, a later one only with a snapshot.
    Open {
        /// The generation to fork from and how many entries of its path to share.
        parent: Option<(Generation, Position)>,
        /// Why.
        opened_by: OpenedBy,
    },
}

/// A whole transcript as it was at one import: enough to write the file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Counts the snapshots of a conversation, from 1. Set by the store.
    pub number: u64,
    /// The generation that was written to. Set by the store.
    pub generation: Generation,
    /// How many entries of its path the file had; at most the path's length.
    pub length: u64,
    /// Bytes after the last record, such as the final newline or a half-written line.
    pub trailer: Vec<u8>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Where it was read from, for people.
    pub path: String,
    /// Modification time in ns since 1970 that lets the next import skip an untouched file; clamped to i64.
    pub modified_ns: i128,
    /// When it was imported.
    pub time: Timestamp,
}

/// When a transaction survives power loss. It survives the end of the process as soon as its call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When its call returns.
    OnReturn,
    /// With the next one that is durable on return; or it is lost, with everything that came after it and nothing before.
    WithNext,
}

/// How soon a write has to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Haste {
    /// Somebody waits for it.
    #[default]
    Now,
    /// It may wait some milliseconds, while others go first.
    Soon,
}

/// One transaction of new entries and what belongs to them.
#[derive(Debug)]
pub struct Append {
    /// Whose.
    pub conversation: ConversationId,
    /// Where they go.
    pub target: Target,
    /// The entries; may be empty when only the head moves.
    pub packed: Packed,
    /// Set when the transcript was read to its end: recorded, and made current.
    pub snapshot: Option<Snapshot>,
    /// New state of the prompt, kept in the same transaction.
    pub context: Option<ContextRow>,
    /// Names of the entries, and of others that are stored.
    pub names: Vec<(Name, Seq)>,
    /// `WithNext` of what means nothing until something else is stored. Appends that share a commit are all durable if one is.
    pub durability: Durability,
    /// How soon.
    pub haste: Haste,
}

/// What an append did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The generation written to.
    pub generation: Generation,
    /// Seq of the first entry written; the rest follow densely.
    pub first_seq: Seq,
    /// The conversation's new revision.
    pub revision: u64,
}

/// Bytes of one entry as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Which.
    pub seq: Seq,
    /// Bytes before it.
    pub lead: Vec<u8>,
    /// The record.
    pub body: Vec<u8>,
}

/// A chunk, decompressed, for scans. Blobs are scanned apart.
#[derive(Clone, Debug)]
pub struct ChunkBytes {
    /// Its number.
    pub chunk: u64,
    /// Leads and bodies (with holes closed up) of its entries, end to end.
    pub bytes: Vec<u8>,
    /// Per entry, ascending: seq and range of its body in `bytes`.
    pub entries: Vec<(Seq, Range<usize>)>,
}

/// See [`Scan::wants`].
pub type WantsChunk<'a> = dyn FnMut(&[u8], Option<&[Range<usize>]>) -> Option<bool> + 'a;

/// See [`Holed::each`].
pub type EachEntry<'a> = dyn FnMut(&EntryRow, &[u8]) + 'a;

/// What a scan asks of a chunk.
pub struct Scan<'a> {
    /// Whether entries of the chunk are wanted, judged from all of its bytes at once: the leads and bodies of
    /// its entries end to end, and maybe more that belongs to none. Asked without the places of the entries
    /// first, which saves reading them; `None` asks for them: the range of each lead and each body, ascending.
    pub wants: &'a mut WantsChunk<'a>,
    /// Which entries with holes are needed whole; `None` if none are.
    pub holed: Option<Holed<'a>>,
}

/// Which entries of a chunk are read with their large parts.
pub struct Holed<'a> {
    /// These, ascending; those that are not there or have no large parts are passed over.
    pub seqs: &'a [Seq],
    /// Of these, where it says so: gets the body as the chunk has it, without its large parts.
    pub wants: &'a mut dyn FnMut(Seq, &[u8]) -> bool,
    /// Gets the row and all of the body.
    pub each: &'a mut EachEntry<'a>,
}

impl fmt::Debug for Holed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holed").field("seqs", &self.seqs).finish_non_exhaustive()
    }
}

impl fmt::Debug for Scan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("holed", &self.holed.is_some()).finish_non_exhaustive()
    }
}

/// What a scan of a chunk came to.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Number of entries in the chunk.
    pub entries: u64,
    /// The chunk, if it is wanted.
    pub chunk: Option<ChunkBytes>,
}

/// A filter of a chunk or blob, opaque to the store.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What it filters.
    pub of: FilterOf,
    /// The bytes that `unforget-recall` made.
    pub bytes: Vec<u8>,
    /// For a blob: the entries that hold it, each once, ascending, each with its chunk. Empty for a chunk.
    pub holders: Vec<(u64, Seq)>,
}

/// What a filter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOf {
    /// A chunk, by number.
    Chunk(u64),
    /// A blob, by digest.
    Blob(Digest),
}

/// A segment of the search index: opaque blocks over a range of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Entries that it covers.
    pub seqs: Range<u64>,
    /// The bytes that tell which block holds what. Small; kept in memory by the reader.
    pub header: Vec<u8>,
    /// The blocks.
    pub blocks: Vec<Vec<u8>>,
}

/// A stored segment without its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHead {
    /// Its number within the conversation.
    pub number: u64,
    /// Entries that it covers.
    pub seqs: Range<u64>,
    /// See [`Segment::header`].
    pub header: Vec<u8>,
}

/// Names a node of the summary tree: see `unforget_core::compact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SummaryKey {
    /// Side lane.
    pub thread: Thread,
    /// Leaf size in tokens that the tree was cut with.
    pub grain: u32,
    /// 0 for a leaf, above that a merge.
    pub level: u8,
    /// Content digest chain of the view up to the end of its span: the same history gives the same key,
    /// on every branch that shares it.
    pub end: Digest,
}

/// A summary as stored. Never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// Its name.
    pub key: SummaryKey,
    /// First and last entry that it stands for.
    pub span: (Seq, Seq),
    /// Number of visible entries that it stands for.
    pub count: u64,
    /// Keys of the summaries it was merged from; empty for a leaf.
    pub sources: Vec<SummaryKey>,
    /// Who wrote it, such as `deterministic/1`.
    pub writer: String,
    /// The text, in the writer's own format.
    pub body: String,
    /// Tokens of the sources and of the body.
    pub tokens: (u64, u64),
    /// When.
    pub time: Timestamp,
}

/// State of the prompt of one view, opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextRow {
    /// Side lane.
    pub thread: Thread,
    /// Budget that it is for, in tokens.
    pub budget: u64,
    /// The engine's encoding.
    pub state: Vec<u8>,
}

/// A pin as stored, with its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinRow {
    /// The pin.
    pub pin: Pin,
    /// When it was made.
    pub made: Timestamp,
    /// When its state changed last.
    pub changed: Timestamp,
}

impl PinRow {
    /// What stands in the place of words that were purged.
    pub const PURGED: &str = "[purged]";
}

/// How a prompt was composed, to be stored. Opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Name of the context that it was composed from: equal names, equal states.
    pub context: [u8; 16],
    /// That context.
    pub state: Vec<u8>,
    /// Everything else, in the engine's encoding.
    pub body: Vec<u8>,
}

/// A stored recipe, without its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeRow {
    /// Its number within the conversation, from 1, ascending with time.
    pub number: u64,
    /// See [`Recipe::context`].
    pub context: [u8; 16],
    /// See [`Recipe::body`].
    pub body: Vec<u8>,
}

/// What `purge` will take or has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Entries whose bytes go.
    pub entries: u64,
    /// Raw bytes that go.
    pub bytes: u64,
    /// Blobs that go with them.
    pub blobs: u64,
    /// Summaries that stood for them.
    pub summaries: u64,
}

/// Something wrong in the store, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which conversation, if it is in one.
    pub conversation: Option<ConversationKey>,
    /// First entry that is touched.
    pub seq: Option<Seq>,
    /// What kind, in kebab-case: `chain`, `chunk`, `blob`, `row`, `database`, …
    pub kind: &'static str,
    /// What is wrong, for a person.
    pub detail: String,
}
