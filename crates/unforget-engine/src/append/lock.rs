//! Who may append to a conversation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::id::ConversationId;

/// Conversations are spread over these locks by id.
static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// The right to append to one conversation, to purge it, and to replace segments of its index.
///
/// Writers of one process take it; processes are kept apart by the lock of the database file. Appends to different
/// conversations run beside each other and may share a commit. A holder must not take a second lock: two
/// conversations may share one.
pub(crate) struct ConversationLock {
    _guard: Option<MutexGuard<'static, ()>>,
}

impl ConversationLock {
    /// Waits until no other writer of this conversation is at work.
    pub(crate) fn of(id: ConversationId) -> Self {
        let index = id.0 % LOCKS.len() as u64;
        // A lock guards no data that a panic could have left half changed.
        let guard = LOCKS.get(index as usize).map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        Self { _guard: guard }
    }
}
