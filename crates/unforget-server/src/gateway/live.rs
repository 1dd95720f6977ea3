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
    /// As the provider ended it, but it did not say that this is all.
    Short,
    /// Early: the provider's connection broke.
    Broken,
}

#[derive(Default)]
struct State {
    head: Option<Head>,
    chunks: Vec<Bytes>,
    end: Option<End>,
    /// Chunks with which it is whole, though the connection may stay open.
    whole: Option<usize>,
    /// It is not an answer of a model.
    is_refusal: bool,
    /// A client got all of it.
    is_taken: bool,
    /// Clients that read it, or wait for it.
    readers: usize,
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

    /// A copy, since a chunk of some bytes holds the whole buffer into which the connection was read.
    pub(super) fn push(&self, chunk: &[u8]) {
        let chunk = Bytes::copy_from_slice(chunk);
        self.change(|state| state.chunks.push(chunk));
    }

    pub(super) fn end(&self, end: End) {
        self.change(|state| state.end = Some(end));
    }

    /// What has come is the whole answer.
    pub(super) fn is_whole(&self) {
        self.change(|state| state.whole = state.whole.or(Some(state.chunks.len())));
    }

    /// Whether a client that asks again may be given this: it is an answer, and all of it.
    pub(super) fn is_answer(&self) -> bool {
        let state = self.state();
        !state.is_refusal && state.end.is_none_or(|end| end == End::Whole)
    }

    /// Whether a client got all of it.
    pub(super) fn is_taken(&self) -> bool {
        self.state().is_taken
    }

    /// Bytes that it holds.
    pub(super) fn size(&self) -> usize {
        self.state().chunks.iter().map(Bytes::len).sum()
    }

    /// Whether no client reads it.
    pub(super) fn is_alone(&self) -> bool {
        self.state().readers == 0
    }

    /// Gives something else than a provider's answer: nobody is given that again. An answer that has begun breaks off.
    pub(super) fn refuse(&self, head: Head, body: Bytes) {
        self.change(|state| {
            state.is_refusal = true;
            if state.head.is_some() {
                state.end = Some(End::Broken);
                return;
            }
            state.head = Some(head);
            state.chunks = vec![body];
            state.end = Some(End::Whole);
        });
    }

    /// Begins to read, or to wait.
    pub(super) fn reader(self: &Arc<Self>) -> Reader {
        self.state().readers += 1;
        Reader { live: Arc::clone(self), changed: self.changed.subscribe(), at: 0 }
    }

    fn next(&self, at: usize) -> Next {
        let mut state = self.state();
        if let Some(chunk) = state.chunks.get(at).cloned() {
            state.is_taken |= state.whole.is_some_and(|whole| at + 1 >= whole);
            return Next::Chunk(chunk);
        }
        match state.end {
            Some(end) => {
                state.is_taken |= end == End::Whole;
                Next::End(end)
            }
            None => Next::Wait,
        }
    }
}

/// A client at an answer. When it is dropped the client is gone.
pub(super) struct Reader {
    live: Arc<Live>,
    changed: watch::Receiver<()>,
    at: usize,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.live.state().readers -= 1;
    }
}

impl Reader {
    /// What came before the body, once it is there; `None` if there is no answer.
    pub(super) async fn head(&mut self) -> Option<Head> {
        loop {
            // Marked as seen before looking: what changes after the look wakes the wait below.
            self.changed.borrow_and_update();
            {
                let state = self.live.state();
                if state.head.is_some() || state.end.is_some() {
                    return state.head.clone();
                }
            }
            self.changed.changed().await.ok()?;
        }
    }

    /// The body from its beginning, chunk by chunk as it arrived.
    pub(super) fn body(self) -> impl Stream<Item = Result<Bytes, Broken>> + Send + 'static {
        futures_util::stream::unfold(Some(self), |reader| async {
            let mut reader = reader?;
            loop {
                reader.changed.borrow_and_update();
                match reader.live.next(reader.at) {
                    Next::Chunk(chunk) => {
                        reader.at += 1;
                        return Some((Ok(chunk), Some(reader)));
                    }
                    Next::End(End::Whole | End::Short) => return None,
                    Next::End(End::Broken) => return Some((Err(Broken), None)),
                    Next::Wait => reader.changed.changed().await.ok()?,
                }
            }
        })
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
