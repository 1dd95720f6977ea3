//! The one connection that writes.
//!
//! Appends that wait for each other share one transaction and so one `fsync`: whoever gets the
//! connection writes everything that is queued by then, each in a savepoint of its own.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use super::entries;
use super::fault::{Fault, Outcome};
use super::identity::Identity;
use crate::error::StoreError;
use crate::port::{Append, Durability, Receipt, Result};

/// The value of `PRAGMA synchronous`. Of a log that is one sequence, whatever is synced has all that came before it.
pub(super) const fn pragma(durability: Durability) -> &'static str {
    match durability {
        Durability::OnReturn => "FULL",
        Durability::WithNext => "NORMAL",
    }
}

/// The writing connection and the queue before it.
pub(super) struct Writer {
    conn: Mutex<Wire>,
    /// The most that is asked of a transaction.
    most: Durability,
    queue: Mutex<Vec<Waiting>>,
    identity: Identity,
    /// Why the file cannot be trusted any more; once it is set, nothing is written.
    stopped: OnceLock<StoreError>,
}

/// The connection and how it commits at the moment.
struct Wire {
    conn: Connection,
    commits: Durability,
}

struct Waiting {
    append: Append,
    reply: Sender<Result<Receipt>>,
}

impl Writer {
    /// * `most` - how the connection commits, and the most that is asked of a transaction.
    pub(super) fn new(conn: Connection, most: Durability, identity: Identity) -> Self {
        let (queue, stopped) = (Mutex::new(Vec::new()), OnceLock::new());
        Self { conn: Mutex::new(Wire { conn, commits: most }), most, queue, identity, stopped }
    }

    /// Runs `work` in a transaction of its own.
    pub(super) fn run<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Outcome<T>,
    ) -> Outcome<T> {
        let mut wire = self.wire();
        self.transact(self.committing(&mut wire, durability)?, work)
    }

    /// Runs `work` on the connection outside any transaction, for pragmas and checkpoints.
    pub(super) fn bare<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        let mut wire = self.wire();
        self.may_write()?;
        let outcome = work(self.committing(&mut wire, Durability::OnReturn)?);
        self.look_for_damage(&outcome);
        outcome
    }

    /// Appends, together with whoever else is waiting.
    pub(super) fn append(&self, append: Append, path: &Path) -> Result<Receipt> {
        let (reply, answer) = channel();
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(Waiting { append, reply });
        let mut wire = self.wire();
        if let Some(done) = already(&answer) {
            return done;
        }
        let waiting = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        self.append_all(&mut wire, waiting, path);
        drop(wire);
        already(&answer).unwrap_or_else(|| {
            Err(StoreError::Backend {
                operation: "append",
                source: "the writer that had this append died".into(),
            })
        })
    }

    fn append_all(&self, wire: &mut Wire, mut waiting: Vec<Waiting>, path: &Path) {
        let mut replies = Vec::with_capacity(waiting.len());
        let must_last = waiting.iter().any(|one| one.append.durability == Durability::OnReturn);
        let durability = if must_last { Durability::OnReturn } else { Durability::WithNext };
        let write = |tx: &Connection| {
            let mut damage = None;
            for Waiting { append, reply } in waiting.drain(..) {
                let written = match &damage {
                    Some(damage) => Err(Fault::Store(again(damage))),
                    // A full disk may have rolled back everything; what follows must not commit on its own.
                    None if tx.is_autocommit() => {
                        Err(Fault::Store(StoreError::Full { path: path.to_path_buf() }))
                    }
                    None => in_savepoint(tx, |tx| entries::append(tx, append)),
                };
                damage = damage.or_else(|| written.as_ref().err().and_then(|fault| fault.damage(path)));
                replies.push((reply, written.map_err(|fault| fault.into_store(path, "append"))));
            }
            // What was written before the damage was seen is not committed on top of it.
            damage.map_or(Ok(()), |damage| Err(Fault::Store(damage)))
        };
        let outcome = self.committing(wire, durability).and_then(|conn| self.transact(conn, write));
        let failure = outcome.err().map(|fault| fault.into_store(path, "append"));
        for (reply, written) in replies {
            let answer = match (&failure, written) {
                (Some(failure), Ok(_)) => Err(again(failure)),
                (_, written) => written,
            };
            // A caller that is gone does not need its answer.
            reply.send(answer).ok();
        }
        // Left over if the transaction could not even begin.
        for (left, failure) in waiting.into_iter().zip(failure.iter().cycle()) {
            left.reply.send(Err(again(failure))).ok();
        }
    }

    fn transact<T>(&self, conn: &mut Connection, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        self.may_write()?;
        let outcome: Outcome<T> = (|| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&tx)?;
            self.identity.check()?;
            tx.commit()?;
            Ok(value)
        })();
        self.look_for_damage(&outcome);
        outcome
    }

    /// Fails with what stopped writing, if it was.
    fn may_write(&self) -> Outcome<()> {
        match self.stopped.get() {
            None => Ok(()),
            Some(why) => Err(Fault::Store(again(why))),
        }
    }

    /// Stops writing for good, until the store is opened again. The first reason is the one that is told.
    pub(super) fn stop(&self, why: StoreError) {
        self.stopped.set(why).ok();
    }

    fn look_for_damage<T>(&self, outcome: &Outcome<T>) {
        if let Some(damage) = outcome.as_ref().err().and_then(|fault| fault.damage(self.identity.db())) {
            self.stop(damage);
        }
    }

    /// The connection, committing as it is asked to.
    fn committing<'a>(&self, wire: &'a mut Wire, durability: Durability) -> Outcome<&'a mut Connection> {
        let durability = if self.most == Durability::OnReturn { durability } else { self.most };
        if wire.commits != durability {
            wire.conn.pragma_update(None, "synchronous", pragma(durability))?;
            wire.commits = durability;
        }
        Ok(&mut wire.conn)
    }

    /// How the last transaction was committed.
    #[cfg(test)]
    pub(super) fn committed(&self) -> Durability {
        self.wire().commits
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        // A panic elsewhere rolled its transaction back when it unwound; the connection is fine.
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer {
    /// The log holds what was acknowledged; it stays beside a file that cannot be trusted, and is not copied into it.
    fn drop(&mut self) {
        if self.stopped.get().is_some() {
            // It cannot fail on an open connection.
            self.wire().conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
        }
    }
}

fn already(answer: &Receiver<Result<Receipt>>) -> Option<Result<Receipt>> {
    answer.try_recv().ok()
}

/// Runs `work` so that its failure undoes only itself.
fn in_savepoint<T>(tx: &Connection, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
    tx.prepare_cached("SAVEPOINT one")?.execute([])?;
    let outcome = work(tx);
    let end = if outcome.is_ok() { "RELEASE one" } else { "ROLLBACK TO one" };
    let ended = tx.prepare_cached(end).and_then(|mut statement| statement.execute([]));
    match (outcome, ended) {
        (Ok(value), Ok(_)) => Ok(value),
        (Ok(_), Err(error)) => Err(error.into()),
        (Err(fault), _) => Err(fault),
    }
}

/// The same error once more, for another caller of the same transaction.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full { path } => StoreError::Full { path: path.clone() },
        StoreError::Replaced { path } => StoreError::Replaced { path: path.clone() },
        StoreError::Corrupt { path, detail } => {
            StoreError::Corrupt { path: path.clone(), detail: detail.clone() }
        }
        StoreError::Busy { path, pid } => StoreError::Busy { path: path.clone(), pid: *pid },
        other => StoreError::Backend { operation: "append", source: other.to_string().into() },
    }
}
