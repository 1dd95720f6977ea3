//! Tips of histories, and where they come from.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::ConversationKey;

use crate::error::Result;

/// The end of one path of a conversation. Two tips with one chain have equal records, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptTip {
    /// The conversation.
    pub key: ConversationKey,
    /// Head of the raw chain at the end.
    pub chain: Chain,
    /// Number of records; more than zero.
    pub length: u64,
    /// Bytes of all records.
    pub bytes: u64,
    /// Host's time of the newest record that has one, in ms since 1970; 0 if none is near the end. A function of the records.
    pub newest_ms: i64,
}

impl TranscriptTip {
    /// The order in which tips are taken: the last one becomes current.
    pub(crate) fn order(&self) -> (i64, Chain) {
        (self.newest_ms, self.chain)
    }
}

/// A range of records of a tip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TipPart {
    /// Number of records up to the end of the part, from the first of the path on.
    pub end: u64,
    /// Head of the raw chain there.
    pub chain: Chain,
    /// Bytes of the part's records.
    pub bytes: u64,
}

/// What a tip is made of. Parts of one path end at the same records wherever they are made, except for the last part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TipLayout {
    /// The parts, in order; together all records.
    pub parts: Vec<TipPart>,
    /// Bytes behind the last record.
    pub trailer: Vec<u8>,
    /// Origin of the transcript, for people.
    pub name: String,
}

/// An entry that was purged somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PurgedEntry {
    /// The conversation.
    pub key: ConversationKey,
    /// Head of the raw chain at the entry.
    pub chain: Chain,
}

/// Something that a person said of a conversation: a title, a star, a tag, a verdict, entries put back, or any of them taken away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SentSaying {
    /// The conversation.
    pub key: ConversationKey,
    /// Its bytes. Their digest names it.
    pub body: Vec<u8>,
}

/// Digests of sayings, by conversation.
pub type KnownSayings = BTreeMap<ConversationKey, BTreeSet<Digest>>;

/// Where histories come from.
pub trait HistorySource {
    /// All tips, ordered by conversation.
    ///
    /// Cost: O(conversations).
    fn tips(&mut self) -> Result<Vec<TranscriptTip>>;

    /// The layout of a tip.
    ///
    /// # Errors
    /// [`crate::SyncError::Purged`] if not all of its records are there any more.
    fn layout(&mut self, tip: &TranscriptTip) -> Result<TipLayout>;

    /// The records of a part, framed: see `record_frames`.
    ///
    /// * `start` - number of records before the part.
    fn part(&mut self, tip: &TranscriptTip, start: u64, part: &TipPart) -> Result<Vec<u8>>;

    /// Entries that were purged where these histories come from.
    fn purged(&mut self) -> Result<Vec<PurgedEntry>>;

    /// What people said of these histories, as far as it is not known; `None` if the program there is older than sayings.
    ///
    /// Cost: O(sayings); only those that are not known travel.
    fn sayings(&mut self, known: &KnownSayings) -> Result<Option<Vec<SentSaying>>>;
}
