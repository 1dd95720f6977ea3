//! Keeps zstd's working memory for reuse.
//!
//! Creating it queries the processor's features. Under a hypervisor that takes as long as compressing a message.

use std::sync::{Mutex, PoisonError};

/// Most values kept: each holds as much memory as its largest job needed.
const MOST: usize = 4;

/// The unused values.
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Spare<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Takes an unused value, if there is one.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a value for reuse, unless there are enough.
    pub(crate) fn keep(&self, value: Option<T>) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MOST {
            spare.extend(value);
        }
    }
}
