//! Keeps answers that a client may ask for again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use unforget_core::digest::Digest;

use super::broadcast::Broadcast;
use super::spool::RepeatFile;

/// Most completed answers kept.
const MOST: usize = 4_096;

/// Most bytes of completed answers kept.
const BYTES: usize = 32 << 20;

/// Most completed answers that are partly in the spool: each keeps a file open.
const SPOOLED: usize = 64;

/// How a request relates to earlier ones.
pub(super) enum Repetition {
    /// A new call, with the key of its answer.
    New(Arc<Broadcast>, Digest),
    /// A repetition of a call whose client went away or announced a retry.
    Again(Arc<Broadcast>),
    /// A different request under a used key.
    Conflict,
}

struct KnownRequest {
    request: Digest,
    broadcast: Arc<Broadcast>,
    /// Time of its end; `None` while it runs.
    ended: Option<Instant>,
}

impl KnownRequest {
    /// Whether it may be asked for again. A running answer may, however long it takes.
    fn is_fresh(&self, window: Duration) -> bool {
        self.ended.is_none_or(|ended| ended.elapsed() < window)
    }
}

#[derive(Default)]
struct ReplayState {
    by_name: HashMap<Digest, KnownRequest>,
    /// Completed answers with their sizes, oldest first.
    ended: VecDeque<(Digest, Arc<Broadcast>, usize)>,
    bytes: usize,
}

/// Running and completed answers, by key.
pub(super) struct Replays {
    window: Duration,
    /// Most bytes kept.
    most: usize,
    state: Mutex<ReplayState>,
    readers: Arc<AtomicUsize>,
}

impl Replays {
    /// * `room` - memory budget of all answers in bytes; a small part of it is for completed ones.
    pub(super) fn new(window: Duration, room: usize) -> Self {
        Self { window, most: BYTES.min(room / 8), state: Mutex::default(), readers: Arc::default() }
    }

    /// How long after its end an answer may be asked for again.
    pub(super) const fn window(&self) -> Duration {
        self.window
    }

    /// Takes up answers of earlier processes, the oldest first.
    pub(super) fn take_up(&self, kept: Vec<RepeatFile>) {
        for kept in kept {
            let (key, request) = (Digest::from_hex(&kept.label.key), Digest::from_hex(&kept.label.request));
            let ended = Instant::now().checked_sub(kept.age);
            let (Some(key), Some(request), Some(ended)) = (key, request, ended) else { continue };
            let Some(broadcast) = Broadcast::of_file(&self.readers, kept) else { continue };
            let known = KnownRequest { request, broadcast: Arc::clone(&broadcast), ended: Some(ended) };
            self.state().by_name.insert(key, known);
            self.keep(key, &broadcast);
        }
    }

    /// Number of clients that read an answer or wait for one.
    pub(super) fn readers(&self) -> usize {
        self.readers.load(Ordering::SeqCst)
    }

    fn state(&self) -> MutexGuard<'_, ReplayState> {
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
    pub(super) fn look(&self, key: Option<Digest>, request: Digest, is_retry: bool) -> Repetition {
        let mut state = self.state();
        let name = key.unwrap_or(request);
        let fresh = state.by_name.get(&name).filter(|known| known.is_fresh(self.window));
        match fresh {
            Some(known) if known.request != request => return Repetition::Conflict,
            Some(known) if known.broadcast.is_answer() => {
                let is_same = key.is_some() || is_retry;
                if is_same || (known.broadcast.is_alone() && !known.broadcast.is_taken()) {
                    return Repetition::Again(Arc::clone(&known.broadcast));
                }
            }
            _ => {}
        }
        let broadcast = Broadcast::new(&self.readers);
        state.by_name.insert(name, KnownRequest { request, broadcast: Arc::clone(&broadcast), ended: None });
        Repetition::New(broadcast, name)
    }

    /// Keeps a completed answer for the window from now on, if there is room.
    pub(super) fn ended(&self, name: Digest, broadcast: &Arc<Broadcast>) {
        let mut state = self.state();
        if let Some(known) =
            state.by_name.get_mut(&name).filter(|known| Arc::ptr_eq(&known.broadcast, broadcast))
        {
            known.ended = Some(Instant::now());
        }
        drop(state);
        self.keep(name, broadcast);
    }

    /// Keeps a completed answer, and drops those that are too old or too many.
    fn keep(&self, name: Digest, broadcast: &Arc<Broadcast>) {
        let mut state = self.state();
        let size = broadcast.size() + if broadcast.is_spooled() { self.most / SPOOLED } else { 0 };
        state.bytes += size;
        state.ended.push_back((name, Arc::clone(broadcast), size));
        while let Some((name, broadcast, size)) = state.ended.front().cloned() {
            let known = state.by_name.get(&name).filter(|known| Arc::ptr_eq(&known.broadcast, &broadcast));
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
    use super::super::broadcast::BodyEnd;
    use super::*;

    #[test]
    fn the_window_counts_from_the_end() {
        let name = Digest::of(b"call");
        let begin = |window| {
            let lives = Replays::new(window, usize::MAX);
            let Repetition::New(broadcast, known_as) = lives.look(None, name, false) else { unreachable!() };
            (lives, broadcast, known_as)
        };
        let is_again = |lives: &Replays| matches!(lives.look(None, name, true), Repetition::Again(_));
        // Any elapsed time exceeds this window.
        let (lives, broadcast, known_as) = begin(Duration::ZERO);
        assert!(is_again(&lives), "it runs");
        broadcast.end(BodyEnd::Whole);
        lives.ended(known_as, &broadcast);
        assert!(!is_again(&lives), "it has ended, and the window is over");
        let (lives, broadcast, known_as) = begin(Duration::from_hours(1));
        broadcast.end(BodyEnd::Whole);
        lives.ended(known_as, &broadcast);
        assert!(is_again(&lives), "it has ended just now");
    }
}
