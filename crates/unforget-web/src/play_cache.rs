//! Played sessions, kept for the next visit: a history is played once for a window, and every prompt of it is composed from there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use unforget_core::id::{ConversationId, Thread};
use unforget_engine::Engine;
use unforget_engine::prompt::{PlayedCalls, Shape, ThreadRef};

use crate::trouble::Trouble;

/// Played sessions that are kept.
const KEPT: usize = 6;

/// Sessions that are played at once.
const AT_ONCE: usize = 2;

/// How long a visit waits for a session to be played; then it says how far that is.
const PATIENCE: Duration = Duration::from_millis(1_200);

/// What was played: another revision of the conversation, or another shape, is another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlayKey {
    pub(crate) conversation: ConversationId,
    pub(crate) thread: Thread,
    pub(crate) revision: u64,
    pub(crate) shape: String,
}

enum State {
    Working,
    Done(Arc<PlayedCalls>),
    Failed(Trouble),
}

/// One session that is or was played.
pub(crate) struct Slot {
    key: PlayKey,
    state: Mutex<State>,
    changed: Condvar,
    done: AtomicU64,
    total: AtomicU64,
    /// Nobody wants it any more.
    is_dropped: AtomicBool,
}

/// The kept sessions, the one used last in front.
#[derive(Default)]
pub(crate) struct PlayedCache(Mutex<Vec<Arc<Slot>>>);

/// A played session, or how far it is.
pub(crate) enum Playing {
    Done(Arc<PlayedCalls>),
    Working(WorkingPage),
}

/// How far a session is.
pub(crate) struct WorkingPage {
    pub(crate) done: u64,
    pub(crate) total: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// The state once it is played, or after a while.
    pub(crate) fn wait(&self) -> Result<Playing, Trouble> {
        let state = locked(&self.state);
        let is_working = |state: &mut State| matches!(state, State::Working);
        let waited = self.changed.wait_timeout_while(state, PATIENCE, is_working);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Done(played) => Ok(Playing::Done(Arc::clone(played))),
            State::Failed(trouble) => Err(trouble.clone()),
            State::Working => Ok(Playing::Working(WorkingPage {
                done: self.done.load(Ordering::Relaxed),
                total: self.total.load(Ordering::Relaxed),
            })),
        }
    }

    pub(crate) fn play(&self, engine: &Engine, of: ThreadRef, shape: Shape) {
        let mut progress = |done, total| {
            self.done.store(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
            !self.is_dropped.load(Ordering::Relaxed)
        };
        let state = match engine.play_calls(of, shape, &mut progress) {
            Ok(Some(played)) => State::Done(Arc::new(played)),
            Ok(None) => State::Failed(Trouble::new(503, "other sessions are looked at", "look again")),
            Err(error) => State::Failed(error.into()),
        };
        *locked(&self.state) = state;
        self.changed.notify_all();
    }

    fn is_working(&self) -> bool {
        matches!(*locked(&self.state), State::Working)
    }
}

impl PlayedCache {
    /// The slot of a key, and whether it is new.
    pub(crate) fn slot(&self, key: PlayKey) -> Result<(Arc<Slot>, bool), Trouble> {
        let mut slots = locked(&self.0);
        if let Some(at) = slots.iter().position(|slot| slot.key == key) {
            let slot = slots.remove(at);
            let is_failed = matches!(*locked(&slot.state), State::Failed(_));
            if !is_failed {
                slots.insert(0, Arc::clone(&slot));
                return Ok((slot, false));
            }
        }
        if slots.iter().filter(|slot| slot.is_working()).count() >= AT_ONCE {
            let what = format!("{AT_ONCE} long sessions are being read already");
            return Err(Trouble::new(503, what, "look again in a moment"));
        }
        let slot = Arc::new(Slot {
            key,
            state: Mutex::new(State::Working),
            changed: Condvar::new(),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            is_dropped: AtomicBool::new(false),
        });
        slots.insert(0, Arc::clone(&slot));
        for old in slots.iter().skip(KEPT) {
            old.is_dropped.store(true, Ordering::Relaxed);
        }
        slots.truncate(KEPT);
        Ok((slot, true))
    }
}
