//! A background thread that gives entries their vectors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use unforget_core::id::{ConversationId, Timestamp};
use unforget_llm::Cancel;
use unforget_store::{Conversation, read_all};

use super::{EmbedStep, MeaningModel};
use crate::Engine;
use crate::error::EngineError;

/// Time for a running call when the thread is stopped.
const END: Duration = Duration::from_secs(2);

/// Events of the background work.
#[derive(Debug)]
pub enum EmbedNews<'a> {
    /// The model does not answer; told once until it answers again.
    Waits(&'a str),
    /// An error of the store. The work goes on.
    Failed(&'a EngineError),
}

impl fmt::Display for EmbedNews<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits(why) => write!(f, "entries wait for their vectors: {why}"),
            Self::Failed(error) => write!(f, "vectors of entries: {error}"),
        }
    }
}

/// Embeds the entries of all conversations, newest conversation first, until dropped.
///
/// A call that does not stop in time goes on detached, at most for its own time limit.
pub struct Embedding {
    wake: Option<SyncSender<()>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
}

impl Embedding {
    /// Starts the thread. It uses the engine's model at the time of each step ([`Engine::set_meaning`]).
    ///
    /// * `every` - interval between two looks for new entries.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        engine: Engine,
        every: Duration,
        told: impl Fn(EmbedNews<'_>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let cancel = Cancel::default();
        let (wake, woken) = mpsc::sync_channel(1);
        let (alive, ended) = mpsc::sync_channel(0);
        let taken_back = cancel.clone();
        let run = move || {
            let _alive: SyncSender<()> = alive;
            let mut rounds = Rounds::default();
            while !taken_back.is_cancelled() {
                let is_more = engine.meaning().is_some_and(|model| {
                    rounds.step(&engine, &model, &told).unwrap_or_else(|error| {
                        told(EmbedNews::Failed(&error));
                        false
                    })
                });
                if !is_more && woken.recv_timeout(every) == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("unforget-meaning".into()).spawn(run)?;
        Ok(Self { wake: Some(wake), cancel, thread: Some(thread), ended })
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        self.cancel.cancel();
        drop(self.wake.take());
        let has_ended = matches!(self.ended.recv_timeout(END), Err(RecvTimeoutError::Disconnected));
        if let Some(thread) = self.thread.take().filter(|_| has_ended) {
            drop(thread.join());
        }
    }
}

/// What is known between steps.
#[derive(Default)]
struct Rounds {
    /// The model of what is known.
    model: String,
    /// Conversations without work, by what they were then.
    done: BTreeMap<ConversationId, u64>,
    /// Those whose hour is spent up, and until when.
    waiting: BTreeMap<ConversationId, Timestamp>,
    /// When the model may be asked again.
    rests: Option<Timestamp>,
    /// Whether waiting was told.
    is_told: bool,
}

impl Rounds {
    /// One step for the newest conversation with work; false if there is none now.
    fn step(
        &mut self,
        engine: &Engine,
        model: &MeaningModel,
        told: &dyn Fn(EmbedNews<'_>),
    ) -> Result<bool, EngineError> {
        if self.model != model.name() {
            *self = Self { model: model.name().to_owned(), ..Self::default() };
        }
        let now = model.now();
        if self.rests.is_some_and(|until| now < until) {
            return Ok(false);
        }
        let mut all = read_all(|page| engine.store().conversations(page))?;
        all.retain(|one| self.may_have_work(one, now));
        all.sort_by_key(|one| std::cmp::Reverse((one.time.map(|(_, last)| last), one.id)));
        for one in all {
            match engine.embed_newest(one.id, model, now)? {
                EmbedStep::Idle => {
                    self.done.insert(one.id, one.revision);
                }
                EmbedStep::Done { .. } => {
                    self.is_told = false;
                    return Ok(true);
                }
                EmbedStep::SpentUp { until } => {
                    self.waiting.insert(one.id, until);
                }
                EmbedStep::Failed { why, until } => {
                    if !std::mem::replace(&mut self.is_told, true) {
                        told(EmbedNews::Waits(&why));
                    }
                    self.rests = Some(until);
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    fn may_have_work(&self, one: &Conversation, now: Timestamp) -> bool {
        self.done.get(&one.id) != Some(&one.revision)
            && self.waiting.get(&one.id).is_none_or(|until| *until <= now)
    }
}
