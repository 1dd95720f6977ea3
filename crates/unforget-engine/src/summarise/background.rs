//! A thread that works while others talk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

use unforget_core::id::{ConversationId, Timestamp};
use unforget_llm::{Cancel, Urgency};

use super::{Shift, Summarisers};
use crate::Engine;
use crate::error::EngineError;

/// Jobs of one conversation before the next one's turn.
const TURN: usize = 4;

/// How long its end waits for a call that is under way.
const END: Duration = Duration::from_secs(2);

/// Works on the jobs of all conversations until it is dropped, which takes back the call that is under way.
///
/// A call that does not end then goes on without it, for its own limit at most: nothing of it is stored, and the job's lease
/// runs out.
///
/// Conversations are served in turn, those first to which nothing was added since the last look: what is prepared
/// for them is shown at a break that comes after a pause, when a provider's cache is cold anyway. Several of these beside
/// each other serve several conversations at once, and leases keep them apart.
pub struct Background {
    wake: Option<SyncSender<()>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
}

impl Background {
    /// Starts it.
    ///
    /// * `models` - the models as they are now; asked before each round, so that settings may change. `None` if there
    ///   are none.
    /// * `time` - the time of day.
    /// * `every` - how often it looks for jobs that nobody woke it for.
    /// * `failed` - hears what went wrong with the store; it goes on.
    ///
    /// # Errors
    /// If there can be no further thread.
    pub fn start(
        engine: Engine,
        models: impl FnMut() -> Option<Arc<Summarisers>> + Send + 'static,
        time: impl Fn() -> Timestamp + Send + 'static,
        every: Duration,
        failed: impl Fn(&EngineError) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (wake, woken) = mpsc::sync_channel(1);
        let cancel = Cancel::default();
        let taken_back = cancel.clone();
        let mut models = models;
        let (alive, ended) = mpsc::sync_channel(0);
        let run = move || {
            let _alive: SyncSender<()> = alive;
            let mut lengths = BTreeMap::new();
            loop {
                let ended = models().map_or(Ok(()), |models| {
                    let mut round =
                        Round { engine: &engine, models: &models, time: &time, cancel: &taken_back };
                    round.run(&mut lengths)
                });
                if let Err(error) = ended {
                    failed(&error);
                }
                match woken.recv_timeout(every) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) if !taken_back.is_cancelled() => {}
                    _ => break,
                }
            }
        };
        let thread = std::thread::Builder::new().name("unforget-summaries".into()).spawn(run)?;
        Ok(Self { wake: Some(wake), cancel, thread: Some(thread), ended })
    }

    /// Says that there may be work. Never waits.
    pub fn wake(&self) {
        if let Some(Err(TrySendError::Full(()) | TrySendError::Disconnected(()))) =
            self.wake.as_ref().map(|wake| wake.try_send(()))
        {
            // It is awake, or it has ended.
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

/// What a round has at hand.
struct Round<'a> {
    engine: &'a Engine,
    models: &'a Summarisers,
    time: &'a dyn Fn() -> Timestamp,
    cancel: &'a Cancel,
}

impl Round<'_> {
    /// Serves every conversation in turn until none has a job that is due, or nobody may be called.
    ///
    /// * `lengths` - entries of each conversation when it was looked at last.
    fn run(&mut self, lengths: &mut BTreeMap<ConversationId, u64>) -> Result<(), EngineError> {
        loop {
            let due = self.engine.store().due((self.time)())?;
            let mut waiting = Vec::with_capacity(due.len());
            for id in due {
                waiting.push((id, self.engine.store().conversation(id)?.entries));
            }
            let mut done = 0;
            for id in idle_first(&waiting, lengths) {
                if self.cancel.is_cancelled() || self.models.may_ask().is_err() {
                    return Ok(());
                }
                let shift = Shift { limit: TURN, urgency: Urgency::Normal };
                done += self.engine.work_until(id, self.models, (self.time)(), (shift, self.cancel))?.len();
            }
            if done == 0 {
                return Ok(());
            }
        }
    }
}

/// Those to which nothing was added since the last look, then the others; notes how long they are now.
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

    /// Waiting conversations with their lengths, the order in which they are looked at, why.
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
