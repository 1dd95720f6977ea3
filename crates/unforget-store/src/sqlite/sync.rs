//! What is committed reaches the disk: the log is synced beside the writer, not within its transactions.
//!
//! SQLite would sync within the commit, and every other transaction would wait, also those that need not be durable yet. Here
//! it commits without (`synchronous = NORMAL`, which never corrupts), and a caller returns when a sync that began after its commit
//! is done. Callers that wait for the same one share it. The log is one sequence: a sync makes all that came before durable.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The write-ahead log, to be synced.
pub(super) struct Syncs {
    /// SQLite has no locks on it, so that it can be closed.
    log: File,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Transactions that are committed.
    written: u64,
    /// Of these, those that are on the disk.
    synced: u64,
    is_syncing: bool,
}

impl Syncs {
    /// Of the log of an open database in WAL mode.
    pub(super) fn of(db: &Path) -> io::Result<Self> {
        let mut log = db.as_os_str().to_owned();
        log.push("-wal");
        let log = File::options().read(true).write(true).open(log)?;
        Ok(Self { log, state: Mutex::default(), ended: Condvar::new() })
    }

    /// A transaction was committed. Gives its number.
    pub(super) fn written(&self) -> u64 {
        let mut state = self.state();
        state.written += 1;
        state.written
    }

    /// Waits until a transaction is on the disk.
    ///
    /// # Errors
    /// If the disk does not take it: then nobody knows what of the log is there.
    pub(super) fn wait(&self, number: u64) -> io::Result<()> {
        let mut state = self.state();
        while state.synced < number {
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
            if synced.is_ok() {
                state.synced = written;
            }
            self.ended.notify_all();
            synced?;
        }
        Ok(())
    }

    /// Whether all transactions are on the disk.
    #[cfg(test)]
    pub(super) fn is_synced(&self) -> bool {
        let state = self.state();
        state.synced == state.written
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
