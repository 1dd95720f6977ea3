//! The part of the port for work of models, with injected failures.

use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_store::{
    BreakerRow, DecisionRow, GrantRow, JobEnd, JobRow, Jobs, Reading, Spend, SummaryKey, SummaryRow,
};

use super::{FaultStore, Result};

impl Jobs for FaultStore {
    fn put_jobs(&self, id: ConversationId, jobs: &[(SummaryKey, (Seq, Seq))], now: Timestamp) -> Result<u64> {
        self.write("put_jobs", || self.inner.put_jobs(id, jobs, now))
    }
    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>> {
        self.write("take_job", || self.inner.take_job(id, now, until, all))
    }
    fn end_job(
        &self,
        id: ConversationId,
        (key, attempt): (&SummaryKey, u32),
        end: &JobEnd,
        now: Timestamp,
    ) -> Result<bool> {
        self.write("end_job", || self.inner.end_job(id, (key, attempt), end, now))
    }
    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>> {
        self.inner.job(id, key)
    }
    fn due(&self, now: Timestamp) -> Result<Vec<ConversationId>> {
        self.inner.due(now)
    }
    fn jobs(&self, id: ConversationId) -> Result<Vec<JobRow>> {
        self.inner.jobs(id)
    }
    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64> {
        self.write("drop_jobs", || self.inner.drop_jobs(id, now))
    }
    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()> {
        self.write("put_rewrites", || self.inner.put_rewrites(id, rows, now))
    }
    fn rewrite(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        self.inner.rewrite(id, key)
    }
    fn rewrites(&self, id: ConversationId) -> Result<Vec<SummaryKey>> {
        self.inner.rewrites(id)
    }
    fn charge(&self, id: ConversationId, hour: i64, spend: Spend, caps: Spend) -> Result<bool> {
        self.write("charge", || self.inner.charge(id, hour, spend, caps))
    }
    fn refund(&self, id: ConversationId, hour: i64, spend: Spend) -> Result<()> {
        self.write("refund", || self.inner.refund(id, hour, spend))
    }
    fn spent(&self, id: ConversationId, hour: i64) -> Result<Spend> {
        self.inner.spent(id, hour)
    }
    fn breakers(&self) -> Result<Vec<BreakerRow>> {
        self.inner.breakers()
    }
    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()> {
        self.write("put_breakers", || self.inner.put_breakers(rows))
    }
    fn decide(&self, id: ConversationId, row: &DecisionRow, keep: u64) -> Result<u64> {
        self.write("decide", || self.inner.decide(id, row, keep))
    }
    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>> {
        self.inner.decisions(id)
    }
    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64> {
        self.write("put_grant", || self.inner.put_grant(grant, keep))
    }
    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool> {
        self.write("use_grant", || self.inner.use_grant(number, more, now))
    }
    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool> {
        self.write("end_grant", || self.inner.end_grant(number, how, now))
    }
    fn grants(&self) -> Result<Vec<GrantRow>> {
        self.inner.grants()
    }
}
