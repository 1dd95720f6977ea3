//! Work of models in a view. Data of accounts, as opposed to conversations, passes through.

use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::ScopedStore;
use crate::port::{
    BreakerRow, DecisionRow, GrantRow, JobEnd, JobRow, Jobs, Reading, Result, Spend, SummaryKey, SummaryRow,
};

impl Jobs for ScopedStore {
    fn put_jobs(&self, id: ConversationId, jobs: &[(SummaryKey, (Seq, Seq))], now: Timestamp) -> Result<u64> {
        self.of(id)?.put_jobs(id, jobs, now)
    }

    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>> {
        self.of(id)?.take_job(id, now, until, all)
    }

    fn end_job(
        &self,
        id: ConversationId,
        lease: (&SummaryKey, u32),
        end: &JobEnd,
        now: Timestamp,
    ) -> Result<bool> {
        self.of(id)?.end_job(id, lease, end, now)
    }

    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>> {
        self.of(id)?.job(id, key)
    }

    fn due(&self, now: Timestamp) -> Result<Vec<ConversationId>> {
        let mut due = self.inner.due(now)?;
        due.retain(|id| self.only.contains(id));
        Ok(due)
    }

    fn jobs(&self, id: ConversationId) -> Result<Vec<JobRow>> {
        self.of(id)?.jobs(id)
    }

    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64> {
        self.of(id)?.drop_jobs(id, now)
    }

    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()> {
        self.of(id)?.put_rewrites(id, rows, now)
    }

    fn rewrite(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        self.of(id)?.rewrite(id, key)
    }

    fn rewrites(&self, id: ConversationId) -> Result<Vec<SummaryKey>> {
        self.of(id)?.rewrites(id)
    }

    fn charge(&self, id: ConversationId, hour: i64, spend: Spend, caps: Spend) -> Result<bool> {
        self.of(id)?.charge(id, hour, spend, caps)
    }

    fn refund(&self, id: ConversationId, hour: i64, spend: Spend) -> Result<()> {
        self.of(id)?.refund(id, hour, spend)
    }

    fn spent(&self, id: ConversationId, hour: i64) -> Result<Spend> {
        self.of(id)?.spent(id, hour)
    }

    fn breakers(&self) -> Result<Vec<BreakerRow>> {
        self.inner.breakers()
    }

    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()> {
        self.inner.put_breakers(rows)
    }

    fn decide(&self, id: ConversationId, row: &DecisionRow, keep: u64) -> Result<u64> {
        self.of(id)?.decide(id, row, keep)
    }

    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>> {
        self.of(id)?.decisions(id)
    }

    /// A grant covers one conversation or all of them; the grant of a view of several covers all, and reads within the
    /// view.
    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64> {
        if let Some(id) = grant.scope {
            self.of(id)?;
        }
        self.inner.put_grant(grant, keep)
    }

    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool> {
        self.inner.use_grant(number, more, now)
    }

    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool> {
        self.inner.end_grant(number, how, now)
    }

    fn grants(&self) -> Result<Vec<GrantRow>> {
        let mut grants = self.inner.grants()?;
        grants.retain(|grant| grant.scope.is_some_and(|id| self.only.contains(&id)));
        Ok(grants)
    }
}
