//! A background thread that gives entries their vectors.

use std::fmt;
use std::time::Duration;

use unforget_core::id::ConversationKey;

use super::LengthConflict;
use super::rounds::Rounds;
use crate::Engine;
use crate::background_thread::BackgroundThread;
use crate::error::EngineError;

/// The work of giving entries their vectors, which one process on a store does, and for how long it has the work.
const WORK: &str = "vectors";
const WORK_TIME: Duration = Duration::from_mins(2);

/// Events of the background work.
#[derive(Debug)]
pub enum EmbedNews<'a> {
    /// The model does not answer; told once until it answers again.
    Waits(&'a str),
    /// An error of the store. The other conversations go on, and this one is tried again later.
    Parked {
        /// The conversation.
        conversation: &'a ConversationKey,
        /// The error.
        error: &'a EngineError,
        /// Minutes until it is tried again.
        minutes: i64,
    },
    /// Vectors of two lengths under one name: this conversation gets none before a person looks.
    OtherLength {
        /// The conversation.
        conversation: &'a ConversationKey,
        /// Both lengths.
        conflict: &'a LengthConflict,
    },
    /// The model failed for each of these pieces alone: they got no vector.
    Without {
        /// The conversation.
        conversation: &'a ConversationKey,
        /// Number of pieces.
        pieces: u64,
    },
    /// The list of conversations cannot be read. The work goes on with those that are known.
    Failed(&'a EngineError),
}

impl fmt::Display for EmbedNews<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits(why) => write!(f, "entries wait for their vectors: {why}"),
            Self::Parked { conversation, error, minutes } => {
                write!(f, "vectors of {conversation}: {error}; next attempt in {minutes} min")
            }
            Self::OtherLength { conversation, conflict } => {
                write!(f, "vectors of {conversation}: {conflict}")
            }
            Self::Without { conversation, pieces } => write!(
                f,
                "vectors of {conversation}: the model failed for {pieces} pieces of texts, asked for each alone; they are \
                 found by their words"
            ),
            Self::Failed(error) => write!(f, "vectors of entries: {error}"),
        }
    }
}

/// Embeds the entries of all conversations, newest conversation first, until dropped.
///
/// A call that does not stop in time goes on detached, at most for its own time limit.
pub struct Embedding {
    _thread: BackgroundThread,
}

impl Embedding {
    /// Starts the thread. It uses the engine's model at the time of each step ([`Engine::set_meaning`]). Of several processes on
    /// a store, one works.
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
        let mut rounds = Rounds::new(every);
        let step = move |_: &dyn Fn() -> bool| {
            let Some(model) = engine.meaning() else { return false };
            match engine.peers().map_or(Ok(true), |peers| peers.hold(WORK, WORK_TIME)) {
                Ok(is_ours) => is_ours && rounds.step(&engine, &model, &told),
                Err(error) => {
                    told(EmbedNews::Failed(&error.into()));
                    false
                }
            }
        };
        Ok(Self { _thread: BackgroundThread::start("unforget-meaning", every, step)? })
    }
}
