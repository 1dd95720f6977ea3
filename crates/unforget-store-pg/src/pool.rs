//! The connections of a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::conn::Conn;
use crate::fault::{Fault, Outcome};
use crate::place::PgPlace;
use crate::trips::Trips;

/// Open connections, a bounded number of them.
pub(crate) struct Pool {
    place: PgPlace,
    idle: Mutex<Vec<Conn>>,
    permits: Arc<Semaphore>,
    trips: Trips,
}

/// A connection in use. It is closed when dropped; [`Pool::give_back`] keeps it.
pub(crate) struct Lent {
    pub(crate) conn: Conn,
    permit: OwnedSemaphorePermit,
}

impl Pool {
    /// No connections yet.
    ///
    /// * `most` - connections at once; further callers wait.
    pub(crate) fn new(place: PgPlace, most: usize) -> Self {
        let permits = Arc::new(Semaphore::new(most.max(1)));
        Self { place, idle: Mutex::default(), permits, trips: Trips::default() }
    }

    /// Where they lead.
    pub(crate) fn place(&self) -> PgPlace {
        self.place.clone()
    }

    /// The round trips so far.
    pub(crate) const fn trips(&self) -> &Trips {
        &self.trips
    }

    /// An idle connection, or a new one.
    ///
    /// * `operation` - what its round trips are counted for.
    pub(crate) async fn lend(&self, operation: &'static str) -> Outcome<Lent> {
        let permits = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permits.map_err(|_| Fault::Unreachable("the store is closed".to_owned()))?;
        let idle = {
            let mut idle = self.idle();
            idle.retain(|conn| !conn.is_closed());
            idle.pop()
        };
        let conn = match idle {
            Some(conn) => conn,
            None => Conn::open(&self.place, self.trips.clone()).await?,
        };
        conn.begin(operation);
        Ok(Lent { conn, permit })
    }

    /// Keeps a connection that is in no transaction.
    pub(crate) fn give_back(&self, lent: Lent) {
        let Lent { conn, permit } = lent;
        self.idle().push(conn);
        drop(permit);
    }

    /// Closes the idle connections: their server may be gone.
    pub(crate) fn forget_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Conn>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
