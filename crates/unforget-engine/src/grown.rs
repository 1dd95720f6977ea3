//! Conversations that grew by live calls, until their index is looked after in the background.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::id::ConversationId;

/// Conversations that may have enough new entries for a segment of the index, each with the least number of entries for one.
#[derive(Debug, Default)]
pub(crate) struct GrownConversations {
    waiting: Mutex<BTreeMap<ConversationId, u64>>,
}

impl GrownConversations {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<ConversationId, u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a conversation, once.
    ///
    /// * `least` - number of entries for a segment; of several the smallest.
    pub(crate) fn put(&self, conversation: ConversationId, least: u64) {
        let mut waiting = self.waiting();
        let noted = waiting.entry(conversation).or_insert(least);
        *noted = least.min(*noted);
    }

    /// Takes a conversation, with the least number of entries for a segment.
    pub(crate) fn take(&self) -> Option<(ConversationId, u64)> {
        self.waiting().pop_first()
    }
}
