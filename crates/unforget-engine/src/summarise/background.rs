//! A thread that works while others talk.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

use unforget_core::id::Timestamp;
use unforget_llm::{Cancel, Urgency};

use super::{Shift, Summarisers};
use crate::Engine;
use crate::error::EngineError;

/// Jobs of one conversation before the next one's turn.
const TURN: usize = 4;

/// Works on the jobs of all conversations until it is dropped, which takes back the call that is under way.
///
/// Conversations are served in turn, one job after another; several of these beside each other serve several
/// conversations at once, and leases keep them apart.
pub struct Background {
    wake: Option<SyncSender<()>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts it.
    ///
    /// * `time` - the time of day.
    /// * `every` - how often it looks for jobs that nobody woke it for.
    /// * `failed` - hears what went wrong with the store; it goes on.
    ///
    /// # Errors
    /// If there can be no further thread.
    pub fn start(
        engine: Engine,
        models: Arc<Summarisers>,
        time: impl Fn() -> Timestamp + Send + 'static,
        every: Duration,
        failed: impl Fn(&EngineError) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (wake, woken) = mpsc::sync_channel(1);
        let cancel = Cancel::default();
        let taken_back = cancel.clone();
        let run = move || {
            loop {
                if let Err(error) = round(&engine, &models, &time, &taken_back) {
                    failed(&error);
                }
                match woken.recv_timeout(every) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) if !taken_back.is_cancelled() => {}
                    _ => break,
                }
            }
        };
        let thread = std::thread::Builder::new().name("unforget-summaries".into()).spawn(run)?;
        Ok(Self { wake: Some(wake), cancel, thread: Some(thread) })
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
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Serves every conversation in turn until none has a job that is due.
fn round(
    engine: &Engine,
    models: &Summarisers,
    time: &dyn Fn() -> Timestamp,
    cancel: &Cancel,
) -> Result<(), EngineError> {
    loop {
        let mut done = 0;
        for conversation in engine.store().conversations()? {
            if cancel.is_cancelled() {
                return Ok(());
            }
            let shift = Shift { limit: TURN, urgency: Urgency::Normal };
            done += engine.work_until(conversation.id, models, time(), (shift, cancel))?.len();
        }
        if done == 0 {
            return Ok(());
        }
    }
}
