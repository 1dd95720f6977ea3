//! Answers that a client may ask for again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use unforget_core::digest::Digest;

use super::live::Live;

/// Answers that are remembered at most.
const MOST: usize = 4_096;

/// What a request is to those before it.
pub(super) enum Before {
    /// A new call.
    New(Arc<Live>),
    /// The same as one whose client went away, or said that it tries again.
    Again(Arc<Live>),
    /// Another request under a key that was used.
    Conflict,
}

struct Known {
    request: Digest,
    live: Arc<Live>,
    since: Instant,
}

/// See the module.
pub(super) struct Lives {
    window: Duration,
    by_name: Mutex<HashMap<Digest, Known>>,
}

impl Lives {
    pub(super) fn new(window: Duration) -> Self {
        Self { window, by_name: Mutex::default() }
    }

    /// Looks a request up and remembers it.
    ///
    /// * `key` - digest of the caller and its idempotency key.
    /// * `request` - digest of the caller, the path and the body.
    /// * `is_retry` - the client says that it tries again.
    pub(super) fn look(&self, key: Option<Digest>, request: Digest, is_retry: bool) -> Before {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let name = key.unwrap_or(request);
        let fresh = by_name.get(&name).filter(|known| known.since.elapsed() < self.window);
        match fresh {
            Some(known) if known.request != request => return Before::Conflict,
            Some(known) if known.live.is_wanted() && (key.is_some() || is_retry || known.live.is_alone()) => {
                return Before::Again(Arc::clone(&known.live));
            }
            _ => {}
        }
        if by_name.len() >= MOST {
            by_name.retain(|_, known| known.since.elapsed() < self.window && known.live.is_wanted());
        }
        let live = Live::new();
        by_name.insert(name, Known { request, live: Arc::clone(&live), since: Instant::now() });
        Before::New(live)
    }

    /// Forgets answers that nobody will ask for.
    pub(super) fn tidy(&self) {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        by_name.retain(|_, known| known.since.elapsed() < self.window && known.live.is_wanted());
    }
}
