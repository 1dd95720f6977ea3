//! Histories whose prompts are provisional, until all of each is read in the background.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::id::ConversationId;
use unforget_core::policy::Policy;
use unforget_wire::Target;

use crate::ruler::ModelRuler;
use crate::thread::ThreadRef;

/// A thread, and the shape of its prompts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedHistory {
    pub(crate) of: ThreadRef,
    /// The key of contexts of the shape.
    pub(crate) key: u64,
    pub(crate) target: Target,
    pub(crate) ruler: ModelRuler,
    pub(crate) policy: Policy,
}

/// The histories that wait, the first one first.
#[derive(Debug, Default)]
pub(crate) struct WantedHistories {
    waiting: Mutex<VecDeque<WantedHistory>>,
    /// Conversations with purged entries; each purge adds its conversation once.
    purged: Mutex<Vec<ConversationId>>,
}

impl WantedHistories {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<WantedHistory>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn purged(&self) -> MutexGuard<'_, Vec<ConversationId>> {
        self.purged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a history, once.
    pub(crate) fn put(&self, new: WantedHistory) {
        let mut all = self.waiting();
        if !all.iter().any(|one| (one.of, one.key) == (new.of, new.key)) {
            all.push_back(new);
        }
    }

    /// Puts a history back whose work was ended.
    pub(crate) fn put_back(&self, ended: WantedHistory) {
        self.waiting().push_front(ended);
    }

    /// Takes the history that waits longest.
    pub(crate) fn take(&self) -> Option<WantedHistory> {
        self.waiting().pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Notes that something is about to be purged of a conversation. Whoever holds the conversation's lock and finds the
    /// number of purges unchanged may write what he made of its entries.
    pub(crate) fn note_purge(&self, of: ConversationId) {
        self.purged().push(of);
    }

    /// Number of purges of a conversation by this process.
    pub(crate) fn purges(&self, of: ConversationId) -> usize {
        self.purged().iter().filter(|one| **one == of).count()
    }
}
