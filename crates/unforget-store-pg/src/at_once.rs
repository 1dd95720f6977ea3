//! Short writes of derived rows in one round trip: the statements of a transaction are sent behind each other, and the
//! answers are waited for together.
//!
//! The first statement takes the conversation's row and fails if the number of its purges is not the one that this process
//! has seen; the server then refuses the others and rolls back. Each statement sees what is committed when it begins, as in a
//! transaction that waits for every answer, since the row is taken by then.

use futures_util::future::join_all;
use tokio_postgres::Row;
use unforget_core::id::ConversationId;
use unforget_store::backend::int;
use unforget_store::{Durability, StoreError};

use crate::conn::{Conn, Values, timed};
use crate::fault::{Fault, Outcome};
use crate::store::{PgStore, TRIES, beginning, patience};

/// Takes the row of a conversation, and fails if it has another number of purges or does not exist.
const GUARD: &str = "SELECT 1 / CASE WHEN
    (SELECT purged FROM unforget.conversation WHERE tenant = $1 AND id = $2 FOR UPDATE) = $3 THEN 1 ELSE 0 END";

/// A statement and its values.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) sql: &'a str,
    pub(crate) values: Values<'a>,
}

/// How the one round trip ended.
enum FlightEnd {
    /// The rows of each statement. All of it is committed.
    Stored(Vec<Vec<Row>>),
    /// Nothing was written: the conversation is another one, or its row could not be had.
    Refused,
}

impl PgStore {
    /// [`PgStore::change_derived`] for statements that do not depend on each other's answers, with
    /// [`Durability::WithNext`]. The rows may be written twice if a connection breaks in the middle.
    ///
    /// * `read` - gets the rows of each statement.
    pub(crate) fn change_at_once<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        pieces: &[Piece<'_>],
        read: impl Fn(&[Vec<Row>]) -> Outcome<T>,
    ) -> Result<T, StoreError> {
        self.may_write()?;
        if let Some(purged) = self.purges.seen(id) {
            let sent = self.wait(async {
                for _ in 0..TRIES {
                    match self.send_at_once(operation, id, purged, pieces).await {
                        Err(fault) if fault.is_clash() => {}
                        sent => return sent,
                    }
                }
                Ok(FlightEnd::Refused)
            });
            match sent.map_err(|fault| fault.into_store(&self.place, operation))? {
                FlightEnd::Stored(rows) => {
                    return read(&rows).map_err(|fault| fault.into_store(&self.place, operation));
                }
                // Step by step, the reason shows.
                FlightEnd::Refused => {}
            }
        }
        self.change_derived(operation, id, Durability::WithNext, async |conn| {
            let mut rows = Vec::with_capacity(pieces.len());
            for piece in pieces {
                rows.push(conn.rows(piece.sql, piece.values).await?);
            }
            read(&rows)
        })
    }

    async fn send_at_once(
        &self,
        operation: &'static str,
        id: ConversationId,
        purged: u64,
        pieces: &[Piece<'_>],
    ) -> Outcome<FlightEnd> {
        let lent = self.pool().lend(operation).await?;
        lent.conn.take_warning();
        let (tenant, conversation, purged) = (self.tenant, int(id.0), int(purged));
        let guard = Piece { sql: GUARD, values: &[&tenant, &conversation, &purged] };
        let sent = timed(patience(operation), transaction(&lent.conn, guard, pieces)).await;
        if let Some(words) = lent.conn.take_warning() {
            return Err(Fault::Warned(words));
        }
        match sent {
            Ok(rows) => {
                self.pool().give_back(lent);
                Ok(FlightEnd::Stored(rows))
            }
            Err(fault) if fault.is_clash() => {
                self.pool().give_back(lent);
                Err(fault)
            }
            Err(fault) if fault.is_refusal() => {
                self.pool().give_back(lent);
                Ok(FlightEnd::Refused)
            }
            // The connection is gone, and with it what it was doing, or not: the rows are derived, so they are written again.
            Err(Fault::Driver(_)) => {
                self.pool().forget_idle();
                Ok(FlightEnd::Refused)
            }
            Err(fault) => Err(fault),
        }
    }
}

/// Sends a whole transaction. The first error is the one that rolled it back.
async fn transaction(conn: &Conn, guard: Piece<'_>, pieces: &[Piece<'_>]) -> Outcome<Vec<Vec<Row>>> {
    let all: Vec<Piece<'_>> = std::iter::once(guard).chain(pieces.iter().copied()).collect();
    for piece in &all {
        conn.prepare(piece.sql).await?;
    }
    let statements = join_all(all.iter().map(|piece| conn.rows(piece.sql, piece.values)));
    // Polled in this order, and so sent in this order.
    let (begun, rows, committed) =
        tokio::join!(biased; conn.batch(beginning(Durability::WithNext)), statements, conn.batch("COMMIT"));
    begun?;
    let rows = rows.into_iter().collect::<Outcome<Vec<_>>>()?;
    committed?;
    Ok(rows.into_iter().skip(1).collect())
}
