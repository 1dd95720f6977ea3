//! A thread of a conversation, and its stored entries.

use std::ops::Range;
use std::sync::Arc;

use unforget_core::entry::Entry;
use unforget_core::id::{ConversationId, Thread};
use unforget_store::{Conversation, EntryRow, Store};
use unforget_wire::{Format, decode};

use crate::error::EngineError;

/// Names one thread of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRef {
    /// The conversation.
    pub conversation: ConversationId,
    /// The thread; 0 is the main one.
    pub thread: Thread,
}

/// A stored entry in both forms.
pub(crate) struct DecodedEntry {
    /// Its row.
    pub(crate) row: EntryRow,
    /// Its content.
    pub(crate) entry: Arc<Entry>,
}

/// The entries of a range of seqs, of all threads, without purged entries.
pub(crate) fn decoded(
    store: &dyn Store,
    stored: &Conversation,
    seqs: Range<u64>,
) -> Result<Vec<DecodedEntry>, EngineError> {
    let rows = store.rows(stored.id, seqs.clone())?;
    let raw = store.raw(stored.id, seqs)?;
    let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
    let pairs = rows.into_iter().zip(raw).filter(|(row, _)| !row.purged);
    let decoded = pairs.map(|(row, raw)| DecodedEntry { row, entry: Arc::new(decode(format, &raw.body)) });
    Ok(decoded.collect())
}
