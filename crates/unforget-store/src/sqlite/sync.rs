//! Syncs the log to disk beside the writer, not within its transactions.
//!
//! SQLite would sync within the commit, and every other transaction would wait, even those that need not be durable
//! yet. Here it commits without a sync (`synchronous = NORMAL`, which never corrupts), and a caller returns once a sync
//! that began after its commit is done. Callers waiting for one sync share it. The log is a single sequence: a sync
//! makes everything before it durable.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::queue::PATIENCE;
use crate::error::{BoxError, StoreError};
use crate::port::WriteLatency;

/// The error after the disk refused data.
///
/// * `operation` - the attempted operation.
pub(super) fn failed(operation: &'static str, source: impl Into<BoxError>) -> StoreError {
    StoreError::Backend { operation, source: source.into() }
}

/// The write-ahead log and its sync state.
pub(super) struct Syncs {
    /// Closing it is harmless, since SQLite holds no locks on the log.
    log: File,
    state: Mutex<SyncState>,
    ended: Condvar,
}

#[derive(Default)]
struct SyncState {
    /// Number of committed transactions.
    written: u64,
    /// Number of transactions on the disk.
    synced: u64,
    is_syncing: bool,
    /// Why the disk refused data. The system reports that only once, and its later reports cannot be trusted.
    failed: Option<(io::ErrorKind, String)>,
}

impl SyncState {
    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, what)) => Err(io::Error::new(*kind, what.clone())),
            None => Ok(()),
        }
    }
}

impl Syncs {
    /// For the log of an open database in WAL mode.
    pub(super) fn of(db: &Path) -> io::Result<Self> {
        let mut log = db.as_os_str().to_owned();
        log.push("-wal");
        let log = File::options().read(true).write(true).open(log)?;
        // A killed process may have left commits without a sync.
        log.sync_data()?;
        Ok(Self { log, state: Mutex::default(), ended: Condvar::new() })
    }

    /// Notes a committed transaction. Returns its number.
    pub(super) fn written(&self) -> u64 {
        let mut state = self.state();
        state.written += 1;
        state.written
    }

    /// Waits until a transaction is on the disk. One that is not urgent first waits a moment for another's sync.
    ///
    /// # Errors
    /// The error of the disk: from then on it is unknown how much of the log is there.
    pub(super) fn wait(&self, number: u64, latency: WriteLatency) -> io::Result<()> {
        let mut state = self.state();
        if latency == WriteLatency::Soon {
            let is_open = |state: &mut SyncState| state.synced < number && state.failed.is_none();
            let waited = self.ended.wait_timeout_while(state, PATIENCE, is_open);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        while state.synced < number {
            state.check()?;
            if state.is_syncing {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_syncing = true;
            let written = state.written;
            drop(state);
            let synced = self.log.sync_data();
            state = self.state();
            state.is_syncing = false;
            match synced {
                Ok(()) => state.synced = written,
                Err(error) => state.failed = Some((error.kind(), error.to_string())),
            }
            self.ended.notify_all();
        }
        Ok(())
    }

    /// Fails if a sync failed.
    pub(super) fn check(&self) -> io::Result<()> {
        self.state().check()
    }

    /// Puts it into the state after a failed sync.
    #[cfg(test)]
    pub(super) fn fail(&self) {
        self.state().failed = Some((io::ErrorKind::Other, "the disk is gone".to_owned()));
    }

    /// Whether all transactions are on the disk.
    #[cfg(test)]
    pub(super) fn is_synced(&self) -> bool {
        let state = self.state();
        state.synced == state.written
    }

    fn state(&self) -> MutexGuard<'_, SyncState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A log that cannot be synced, since it is a pipe.
    fn broken() -> Syncs {
        let (_, pipe) = io::pipe().unwrap();
        let log = File::from(std::os::fd::OwnedFd::from(pipe));
        Syncs { log, state: Mutex::default(), ended: Condvar::new() }
    }

    #[test]
    fn a_sync_that_failed_is_not_tried_until_it_succeeds() {
        let syncs = broken();
        let [first, second] = [syncs.written(), syncs.written()];
        let told = syncs.wait(first, WriteLatency::Now).unwrap_err();
        assert_eq!(syncs.state().failed.as_ref().map(|(kind, _)| *kind), Some(told.kind()));
        syncs.state().is_syncing = true;
        // A second attempt would wait for ever.
        assert_eq!(syncs.wait(second, WriteLatency::Now).unwrap_err().kind(), told.kind());
        assert_eq!(syncs.wait(second, WriteLatency::Soon).unwrap_err().kind(), told.kind());
    }
}
