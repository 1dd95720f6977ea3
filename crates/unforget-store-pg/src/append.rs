//! The commit of an append: one statement that compares and writes.
//!
//! What an append becomes depends on the conversation's counters. They are remembered from the commit before, or read.
//! The statement changes the conversation only if its revision and its number of entries are those counters; otherwise
//! it writes nothing, and the append is planned again on the counters of now.

mod doubt;
mod head;
mod plan;
mod statement;

use std::time::{Duration, Instant};

use unforget_core::id::ConversationId;
use unforget_store::{Append, Durability, Receipt, StoreError};

use crate::conn::timed;
use crate::fault::{Fault, Outcome};
use crate::pool::Pool;
use crate::purges::Purges;

use head::Head;
pub(crate) use head::Heads;
use plan::{Place, Planned, Request};
use statement::Statement;

/// A fault of the commit that the history checker must find.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedFault {
    /// The commit compares nothing, and entries and chunks whose numbers are taken are dropped.
    CasMissing,
}

/// Longest wait for the answer to a commit: this, and a second per MiB.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest time for finding out what became of a commit.
const DOUBT: Duration = Duration::from_secs(30);

/// How often an append is planned again because others wrote to the conversation without adding entries.
const TRIES: usize = 64;

/// What commits need of a store.
#[derive(Clone, Copy)]
pub(crate) struct Commits<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) tenant: i32,
    /// The counters of conversations as the last commits left them.
    pub(crate) heads: &'a Heads,
    pub(crate) purges: &'a Purges,
    #[cfg(debug_assertions)]
    pub(crate) planted: Option<PlantedFault>,
}

/// What became of a statement.
enum Sent {
    /// It is stored, durably.
    Stored,
    /// The conversation has other counters. Nothing was written.
    Moved,
    /// Not known.
    Doubtful(Fault),
}

/// Carries out an append. See [`unforget_store::Log::append`].
pub(crate) async fn append(store: &Commits<'_>, append: Append) -> Outcome<Receipt> {
    let request = Request::new(append)?;
    let id = request.id;
    let mut doubt = Doubt::default();
    for _ in 0..TRIES {
        let head = match store.heads.of(id, request.target) {
            Some(head) => head,
            None => doubt.read_head(store, &request).await?,
        };
        // Entries are what came in; names and the state of a prompt may be of entries that were purged since they were read.
        if request.is_derived_too()
            && let Err(error) = store.purges.check(id, head.purged)
        {
            // Remembered counters may be older than what this process knows of purges.
            if !head.is_fresh {
                store.heads.forget(id);
                continue;
            }
            return doubt.refused(store, &request, error).await;
        }
        let place = match head.place(&request) {
            Ok(place) => place,
            // The memory may be old; only what was read now is a reason to refuse.
            Err(_) if !head.is_fresh => {
                store.heads.forget(id);
                continue;
            }
            Err(error) => return doubt.refused(store, &request, error).await,
        };
        let planned = Planned::new(&request, &head, place);
        match send(store, &planned).await? {
            Sent::Stored => return Ok(store.remember(id, planned)),
            Sent::Moved => store.heads.forget(id),
            Sent::Doubtful(fault) => {
                store.heads.forget(id);
                doubt.begin(planned.trace());
                if doubt.is_over() {
                    return Err(fault);
                }
            }
        }
        if let Some(receipt) = doubt.settled(store, &request).await? {
            return Ok(receipt);
        }
    }
    let source = "others write to the conversation without end; try again".into();
    Err(StoreError::Backend { operation: "append", source }.into())
}

/// The commits of an append whose outcome is not known.
#[derive(Default)]
pub(crate) struct Doubt {
    traces: Vec<doubt::Trace>,
    since: Option<Instant>,
}

impl Doubt {
    fn begin(&mut self, trace: doubt::Trace) {
        self.since.get_or_insert_with(Instant::now);
        if !self.traces.contains(&trace) {
            self.traces.push(trace);
        }
    }

    fn is_over(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() > DOUBT)
    }

    /// Reads the counters; in doubt, as long as it takes for the server to answer again.
    async fn read_head(&self, store: &Commits<'_>, request: &Request) -> Outcome<Head> {
        self.patiently(async || {
            let lent = store.pool.lend("append").await?;
            let head = timed(PATIENCE, head::read(&lent.conn, store.tenant, request)).await;
            if head.as_ref().map_or_else(Fault::keeps_connection, |_| true) {
                store.pool.give_back(lent);
            } else {
                store.pool.forget_idle();
            }
            head
        })
        .await
    }

    /// The receipt, if one of the doubtful commits is stored.
    async fn settled(&self, store: &Commits<'_>, request: &Request) -> Outcome<Option<Receipt>> {
        if self.traces.is_empty() {
            return Ok(None);
        }
        self.patiently(async || {
            // A new connection, since what is read behind its barrier is durable.
            store.pool.forget_idle();
            let lent = store.pool.lend("append").await?;
            let stored =
                timed(PATIENCE, doubt::stored(&lent.conn, store.tenant, request.id, &self.traces)).await?;
            store.pool.give_back(lent);
            Ok(stored)
        })
        .await
    }

    /// The end of an append that cannot be planned: what made it impossible may be the append itself.
    async fn refused(&self, store: &Commits<'_>, request: &Request, error: StoreError) -> Outcome<Receipt> {
        match self.settled(store, request).await? {
            Some(receipt) => Ok(receipt),
            None => Err(error.into()),
        }
    }

    /// Tries again while the server does not answer: once, or in doubt until that is over.
    async fn patiently<T>(&self, work: impl AsyncFn() -> Outcome<T>) -> Outcome<T> {
        let mut has_failed = false;
        loop {
            match work().await {
                Err(fault) if !fault.is_refusal() && (!has_failed || !self.is_calm()) => {
                    has_failed = true;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                done => return done,
            }
        }
    }

    /// Whether nothing is in doubt, or no longer worth waiting for.
    fn is_calm(&self) -> bool {
        self.since.is_none() || self.is_over()
    }
}

/// Sends the statement and hears what became of it.
async fn send(store: &Commits<'_>, planned: &Planned<'_>) -> Outcome<Sent> {
    let lent = match store.pool.lend("append").await {
        Ok(lent) => lent,
        Err(fault) => return Ok(Sent::Doubtful(fault)),
    };
    let patience = PATIENCE + Duration::from_secs(planned.bytes() >> 20);
    let statement = Statement::new(store, planned);
    lent.conn.take_warning();
    let done = timed(patience, statement.run(&lent.conn)).await;
    if let Some(words) = lent.conn.take_warning() {
        return Ok(Sent::Doubtful(Fault::Warned(words)));
    }
    match done {
        Ok(rows) => {
            store.pool.give_back(lent);
            Ok(if rows > 0 { Sent::Stored } else { Sent::Moved })
        }
        // Another writer's rows are in the way, or the server chose another transaction: so the counters are others.
        Err(fault) if fault.is_clash() => {
            store.pool.give_back(lent);
            Ok(Sent::Moved)
        }
        Err(fault) if fault.is_refusal() => {
            store.pool.give_back(lent);
            Err(fault)
        }
        Err(fault) => {
            store.pool.forget_idle();
            Ok(Sent::Doubtful(fault))
        }
    }
}

impl Commits<'_> {
    /// Remembers the counters of a commit, and returns its receipt.
    fn remember(&self, id: ConversationId, planned: Planned<'_>) -> Receipt {
        let receipt = planned.receipt();
        self.heads.put(id, planned.into_head());
        receipt
    }
}

/// The setting of a transaction with this durability.
const fn synchronous_commit(durability: Durability) -> Option<&'static str> {
    match durability {
        Durability::OnReturn => None,
        Durability::WithNext => Some("off"),
    }
}

/// The place that a plan found for its entries.
type Placed = Result<Place, StoreError>;
