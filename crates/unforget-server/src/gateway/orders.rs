//! Calls that may be of one lane, one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::digest::Digest;

/// Locks. Two orders may share one, which costs time and nothing else.
const LOCKS: usize = 256;

/// See the module.
pub(super) struct Orders(Vec<Mutex<()>>);

impl Default for Orders {
    fn default() -> Self {
        Self((0..LOCKS).map(|_| Mutex::default()).collect())
    }
}

impl Orders {
    /// Waits until no other call of this order is taken. `None` never: there are locks for all.
    pub(super) fn lock(&self, order: &Digest) -> Option<MutexGuard<'_, ()>> {
        let at = order.short().rem_euclid(LOCKS as i64);
        let lock = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        // What a panic left behind is no state: nothing is in the lock.
        lock.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
