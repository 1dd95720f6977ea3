//! The embedded store: one SQLite file, one owner process, one writer connection, a few readers.

mod acknowledged;
mod backup;
mod bytes;
mod checkpoint;
mod conversations;
mod derived;
mod entries;
mod fault;
mod grants;
mod identity;
mod jobs;
mod labels;
mod lock;
mod maintain;
mod migrate;
mod mount;
mod names;
mod open;
mod paths;
mod pins;
mod port;
mod purge;
mod queue;
mod raised;
mod readers;
mod said;
mod sayings;
mod seal;
mod segments;
mod summaries;
mod sync;
mod verdicts;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::pack::Dictionary;
use crate::port::{Durability, Result};
use fault::Outcome;
use lock::LockFile;
use readers::Readers;
use seal::Seals;
use writer::Writer;

pub use open::{FilterFn, OpenOptions};

/// The store in one SQLite file.
///
/// The process that opens it owns the file until the value is dropped; `PATH.lock` beside it names the owner. Other
/// processes may read through [`SqliteStore::open_reader`]. Nothing in this process may open or copy the database, its
/// `-wal` or its `-shm` by other means: closing them would drop SQLite's locks.
pub struct SqliteStore {
    path: PathBuf,
    /// Dropped before the writer: only the last connection to close removes the log, and only if it may write.
    readers: Readers,
    /// `None` if opened for reading only.
    writer: Option<Writer>,
    dictionaries: Dictionaries,
    filter: Option<Arc<FilterFn>>,
    seals: Seals,
    /// Number of changes that somebody may look for: no other process writes while this one owns the file.
    changes: AtomicU64,
    /// Dropped last: the owner's claim outlives its connections.
    _lock: Option<LockFile>,
}

impl SqliteStore {
    /// The file, as a canonical path.
    pub fn file(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on one consistent state. Corruption stops writes; a failed sync of the log stops reads.
    fn read<T>(&self, operation: &'static str, work: impl FnOnce(&Connection) -> Outcome<T>) -> Result<T> {
        self.writer.as_ref().map_or(Ok(()), Writer::may_read)?;
        let outcome = self.readers.with(work).map_err(|fault| {
            if let (Some(writer), Some(damage)) = (&self.writer, fault.damage(&self.path)) {
                writer.stop(damage);
            }
            fault.into_store(&self.path, operation)
        });
        if self.writer.is_some() && self.seals.has_waiting() {
            // The answer is right without them. If the disk is full, they wait for the next write.
            self.write_derived("drop broken rows", |tx| {
                let unfiltered = self.seals.sweep(tx)?;
                bytes::filter_again(tx, self, &unfiltered)
            })
            .ok();
        }
        outcome
    }

    /// Runs `work` in a transaction that is durable on return.
    fn write<T>(&self, operation: &'static str, work: impl FnOnce(&Connection) -> Outcome<T>) -> Result<T> {
        self.writer()?
            .run(Durability::OnReturn, work)
            .map_err(|fault| fault.into_store(&self.path, operation))
    }

    /// Runs `work` in a transaction for derived data, which need not be durable on return.
    fn write_derived<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> Outcome<T>,
    ) -> Result<T> {
        self.writer()?
            .run(Durability::WithNext, work)
            .map_err(|fault| fault.into_store(&self.path, operation))
    }

    /// Counts a committed change.
    fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn writer(&self) -> Result<&Writer> {
        self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly { path: self.path.clone() })
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Prepared dictionaries. They never change, so they are read once.
#[derive(Default)]
struct Dictionaries {
    /// By number, for reading.
    known: RwLock<BTreeMap<u32, Arc<Dictionary>>>,
    /// For new chunks.
    current: RwLock<Option<Arc<Dictionary>>>,
}

impl Dictionaries {
    /// A dictionary, from memory or from the database. `Err` describes why there is none.
    fn get(&self, conn: &Connection, id: u32) -> Outcome<std::result::Result<Arc<Dictionary>, String>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(dictionary) = known {
            return Ok(Ok(dictionary));
        }
        let loaded = maintain::load_dictionary(conn, id)?;
        if let Ok(dictionary) = &loaded {
            self.known.write().unwrap_or_else(PoisonError::into_inner).insert(id, dictionary.clone());
        }
        Ok(loaded)
    }

    /// The dictionary for new chunks.
    fn current(&self) -> Option<Arc<Dictionary>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_current(&self, dictionary: Option<Arc<Dictionary>>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = dictionary;
    }

    /// Forgets all dictionaries after `purge` removed them. A slow reader may bring one back for reading, which is
    /// harmless: numbers are never reused.
    fn retire(&self) {
        self.set_current(None);
        self.known.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
