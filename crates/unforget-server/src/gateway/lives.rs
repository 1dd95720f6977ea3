//! Keeps answers that a client may ask for again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use unforget_core::digest::Digest;

use super::live::Live;

/// Most completed answers kept.
const MOST: usize = 4_096;

/// Most bytes of completed answers kept.
const BYTES: usize = 32 << 20;

/// Most completed answers that are partly in the spool: each keeps a file open.
const SPOOLED: usize = 64;

/// How a request relates to earlier ones.
pub(super) enum Before {
    /// A new call, with the key of its answer.
    New(Arc<Live>, Digest),
    /// A repetition of a call whose client went away or announced a retry.
    Again(Arc<Live>),
    /// A different request under a used key.
    Conflict,
}

struct Known {
    request: Digest,
    live: Arc<Live>,
    /// Time of its end; `None` while it runs.
    ended: Option<Instant>,
}

impl Known {
    /// Whether it may be asked for again. A running answer may, however long it takes.
    fn is_fresh(&self, window: Duration) -> bool {
        self.ended.is_none_or(|ended| ended.elapsed() < window)
    }
}

#[derive(Default)]
struct State {
    by_name: HashMap<Digest, Known>,
    /// Completed answers with their sizes, oldest first.
    ended: VecDeque<(Digest, Arc<Live>, usize)>,
    bytes: usize,
}

/// Running and completed answers, by key.
pub(super) struct Lives {
    window: Duration,
    /// Most bytes kept.
    most: usize,
    state: Mutex<State>,
    readers: Arc<AtomicUsize>,
}

impl Lives {
    /// * `room` - memory budget of all answers in bytes; a small part of it is for completed ones.
    pub(super) fn new(window: Duration, room: usize) -> Self {
        Self { window, most: BYTES.min(room / 8), state: Mutex::default(), readers: Arc::default() }
    }

    /// Number of clients that read an answer or wait for one.
    pub(super) fn readers(&self) -> usize {
        self.readers.load(Ordering::SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a request up and remembers it.
    ///
    /// Without a key and without the client's announcement, a repeated request is a retry only if no client has the
    /// answer: a person who wants another answer sends an equal request too.
    ///
    /// * `key` - digest of the caller and its idempotency key.
    /// * `request` - digest of the caller, the path, the conversation and the body.
    /// * `is_retry` - whether the client announces a retry.
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

    /// Keeps a completed answer for the window from now on, if there is room.
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
        // Any elapsed time exceeds this window.
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
