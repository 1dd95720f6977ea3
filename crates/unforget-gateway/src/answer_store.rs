//! Keeps arriving answers on disk until they are stored, and stores those that an earlier process left.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use unforget_core::id::Seq;
use unforget_engine::host::{DeliveredAnswer, Host, LaneKey, WriteLatency};
use unforget_wire::exchange::Fault;
use unforget_wire::{Dialect, Format};

use super::fault;
use super::figures;
use super::reading::{AnswerReader, interrupted};
use super::spool::{self, Spool, SpoolFile, SpoolLabel};

/// Longest pause before another attempt to store failed answers.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// Arriving answers on disk, and those that could not be stored yet.
pub(super) struct AnswerStore {
    /// Dropped before the host: its files are tidied while the database is still ours.
    pub(super) spool: Spool,
    pub(super) host: Arc<Host>,
    pub(super) unstored: RetryList,
    /// Whether other processes serve the same conversations: an answer is in the database before its client's response
    /// ends, since the client's next call may go to another process.
    pub(super) is_shared: bool,
    /// Pause before another attempt to store an answer; doubles each time.
    pub(super) pause: Duration,
    /// Cancelled when no new calls are accepted.
    pub(super) closing: CancellationToken,
}

/// Files of answers still to be stored after a failure.
#[derive(Default)]
pub(super) struct RetryList(Mutex<WaitingFiles>);

#[derive(Default)]
struct WaitingFiles {
    paths: Vec<PathBuf>,
    /// Whether a task is working on them.
    is_tried: bool,
}

impl AnswerStore {
    /// Begins the file of an answer.
    pub(super) fn begin(&self, label: SpoolLabel) -> Result<SpoolFile, Fault> {
        let spooled = self.spool.begin(label);
        spooled.map_err(|error| fault::not_stored("the answer cannot be kept", &error))
    }

    /// Stores the answers left by an earlier process. One answer must not keep the others from being served, so
    /// failures are retried later.
    pub(super) fn recover(self: &Arc<Self>) -> io::Result<()> {
        let mut paths = self.spool.left()?;
        paths.retain(|path| !self.recovered(path));
        figures::spooled(paths.len() as f64);
        if !paths.is_empty() {
            self.store_later(paths);
        }
        Ok(())
    }

    /// Removes a file when its answer may not be asked for any more. Where the process ends before, the next start does.
    pub(super) fn remove_after(&self, path: PathBuf, time: Duration) {
        let closing = self.closing.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(time) => drop(fs::remove_file(path)),
                () = closing.cancelled() => {}
            }
        });
    }

    /// Retries to store these files, until done or the gateway ends.
    pub(super) fn store_later(self: &Arc<Self>, paths: impl IntoIterator<Item = PathBuf>) {
        let mut waiting = self.unstored.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.paths.extend(paths);
        if !std::mem::replace(&mut waiting.is_tried, true) {
            tokio::spawn(Arc::clone(self).store_again());
        }
    }

    async fn store_again(self: Arc<Self>) {
        let mut pause = self.pause;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.closing.cancelled() => return,
            }
            pause = (pause * 2).min(PAUSE_MAX);
            let Some(paths) = self.unstored.next() else { return };
            for path in paths {
                let (store, file) = (Arc::clone(&self), path.clone());
                let is_done = spawn_blocking(move || store.recovered(&file)).await.unwrap_or(false);
                if is_done {
                    figures::spooled(-1.0);
                } else {
                    self.unstored.back(path);
                }
            }
        }
    }

    /// Stores the answer in a file. Returns whether the file is settled.
    fn recovered(&self, path: &Path) -> bool {
        let done = match spool::read(path) {
            Ok(Some((label, bytes))) => self.recover_one(&label, &bytes, path),
            Ok(None) => {
                tracing::warn!(path = %path.display(), "this is no answer of ours; it stays");
                return true;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
            Err(error) => Err(error),
        };
        if let Err(error) = &done {
            tracing::error!(path = %path.display(), %error, "an answer cannot be stored; it is tried again");
        }
        done.is_ok()
    }

    fn recover_one(&self, label: &SpoolLabel, bytes: &[u8], path: &Path) -> io::Result<()> {
        let form = Format::by_name(&label.form).filter(|known| dialect(*known).is_some());
        let Some((form, dialect)) = form.and_then(|form| Some((form, dialect(form)?))) else {
            tracing::warn!(path = %path.display(), "an answer of a form that this version does not know; it stays");
            return Ok(());
        };
        let mut answer = AnswerReader::new(dialect, label.is_streamed, label.encoding.as_deref());
        answer.push(bytes);
        let (told, is_read) = answer.finish();
        let answered = DeliveredAnswer {
            asked_at: label.asked_at.map(Seq),
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(&told),
            latency: WriteLatency::Now,
            // Its client may have asked another process since.
            is_late: self.is_shared,
        };
        self.host.take_answer(&LaneKey(label.lane.clone()), form, &answered).map_err(io::Error::other)?;
        if let (Some(line), Some(id)) = (label.line, &told.id) {
            self.host.remember_answer(&label.tenant, Seq(line), id).map_err(io::Error::other)?;
        }
        match (is_read, label.repeat.is_some() && answered.interrupted.is_none()) {
            (false, _) => spool::keep(path),
            // Its client may not have got the end, and asks again.
            (true, true) => spool::keep_repeat(path).map(drop),
            (true, false) => fs::remove_file(path),
        }
    }
}

impl RetryList {
    /// All waiting files; `None` if there are none, which also ends the task.
    fn next(&self) -> Option<Vec<PathBuf>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_tried = !waiting.paths.is_empty();
        waiting.is_tried.then(|| std::mem::take(&mut waiting.paths))
    }

    fn back(&self, path: PathBuf) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).paths.push(path);
    }
}

/// The dialect with this message form.
fn dialect(known: Format) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| dialect.form() == Some(known))
}
