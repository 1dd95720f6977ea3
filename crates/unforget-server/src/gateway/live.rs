//! An answer while it arrives: written by one task, read by any number of clients, each from its beginning.
//!
//! The answer belongs to the gateway and not to the client that asked: when that goes away the answer is finished, and when
//! it asks again it gets the same one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use futures_util::Stream;
use tokio::sync::watch;

/// What came before the body.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As the provider ended it.
    Whole,
    /// Early: the provider's connection broke.
    Broken,
}

#[derive(Default)]
struct State {
    head: Option<Head>,
    chunks: Vec<Bytes>,
    end: Option<End>,
    /// A client got all of it.
    is_delivered: bool,
}

/// See the module.
pub(super) struct Live {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Live {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: watch::Sender::new(()) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.send_replace(());
    }

    pub(super) fn begin(&self, head: Head) {
        self.change(|state| state.head = Some(head));
    }

    pub(super) fn push(&self, chunk: Bytes) {
        self.change(|state| state.chunks.push(chunk));
    }

    pub(super) fn end(&self, end: End) {
        self.change(|state| state.end = Some(end));
    }

    /// Whether a client that asks again may be given this answer: no client has got all of it, and it did not break.
    pub(super) fn is_wanted(&self) -> bool {
        let state = self.state();
        !state.is_delivered && state.end != Some(End::Broken)
    }

    /// What came before the body, once it is there.
    pub(super) async fn head(&self) -> Option<Head> {
        let mut changed = self.changed.subscribe();
        loop {
            {
                let state = self.state();
                if state.head.is_some() || state.end.is_some() {
                    return state.head.clone();
                }
            }
            changed.changed().await.ok()?;
        }
    }

    /// The body from its beginning, chunk by chunk as it arrived.
    pub(super) fn body(self: &Arc<Self>) -> impl Stream<Item = Result<Bytes, Broken>> + Send + 'static {
        let reader = (Arc::clone(self), self.changed.subscribe(), 0_usize, false);
        futures_util::stream::unfold(reader, |(live, mut changed, at, is_over)| async move {
            if is_over {
                return None;
            }
            loop {
                // Marked as seen before looking: what changes after the look wakes the wait below.
                changed.borrow_and_update();
                let next = live.next(at);
                match next {
                    Next::Chunk(chunk) => return Some((Ok(chunk), (live, changed, at + 1, false))),
                    Next::End(End::Whole) => return None,
                    Next::End(End::Broken) => return Some((Err(Broken), (live, changed, at, true))),
                    Next::Wait => {}
                }
                // The sender lives in what is read, so this ends only by a change.
                changed.changed().await.ok()?;
            }
        })
    }

    fn next(&self, at: usize) -> Next {
        let mut state = self.state();
        if let Some(chunk) = state.chunks.get(at) {
            return Next::Chunk(chunk.clone());
        }
        match state.end {
            Some(end) => {
                state.is_delivered |= end == End::Whole;
                Next::End(end)
            }
            None => Next::Wait,
        }
    }
}

enum Next {
    Chunk(Bytes),
    End(End),
    Wait,
}

/// The provider's connection broke. The client's is broken off too, so that it does not take the answer for whole.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer broke off upstream")]
pub(super) struct Broken;
