//! Answers that a client may ask for again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use unforget_core::digest::Digest;

use super::live::Live;

/// Answers that are kept at most when they are whole.
const MOST: usize = 4_096;

/// Bytes of them that are kept at most.
const BYTES: usize = 32 << 20;

/// Those of them at most that are partly in the spool: each keeps a file open.
const SPOOLED: usize = 64;

/// What a request is to those before it.
pub(super) enum Before {
    /// A new call, and the name under which its answer is known.
    New(Arc<Live>, Digest),
    /// The same as one whose client went away, or said that it tries again.
    Again(Arc<Live>),
    /// Another request under a key that was used.
    Conflict,
}

struct Known {
    request: Digest,
    live: Arc<Live>,
    /// When it ended; `None` while it runs.
    ended: Option<Instant>,
}

impl Known {
    /// Whether it may be asked for again. One that runs may, however long that takes.
    fn is_fresh(&self, window: Duration) -> bool {
        self.ended.is_none_or(|ended| ended.elapsed() < window)
    }
}

#[derive(Default)]
struct State {
    by_name: HashMap<Digest, Known>,
    /// Those that have ended, with what they count, the oldest first.
    ended: VecDeque<(Digest, Arc<Live>, usize)>,
    bytes: usize,
}

/// See the module.
pub(super) struct Lives {
    window: Duration,
    /// Bytes that are kept at most.
    most: usize,
    state: Mutex<State>,
    readers: Arc<AtomicUsize>,
}

impl Lives {
    /// * `room` - bytes of all answers in memory: a small part of it is for those that are whole.
    pub(super) fn new(window: Duration, room: usize) -> Self {
        Self { window, most: BYTES.min(room / 8), state: Mutex::default(), readers: Arc::default() }
    }

    /// Clients that read an answer, or wait for one.
    pub(super) fn readers(&self) -> usize {
        self.readers.load(Ordering::SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a request up and remembers it.
    ///
    /// Without a key and without a word of the client's the same request is a retry only if no client has the answer: a
    /// person who wants another answer sends the same request too.
    ///
    /// * `key` - digest of the caller and its idempotency key.
    /// * `request` - digest of the caller, the path, the conversation and the body.
    /// * `is_retry` - the client says that it tries again.
    pub(super) fn look(&self, key: Option<Digest>, request: Digest, is_retry: bool) -> Before {
        let mut state = self.state();
        let name = key.unwrap_or(request);
        let fresh = state.by_name.get(&name).filter(|known| known.is_fresh(self.window));
        match fresh {
            Some(known) if known.request != request => return Before::Conflict,
            Some(known) if known.live.is_answer() => {
                let is_same = key.is_some() || is_retry;
                if is_same || (known.live.is_alone() && !known.live.is_taken()) {
                    return Before::Again(Arc::clone(&known.live));
                }
            }
            _ => {}
        }
        let live = Live::new(&self.readers);
        state.by_name.insert(name, Known { request, live: Arc::clone(&live), ended: None });
        Before::New(live, name)
    }

    /// An answer has ended. It is kept for the window from now on, if there is room.
    pub(super) fn ended(&self, name: Digest, live: &Arc<Live>) {
        let mut state = self.state();
        if let Some(known) = state.by_name.get_mut(&name).filter(|known| Arc::ptr_eq(&known.live, live)) {
            known.ended = Some(Instant::now());
        }
        let size = live.size() + if live.is_spooled() { self.most / SPOOLED } else { 0 };
        state.bytes += size;
        state.ended.push_back((name, Arc::clone(live), size));
        while let Some((name, live, size)) = state.ended.front().cloned() {
            let known = state.by_name.get(&name).filter(|known| Arc::ptr_eq(&known.live, &live));
            let is_fresh = known.is_some_and(|known| known.is_fresh(self.window));
            if is_fresh && state.bytes <= self.most && state.ended.len() <= MOST {
                break;
            }
            if known.is_some() {
                state.by_name.remove(&name);
            }
            state.ended.pop_front();
            state.bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::live::End;
    use super::*;

    #[test]
    fn the_window_counts_from_the_end() {
        let name = Digest::of(b"call");
        let begin = |window| {
            let lives = Lives::new(window, usize::MAX);
            let Before::New(live, known_as) = lives.look(None, name, false) else { unreachable!() };
            (lives, live, known_as)
        };
        let is_again = |lives: &Lives| matches!(lives.look(None, name, true), Before::Again(_));
        // Any time is longer than this window.
        let (lives, live, known_as) = begin(Duration::ZERO);
        assert!(is_again(&lives), "it runs");
        live.end(End::Whole);
        lives.ended(known_as, &live);
        assert!(!is_again(&lives), "it has ended, and the window is over");
        let (lives, live, known_as) = begin(Duration::from_hours(1));
        live.end(End::Whole);
        lives.ended(known_as, &live);
        assert!(is_again(&lives), "it has ended just now");
    }
}
