//! A background thread that works on jobs while conversations go on.

use std::collections::BTreeMap;
use std::time::Duration;
use unforget_store::read_all;

use unforget_core::id::{ConversationId, Timestamp};
use unforget_llm::{Cancel, Urgency};

use super::{Current, JobReport, Shift, WorkRequest};
use crate::Engine;
use crate::background_thread::BackgroundThread;
use crate::error::EngineError;

/// Number of jobs of one conversation before the next conversation has its turn.
const TURN: usize = 4;

/// Events of the background work.
#[derive(Debug)]
pub enum News<'a> {
    /// A job ended.
    Worked(&'a JobReport),
    /// An error of the store. The work goes on.
    Failed(&'a EngineError),
}

/// What the background work calls.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundCallbacks<L, C, T> {
    /// Called before each round; may replace the models.
    pub look: L,
    /// The time of day.
    pub time: C,
    /// Called with each event.
    pub told: T,
}

/// Works on the jobs of all conversations until dropped. Dropping cancels the running call.
///
/// A call that does not stop in time goes on detached, at most for its own time limit: nothing of it is stored, and the
/// lease of its job expires.
///
/// Conversations are served in turn. Those without new entries since the last look come first: their next break will
/// come after a pause, when the provider's cache is cold anyway. A conversation whose jobs a person has
/// [claimed](Current::claim) is skipped.
pub struct Background {
    thread: BackgroundThread,
}

impl Background {
    /// Starts the background thread.
    ///
    /// * `current` - the current models; read before each round, so that settings may change.
    /// * `cancel` - stops the work early; dropping the value cancels too.
    /// * `every` - interval between two looks for jobs without a call of [`Self::wake`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start<L, C, T>(
        engine: Engine,
        current: Current,
        cancel: Cancel,
        every: Duration,
        callbacks: BackgroundCallbacks<L, C, T>,
    ) -> std::io::Result<Self>
    where
        L: FnMut() + Send + 'static,
        C: Fn() -> Timestamp + Send + 'static,
        T: Fn(News<'_>) + Send + 'static,
    {
        let BackgroundCallbacks { mut look, time, told } = callbacks;
        let mut lengths = BTreeMap::new();
        let taken_back = cancel.clone();
        let step = move || {
            look();
            let round =
                Round { engine: &engine, current: &current, time: &time, cancel: &taken_back, told: &told };
            round.run(&mut lengths).unwrap_or_else(|error| {
                told(News::Failed(&error));
                false
            })
        };
        Ok(Self { thread: BackgroundThread::start_with("unforget-summaries", every, cancel, step)? })
    }

    /// Announces that there may be work. Never blocks.
    pub fn wake(&self) {
        self.thread.wake();
    }
}

/// Data of one round.
struct Round<'a> {
    engine: &'a Engine,
    current: &'a Current,
    time: &'a dyn Fn() -> Timestamp,
    cancel: &'a Cancel,
    told: &'a dyn Fn(News<'_>),
}

impl Round<'_> {
    /// Gives every conversation with a due job its turn. Returns whether any work was done: then there may be more.
    ///
    /// * `lengths` - number of entries of each conversation at the last look.
    fn run(&self, lengths: &mut BTreeMap<ConversationId, u64>) -> Result<bool, EngineError> {
        let Some(models) = self.current.get() else { return Ok(false) };
        let due = read_all(|page| self.engine.store().due((self.time)(), page))?;
        let mut waiting = Vec::with_capacity(due.len());
        for id in due {
            waiting.push((id, self.engine.store().conversation(id)?.entries));
        }
        let mut is_done = false;
        for id in idle_first(&waiting, lengths) {
            for _ in 0..TURN {
                if self.cancel.is_cancelled() || models.may_ask().is_err() {
                    return Ok(false);
                }
                // A person who wants this conversation waits for one job only.
                let Some(_claim) = self.current.turn(id) else { break };
                let shift = Shift { limit: 1, urgency: Urgency::Normal };
                let told = |report: &JobReport| (self.told)(News::Worked(report));
                let request = WorkRequest { now: (self.time)(), shift, cancel: self.cancel, told: &told };
                match self.engine.work_until(id, &models, request) {
                    Ok(reports) if reports.is_empty() => break,
                    Ok(_) => is_done = true,
                    Err(error) => {
                        // A problem of one conversation must not stop the others.
                        (self.told)(News::Failed(&error));
                        break;
                    }
                }
            }
        }
        Ok(is_done)
    }
}

/// Conversations without new entries since the last look first, then the others; updates the lengths.
fn idle_first(
    waiting: &[(ConversationId, u64)],
    lengths: &mut BTreeMap<ConversationId, u64>,
) -> Vec<ConversationId> {
    let is_idle = |(id, entries): &&(ConversationId, u64)| lengths.get(id) == Some(entries);
    let (idle, busy): (Vec<_>, Vec<_>) = waiting.iter().partition(is_idle);
    let order = idle.iter().chain(&busy).map(|(id, _)| *id).collect();
    *lengths = waiting.iter().copied().collect();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waiting conversations with their lengths, expected order, reason.
    type Row<'a> = (&'a [(ConversationId, u64)], &'a [ConversationId], &'a str);

    #[test]
    fn idle_conversations_come_first() {
        let [a, b, c] = [1, 2, 3].map(ConversationId);
        let mut lengths = BTreeMap::new();
        let table: [Row<'_>; 4] = [
            (&[(a, 5), (b, 7)], &[a, b], "nothing is known yet"),
            (&[(a, 6), (b, 7), (c, 1)], &[b, a, c], "a grew, c is new"),
            (&[(a, 6), (b, 8), (c, 1)], &[a, c, b], "b grew"),
            (&[(a, 6)], &[a], "the others have nothing to do"),
        ];
        for (waiting, want, why) in table {
            assert_eq!(idle_first(waiting, &mut lengths), want, "{why}");
        }
        assert_eq!(lengths.len(), 1, "those without work are forgotten");
    }
}
