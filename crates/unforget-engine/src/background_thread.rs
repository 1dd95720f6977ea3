//! A thread that works in steps until it is dropped.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

use unforget_llm::Cancel;

/// Time for the running step when the thread is stopped.
const END: Duration = Duration::from_secs(2);

/// A thread that works in steps until dropped. A step that does not end within two seconds then goes on detached.
pub(crate) struct BackgroundThread {
    wake: Option<SyncSender<()>>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
}

impl BackgroundThread {
    /// Starts a thread that only dropping ends.
    ///
    /// * `name` - of the thread.
    /// * `every` - interval between two steps without a call of [`Self::wake`].
    /// * `step` - is given whether the work goes on, as a question that it may ask at any time; returns whether there is more to
    ///   do at once.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(
        name: &str,
        every: Duration,
        mut step: impl FnMut(&dyn Fn() -> bool) -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let cancel = Cancel::default();
        let taken_back = cancel.clone();
        Self::start_with(name, every, cancel, move || step(&|| !taken_back.is_cancelled()))
    }

    /// Starts a thread that a call may end too.
    ///
    /// * `cancel` - ends the work early; dropping the thread cancels too.
    /// * The others as in [`Self::start`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start_with(
        name: &str,
        every: Duration,
        cancel: Cancel,
        mut step: impl FnMut() -> bool + Send + 'static,
    ) -> std::io::Result<Self> {
        let (wake, woken) = mpsc::sync_channel(1);
        let (alive, ended) = mpsc::sync_channel(0);
        let taken_back = cancel.clone();
        let run = move || {
            let _alive: SyncSender<()> = alive;
            while !taken_back.is_cancelled() {
                let is_more = step();
                if !is_more && woken.recv_timeout(every) == Err(RecvTimeoutError::Disconnected) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { wake: Some(wake), cancel, thread: Some(thread), ended })
    }

    /// Announces that there may be work. Never blocks.
    pub(crate) fn wake(&self) {
        if let Some(Err(TrySendError::Full(()) | TrySendError::Disconnected(()))) =
            self.wake.as_ref().map(|wake| wake.try_send(()))
        {
            // The thread is awake, or it has ended.
        }
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.cancel.cancel();
        drop(self.wake.take());
        let has_ended = matches!(self.ended.recv_timeout(END), Err(RecvTimeoutError::Disconnected));
        if let Some(thread) = self.thread.take().filter(|_| has_ended) {
            drop(thread.join());
        }
    }
}
