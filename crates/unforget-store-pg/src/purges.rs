//! Purges of other processes: what was read before one is not written after it.
//!
//! A store notes how often a conversation was purged before it first reads something of it. A write of rows that may hold
//! words of entries compares the note with the conversation's row, which it has for its transaction. If another process
//! purged in between, the write is refused, and so are all further ones until the conversation itself was looked at again:
//! whoever does that reads what is left.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::id::ConversationId;
use unforget_store::StoreError;

/// Most noted conversations. Beyond, all notes are dropped: what is read then is noted anew.
const MOST: usize = 1 << 18;

/// The notes of a store.
#[derive(Default)]
pub(crate) struct Purges(Mutex<BTreeMap<u64, PurgeNote>>);

/// What is noted of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PurgeNote {
    /// Number of purges when it was first read.
    Seen(u64),
    /// Another process purged it since.
    Stale,
}

impl Purges {
    /// Whether the conversation was read before.
    pub(crate) fn is_noted(&self, id: ConversationId) -> bool {
        self.all().contains_key(&id.0)
    }

    /// Number of purges when the conversation was first read, if that still counts.
    pub(crate) fn seen(&self, id: ConversationId) -> Option<u64> {
        match self.all().get(&id.0) {
            Some(PurgeNote::Seen(purged)) => Some(*purged),
            Some(PurgeNote::Stale) | None => None,
        }
    }

    /// Whether the conversation has to be looked at again before something of it is written.
    pub(crate) fn is_stale(&self, id: ConversationId) -> bool {
        self.all().get(&id.0) == Some(&PurgeNote::Stale)
    }

    /// Notes the number of purges, unless it is noted.
    pub(crate) fn note(&self, id: ConversationId, purged: u64) {
        let mut all = self.all();
        if all.len() >= MOST {
            all.clear();
        }
        all.entry(id.0).or_insert(PurgeNote::Seen(purged));
    }

    /// Somebody looks at the conversation again.
    pub(crate) fn look_again(&self, id: ConversationId, purged: u64) {
        self.all().insert(id.0, PurgeNote::Seen(purged));
    }

    /// A purge of this store, which its process knows of.
    pub(crate) fn purged_here(&self, id: ConversationId, before: u64) {
        if let Some(note) = self.all().get_mut(&id.0)
            && *note == PurgeNote::Seen(before)
        {
            *note = PurgeNote::Seen(before.saturating_add(1));
        }
    }

    /// Whether rows may be written.
    ///
    /// * `purged` - from the conversation's row.
    ///
    /// # Errors
    /// [`StoreError::PurgedMeanwhile`].
    pub(crate) fn check(&self, id: ConversationId, purged: u64) -> Result<(), StoreError> {
        let mut all = self.all();
        match all.get(&id.0) {
            None => Ok(()),
            Some(PurgeNote::Seen(seen)) if *seen == purged => Ok(()),
            Some(_) => {
                all.insert(id.0, PurgeNote::Stale);
                Err(StoreError::PurgedMeanwhile { id })
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, PurgeNote>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
