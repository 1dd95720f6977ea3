//! Serialises calls that may belong to one lane.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::digest::Digest;

/// Number of locks. Two orders may share one, which only costs time.
const LOCKS: usize = 256;

/// Locks by the order of a call.
pub(super) struct KeyLocks(Vec<Mutex<()>>);

impl Default for KeyLocks {
    fn default() -> Self {
        Self((0..LOCKS).map(|_| Mutex::default()).collect())
    }
}

impl KeyLocks {
    /// Waits until no other call of this order is being handled. Never `None`, since there is a lock for every order.
    pub(super) fn lock(&self, order: &Digest) -> Option<MutexGuard<'_, ()>> {
        let at = order.short().rem_euclid(LOCKS as i64);
        let lock = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        // A panic leaves no broken state behind, since the lock guards no data.
        lock.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
