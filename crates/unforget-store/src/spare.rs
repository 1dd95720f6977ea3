//! zstd's working memory between its uses.
//!
//! Making it asks what the processor can do. Under a hypervisor that takes as long as compressing a message.

use std::sync::{Mutex, PoisonError};

/// Values that are kept at most: each has as much memory as the largest thing that it worked on needed.
const MOST: usize = 4;

/// Values that nobody uses now.
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// One of them, if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a value, unless there are enough.
    pub(crate) fn keep(&self, value: Option<T>) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MOST {
            spare.extend(value);
        }
    }
}
