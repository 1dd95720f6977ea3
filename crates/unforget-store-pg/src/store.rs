//! The store: how an operation runs.

#![allow(clippy::needless_pass_by_value, reason = "closures that wait are handed over by their callers")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::backend::int;
use unforget_store::{Durability, StoreError};

use crate::append::{Commits, Heads};
use crate::columns::Columns as _;
use crate::conn::{Conn, timed};
use crate::fault::{Fault, Outcome};
use crate::migrate::{self, MadeSchema, Opening};
use crate::peer_id::PeerId;
use crate::place::PgPlace;
use crate::pool::{Lent, Pool};
use crate::purges::Purges;

/// Makes the filter of a chunk's or blob's uncompressed bytes.
pub type FilterFn = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// Longest wait for one operation: for those that look at a whole conversation or database, and for all others.
const PATIENCE_LONG: Duration = Duration::from_mins(30);
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long an operation may take.
pub(crate) fn patience(operation: &str) -> Duration {
    match operation {
        "open" | "verify" | "purge" | "purge_plan" | "sizes" | "drop_segments" => PATIENCE_LONG,
        // Many rows or many bytes at once, over a slow network too.
        "raw" | "rows" | "scan" | "scan_blob" | "block" | "put_segment" | "put_derived" | "chains" => {
            PATIENCE * 4
        }
        _ => PATIENCE,
    }
}

/// How often an operation is tried that the server gave up in favour of another, or whose connection was gone before it
/// began.
pub(crate) const TRIES: usize = 8;

/// How a store is opened.
#[derive(Clone, Default)]
pub struct PgOptions {
    /// Makes filters for chunks that a purge writes anew; without it they have none.
    pub filter: Option<Arc<FilterFn>>,
    /// Most connections; 0 for 8.
    pub connections: usize,
    /// Whether the store only reads: it makes no tables, and each write is [`StoreError::ReadOnly`].
    pub is_reader: bool,
    /// Whether a server that may lose what it acknowledged is good enough; for throw-away databases.
    pub is_throwaway: bool,
    /// Whether the store makes its tables in a database that has none of them.
    pub may_make: bool,
    /// Whose clock decides about leases and due jobs.
    pub clock: PgClock,
}

/// Whose clock decides about leases of jobs, and when a job is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PgClock {
    /// The server's, for all processes alike. Of the times that callers pass only their distance counts.
    #[default]
    Server,
    /// The caller's, for tests with times of their own.
    Caller,
}

impl fmt::Debug for PgOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgOptions").field("is_reader", &self.is_reader).finish_non_exhaustive()
    }
}

/// A store in a PostgreSQL database, in its schema `unforget`. Any number of processes may have it open.
///
/// Its methods wait, so async code calls them on a thread that may.
pub struct PgStore {
    /// `None` once the store is being dropped.
    runtime: Option<Runtime>,
    pool: Pool,
    pub(crate) tenant: i32,
    heads: Heads,
    pub(crate) purges: Purges,
    /// This process among those on the database.
    pub(crate) peer: PeerId,
    clock: PgClock,
    made: Option<MadeSchema>,
    pub(crate) filter: Option<Arc<FilterFn>>,
    /// The database, for messages.
    pub(crate) place: String,
    is_reader: bool,
    #[cfg(debug_assertions)]
    planted: Option<crate::append::PlantedFault>,
}

impl PgStore {
    /// Opens a database, and makes or renews its tables.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`]; [`StoreError::UnsafeServer`]; [`StoreError::NewerSchema`],
    /// [`StoreError::OlderSchema`] for a reader; [`StoreError::NotAStore`].
    pub fn open(place: &PgPlace, options: PgOptions) -> Result<Self, StoreError> {
        let shown = place.to_string();
        let failed = |error: std::io::Error| StoreError::Backend { operation: "open", source: error.into() };
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("postgresql")
            .enable_all()
            .build()
            .map_err(failed)?;
        let most = if options.connections == 0 { 8 } else { options.connections };
        let pool = Pool::new(place.clone(), most);
        let mut store = Self {
            runtime: Some(runtime),
            pool,
            tenant: 0,
            heads: Heads::default(),
            purges: Purges::default(),
            peer: PeerId::default(),
            clock: options.clock,
            made: None,
            filter: options.filter,
            place: shown.clone(),
            is_reader: options.is_reader,
            #[cfg(debug_assertions)]
            planted: None,
        };
        if !options.is_throwaway {
            let unsafe_setting = store.read("open", async |conn| unsafe_setting(conn).await)?;
            if let Some((setting, value)) = unsafe_setting {
                return Err(StoreError::UnsafeServer { place: shown, setting, value });
            }
        }
        let opening = Opening { place: &shown, is_reader: options.is_reader, may_make: options.may_make };
        let opened = store.read("open", async |conn| migrate::open(conn, opening).await)?;
        (store.tenant, store.made) = (opened.tenant, opened.made);
        Ok(store)
    }

    /// What a person should know if opening this store made its tables: they stand beside those of others.
    pub const fn made(&self) -> Option<MadeSchema> {
        self.made
    }

    /// Number of messages that wait for an answer of the server since the store was opened: what a network's delay is
    /// multiplied by.
    pub fn round_trips(&self) -> u64 {
        self.round_trips_by_operation().values().sum()
    }

    /// [`PgStore::round_trips`] by the method of the port that they were for. A statement that a connection meets for the first
    /// time takes one more, counted as `prepare`.
    pub fn round_trips_by_operation(&self) -> BTreeMap<&'static str, u64> {
        self.pool.trips().by_operation()
    }

    /// The store with a fault that tests must notice.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn with_planted(mut self, fault: crate::append::PlantedFault) -> Self {
        self.planted = Some(fault);
        self
    }

    /// Runs a read. Damage is looked at twice, the second time in one snapshot: a purge between two statements looks
    /// like damage.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        let done = self.wait(async {
            for _ in 0..TRIES {
                match self.once(operation, &work).await {
                    Err(Fault::Store(StoreError::Damaged { .. })) => {
                        return self
                            .once(operation, &async |conn: &Conn| in_snapshot(conn, &work).await)
                            .await;
                    }
                    Err(fault)
                        if !fault.is_refusal() && !matches!(fault, Fault::Unreachable(_) | Fault::Late) =>
                    {
                        self.pool.forget_idle();
                    }
                    Err(fault) if fault.is_clash() => {}
                    done => return done,
                }
            }
            self.once(operation, &work).await
        });
        done.map_err(|fault| fault.into_store(&self.place, operation))
    }

    /// Reads from a conversation, which must exist. Before the first of these, it is noted how often the conversation was
    /// purged; a noted one exists, since none is ever deleted.
    pub(crate) fn of<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.read(operation, async |conn| {
            if !self.purges.is_noted(id) {
                let purged = purged(conn, self.tenant, id).await?;
                self.purges.note(id, purged.ok_or(StoreError::NoConversation { id })?);
            }
            work(conn).await
        })
    }

    /// Notes that a conversation itself is looked at, before anything else of it is read.
    pub(crate) async fn look_at(&self, conn: &Conn, id: ConversationId) -> Outcome<()> {
        let is_known = self.purges.is_noted(id) && !self.purges.is_stale(id);
        if !is_known && let Some(purged) = purged(conn, self.tenant, id).await? {
            self.purges.look_again(id, purged);
        }
        Ok(())
    }

    /// Runs a write to a conversation in a transaction that has its row: no other such write and no append happens
    /// meanwhile.
    pub(crate) fn change<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        durability: Durability,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.change_held(operation, id, durability, async |conn, _| work(conn).await)
    }

    /// [`PgStore::change`] with rows that may hold words of entries: refused if they may be of before a purge.
    pub(crate) fn change_derived<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        durability: Durability,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.change_held(operation, id, durability, async |conn, held| {
            self.purges.check(id, held.purged)?;
            work(conn).await
        })
    }

    /// [`PgStore::change`] with what the conversation's row and the server's clock said.
    pub(crate) fn change_held<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        durability: Durability,
        work: impl AsyncFn(&Conn, Held) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.transaction(operation, durability, async |conn| {
            let held = lock(conn, self.tenant, id).await?;
            work(conn, held).await
        })
    }

    /// The time that decides, of the caller's and the server's.
    pub(crate) const fn time(&self, callers: Timestamp, servers: Timestamp) -> Timestamp {
        match self.clock {
            PgClock::Server => servers,
            PgClock::Caller => callers,
        }
    }

    /// Runs a write that belongs to no conversation, one at a time.
    pub(crate) fn change_tenant<T>(
        &self,
        operation: &'static str,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.transaction(operation, Durability::OnReturn, async |conn| {
            conn.rows("SELECT 1 FROM unforget.tenant WHERE id = $1 FOR UPDATE", &[&self.tenant]).await?;
            work(conn).await
        })
    }

    fn transaction<T>(
        &self,
        operation: &'static str,
        durability: Durability,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.may_write()?;
        let done = self.wait(async {
            let mut last = Fault::Late;
            for _ in 0..TRIES {
                let lent = self.pool.lend(operation).await?;
                let worked = timed(patience(operation), async {
                    lent.conn.batch(beginning(durability)).await?;
                    work(&lent.conn).await
                });
                match worked.await {
                    Ok(value) => return self.committed(lent, value).await,
                    Err(fault) if fault.is_clash() => last = fault,
                    Err(fault) if fault.is_refusal() => {
                        self.rolled_back(lent).await;
                        return Err(fault);
                    }
                    // Nothing was committed, since no commit was sent.
                    Err(fault @ Fault::Driver(_)) => {
                        self.pool.forget_idle();
                        last = fault;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            Err(last)
        });
        done.map_err(|fault| fault.into_store(&self.place, operation))
    }

    /// Commits. A failure leaves the outcome open.
    async fn committed<T>(&self, lent: Lent, value: T) -> Outcome<T> {
        lent.conn.take_warning();
        timed(PATIENCE, lent.conn.batch("COMMIT")).await?;
        if let Some(words) = lent.conn.take_warning() {
            return Err(Fault::Warned(words));
        }
        self.pool.give_back(lent);
        Ok(value)
    }

    async fn rolled_back(&self, lent: Lent) {
        if timed(PATIENCE, lent.conn.batch("ROLLBACK")).await.is_ok() {
            self.pool.give_back(lent);
        }
    }

    async fn once<T>(&self, operation: &'static str, work: &impl AsyncFn(&Conn) -> Outcome<T>) -> Outcome<T> {
        let lent = self.pool.lend(operation).await?;
        let done = timed(patience(operation), work(&lent.conn)).await;
        if done.as_ref().map_or_else(Fault::keeps_connection, |_| true) {
            self.pool.give_back(lent);
        }
        done
    }

    /// Waits for a future on the calling thread.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        let closed = || Fault::Unreachable("the store is closed".to_owned());
        let _inside = self.runtime.as_ref().ok_or_else(closed)?.enter();
        // The runtime's own waiting panics on a thread of another runtime.
        // Nor may a task's budget end the wait: nobody renews it here.
        futures_executor::block_on(tokio::task::unconstrained(work))
    }

    /// Runs a task until it ends or the store is dropped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }

    /// The connections.
    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The address of the database.
    pub(crate) fn address(&self) -> PgPlace {
        self.pool.place()
    }

    /// What commits need of the store.
    pub(crate) const fn commits(&self) -> Commits<'_> {
        Commits {
            pool: &self.pool,
            tenant: self.tenant,
            heads: &self.heads,
            purges: &self.purges,
            #[cfg(debug_assertions)]
            planted: self.planted,
        }
    }

    /// Fails if the store was opened for reading.
    pub(crate) fn may_write(&self) -> Result<(), StoreError> {
        if self.is_reader {
            return Err(StoreError::ReadOnly { path: self.place.clone().into() });
        }
        Ok(())
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        // Waiting for its threads is forbidden where async code drops the store.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PgStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgStore").field("place", &self.place).finish_non_exhaustive()
    }
}

/// The statements that begin a transaction.
pub(crate) const fn beginning(durability: Durability) -> &'static str {
    match durability {
        Durability::OnReturn => "BEGIN",
        Durability::WithNext => "BEGIN; SET LOCAL synchronous_commit = off",
    }
}

/// Runs a read in one snapshot.
async fn in_snapshot<T>(conn: &Conn, work: &impl AsyncFn(&Conn) -> Outcome<T>) -> Outcome<T> {
    conn.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let done = work(conn).await;
    conn.batch("ROLLBACK").await?;
    done
}

/// What the row of a conversation says that a transaction has, and the server's time a moment before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) purged: u64,
    pub(crate) now: Timestamp,
}

/// The server's time in ms since 1970.
pub(crate) const NOW_MS: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Takes the row of a conversation until the end of the transaction.
async fn lock(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<Held> {
    let sql = format!(
        "SELECT purged, {NOW_MS} FROM unforget.conversation WHERE tenant = $1 AND id = $2 FOR UPDATE"
    );
    match conn.row(&sql, &[&tenant, &int(id.0)]).await? {
        Some(row) => Ok(Held { purged: row.number(0)?, now: Timestamp(row.at(1)?) }),
        None => Err(StoreError::NoConversation { id }.into()),
    }
}

/// How often a conversation was purged; `None` if it does not exist.
async fn purged(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<Option<u64>> {
    let sql = "SELECT purged FROM unforget.conversation WHERE tenant = $1 AND id = $2";
    conn.row(sql, &[&tenant, &int(id.0)]).await?.map(|row| row.number(0)).transpose()
}

/// Fails if a conversation does not exist.
pub(crate) async fn require(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<()> {
    let sql = "SELECT 1 FROM unforget.conversation WHERE tenant = $1 AND id = $2";
    match conn.row(sql, &[&tenant, &int(id.0)]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoConversation { id }.into()),
    }
}

/// The first setting with which the server may lose what it acknowledged, and its value.
async fn unsafe_setting(conn: &Conn) -> Outcome<Option<(&'static str, String)>> {
    for (setting, bad) in
        [("fsync", &["off"][..]), ("full_page_writes", &["off"]), ("synchronous_commit", &["off", "local"])]
    {
        let row = conn.row("SELECT current_setting($1)", &[&setting]).await?;
        let value: String = row.map_or(Ok(String::new()), |row| row.at(0))?;
        if bad.contains(&value.as_str()) {
            return Ok(Some((setting, value)));
        }
    }
    Ok(None)
}
