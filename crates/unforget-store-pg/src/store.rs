//! The store: how an operation runs.

#![allow(clippy::needless_pass_by_value, reason = "closures that wait are handed over by their callers")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Row;
use unforget_core::id::ConversationId;
use unforget_store::backend::int;
use unforget_store::{Durability, StoreError};

use crate::append::{Commits, Heads};
use crate::columns::Columns as _;
use crate::conn::{Conn, timed};
use crate::fault::{Fault, Outcome};
use crate::migrate;
use crate::place::PgPlace;
use crate::pool::{Lent, Pool};

/// Makes the filter of a chunk's or blob's uncompressed bytes.
pub type FilterFn = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// Longest wait for the answer to a read or a small write.
const PATIENCE: Duration = Duration::from_mins(2);

/// How often an operation is tried that the server gave up in favour of another, or whose connection was gone before it
/// began.
const TRIES: usize = 8;

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
    pub(crate) filter: Option<Arc<FilterFn>>,
    /// The database, for messages.
    pub(crate) place: String,
    is_reader: bool,
    #[cfg(feature = "mutants")]
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
            filter: options.filter,
            place: shown.clone(),
            is_reader: options.is_reader,
            #[cfg(feature = "mutants")]
            planted: None,
        };
        if !options.is_throwaway {
            let unsafe_setting = store.read("open", async |conn| unsafe_setting(conn).await)?;
            if let Some((setting, value)) = unsafe_setting {
                return Err(StoreError::UnsafeServer { place: shown, setting, value });
            }
        }
        let is_reader = options.is_reader;
        store.tenant = store.read("open", async |conn| migrate::open(conn, &shown, is_reader).await)?;
        Ok(store)
    }

    /// The store with a fault that tests must notice.
    #[cfg(feature = "mutants")]
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
                match self.once(&work).await {
                    Err(Fault::Store(StoreError::Damaged { .. })) => {
                        return self.once(&async |conn: &Conn| in_snapshot(conn, &work).await).await;
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
            self.once(&work).await
        });
        done.map_err(|fault| fault.into_store(&self.place, operation))
    }

    /// Reads what may be empty because the conversation does not exist, which is an error.
    pub(crate) fn of<T: Default + PartialEq>(
        &self,
        operation: &'static str,
        id: ConversationId,
        work: impl AsyncFn(&Conn) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.read(operation, async |conn| {
            let found = work(conn).await?;
            if found == T::default() {
                require(conn, self.tenant, id).await?;
            }
            Ok(found)
        })
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
        self.transaction(operation, durability, async |conn| {
            lock(conn, self.tenant, id).await?;
            work(conn).await
        })
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
                let lent = self.pool.lend().await?;
                let worked = timed(PATIENCE, async {
                    begin(&lent.conn, durability).await?;
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

    async fn once<T>(&self, work: &impl AsyncFn(&Conn) -> Outcome<T>) -> Outcome<T> {
        let lent = self.pool.lend().await?;
        let done = timed(PATIENCE, work(&lent.conn)).await;
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
        futures_executor::block_on(work)
    }

    /// What commits need of the store.
    pub(crate) const fn commits(&self) -> Commits<'_> {
        Commits {
            pool: &self.pool,
            tenant: self.tenant,
            heads: &self.heads,
            #[cfg(feature = "mutants")]
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

async fn begin(conn: &Conn, durability: Durability) -> Outcome<()> {
    conn.batch(match durability {
        Durability::OnReturn => "BEGIN",
        Durability::WithNext => "BEGIN; SET LOCAL synchronous_commit = off",
    })
    .await
}

/// Runs a read in one snapshot.
async fn in_snapshot<T>(conn: &Conn, work: &impl AsyncFn(&Conn) -> Outcome<T>) -> Outcome<T> {
    conn.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let done = work(conn).await;
    conn.batch("ROLLBACK").await?;
    done
}

/// Takes the row of a conversation until the end of the transaction.
async fn lock(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<()> {
    let sql = "SELECT 1 FROM unforget.conversation WHERE tenant = $1 AND id = $2 FOR UPDATE";
    match conn.row(sql, &[&tenant, &int(id.0)]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoConversation { id }.into()),
    }
}

/// Fails if a conversation does not exist.
pub(crate) async fn require(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<()> {
    let sql = "SELECT 1 FROM unforget.conversation WHERE tenant = $1 AND id = $2";
    match conn.row(sql, &[&tenant, &int(id.0)]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::NoConversation { id }.into()),
    }
}

/// Rows of a conversation; an error if there are none because it does not exist.
pub(crate) async fn existing(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    rows: Outcome<Vec<Row>>,
) -> Outcome<Vec<Row>> {
    let rows = rows?;
    if rows.is_empty() {
        require(conn, tenant, id).await?;
    }
    Ok(rows)
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
