//! The part of the port for work of models: jobs, their results, their costs, decisions.

use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::values::{SummaryKey, SummaryRow};
use super::{JobPlace, Page, Result};

/// A job: a summary that a model should write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its name: the summary's key.
    pub key: SummaryKey,
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Its state.
    pub state: JobState,
    /// Number of attempts for which a model was asked. It also identifies a lease: a holder with another number has
    /// lost it.
    pub attempts: u32,
    /// The outcome of the last attempt, for a person; empty before the first.
    pub why: String,
}

impl JobRow {
    /// The lease that the last taker was given.
    pub const fn lease(&self) -> Lease {
        Lease { key: self.key, attempt: self.attempts }
    }

    /// A job that is due at once.
    pub const fn new(job: &NewJob, now: Timestamp) -> Self {
        let NewJob { key, span } = *job;
        Self { key, span, state: JobState::Waiting { due: now }, attempts: 0, why: String::new() }
    }

    /// Whether somebody has it now.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        matches!(self.state, JobState::Leased { until } if until > now)
    }

    /// Whether this lease is its last, and not over.
    pub fn is_held(&self, lease: Lease, now: Timestamp) -> bool {
        self.lease() == lease && self.is_leased(now)
    }

    /// The job behind a taking of it, which counts.
    #[must_use]
    pub fn taken(self, until: Timestamp) -> Self {
        Self { state: JobState::Leased { until }, attempts: self.attempts.saturating_add(1), ..self }
    }

    /// The job behind the end of an attempt.
    #[must_use]
    pub fn ended(self, end: &JobEnd, now: Timestamp) -> Self {
        let (state, why) = match end {
            JobEnd::Done(_) => (JobState::Done { at: now }, String::new()),
            JobEnd::Later { due, why } | JobEnd::NotAsked { due, why } => {
                (JobState::Waiting { due: *due }, why.clone())
            }
            JobEnd::GivenUp { why } => (JobState::GivenUp { at: now }, why.clone()),
        };
        // The holder has ended its own lease, so the number identifies no lease any more.
        let uncounted = u32::from(matches!(end, JobEnd::NotAsked { .. }));
        Self { state, why, attempts: self.attempts.saturating_sub(uncounted), ..self }
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It may be taken when due.
    Waiting {
        /// The earliest time.
        due: Timestamp,
    },
    /// A worker holds it.
    Leased {
        /// The end of the lease.
        until: Timestamp,
    },
    /// The summary is written.
    Done {
        /// The time of completion.
        at: Timestamp,
    },
    /// It is not attempted again unless a person asks for it.
    GivenUp {
        /// The time of giving up.
        at: Timestamp,
    },
}

impl JobState {
    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::Leased { .. } => "leased",
            Self::Done { .. } => "done",
            Self::GivenUp { .. } => "given-up",
        }
    }

    /// The time in the variant.
    pub const fn time(self) -> Timestamp {
        match self {
            Self::Waiting { due: time }
            | Self::Leased { until: time }
            | Self::Done { at: time }
            | Self::GivenUp { at: time } => time,
        }
    }
}

/// The outcome of an attempt at a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// The model's summary.
    Done(Box<SummaryRow>),
    /// No summary; the job may be taken again.
    Later {
        /// The earliest time.
        due: Timestamp,
        /// The reason, for a person.
        why: String,
    },
    /// No summary, and no model was asked: the attempt does not count.
    NotAsked {
        /// The earliest time.
        due: Timestamp,
        /// The reason, for a person.
        why: String,
    },
    /// No summary, for good.
    GivenUp {
        /// The reason, for a person.
        why: String,
    },
}

/// The actual or greatest possible cost of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// Number of calls.
    pub calls: u64,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Millionths of the operator's currency.
    pub micros: u64,
}

impl Spend {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            micros: self.micros.saturating_add(other.micros),
        }
    }

    /// The remainder after `other`; never below zero.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(other.calls),
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            micros: self.micros.saturating_sub(other.micros),
        }
    }

    /// Whether no field exceeds that field of `cap`.
    pub const fn is_within(self, cap: Self) -> bool {
        self.calls <= cap.calls
            && self.input <= cap.input
            && self.output <= cap.output
            && self.micros <= cap.micros
    }
}

/// The breaker of an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BreakerRow {
    /// The provider.
    pub provider: String,
    /// The credential, by the name of its place, never by its value.
    pub credential: String,
    /// Opaque to the store.
    pub state: String,
}

/// A decision about a prompt or a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its number within the conversation, from 1; 0 for a new one.
    pub number: u64,
    /// The newest entry at that time.
    pub seq: Seq,
    /// Time of the decision.
    pub time: Timestamp,
    /// The evidence, with its figures.
    pub looked: String,
    /// The decision, in kebab-case.
    pub decided: String,
    /// The reason.
    pub why: String,
}

/// A grant: the reading allowed for one answer, and the reading done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRow {
    /// Its number, from 1. Set by the store.
    pub number: u64,
    /// The only conversation that it covers; `None` for all.
    pub scope: Option<ConversationId>,
    /// The limit.
    pub most: Reading,
    /// The amount used.
    pub used: Reading,
    /// Time of creation.
    pub made: Timestamp,
    /// Time of expiry, for every holder.
    pub until: Timestamp,
    /// Time of revocation, and the outcome.
    pub ended: Option<(Timestamp, String)>,
}

/// The reading and asking done for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Tokens of passages.
    pub tokens: u64,
    /// Calls of models.
    pub calls: u64,
}

impl Reading {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    /// Whether no field exceeds that field of `most`.
    pub const fn is_within(self, most: Self) -> bool {
        self.tokens <= most.tokens && self.calls <= most.calls
    }
}

/// What calls of models were for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpendKind {
    /// Summaries.
    Summaries,
    /// Vectors of entries.
    Meaning,
}

/// What a sum of spend belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendHour {
    /// What the calls were for.
    pub kind: SpendKind,
    /// Hours since 1970.
    pub hour: i64,
}

impl SpendHour {
    /// An hour of summaries.
    pub const fn of_summaries(hour: i64) -> Self {
        Self { kind: SpendKind::Summaries, hour }
    }
}

/// Number of hours for which spend is kept.
pub const SPEND_HOURS: i64 = 168;

/// A job to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its name: the summary's key.
    pub key: SummaryKey,
    /// First and last entry.
    pub span: (Seq, Seq),
}

/// A lease of a job: the right to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The job.
    pub key: SummaryKey,
    /// The attempt that the lease was given for, see [`JobRow::attempts`].
    pub attempt: u32,
}

/// Work of models. Times of leases and jobs are compared with `now`; a store that several processes share takes its server's
/// time instead, and of the times that callers pass only their distance from `now`.
///
/// None of it counts as a change of the conversation. [`Log::purge`](super::Log::purge) removes jobs and
/// rewrites over purged entries.
pub trait Jobs {
    /// Adds jobs that are due at once; existing keys stay unchanged. Returns the number of new jobs.
    fn put_jobs(&self, id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Result<u64>;

    /// Takes the next job under a lease until `until` and counts the attempt: lower levels first, then the oldest span.
    /// A job with an expired lease counts as waiting. `None` if nothing is due, or if another job of the conversation
    /// is under a lease: there is one worker per conversation.
    ///
    /// * `all` - includes jobs that are not due yet or were given up, since a person asked.
    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>>;

    /// Ends an attempt and stores its result, in one transaction. Returns false, and writes nothing, if another lease
    /// was given since, if the lease is over, or if the job is gone (I19). An existing rewrite stays.
    fn end_job(&self, id: ConversationId, lease: Lease, end: &JobEnd, now: Timestamp) -> Result<bool>;

    /// One job.
    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>>;

    /// Conversations for which [`Jobs::take_job`] would return a due job, by id.
    fn due(&self, now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>>;

    /// Jobs of a conversation, ordered by level, span, then the rest of the key.
    fn jobs(&self, id: ConversationId, page: Page<JobPlace>) -> Result<Vec<JobRow>>;

    /// Drops all jobs except completed ones, so that nothing is asked for twice, and those under a valid lease. Returns
    /// the number of dropped jobs.
    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64>;

    /// Writes summaries that a model wrote for entries with equal content in another conversation, and marks their jobs
    /// as done at `now`. Existing keys are left unchanged. Derived.
    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()>;

    /// The models' summaries with these keys, ordered by key; missing ones are left out.
    fn rewrites_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>>;

    /// The model's summary with this key.
    fn rewrite(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        Ok(self.rewrites_of(id, std::slice::from_ref(key))?.pop())
    }

    /// Keys of summaries by models, in their order.
    fn rewrites(&self, id: ConversationId, page: Page<SummaryKey>) -> Result<Vec<SummaryKey>>;

    /// Adds the greatest possible cost of a call, unless the hour's sum would exceed `caps`: then nothing is written.
    /// Returns whether it was added. Hours older than [`SPEND_HOURS`] are dropped.
    ///
    fn charge(&self, id: ConversationId, hour: SpendHour, spend: Spend, caps: Spend) -> Result<bool>;

    /// Returns an excess charge; never below zero.
    fn refund(&self, id: ConversationId, hour: SpendHour, spend: Spend) -> Result<()>;

    /// The spend of an hour.
    fn spent(&self, id: ConversationId, hour: SpendHour) -> Result<Spend>;

    /// The breakers, by account: one for each.
    fn breakers(&self) -> Result<Vec<BreakerRow>>;

    /// Writes breakers, replacing those of the given accounts; others stay.
    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()>;

    /// Adds a grant and drops all but the newest `keep`. Its number is set here; its use and outcome are stored as
    /// given. Returns its number.
    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64>;

    /// Adds to the use of a grant. Returns false, and adds nothing, if the grant is expired, revoked or missing, or if
    /// the sum would exceed its limit.
    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool>;

    /// Revokes a grant. Returns false, and writes nothing, if it was revoked before or is missing.
    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool>;

    /// The kept grants, oldest first: at most as many as [`Jobs::put_grant`] keeps.
    fn grants(&self) -> Result<Vec<GrantRow>>;
}
