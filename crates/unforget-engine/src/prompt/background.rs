//! Summaries of whole histories, made behind prompts that begin with provisional ones.

use std::fmt;
use std::time::Duration;

use unforget_core::id::ConversationKey;
use unforget_wire::Target;

use super::{Session, Shape, ThreadRef, Until};
use crate::Engine;
use crate::background_thread::BackgroundThread;
use crate::error::EngineError;
use crate::wanted::WantedHistory;

/// Events of the background work.
#[derive(Debug)]
pub enum WholeNews<'a> {
    /// All of a history was read for one shape: a later break shows the summaries.
    Made {
        /// The conversation.
        conversation: &'a ConversationKey,
        /// Its window in tokens.
        window: u64,
    },
    /// A history could not be read. It is tried again when its prompt is opened the next time.
    Failed(&'a EngineError),
}

impl fmt::Display for WholeNews<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made { conversation, window } => write!(
                f,
                "all of {conversation} was read for a window of {window} tokens: the next break shows its summaries"
            ),
            Self::Failed(error) => write!(f, "reading a whole history for its summaries: {error}"),
        }
    }
}

impl Engine {
    /// Notes that a thread's prompt of a shape is provisional.
    pub(crate) fn want_whole(&self, of: ThreadRef, shape: Shape) {
        if self.is_writer() {
            let (target, ruler, policy) = (shape.target(), shape.ruler, shape.policy);
            self.wanted.put(WantedHistory { of, key: shape.key(), target, ruler, policy });
        }
    }

    /// Whether a prompt made by this engine waits for the summaries of all of its history.
    pub fn has_wanted_histories(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Reads all of the history that waits longest, and makes its summaries. Returns false if none waits, or `go_on` ended
    /// the work: then it waits again.
    ///
    /// * `go_on` - called with the number of played entries and of all entries.
    /// * `told` - called with the outcome.
    ///
    /// Cost: O(history).
    pub fn make_whole(&self, go_on: &mut dyn FnMut(u64, u64) -> bool, told: &dyn Fn(WholeNews<'_>)) -> bool {
        let Some(next) = self.wanted.take() else { return false };
        match self.play_whole(next, go_on) {
            Ok(Some(conversation)) => {
                let window = next.policy.window;
                told(WholeNews::Made { conversation: &conversation, window });
                true
            }
            Ok(None) => {
                self.wanted.put_back(next);
                false
            }
            Err(error) => {
                told(WholeNews::Failed(&error));
                true
            }
        }
    }

    /// Returns the conversation's key; `None` if `go_on` or a purge ended the work.
    fn play_whole(
        &self,
        wanted: WantedHistory,
        go_on: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Option<ConversationKey>, EngineError> {
        let WantedHistory { of, target, ruler, policy, .. } = wanted;
        let purges = self.wanted.purges(of.conversation);
        let stored = self.store().conversation(of.conversation)?;
        let Target { dialect, family, is_own } = target;
        let mut session = Session::loading(self, of, Shape { dialect, family, ruler, policy, is_own }, true)?;
        session.source.work_ahead(purges);
        let mut go_on = |done, total| go_on(done, total) && self.wanted.purges(of.conversation) == purges;
        let is_done = session.play_while(&stored, Until::Now, &mut go_on)? && go_on(1, 1);
        Ok(is_done.then_some(stored.key))
    }
}

/// Makes the summaries of whole histories until dropped.
pub struct WholeHistories {
    _thread: BackgroundThread,
}

impl WholeHistories {
    /// Starts the thread.
    ///
    /// * `every` - interval between two looks for work.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        engine: Engine,
        every: Duration,
        told: impl Fn(WholeNews<'_>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let step = move |goes_on: &dyn Fn() -> bool| engine.make_whole(&mut |_, _| goes_on(), &told);
        Ok(Self { _thread: BackgroundThread::start("unforget-history", every, step)? })
    }
}
