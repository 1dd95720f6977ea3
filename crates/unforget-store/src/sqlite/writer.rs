//! The only connection that writes.
//!
//! Writes that wait together share one transaction (see [`WriteQueue`]), and durable ones share one `fsync` (see [`Syncs`]).
//! Each write has a separate savepoint, except a single write.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use super::acknowledged::Acknowledged;
use super::checkpoint::Checkpoints;
use super::fault::{Fault, Outcome};
use super::identity::Identity;
use super::queue::{Message, QueuedWrite, Turn, Waiting, WriteQueue};
use super::sync::{self, Syncs};
use crate::error::StoreError;
use crate::port::{Durability, Result, WriteLatency};

/// When a write survives a power loss, and how soon it is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteMode {
    pub(super) durability: Durability,
    pub(super) latency: WriteLatency,
}

impl WriteMode {
    /// For a write that a caller waits for.
    const fn now(durability: Durability) -> Self {
        Self { durability, latency: WriteLatency::Now }
    }
}

/// The writing connection and the queue before it.
pub(super) struct Writer {
    /// Dropped before the connection, since its own must not be the last.
    checkpoints: Checkpoints,
    conn: Mutex<Connection>,
    syncs: Syncs,
    /// The greatest durability that a transaction can ask for.
    most: Durability,
    queue: WriteQueue,
    identity: Identity,
    acknowledged: Arc<Acknowledged>,
    /// Why the file can no longer be trusted; once it is set, nothing is written.
    stopped: Arc<OnceLock<StoreError>>,
}

impl Writer {
    /// * `conn` - of an open database in WAL mode.
    /// * `most` - the greatest durability that a transaction can ask for.
    ///
    /// # Errors
    /// If the thread for checkpoints cannot start, or the log cannot be opened.
    pub(super) fn new(mut conn: Connection, most: Durability, identity: Identity) -> Outcome<Self> {
        let (queue, stopped) = (WriteQueue::default(), Arc::default());
        let acknowledged = Arc::new(Acknowledged::of(identity.db(), &conn)?);
        let checkpoints = Checkpoints::of(&mut conn, identity.db(), &stopped)?;
        let syncs = Syncs::of(identity.db())
            .map_err(|error| StoreError::Backend { operation: "open", source: error.into() })?;
        let conn = Mutex::new(conn);
        Ok(Self { checkpoints, conn, syncs, most, queue, identity, acknowledged, stopped })
    }

    /// Runs `work` in a transaction of its own.
    pub(super) fn run<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection) -> Outcome<T>,
    ) -> Outcome<T> {
        let (value, number) = self.transact(&mut self.conn(), work)?;
        self.sync(WriteMode::now(durability), number)?;
        Ok(value)
    }

    /// Fails if commits may be missing from the disk: a caller that has seen the data would not write it again.
    pub(super) fn may_read(&self) -> Result<()> {
        self.syncs.check().map_err(unsynced)
    }

    /// Runs `work` on the connection outside any transaction, for pragmas and checkpoints.
    pub(super) fn bare<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        let conn = self.conn();
        let alone = self.checkpoints.pause();
        self.may_write()?;
        let outcome = work(&conn);
        self.look_for_damage(&outcome);
        let number = self.syncs.written();
        drop((alone, conn));
        self.sync(WriteMode::now(Durability::OnReturn), number)?;
        outcome
    }

    /// Runs `work` in a transaction together with the other waiting writes. A failed one undoes only itself.
    pub(super) fn share<T: Send + Sync + 'static>(
        &self,
        operation: &'static str,
        mode: WriteMode,
        path: &Path,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Result<T> {
        let made = Arc::new(OnceLock::new());
        let work = {
            let made = Arc::clone(&made);
            Box::new(move |tx: &Connection| work(tx).map(|value| drop(made.set(value))))
        };
        let ticket = self.queue.enter(QueuedWrite { operation, work }, mode.latency);
        let died = || StoreError::Backend { operation, source: "the writer that had this died".into() };
        let number = loop {
            match self.queue.turn(&ticket) {
                Turn::Done(done) => break done?,
                Turn::Lead(lead) => {
                    let mut conn = self.conn();
                    self.write_all(&mut conn, lead.taken(), path);
                }
                Turn::Lost => return Err(died()),
            }
        };
        self.sync(mode, number)?;
        Arc::into_inner(made).and_then(OnceLock::into_inner).ok_or_else(died)
    }

    /// Carries out writes in one transaction, and reports the results to their threads.
    fn write_all(&self, conn: &mut Connection, mut waiting: Vec<Waiting>, path: &Path) {
        let mut replies = Vec::with_capacity(waiting.len());
        let is_alone = waiting.len() == 1;
        let write = |tx: &Connection| {
            let mut damage = None;
            for one in waiting.drain(..) {
                let (QueuedWrite { operation, work }, told) = one.begin();
                let written = match &damage {
                    Some(damage) => Err(Fault::Store(again(damage))),
                    // A full disk may have rolled back the whole transaction; later writes must not commit on their
                    // own.
                    None if tx.is_autocommit() => {
                        Err(Fault::Store(StoreError::Full { path: path.to_path_buf() }))
                    }
                    None if is_alone => work(tx),
                    None => in_savepoint(tx, work),
                };
                damage = damage.or_else(|| written.as_ref().err().and_then(|fault| fault.damage(path)));
                replies.push((told, written.map_err(|fault| fault.into_store(path, operation))));
            }
            match (damage, replies.as_slice()) {
                // Writes from before the damage was seen are not committed on top of it.
                (Some(damage), _) => Err(Fault::Store(damage)),
                // A failed write commits nothing.
                (None, [(_, Err(error))]) if is_alone => Err(Fault::Store(again(error))),
                _ => Ok(()),
            }
        };
        let outcome = self.transact(conn, write).map_err(|fault| fault.into_store(path, "append"));
        let done = || outcome.as_ref().map(|((), number)| *number).map_err(again);
        for (told, written) in replies {
            // A caller that has gone away does not need the result.
            told.send(Message::Done(written.and_then(|()| done()))).ok();
        }
        // Left over if the transaction could not even begin.
        for left in waiting {
            left.begin().1.send(Message::Done(done())).ok();
        }
    }

    /// Waits until a transaction has its required durability.
    fn sync(&self, mode: WriteMode, number: u64) -> Result<()> {
        if mode.durability == Durability::WithNext || self.most == Durability::WithNext {
            return Ok(());
        }
        self.syncs.wait(number, mode.latency).map_err(|error| {
            let error = unsynced(error);
            // Data in the log but not on the disk may be lost, so nothing is written behind it.
            self.stop(again(&error));
            error
        })?;
        self.acknowledged.on_disk(number);
        Ok(())
    }

    /// The record of what was acknowledged.
    pub(super) fn acknowledged(&self) -> Arc<Acknowledged> {
        Arc::clone(&self.acknowledged)
    }

    /// Runs `work` in a transaction. Returns its number too, for the sync.
    fn transact<T>(
        &self,
        conn: &mut Connection,
        work: impl FnOnce(&Connection) -> Outcome<T>,
    ) -> Outcome<(T, u64)> {
        self.may_write()?;
        // A panic may have left appends of a transaction that was rolled back.
        self.acknowledged.ended(None);
        let outcome: Outcome<_> = (|| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&tx)?;
            self.identity.check()?;
            tx.commit()?;
            Ok((value, self.syncs.written()))
        })();
        // Nobody waits for the disk in relaxed stores, so nothing is known to be there.
        let is_waited_for = self.most == Durability::OnReturn;
        let number = outcome.as_ref().ok().map(|(_, number)| *number).filter(|_| is_waited_for);
        self.acknowledged.ended(number);
        self.look_for_damage(&outcome);
        outcome
    }

    /// Fails with the reason if writing was stopped.
    fn may_write(&self) -> Outcome<()> {
        match self.stopped.get() {
            None => Ok(()),
            Some(why) => Err(Fault::Store(again(why))),
        }
    }

    /// Stops writing until the store is opened again. The first reason is kept.
    pub(super) fn stop(&self, why: StoreError) {
        self.stopped.set(why).ok();
    }

    fn look_for_damage<T>(&self, outcome: &Outcome<T>) {
        if let Some(damage) = outcome.as_ref().err().and_then(|fault| fault.damage(self.identity.db())) {
            self.stop(damage);
        }
    }

    #[cfg(test)]
    pub(super) const fn syncs(&self) -> &Syncs {
        &self.syncs
    }

    #[cfg(test)]
    pub(super) const fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    fn conn(&self) -> MutexGuard<'_, Connection> {
        // A panic in another thread rolled its transaction back while unwinding; the connection is fine.
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer {
    /// The log holds acknowledged writes. It stays beside a file that cannot be trusted and is not copied into it.
    fn drop(&mut self) {
        if self.stopped.get().is_some() {
            // Cannot fail on an open connection.
            self.conn().set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
        }
    }
}

fn unsynced(error: std::io::Error) -> StoreError {
    sync::failed("sync", error)
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

/// A copy of an error, for another caller of the transaction.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full { path } => StoreError::Full { path: path.clone() },
        StoreError::Replaced { path } => StoreError::Replaced { path: path.clone() },
        StoreError::LockLost { path } => StoreError::LockLost { path: path.clone() },
        StoreError::Corrupt { path, detail } => {
            StoreError::Corrupt { path: path.clone(), detail: detail.clone() }
        }
        StoreError::Busy { path, pid } => StoreError::Busy { path: path.clone(), pid: *pid },
        StoreError::Backend { operation, source } => {
            StoreError::Backend { operation, source: source.to_string().into() }
        }
        other => StoreError::Backend { operation: "append", source: other.to_string().into() },
    }
}
