//! Played sessions, kept for the next question: a history is played once for a window, and every prompt of it is composed from there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use unforget_core::id::{ConversationId, Thread};
use unforget_engine::Engine;
use unforget_engine::prompt::{PlayedCalls, Shape, ThreadRef};
use unforget_store::Conversation;

use crate::failed::Failed;

/// Played sessions that are kept.
const KEPT: usize = 6;

/// Sessions that are played at once.
const AT_ONCE: usize = 2;

/// What was played: another revision of the conversation, or another shape, is another session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlayKey {
    conversation: ConversationId,
    thread: Thread,
    revision: u64,
    shape: String,
}

/// Why a session is not played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedTrouble {
    /// Status of HTTP.
    pub status: u16,
    /// The event.
    pub what: String,
    /// The advised next step.
    pub next: String,
}

impl PlayedTrouble {
    fn later(what: impl Into<String>) -> Self {
        Self { status: 503, what: what.into(), next: "ask again in a moment".to_owned() }
    }
}

enum PlayStage {
    Working,
    Done(Arc<PlayedCalls>),
    Failed(PlayedTrouble),
}

/// One session that is or was played.
pub struct PlayedSession {
    key: PlayKey,
    state: Mutex<PlayStage>,
    changed: Condvar,
    done: AtomicU64,
    total: AtomicU64,
    /// Nobody wants it any more.
    is_dropped: AtomicBool,
}

/// The kept sessions, the one used last in front.
#[derive(Default)]
pub struct PlayedCache(Mutex<Vec<Arc<PlayedSession>>>);

/// A played session, or how far it is.
pub enum PlayedState {
    /// All calls.
    Done(Arc<PlayedCalls>),
    /// It goes on.
    Working(PlayedProgress),
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayedProgress {
    /// Entries that are played.
    pub done: u64,
    /// All entries; 0 before they are counted.
    pub total: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PlayedSession {
    /// The state once it is played, or after a while.
    ///
    /// # Errors
    /// [`PlayedTrouble`] if it could not be played.
    pub fn wait(&self, patience: Duration) -> Result<PlayedState, PlayedTrouble> {
        let state = locked(&self.state);
        let is_working = |state: &mut PlayStage| matches!(state, PlayStage::Working);
        let waited = self.changed.wait_timeout_while(state, patience, is_working);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            PlayStage::Done(played) => Ok(PlayedState::Done(Arc::clone(played))),
            PlayStage::Failed(trouble) => Err(trouble.clone()),
            PlayStage::Working => Ok(PlayedState::Working(PlayedProgress {
                done: self.done.load(Ordering::Relaxed),
                total: self.total.load(Ordering::Relaxed),
            })),
        }
    }

    fn play(&self, engine: &Engine, of: ThreadRef, shape: Shape) {
        let mut progress = |done, total| {
            self.done.store(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
            !self.is_dropped.load(Ordering::Relaxed)
        };
        let state = match engine.play_calls(of, shape, &mut progress) {
            Ok(Some(played)) => PlayStage::Done(Arc::new(played)),
            Ok(None) => PlayStage::Failed(PlayedTrouble::later("other sessions are looked at")),
            Err(error) => {
                let Failed { kind, message, hint, .. } = Failed::from(error);
                PlayStage::Failed(PlayedTrouble { status: kind.status(), what: message, next: hint })
            }
        };
        *locked(&self.state) = state;
        self.changed.notify_all();
    }

    fn is_working(&self) -> bool {
        matches!(*locked(&self.state), PlayStage::Working)
    }
}

impl PlayedCache {
    /// The calls of a thread in a shape: kept, being played, or played from now on by a thread of their own.
    ///
    /// # Errors
    /// [`PlayedTrouble`] if too many sessions are being played.
    pub fn play(
        &self,
        engine: &Engine,
        stored: &Conversation,
        thread: Thread,
        shape: Shape,
    ) -> Result<Arc<PlayedSession>, PlayedTrouble> {
        let (conversation, revision) = (stored.id, stored.revision);
        let key = PlayKey { conversation, thread, revision, shape: format!("{shape:?}") };
        let (slot, is_new) = self.slot(key)?;
        if is_new {
            let (engine, playing) = (engine.confined([conversation].into()), Arc::clone(&slot));
            std::thread::Builder::new()
                .name("play".to_owned())
                .spawn(move || playing.play(&engine, ThreadRef { conversation, thread }, shape))
                .map_err(|error| PlayedTrouble::later(format!("no thread can be started: {error}")))?;
        }
        Ok(slot)
    }

    /// The slot of a key, and whether it is new.
    fn slot(&self, key: PlayKey) -> Result<(Arc<PlayedSession>, bool), PlayedTrouble> {
        let mut slots = locked(&self.0);
        if let Some(at) = slots.iter().position(|slot| slot.key == key) {
            let slot = slots.remove(at);
            let is_failed = matches!(*locked(&slot.state), PlayStage::Failed(_));
            if !is_failed {
                slots.insert(0, Arc::clone(&slot));
                return Ok((slot, false));
            }
        }
        if slots.iter().filter(|slot| slot.is_working()).count() >= AT_ONCE {
            let what = format!("{AT_ONCE} long sessions are being read already");
            return Err(PlayedTrouble::later(what));
        }
        let slot = Arc::new(PlayedSession {
            key,
            state: Mutex::new(PlayStage::Working),
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
