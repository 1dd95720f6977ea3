//! The values that enter and leave a store.

use std::fmt;
use std::ops::Range;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Seq, Thread, Timestamp};
use unforget_core::pin::{Pin, PinFile};

use super::NamedEntry;
use crate::entry::EntryRow;
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
    /// Number of committed appends and purges. Derived data (segments, summaries, contexts) does not count.
    pub revision: u64,
    /// Number of additions by [`Log::put_names`](super::Log::put_names). Who remembers which names are not there compares
    /// this number and the revision.
    pub names: u64,
    /// Number of entries ever stored: the next [`Seq`].
    pub entries: u64,
    /// The current generation.
    pub current: Generation,
    /// Number of active entries of the current generation's path; fewer than its length after a rewind.
    pub length: u64,
    /// Sum of expected tokens over all entries ever stored, purged ones included.
    pub tokens: u64,
    /// Bytes as received, leads and bodies, purged ones included.
    pub raw_bytes: u64,
    /// Smallest and largest host time seen.
    pub time: Option<(Timestamp, Timestamp)>,
}

/// A conversation to create unless its key exists.
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

/// The reason for opening a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    /// The first transcript of the conversation.
    FirstSight,
    /// The transcript was rewritten from some entry on.
    Branch,
    /// No record of the transcript is known, although its name is.
    Rotation,
}

/// One incarnation of a transcript. Its path is the parent's path up to `fork`, then its own entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationRow {
    /// Its number.
    pub number: Generation,
    /// Where its path begins; `None` for an empty start.
    pub parent: Option<(Generation, Position)>,
    /// The reason for opening it.
    pub opened_by: OpenedBy,
    /// Length of its whole path, shared prefix included.
    pub length: u64,
}

/// A live host's name for an entry: the first 16 bytes of its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub [u8; 16]);

/// The target of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The end of this generation, whose path must have this length. The path becomes longer; for the current
    /// generation, the current length becomes the whole length.
    Extend(Generation, u64),
    /// A new generation that shares `fork` entries with its parent. The first generation of a conversation is current
    /// at once, a later one only with a snapshot.
    Open {
        /// The generation to fork from, and the number of shared entries of its path.
        parent: Option<(Generation, Position)>,
        /// The reason.
        opened_by: OpenedBy,
    },
}

/// A whole transcript at the time of one import, with everything needed to write the file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number within the conversation, from 1. Set by the store.
    pub number: u64,
    /// The generation written to. Set by the store.
    pub generation: Generation,
    /// Number of entries of the path in the file; at most the path's length.
    pub length: u64,
    /// Bytes after the last record, such as the final newline or a half-written line.
    pub trailer: Vec<u8>,
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// The file's path, for people.
    pub path: String,
    /// Modification time in ns since 1970, by which the next import skips an untouched file; clamped to i64.
    pub modified_ns: i128,
    /// Time of the import.
    pub time: Timestamp,
}

/// When a transaction survives a power loss. It survives the end of the process as soon as its call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When its call returns.
    OnReturn,
    /// With the next one that is durable on return. Otherwise it is lost, together with everything after it and nothing
    /// before it.
    WithNext,
}

/// How soon a write is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteLatency {
    /// A caller waits for it.
    #[default]
    Now,
    /// It may wait some milliseconds while others go first.
    Soon,
}

/// One transaction of new entries and related data.
#[derive(Debug)]
pub struct Append {
    /// The conversation.
    pub conversation: ConversationId,
    /// Number of entries of the conversation for which the append was planned: the seq of its first entry. Compared
    /// within the commit, so that rows can name each other by seq before they are written.
    pub entries: u64,
    /// The target.
    pub target: Target,
    /// The entries; may be empty when only the head moves.
    pub packed: Packed,
    /// Set if the transcript was read to its end: recorded and made current.
    pub snapshot: Option<Snapshot>,
    /// New states of prompts and of the lane, each of another thread or budget, stored in the same transaction.
    pub contexts: Vec<ContextRow>,
    /// Names of the entries, and of other stored ones.
    pub names: Vec<NamedEntry>,
    /// `WithNext` for data that means nothing until something else is stored. Appends that share a commit are all
    /// durable if one is.
    pub durability: Durability,
    /// How soon it is carried out.
    pub latency: WriteLatency,
}

/// The result of an append.
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
    /// The entry.
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
    /// Leads and bodies (with holes closed up) of its entries, joined.
    pub bytes: Vec<u8>,
    /// Per entry, ascending: seq and range of its body in `bytes`.
    pub entries: Vec<(Seq, Range<usize>)>,
}

/// The type of [`Scan::wants`].
pub type WantsChunk<'a> = dyn FnMut(&[u8], Option<&[Range<usize>]>) -> Option<bool> + 'a;

/// The type of [`Holed::each`].
pub type EachEntry<'a> = dyn FnMut(&EntryRow, &[u8]) + 'a;

/// The questions of a scan about a chunk.
pub struct Scan<'a> {
    /// Decides whether entries of the chunk are wanted, from all of its bytes at once: the leads and bodies of its
    /// entries joined, perhaps with bytes of no entry. Called first without the places of the entries, which saves
    /// reading them. `None` requests these: the range of each lead and each body, ascending.
    pub wants: &'a mut WantsChunk<'a>,
    /// The entries with holes that are needed whole; `None` if none are.
    pub holed: Option<Holed<'a>>,
}

/// The entries of a chunk to read with their large parts.
pub struct Holed<'a> {
    /// Their seqs, ascending; missing entries and those without large parts are skipped.
    pub seqs: &'a [Seq],
    /// Decides for each of them. Receives the body as stored in the chunk, without its large parts.
    pub wants: &'a mut dyn FnMut(Seq, &[u8]) -> bool,
    /// Receives the row and the whole body.
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

/// The result of scanning a chunk.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Number of entries in the chunk.
    pub entries: u64,
    /// The chunk, if it is wanted.
    pub chunk: Option<ChunkBytes>,
}

/// A filter of a chunk or blob, opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The chunk or blob that it filters.
    pub of: FilterOf,
    /// The bytes made by `unforget-recall`.
    pub bytes: Vec<u8>,
    /// For a chunk: the entries for which it was made. Empty for a blob.
    pub seqs: Range<u64>,
    /// For a blob: the entries that hold it, ascending, without duplicates. Empty for a chunk.
    pub holders: Vec<Seq>,
}

/// The subject of a filter. Chunks come before blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterOf {
    /// A chunk, by number.
    Chunk(u64),
    /// A blob, by digest.
    Blob(Digest),
}

/// A segment of the search index: opaque blocks over a range of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The entries covered.
    pub seqs: Range<u64>,
    /// The bytes that tell the content of each block. Small; a reader keeps them in memory.
    pub header: Vec<u8>,
    /// The blocks.
    pub blocks: Vec<Vec<u8>>,
}

/// A stored segment without its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentHead {
    /// Its number within the conversation.
    pub number: u64,
    /// The entries covered.
    pub seqs: Range<u64>,
    /// The header. See [`Segment::header`].
    pub header: Vec<u8>,
}

/// The name of a node in the summary tree. See `unforget_core::compact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SummaryKey {
    /// Side lane.
    pub thread: Thread,
    /// The tree's leaf size in tokens.
    pub grain: u32,
    /// 0 for a leaf; higher for merges.
    pub level: u8,
    /// Content digest chain of the view up to the end of its span: an equal history gives an equal key, on every branch
    /// that shares it.
    pub end: Digest,
}

impl SummaryKey {
    /// The smallest key.
    pub const FIRST: Self = Self { thread: Thread(0), grain: 0, level: 0, end: Digest([0; 32]) };
}

/// A summary as stored. Never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    /// Its name.
    pub key: SummaryKey,
    /// First and last entry of its span.
    pub span: (Seq, Seq),
    /// Number of visible entries in its span.
    pub count: u64,
    /// Keys of its source summaries; empty for a leaf.
    pub sources: Vec<SummaryKey>,
    /// The writer, such as `deterministic/1`.
    pub writer: String,
    /// The text, in the writer's own format.
    pub body: String,
    /// Tokens of the sources and of the body.
    pub tokens: (u64, u64),
    /// When.
    pub time: Timestamp,
}

/// The largest thread that every store tells from others: databases have columns of signed numbers.
pub const THREAD_MAX: Thread = Thread(u64::MAX >> 1);

/// State of the prompt of one view, opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextRow {
    /// Side lane, at most [`THREAD_MAX`].
    pub thread: Thread,
    /// Its budget in tokens.
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
    /// Replaces purged words.
    pub const PURGED: &str = "[purged]";
    /// Stands for words that were damaged on the disk.
    pub const BROKEN: &str = "[damaged]";
}

/// A pinned file as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinFileRow {
    /// The file.
    pub file: PinFile,
    /// When the pinned text was read.
    pub read: Timestamp,
}

/// How a prompt was composed, in a form for storing. Opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Its number within the conversation, from 1; 0 for a new one.
    pub number: u64,
    /// Name of the context from which it was composed: equal names mean equal states.
    pub context: [u8; 16],
    /// The context's state.
    pub state: Vec<u8>,
    /// Everything else, in the engine's encoding.
    pub body: Vec<u8>,
}

/// A stored recipe, without its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeRow {
    /// Its number within the conversation, from 1, ascending with time.
    pub number: u64,
    /// The name of its context. See [`Recipe::context`].
    pub context: [u8; 16],
    /// Its body. See [`Recipe::body`].
    pub body: Vec<u8>,
}

/// The extent of a planned or completed purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Number of entries whose bytes are removed.
    pub entries: u64,
    /// Number of raw bytes removed.
    pub bytes: u64,
    /// Number of blobs removed with them.
    pub blobs: u64,
    /// Number of removed summaries over them.
    pub summaries: u64,
}

/// Acknowledged entries that are not in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostEntries {
    /// The conversation; `None` if it is gone itself, or not known.
    pub conversation: Option<ConversationKey>,
    /// Number of entries of the conversation that are left: the seq of the first lost one.
    pub from: u64,
    /// Number of lost entries.
    pub entries: u64,
}

impl fmt::Display for LostEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { conversation, from, entries } = self;
        let of = match conversation {
            Some(key) => format!("from entry {from} of {key} on"),
            None => "of a conversation that is not known any more".to_owned(),
        };
        write!(
            f,
            "{entries} entries were acknowledged and are gone, {of}: the end of the log was damaged, or an older copy \
             was put in place; an import of the transcript brings them back, a live host delivers them from there on"
        )
    }
}

/// Damaged rows of one kind that are left out: of derived data whose seals do not fit their content, or of conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRows {
    /// The kind, as in [`Problem::kind`].
    pub kind: &'static str,
    /// The purpose of the rows and the consequence of the damage, in words for a person.
    pub what: &'static str,
    /// Number of rows.
    pub rows: u64,
}

impl Problem {
    /// Kinds of problems with data that is left out and made again from the log: nothing delivered is lost.
    pub const DERIVED: [&str; 9] =
        ["summary", "rewrite", "context", "recipe", "filter", "index", "name", "job", "decision"];

    /// Whether nothing delivered is concerned.
    pub fn is_derived(&self) -> bool {
        Self::DERIVED.contains(&self.kind)
    }
}

/// A defect in the store, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The conversation concerned, if any.
    pub conversation: Option<ConversationKey>,
    /// First affected entry.
    pub seq: Option<Seq>,
    /// Its kind, in kebab-case: `chain`, `chunk`, `blob`, `row`, `database`, …
    pub kind: &'static str,
    /// A description for a person.
    pub detail: String,
}
