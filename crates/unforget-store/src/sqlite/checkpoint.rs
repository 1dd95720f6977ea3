//! Checkpoints beside the writer: move committed pages from the write-ahead log into the database.
//!
//! SQLite moves pages within the commit that finds the log long, and all writers then wait for thousands of pages and
//! two syncs. Here a thread moves them while writing continues. The first commit after that moves the few pages that
//! came in between, and the log starts again from its beginning. A thread that gets no time is not relied on: a commit
//! that finds the log twice as long moves the pages itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use rusqlite::ffi::SQLITE_IOERR_FSYNC;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use super::fault::{Fault, Outcome};
use super::identity::number;
use super::sync;
use crate::error::{BoxError, StoreError};

/// Size of the log in bytes at which its pages are moved. A tenth more, and the attempt is repeated if a reader has
/// kept the log from starting again.
const LONG: u32 = 24 << 20;

/// Size of the log in bytes at which a commit waits for the thread and moves the rest of the pages itself. Without a
/// reader that stays, the log exceeds it by one commit at most. While one stays, the attempt is repeated as for [`LONG`].
pub(super) const MOST: u32 = 2 * LONG;

/// What the log has beside each page, in bytes.
const FRAME: u32 = 24;

/// Pages that are few enough for a commit to move them.
const FEW: i64 = 100;

/// Most passes of the thread before a commit moves the rest.
const PASSES: usize = 8;

/// The thread that moves pages. Dropping the value ends the thread and its connection.
pub(super) struct Checkpoints {
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Signals {
    /// Whether the log is long.
    is_due: AtomicBool,
    /// Whether most of it is in the database.
    is_moved: AtomicBool,
    has_ended: AtomicBool,
    /// Locked while pages are moved.
    pass: Mutex<()>,
}

impl Signals {
    fn pass(&self) -> MutexGuard<'_, ()> {
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Checkpoints {
    /// Takes over the checkpoints of a connection's log, in place of SQLite's own.
    ///
    /// * `stopped` - once it is set, the file cannot be trusted and nothing is moved into it.
    pub(super) fn of(
        writer: &mut Connection,
        db: &Path,
        stopped: &Arc<OnceLock<StoreError>>,
    ) -> Outcome<Self> {
        let page_bytes = writer.query_row("PRAGMA page_size", [], |row| row.get::<_, u32>(0))?;
        let (long, most) = (LONG / (page_bytes + FRAME), MOST / (page_bytes + FRAME));
        let signals = Arc::new(Signals::default());
        let mover =
            Mover { db: db.to_path_buf(), signals: Arc::clone(&signals), stopped: Arc::clone(stopped) };
        let thread = std::thread::Builder::new()
            .name("unforget-checkpoint".into())
            .spawn(move || mover.run())
            .map_err(|error| StoreError::Backend { operation: "open", source: error.into() })?;
        let (waker, told) = (thread.thread().clone(), Arc::clone(&signals));
        let (mut due, mut overdue) = (long, most);
        let (file, stopped) = (db.to_path_buf(), Arc::clone(stopped));
        let checkpoints = Self { signals, thread: Some(thread) };
        writer.wal_hook(Some(move |log: &mut Wal, pages: c_int| {
            let pages = u32::try_from(pages).unwrap_or(0);
            if pages < long {
                (due, overdue) = (long, most);
            }
            let (is_overdue, is_moved) = (pages >= overdue, told.is_moved.swap(false, Ordering::AcqRel));
            if is_overdue || is_moved {
                let _pass = is_overdue.then(|| told.pass());
                if is_overdue {
                    overdue = pages.saturating_add(long / 10);
                }
                // The commit stands whatever happens here; the next one gets the error.
                log.checkpoint().unwrap_or_else(|error| stop(&stopped, &error.into(), &file));
            } else if pages >= due {
                due = pages.saturating_add(long / 10);
                told.is_due.store(true, Ordering::Release);
                waker.unpark();
            }
            Ok(())
        }))?;
        Ok(checkpoints)
    }

    /// Keeps the thread from moving pages. The caller has the writing connection, whose commits may wait for the thread.
    pub(super) fn pause(&self) -> MutexGuard<'_, ()> {
        self.signals.pass()
    }

    /// Ends the thread, as if it never got any time again.
    #[cfg(test)]
    pub(super) fn starve(&self) {
        self.signals.has_ended.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// Stops writing if an error shows that the file cannot be trusted. After any other error the pages stay in the log,
/// and moving is attempted again.
fn stop(stopped: &OnceLock<StoreError>, fault: &Fault, db: &Path) {
    let why = match fault {
        Fault::Sql(error) if is_unsynced(error) => Some(unsynced(error.to_string())),
        fault => fault.damage(db),
    };
    if let Some(why) = why {
        // The first reason is kept.
        stopped.set(why).ok();
    }
}

/// Whether the disk did not take a sync.
fn is_unsynced(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|inner| inner.extended_code == SQLITE_IOERR_FSYNC)
}

/// The system reports a failed write to the disk only once. From then on it is unknown which pages are on the disk.
fn unsynced(source: impl Into<BoxError>) -> StoreError {
    sync::failed("sync the database", source)
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.signals.has_ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // After a panic there is nothing left to wait for.
            thread.join().ok();
        }
    }
}

/// The state of the thread.
struct Mover {
    db: PathBuf,
    signals: Arc<Signals>,
    stopped: Arc<OnceLock<StoreError>>,
}

impl Mover {
    fn run(self) {
        let mut open = None;
        while !self.signals.has_ended.load(Ordering::Acquire) {
            if !self.signals.is_due.swap(false, Ordering::AcqRel) {
                std::thread::park();
                continue;
            }
            let moved = self.move_most(&mut open);
            self.signals.is_moved.store(moved.is_ok(), Ordering::Release);
            moved.unwrap_or_else(|fault| stop(&self.stopped, &fault, &self.db));
        }
    }

    /// Moves pages until few are left. No reader or writer waits for it.
    fn move_most(&self, open: &mut Option<Connection>) -> Outcome<()> {
        let conn = if let Some(conn) = open {
            conn
        } else {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            open.insert(Connection::open_with_flags(&self.db, flags)?)
        };
        let mut before = 0;
        for _ in 0..PASSES {
            if self.stopped.get().is_some() || self.signals.has_ended.load(Ordering::Acquire) {
                break;
            }
            let _pass = self.signals.pass();
            let moved: i64 = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2))?;
            // SQLite syncs when the last page is moved, and a commit would wait for that.
            if let Err(error) = sync_database(&self.db) {
                self.stopped.set(unsynced(error)).ok();
                break;
            }
            if moved - before < FEW {
                break;
            }
            before = moved;
        }
        Ok(())
    }
}

/// Synced databases of this process, by device and inode. They stay open: closing one would drop all of SQLite's locks
/// on it.
static SYNCED: Mutex<BTreeMap<(u64, u64), Arc<File>>> = Mutex::new(BTreeMap::new());

/// Waits until the writes to a database are on its disk. If it cannot be opened once more, SQLite syncs later.
///
/// # Errors
/// The error of the disk.
pub(super) fn sync_database(db: &Path) -> io::Result<()> {
    let Some(number) = number(db) else { return Ok(()) };
    let file = match SYNCED.lock().unwrap_or_else(PoisonError::into_inner).entry(number) {
        Entry::Occupied(known) => Arc::clone(known.get()),
        Entry::Vacant(new) => {
            let Ok(file) = File::options().read(true).write(true).open(db) else { return Ok(()) };
            Arc::clone(new.insert(Arc::new(file)))
        }
    };
    file.sync_data()
}
