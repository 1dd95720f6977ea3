//! A background thread that works on jobs while conversations go on.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;
use unforget_store::read_all;

use unforget_core::id::{ConversationId, Timestamp};
use unforget_llm::{Cancel, Urgency};

use super::{Current, JobReport, Shift, WorkRequest};
use crate::Engine;
use crate::error::EngineError;

/// Number of jobs of one conversation before the next conversation has its turn.
const TURN: usize = 4;

/// Time limit for a running call when the thread is stopped.
const END: Duration = Duration::from_secs(2);

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
    wake: Option<SyncSender<()>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
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
        let (wake, woken) = mpsc::sync_channel(1);
        let taken_back = cancel.clone();
        let (alive, ended) = mpsc::sync_channel(0);
        let run = move || {
            let _alive: SyncSender<()> = alive;
            let mut lengths = BTreeMap::new();
            while !taken_back.is_cancelled() {
                look();
                let round = Round {
                    engine: &engine,
                    current: &current,
                    time: &time,
                    cancel: &taken_back,
                    told: &told,
                };
                let is_more = round.run(&mut lengths).unwrap_or_else(|error| {
                    told(News::Failed(&error));
                    false
                });
                if !is_more && woken.recv_timeout(every) == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("unforget-summaries".into()).spawn(run)?;
        Ok(Self { wake: Some(wake), cancel, thread: Some(thread), ended })
    }

    /// Announces that there may be work. Never blocks.
    pub fn wake(&self) {
        if let Some(Err(TrySendError::Full(()) | TrySendError::Disconnected(()))) =
            self.wake.as_ref().map(|wake| wake.try_send(()))
        {
            // The thread is awake, or it has ended.
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.cancel.cancel();
        drop(self.wake.take());
        let has_ended = matches!(self.ended.recv_timeout(END), Err(RecvTimeoutError::Disconnected));
        if let Some(thread) = self.thread.take().filter(|_| has_ended) {
            drop(thread.join());
        }
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
