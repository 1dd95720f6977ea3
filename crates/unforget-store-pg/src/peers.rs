//! What processes on one database agree on: work that one of them does, calls under keys of their clients, a secret.

use std::collections::BTreeSet;
use std::time::Duration;

use unforget_core::digest::Digest;
use unforget_core::id::ConversationId;
use unforget_store::{CallStanding, Change, KeptAnswer, KeyedCall, PeerCallback, Peers, Result};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};
use crate::news;
use crate::store::{NOW_MS, PgStore};

/// Most rows of ended calls that a new call clears away.
const CLEARED: i64 = 64;

/// How often a call is looked at while others change its row.
const TRIES: usize = 8;

impl Peers for PgStore {
    fn hold(&self, work: &str, time: Duration) -> Result<bool> {
        let sql = format!(
            "INSERT INTO unforget.held AS h VALUES ($1, $2, $3, {NOW_MS} + $4)
             ON CONFLICT (tenant, work) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
             WHERE h.holder = excluded.holder OR h.until_ms < {NOW_MS}"
        );
        self.settled("hold", async |conn| {
            let (work, holder) = (work.as_bytes(), self.peer.0.as_slice());
            Ok(conn.run(&sql, &[&self.tenant, &work, &holder, &ms(time)]).await? > 0)
        })
    }

    fn secret(&self) -> Result<Digest> {
        self.read("secret", async |conn| {
            let sql = "SELECT secret::text FROM unforget.tenant WHERE id = $1";
            let row = conn.row(sql, &[&self.tenant]).await?.ok_or(Fault::Column("secret"))?;
            Ok(Digest::of(row.at::<&str>(0)?.as_bytes()))
        })
    }

    fn begin_call(&self, call: &KeyedCall, time: Duration) -> Result<CallStanding> {
        self.settled("begin_call", async |conn| {
            clear(conn, self.tenant).await?;
            for _ in 0..TRIES {
                if begin(conn, self, call, time).await? {
                    return Ok(CallStanding::Ours);
                }
                // Its row may be gone by now.
                if let Some(standing) = standing(conn, self, call).await? {
                    return Ok(standing);
                }
            }
            Ok(CallStanding::Elsewhere)
        })
    }

    fn keep_call(&self, call: &KeyedCall, time: Duration) -> Result<()> {
        let sql = format!(
            "UPDATE unforget.call SET until_ms = {NOW_MS} + $4
             WHERE tenant = $1 AND key = $2 AND holder = $3 AND body IS NULL"
        );
        self.settled("keep_call", async |conn| {
            conn.run(&sql, &[&self.tenant, &call.key.0.as_slice(), &self.peer.0.as_slice(), &ms(time)])
                .await
                .map(drop)
        })
    }

    fn end_call(&self, call: &KeyedCall, answer: Option<&KeptAnswer>, time: Duration) -> Result<()> {
        let (key, holder) = (call.key.0.as_slice(), self.peer.0.as_slice());
        self.settled("end_call", async |conn| {
            if let Some(KeptAnswer { head, body }) = answer {
                let sql = format!(
                    "UPDATE unforget.call SET until_ms = {NOW_MS} + $4, head = $5, body = $6
                     WHERE tenant = $1 AND key = $2 AND holder = $3 AND body IS NULL"
                );
                conn.run(&sql, &[&self.tenant, &key, &holder, &ms(time), &head.as_slice(), &body.as_slice()])
                    .await
                    .map(drop)
            } else {
                let sql = "DELETE FROM unforget.call
                    WHERE tenant = $1 AND key = $2 AND holder = $3 AND body IS NULL";
                conn.run(sql, &[&self.tenant, &key, &holder]).await.map(drop)
            }
        })
    }

    fn tell(&self, changes: &BTreeSet<(ConversationId, Change)>) -> Result<()> {
        let texts = news::texts(self.peer, self.tenant, changes);
        self.settled("tell", async |conn| {
            for text in &texts {
                conn.rows("SELECT pg_notify($1, $2)", &[&news::CHANNEL, text]).await?;
            }
            Ok(())
        })
    }

    fn hear(&self, told: PeerCallback) {
        self.spawn(news::listen(self.address(), self.peer, self.tenant, told));
    }
}

impl PgStore {
    /// Runs statements of which each commits by itself, and which may be run twice.
    fn settled<T>(&self, operation: &'static str, work: impl AsyncFn(&Conn) -> Outcome<T>) -> Result<T> {
        self.may_write()?;
        self.read(operation, work)
    }
}

/// Clears away some calls that nobody may ask for any more.
async fn clear(conn: &Conn, tenant: i32) -> Outcome<()> {
    let sql = format!(
        "DELETE FROM unforget.call WHERE tenant = $1 AND key IN (
           SELECT key FROM unforget.call WHERE tenant = $1 AND until_ms < {NOW_MS}
           ORDER BY until_ms LIMIT $2 FOR UPDATE SKIP LOCKED)"
    );
    conn.run(&sql, &[&tenant, &CLEARED]).await.map(drop)
}

/// Enters a call, or takes over one of a process that is not heard of any more. False if its row means something.
async fn begin(conn: &Conn, store: &PgStore, call: &KeyedCall, time: Duration) -> Outcome<bool> {
    let sql = format!(
        "INSERT INTO unforget.call AS c VALUES ($1, $2, $3, $4, {NOW_MS} + $5)
         ON CONFLICT (tenant, key) DO UPDATE SET request = excluded.request, holder = excluded.holder,
           until_ms = excluded.until_ms, head = NULL, body = NULL
         WHERE c.until_ms < {NOW_MS}"
    );
    let (key, request) = (call.key.0.as_slice(), call.request.0.as_slice());
    let entered =
        conn.run(&sql, &[&store.tenant, &key, &request, &store.peer.0.as_slice(), &ms(time)]).await?;
    Ok(entered > 0)
}

/// What the row of a call says; `None` if there is none.
async fn standing(conn: &Conn, store: &PgStore, call: &KeyedCall) -> Outcome<Option<CallStanding>> {
    let sql = "SELECT request, head, body, holder FROM unforget.call WHERE tenant = $1 AND key = $2";
    let Some(row) = conn.row(sql, &[&store.tenant, &call.key.0.as_slice()]).await? else { return Ok(None) };
    if row.digest(0)? != call.request {
        return Ok(Some(CallStanding::Conflict));
    }
    let (head, body) = (row.at::<Option<Vec<u8>>>(1)?, row.at::<Option<Vec<u8>>>(2)?);
    Ok(Some(match (head, body) {
        (Some(head), Some(body)) => CallStanding::Answered(KeptAnswer { head, body }),
        // The answer to the statement that entered it was lost.
        _ if row.at::<&[u8]>(3)? == store.peer.0 => CallStanding::Ours,
        _ => CallStanding::Elsewhere,
    }))
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}
