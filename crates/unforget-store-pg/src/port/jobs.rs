//! Work of models: the port, carried out by `jobs` and `spend`.

use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::{
    BreakerRow, Durability, GrantRow, JobEnd, JobPlace, JobRow, Jobs, Lease, NewJob, Page, Reading, Result,
    Spend, SpendHour, SummaryKey, SummaryRow,
};

use crate::jobs::Taking;
use crate::spend::Charge;
use crate::store::PgStore;
use crate::summaries::Table;
use crate::{jobs, spend, summaries};

impl Jobs for PgStore {
    fn put_jobs(&self, id: ConversationId, new: &[NewJob], now: Timestamp) -> Result<u64> {
        self.change_held("put_jobs", id, Durability::OnReturn, async |conn, held| {
            jobs::put(conn, self.tenant, id, new, self.time(now, held.now)).await
        })
    }

    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>> {
        self.change_held("take_job", id, Durability::OnReturn, async |conn, held| {
            let time = self.time(now, held.now);
            let taking = Taking { now: time, until: moved(until, now, time), all };
            jobs::take(conn, self.tenant, id, taking).await
        })
    }

    fn end_job(&self, id: ConversationId, lease: Lease, end: &JobEnd, now: Timestamp) -> Result<bool> {
        self.change_held("end_job", id, Durability::OnReturn, async |conn, held| {
            if matches!(end, JobEnd::Done(_)) {
                self.purges.check(id, held.purged)?;
            }
            let time = self.time(now, held.now);
            let end = match end.clone() {
                JobEnd::Later { due, why } => JobEnd::Later { due: moved(due, now, time), why },
                JobEnd::NotAsked { due, why } => JobEnd::NotAsked { due: moved(due, now, time), why },
                end => end,
            };
            jobs::end(conn, self.tenant, id, jobs::Ending { lease, end: &end, now: time }).await
        })
    }

    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>> {
        self.of("job", id, async |conn| jobs::one(conn, self.tenant, id, key).await)
    }

    fn due(&self, now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>> {
        self.read("due", async |conn| {
            let servers = jobs::servers_time(conn).await?;
            jobs::due(conn, self.tenant, self.time(now, servers), page).await
        })
    }

    fn jobs(&self, id: ConversationId, page: Page<JobPlace>) -> Result<Vec<JobRow>> {
        self.of("jobs", id, async |conn| jobs::page(conn, self.tenant, id, page).await)
    }

    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64> {
        self.change_held("drop_jobs", id, Durability::OnReturn, async |conn, held| {
            jobs::drop_all(conn, self.tenant, id, self.time(now, held.now)).await
        })
    }

    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()> {
        self.change_held("put_rewrites", id, Durability::OnReturn, async |conn, held| {
            self.purges.check(id, held.purged)?;
            jobs::put_rewrites(conn, self.tenant, id, rows, self.time(now, held.now)).await
        })
    }

    fn rewrites_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        self.of("rewrites_of", id, async |conn| {
            summaries::of(conn, self.tenant, Table::Rewrite, id, keys).await
        })
    }

    fn rewrites(&self, id: ConversationId, page: Page<SummaryKey>) -> Result<Vec<SummaryKey>> {
        self.of("rewrites", id, async |conn| summaries::rewrite_keys(conn, self.tenant, id, page).await)
    }

    fn charge(&self, id: ConversationId, hour: SpendHour, spend: Spend, caps: Spend) -> Result<bool> {
        self.change("charge", id, Durability::OnReturn, async |conn| {
            spend::charge(conn, self.tenant, id, Charge { hour, spend, caps }).await
        })
    }

    fn refund(&self, id: ConversationId, hour: SpendHour, spend: Spend) -> Result<()> {
        self.change("refund", id, Durability::OnReturn, async |conn| {
            spend::refund(conn, self.tenant, id, hour, spend).await
        })
    }

    fn spent(&self, id: ConversationId, hour: SpendHour) -> Result<Spend> {
        self.of("spent", id, async |conn| spend::spent(conn, self.tenant, id, hour).await)
    }

    fn breakers(&self) -> Result<Vec<BreakerRow>> {
        self.read("breakers", async |conn| spend::breakers(conn, self.tenant).await)
    }

    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()> {
        self.change_tenant("put_breakers", async |conn| spend::put_breakers(conn, self.tenant, rows).await)
    }

    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64> {
        self.change_tenant("put_grant", async |conn| spend::put_grant(conn, self.tenant, grant, keep).await)
    }

    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool> {
        self.change_tenant("use_grant", async |conn| {
            spend::use_grant(conn, self.tenant, number, more, now).await
        })
    }

    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool> {
        self.change_tenant("end_grant", async |conn| {
            spend::end_grant(conn, self.tenant, number, how, now).await
        })
    }

    fn grants(&self) -> Result<Vec<GrantRow>> {
        self.read("grants", async |conn| spend::grants(conn, self.tenant).await)
    }
}

/// A time of the caller's, at the same distance from another now.
const fn moved(time: Timestamp, callers: Timestamp, now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_add(time.0.saturating_sub(callers.0)))
}
