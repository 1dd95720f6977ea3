//! Messages that are logged once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use unforget_core::digest::Digest;

/// Most remembered messages.
const MOST: usize = 4_096;

/// Messages that were logged once and are not repeated.
#[derive(Default)]
pub(super) struct LoggedOnce(Mutex<HashSet<Digest>>);

impl LoggedOnce {
    /// Whether a message is logged for the first time.
    pub(super) fn is_first(&self, what: &str) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() >= MOST {
            said.clear();
        }
        said.insert(Digest::of(what.as_bytes()))
    }
}
