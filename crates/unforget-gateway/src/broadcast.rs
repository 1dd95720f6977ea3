//! An arriving answer: written by one task, and read by any number of clients, each from its beginning.
//!
//! The answer belongs to the gateway and not to the asking client: if the client goes away, the answer is still
//! completed, and if the client asks again, it gets that answer.
//!
//! Chunks beyond the memory budget are read back from the answer's file in the spool.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use futures_util::Stream;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::byte_budget::BudgetShare;
use super::spool::{RepeatFile, RepeatLabel, SpoolRange};

/// The head of a response, before the body.
#[derive(Clone, Debug)]
pub(super) struct ResponseHead {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl ResponseHead {
    /// The head of an answer that is asked for again; `None` if its label is damaged.
    pub(super) fn of(label: &RepeatLabel) -> Option<Self> {
        let mut headers = HeaderMap::new();
        for (name, value) in &label.headers {
            headers.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?);
        }
        Some(Self { status: StatusCode::from_u16(label.status).ok()?, headers })
    }
}

/// The end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// Complete.
    Whole,
    /// Ended by the provider, but without its mark of completeness.
    Short,
    /// Too early: the provider's connection broke.
    Broken,
}

/// A piece of a body.
enum BodyChunk {
    /// In memory, with its share of the memory budget, if it has one.
    Kept(Bytes, #[allow(dead_code, reason = "given back when it is dropped")] Option<BudgetShare>),
    /// Only in the spool.
    Spooled(SpoolRange),
}

/// Number of bytes read back at once.
const BACK: usize = 64 * 1024;

#[derive(Default)]
struct BroadcastState {
    head: Option<ResponseHead>,
    chunks: Vec<BodyChunk>,
    /// The file for reading chunks back. It stays open as long as needed, even if its name disappears.
    spool: Option<Arc<Mutex<File>>>,
    end: Option<BodyEnd>,
    /// Number of chunks that make it complete, although the connection may stay open.
    whole: Option<usize>,
    /// Whether it is something other than a model's answer.
    is_refusal: bool,
    /// Whether a client received all of it.
    is_taken: bool,
    /// Number of reading and waiting clients.
    readers: usize,
}

/// An arriving answer, shared by its writer and its readers.
pub(super) struct Broadcast {
    state: Mutex<BroadcastState>,
    changed: watch::Sender<()>,
    /// Number of clients of all answers.
    readers: Arc<AtomicUsize>,
}

impl Broadcast {
    /// * `readers` - counts the clients of all answers.
    pub(super) fn new(readers: &Arc<AtomicUsize>) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), watch::Sender::new(()));
        Arc::new(Self { state, changed, readers: Arc::clone(readers) })
    }

    /// A complete answer in a file; `None` if its head cannot be read.
    pub(super) fn of_file(readers: &Arc<AtomicUsize>, kept: RepeatFile) -> Option<Arc<Self>> {
        let answer = Self::new(readers);
        answer.begin(ResponseHead::of(&kept.label)?);
        answer.spooled_in(kept.file);
        let end = kept.from + kept.bytes;
        for from in (kept.from..end).step_by(BACK) {
            answer.push_spooled(SpoolRange { from, bytes: (end - from).min(BACK as u64) as usize });
        }
        answer.is_whole();
        answer.end(BodyEnd::Whole);
        Some(answer)
    }

    fn state(&self) -> MutexGuard<'_, BroadcastState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut BroadcastState)) {
        change(&mut self.state());
        self.changed.send_replace(());
    }

    pub(super) fn begin(&self, head: ResponseHead) {
        self.change(|state| state.head = Some(head));
    }

    /// Adds a copy of a chunk, since even a small chunk keeps the whole receive buffer of the connection alive.
    ///
    /// * `held` - its share of the memory budget; none for short texts of ours.
    pub(super) fn push(&self, chunk: &[u8], held: Option<BudgetShare>) {
        let chunk = Bytes::copy_from_slice(chunk);
        self.change(|state| state.chunks.push(BodyChunk::Kept(chunk, held)));
    }

    /// Adds a chunk that is only in the spool.
    pub(super) fn push_spooled(&self, place: SpoolRange) {
        self.change(|state| state.chunks.push(BodyChunk::Spooled(place)));
    }

    /// Sets the file from which such chunks are read back.
    pub(super) fn spooled_in(&self, file: File) {
        self.state().spool = Some(Arc::new(Mutex::new(file)));
    }

    /// Whether any part of it is only in the spool.
    pub(super) fn is_spooled(&self) -> bool {
        self.state().spool.is_some()
    }

    pub(super) fn end(&self, end: BodyEnd) {
        self.change(|state| state.end = Some(end));
    }

    /// Marks the received chunks as the complete answer.
    pub(super) fn is_whole(&self) {
        self.change(|state| state.whole = state.whole.or(Some(state.chunks.len())));
    }

    /// Whether a client that asks again may be given this: it is a complete answer.
    pub(super) fn is_answer(&self) -> bool {
        let state = self.state();
        !state.is_refusal && state.end.is_none_or(|end| end == BodyEnd::Whole)
    }

    /// Whether a client received all of it.
    pub(super) fn is_taken(&self) -> bool {
        self.state().is_taken
    }

    /// Number of bytes in memory.
    pub(super) fn size(&self) -> usize {
        let size = |chunk: &BodyChunk| match chunk {
            BodyChunk::Kept(bytes, _) => bytes.len(),
            BodyChunk::Spooled(_) => 0,
        };
        self.state().chunks.iter().map(size).sum()
    }

    /// Whether no client reads it.
    pub(super) fn is_alone(&self) -> bool {
        self.state().readers == 0
    }

    /// Replaces the answer by an error, which is never replayed. An answer that has begun breaks off.
    pub(super) fn refuse(&self, head: ResponseHead, body: Bytes) {
        self.change(|state| {
            state.is_refusal = true;
            if state.head.is_some() {
                state.end = Some(BodyEnd::Broken);
                return;
            }
            state.head = Some(head);
            state.chunks = vec![BodyChunk::Kept(body, None)];
            state.end = Some(BodyEnd::Whole);
        });
    }

    /// Begins to read or to wait.
    pub(super) fn reader(self: &Arc<Self>) -> BroadcastReader {
        self.state().readers += 1;
        self.readers.fetch_add(1, Ordering::SeqCst);
        BroadcastReader { broadcast: Arc::clone(self), changed: self.changed.subscribe(), at: 0 }
    }

    fn next(&self, at: usize) -> NextChunk {
        let mut state = self.state();
        let next = match (state.chunks.get(at), &state.spool) {
            (Some(BodyChunk::Kept(chunk, _)), _) => Some((NextChunk::BodyChunk(chunk.clone()), at + 1)),
            (Some(BodyChunk::Spooled(place)), Some(file)) => {
                let (place, next) = run(&state.chunks, *place, at + 1);
                Some((NextChunk::Back(Arc::clone(file), place, next), next))
            }
            (Some(BodyChunk::Spooled(_)), None) => Some((NextChunk::BodyEnd(BodyEnd::Broken), at)),
            (None, _) => None,
        };
        if let Some((next, behind)) = next {
            state.is_taken |= state.whole.is_some_and(|whole| behind >= whole);
            return next;
        }
        match state.end {
            Some(end) => {
                state.is_taken |= end == BodyEnd::Whole;
                NextChunk::BodyEnd(end)
            }
            None => NextChunk::Wait,
        }
    }
}

/// A client's reading of an answer. Dropping it means that the client has gone away.
pub(super) struct BroadcastReader {
    broadcast: Arc<Broadcast>,
    changed: watch::Receiver<()>,
    at: usize,
}

impl Drop for BroadcastReader {
    fn drop(&mut self) {
        self.broadcast.state().readers -= 1;
        self.broadcast.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl BroadcastReader {
    /// The head of the response, once it has arrived; `None` without an answer.
    pub(super) async fn head(&mut self) -> Option<ResponseHead> {
        loop {
            // Marked as seen before looking: a change after the look wakes the wait below.
            self.changed.borrow_and_update();
            {
                let state = self.broadcast.state();
                if state.head.is_some() || state.end.is_some() {
                    return state.head.clone();
                }
            }
            self.changed.changed().await.ok()?;
        }
    }

    /// The body from its beginning, chunk by chunk as it arrived.
    pub(super) fn body(self) -> impl Stream<Item = Result<Bytes, BrokenOff>> + Send + 'static {
        futures_util::stream::unfold(Some(self), |reader| async {
            let mut reader = reader?;
            loop {
                reader.changed.borrow_and_update();
                match reader.broadcast.next(reader.at) {
                    NextChunk::BodyChunk(chunk) => {
                        reader.at += 1;
                        return Some((Ok(chunk), Some(reader)));
                    }
                    NextChunk::Back(file, place, next) => {
                        let read = spawn_blocking(move || read_back(&file, place)).await;
                        let Ok(Ok(bytes)) = read else {
                            tracing::error!("an answer cannot be read back from the spool");
                            return Some((Err(BrokenOff), None));
                        };
                        reader.at = next;
                        return Some((Ok(bytes), Some(reader)));
                    }
                    NextChunk::BodyEnd(BodyEnd::Whole | BodyEnd::Short) => return None,
                    NextChunk::BodyEnd(BodyEnd::Broken) => {
                        // Earlier chunks go out first: the error ends the connection, flushed or not.
                        tokio::task::yield_now().await;
                        return Some((Err(BrokenOff), None));
                    }
                    NextChunk::Wait => reader.changed.changed().await.ok()?,
                }
            }
        })
    }
}

/// Joins consecutive chunks of the spool, from one on. Returns their place and the index behind them.
fn run(chunks: &[BodyChunk], mut place: SpoolRange, mut next: usize) -> (SpoolRange, usize) {
    while let Some(BodyChunk::Spooled(more)) = chunks.get(next) {
        if place.bytes + more.bytes > BACK || place.from + place.bytes as u64 != more.from {
            break;
        }
        place.bytes += more.bytes;
        next += 1;
    }
    (place, next)
}

fn read_back(file: &Mutex<File>, place: SpoolRange) -> io::Result<Bytes> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(place.from))?;
    let mut bytes = vec![0; place.bytes];
    file.read_exact(&mut bytes)?;
    Ok(bytes.into())
}

enum NextChunk {
    BodyChunk(Bytes),
    /// A range of the spool, and the index of the chunk behind it.
    Back(Arc<Mutex<File>>, SpoolRange, usize),
    BodyEnd(BodyEnd),
    Wait,
}

/// The provider's connection broke. The client's connection is broken off too, so that it does not take the answer for
/// complete.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer broke off upstream")]
pub(super) struct BrokenOff;
