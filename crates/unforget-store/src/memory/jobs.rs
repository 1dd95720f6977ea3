//! Jobs and other work of models, in maps.

use std::collections::BTreeMap;

use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::{MemoryStore, of_keys};
use crate::port::{
    BreakerRow, DecisionRow, GrantRow, JobEnd, JobPlace, JobRow, JobState, Jobs, Lease, NewDecision, NewJob,
    Page, PageRow, Reading, Result, SPEND_HOURS, Spend, SpendHour, SummaryKey, SummaryRow, page_of,
};

/// The jobs and other work of one conversation.
#[derive(Default)]
pub(super) struct Desk {
    jobs: BTreeMap<SummaryKey, JobRow>,
    rewrites: BTreeMap<SummaryKey, SummaryRow>,
    spend: BTreeMap<SpendHour, Spend>,
    pub(super) decisions: Vec<DecisionRow>,
}

impl Desk {
    pub(super) fn decide(&mut self, NewDecision { row, keep }: NewDecision<'_>) -> u64 {
        let number = row.number.max(self.decisions.last().map_or(0, |last| last.number) + 1);
        self.decisions.push(DecisionRow { number, ..row.clone() });
        let surplus = self.decisions.len().saturating_sub(keep.max(1) as usize);
        self.decisions.drain(..surplus);
        number
    }

    fn has_due(&self, now: Timestamp) -> bool {
        let is_due = |job: &JobRow| match job.state {
            JobState::Waiting { due } => due <= now,
            JobState::Leased { until } => until <= now,
            JobState::Done { .. } | JobState::GivenUp { .. } => false,
        };
        self.jobs.values().any(is_due) && !self.jobs.values().any(|job| job.is_leased(now))
    }

    /// Drops everything derived from purged entries.
    pub(super) fn purge(&mut self, seqs: &std::ops::Range<u64>) {
        let is_apart = |span: (Seq, Seq)| span.0.0 >= seqs.end || span.1.0 < seqs.start;
        self.jobs.retain(|_, job| is_apart(job.span));
        self.rewrites.retain(|_, row| is_apart(row.span));
        self.decisions.clear();
    }
}

impl MemoryStore {
    pub(super) fn desk<T>(&self, id: ConversationId, act: impl FnOnce(&mut Desk) -> T) -> Result<T> {
        let mut inner = self.lock();
        Ok(act(&mut inner.get_mut(id)?.desk))
    }
}

impl Jobs for MemoryStore {
    fn put_jobs(&self, id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Result<u64> {
        self.desk(id, |desk| {
            let before = desk.jobs.len();
            for job in jobs {
                desk.jobs.entry(job.key).or_insert_with(|| JobRow::new(job, now));
            }
            (desk.jobs.len() - before) as u64
        })
    }

    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>> {
        self.desk(id, |desk| {
            if desk.jobs.values().any(|job| job.is_leased(now)) {
                return None;
            }
            let is_ready = |job: &&mut JobRow| match job.state {
                JobState::Waiting { due } => all || due <= now,
                JobState::Leased { .. } => true,
                JobState::GivenUp { .. } => all,
                JobState::Done { .. } => false,
            };
            let job = desk.jobs.values_mut().filter(is_ready).min_by_key(|job| job.page_key())?;
            *job = job.clone().taken(until);
            Some(job.clone())
        })
    }

    fn end_job(&self, id: ConversationId, lease: Lease, end: &JobEnd, now: Timestamp) -> Result<bool> {
        self.desk(id, |desk| {
            let job = desk.jobs.get_mut(&lease.key);
            let Some(job) = job.filter(|job| job.is_held(lease, now)) else { return false };
            *job = job.clone().ended(end, now);
            if let JobEnd::Done(row) = end {
                desk.rewrites.entry(row.key).or_insert_with(|| (**row).clone());
            }
            true
        })
    }

    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>> {
        self.desk(id, |desk| desk.jobs.get(key).cloned())
    }

    fn due(&self, now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>> {
        let inner = self.lock();
        Ok(page_of(inner.desks().filter(|(_, desk)| desk.has_due(now)).map(|(id, _)| id), page))
    }

    fn jobs(&self, id: ConversationId, page: Page<JobPlace>) -> Result<Vec<JobRow>> {
        self.desk(id, |desk| {
            let mut jobs: Vec<JobRow> = desk.jobs.values().cloned().collect();
            jobs.sort_by_key(PageRow::page_key);
            page_of(jobs.into_iter(), page)
        })
    }

    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64> {
        self.desk(id, |desk| {
            let before = desk.jobs.len();
            desk.jobs.retain(|_, job| job.is_leased(now) || matches!(job.state, JobState::Done { .. }));
            (before - desk.jobs.len()) as u64
        })
    }

    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()> {
        self.desk(id, |desk| {
            for row in rows {
                let state = JobState::Done { at: now };
                let job = JobRow { key: row.key, span: row.span, state, attempts: 0, why: String::new() };
                let job = desk.jobs.entry(row.key).or_insert(job);
                if !matches!(job.state, JobState::Done { .. }) {
                    (job.state, job.why) = (state, String::new());
                }
                desk.rewrites.entry(row.key).or_insert_with(|| row.clone());
            }
        })
    }

    fn rewrites_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        self.desk(id, |desk| of_keys(keys, |key| desk.rewrites.get(key)))
    }

    fn rewrites(&self, id: ConversationId, page: Page<SummaryKey>) -> Result<Vec<SummaryKey>> {
        self.desk(id, |desk| page_of(desk.rewrites.keys().copied(), page))
    }

    fn charge(&self, id: ConversationId, hour: SpendHour, spend: Spend, caps: Spend) -> Result<bool> {
        self.desk(id, |desk| {
            let sum = desk.spend.get(&hour).copied().unwrap_or_default().plus(spend);
            if !sum.is_within(caps) {
                return false;
            }
            desk.spend.retain(|old, _| old.hour > hour.hour.saturating_sub(SPEND_HOURS));
            desk.spend.insert(hour, sum);
            true
        })
    }

    fn refund(&self, id: ConversationId, hour: SpendHour, spend: Spend) -> Result<()> {
        self.desk(id, |desk| {
            if let Some(sum) = desk.spend.get_mut(&hour) {
                *sum = sum.less(spend);
            }
        })
    }

    fn spent(&self, id: ConversationId, hour: SpendHour) -> Result<Spend> {
        self.desk(id, |desk| desk.spend.get(&hour).copied().unwrap_or_default())
    }

    fn breakers(&self) -> Result<Vec<BreakerRow>> {
        let breakers = &self.lock().breakers;
        let row = |((provider, credential), state): (&(String, String), &String)| BreakerRow {
            provider: provider.clone(),
            credential: credential.clone(),
            state: state.clone(),
        };
        Ok(breakers.iter().map(row).collect())
    }

    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()> {
        let breakers = &mut self.lock().breakers;
        for row in rows {
            breakers.insert((row.provider.clone(), row.credential.clone()), row.state.clone());
        }
        Ok(())
    }

    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64> {
        let grants = &mut self.lock().grants;
        let number = grants.last().map_or(0, |last| last.number) + 1;
        grants.push(GrantRow { number, ..grant.clone() });
        let surplus = grants.len().saturating_sub(keep.max(1) as usize);
        grants.drain(..surplus);
        Ok(number)
    }

    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool> {
        let grants = &mut self.lock().grants;
        let open =
            |grant: &&mut GrantRow| grant.number == number && grant.ended.is_none() && now < grant.until;
        let Some(grant) = grants.iter_mut().find(open) else { return Ok(false) };
        let used = grant.used.plus(more);
        let may = used.is_within(grant.most);
        if may {
            grant.used = used;
        }
        Ok(may)
    }

    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool> {
        let grants = &mut self.lock().grants;
        let open = |grant: &&mut GrantRow| grant.number == number && grant.ended.is_none();
        let Some(grant) = grants.iter_mut().find(open) else { return Ok(false) };
        grant.ended = Some((now, how.to_owned()));
        Ok(true)
    }

    fn grants(&self) -> Result<Vec<GrantRow>> {
        Ok(self.lock().grants.clone())
    }
}
