//! The part of the port that work of models needs: jobs, what they made, what they cost, why.

use unforget_core::id::{ConversationId, Seq, Timestamp};

use super::Result;
use super::values::{SummaryKey, SummaryRow};

/// A summary that a model should write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Its name: that of the summary.
    pub key: SummaryKey,
    /// First and last entry.
    pub span: (Seq, Seq),
    /// Where it stands.
    pub state: JobState,
    /// How often it was taken and somebody was asked. Names a lease: whoever has another number has lost it.
    pub attempts: u32,
    /// How the last attempt ended, for a person; empty before the first.
    pub why: String,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It may be taken from then on.
    Waiting {
        /// Not before.
        due: Timestamp,
    },
    /// Somebody works on it.
    Leased {
        /// Until then.
        until: Timestamp,
    },
    /// The summary is there.
    Done {
        /// Since then.
        at: Timestamp,
    },
    /// Nobody tries again unless a person asks for it.
    GivenUp {
        /// Since then.
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

    /// Its time: see the variants.
    pub const fn time(self) -> Timestamp {
        match self {
            Self::Waiting { due: time }
            | Self::Leased { until: time }
            | Self::Done { at: time }
            | Self::GivenUp { at: time } => time,
        }
    }
}

/// How an attempt at a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// The model's summary.
    Done(Box<SummaryRow>),
    /// Nothing; it may be taken again.
    Later {
        /// Not before.
        due: Timestamp,
        /// Why, for a person.
        why: String,
    },
    /// Nothing, and nobody was asked: the attempt does not count.
    NotAsked {
        /// Not before.
        due: Timestamp,
        /// Why, for a person.
        why: String,
    },
    /// Nothing, for good.
    GivenUp {
        /// Why, for a person.
        why: String,
    },
}

/// What calls of models cost, or may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// Calls.
    pub calls: u64,
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Millionths of the operator's currency.
    pub micros: u64,
}

impl Spend {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            micros: self.micros.saturating_add(other.micros),
        }
    }

    /// What is left of it; never below zero.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(other.calls),
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            micros: self.micros.saturating_sub(other.micros),
        }
    }

    /// Whether no part of it is above the same part of `cap`.
    pub const fn is_within(self, cap: Self) -> bool {
        self.calls <= cap.calls
            && self.input <= cap.input
            && self.output <= cap.output
            && self.micros <= cap.micros
    }
}

/// Whether an account may be called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BreakerRow {
    /// Who answers.
    pub provider: String,
    /// By which credential: the name of its place, never the credential.
    pub credential: String,
    /// Opaque to the store.
    pub state: String,
}

/// What was decided about a prompt or a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRow {
    /// Counts the decisions of a conversation, from 1. Set by the store.
    pub number: u64,
    /// Newest entry then.
    pub seq: Seq,
    /// When.
    pub time: Timestamp,
    /// What was looked at, with its figures.
    pub looked: String,
    /// What was decided, in kebab-case.
    pub decided: String,
    /// Why.
    pub why: String,
}

/// What may be read for one answer, and what was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRow {
    /// From 1. Set by the store.
    pub number: u64,
    /// The only conversation that may be read; `None` for all.
    pub scope: Option<ConversationId>,
    /// What may be used.
    pub most: Reading,
    /// What was used.
    pub used: Reading,
    /// Since when.
    pub made: Timestamp,
    /// Then it is over, whoever holds it.
    pub until: Timestamp,
    /// When it was revoked, and how it ended.
    pub ended: Option<(Timestamp, String)>,
}

/// What an answer reads and asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Tokens of passages.
    pub tokens: u64,
    /// Calls of models.
    pub calls: u64,
}

impl Reading {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    /// Whether no part of it is above the same part of `most`.
    pub const fn is_within(self, most: Self) -> bool {
        self.tokens <= most.tokens && self.calls <= most.calls
    }
}

/// Hours whose spend is kept.
pub const SPEND_HOURS: i64 = 168;

/// The rest of the port: work of models. The rules of [`super::Store`] hold: every method is atomic, writes are
/// durable, unknown conversations are errors.
///
/// None of it counts as a change of the conversation. [`super::Store::purge`] takes jobs and rewrites over what it
/// takes, and all decisions.
pub trait Jobs {
    /// Adds jobs, ready to be taken; one whose key is there stays as it is. Returns how many are new.
    fn put_jobs(&self, id: ConversationId, jobs: &[(SummaryKey, (Seq, Seq))], now: Timestamp) -> Result<u64>;

    /// Takes the next job under a lease until `until`, with its number of attempts counted: a lower level first, then
    /// the oldest span. A lease that is over is taken like a waiting job. `None` if nothing is due, or if another job
    /// of the conversation is under a lease: there is one worker per conversation.
    ///
    /// * `all` - also those that are not due yet or were given up: a person asked.
    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>>;

    /// Ends an attempt, with what it made, in one transaction. The lease is named by the job and its number of
    /// attempts. Returns false, and writes nothing, if another one has
    /// been given since, if it is over, or if the job is gone (I19). A rewrite that is there stays.
    fn end_job(
        &self,
        id: ConversationId,
        lease: (&SummaryKey, u32),
        end: &JobEnd,
        now: Timestamp,
    ) -> Result<bool>;

    /// One job.
    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>>;

    /// Conversations of which [`Jobs::take_job`] would give a job that is due, ascending. One read.
    fn due(&self, now: Timestamp) -> Result<Vec<ConversationId>>;

    /// All jobs, by level, span, then the rest of the key.
    fn jobs(&self, id: ConversationId) -> Result<Vec<JobRow>>;

    /// Drops all jobs but those that are done, so that nothing is asked for twice, and those under a lease that is not
    /// over. Returns how many.
    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64>;

    /// The summary of this name that a model wrote.
    fn rewrite(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>>;

    /// Names of all summaries that a model wrote, by span, then level, then the rest of the key.
    fn rewrites(&self, id: ConversationId) -> Result<Vec<SummaryKey>>;

    /// Adds what a call may cost at most, unless that hour's sum would be above `caps`: then nothing is written.
    /// Returns whether it was added. Hours older than [`SPEND_HOURS`] are dropped.
    ///
    /// * `hour` - hours since 1970.
    fn charge(&self, id: ConversationId, hour: i64, spend: Spend, caps: Spend) -> Result<bool>;

    /// Takes back what was charged too much; never below zero.
    fn refund(&self, id: ConversationId, hour: i64, spend: Spend) -> Result<()>;

    /// What an hour cost.
    fn spent(&self, id: ConversationId, hour: i64) -> Result<Spend>;

    /// All breakers, by account.
    fn breakers(&self) -> Result<Vec<BreakerRow>>;

    /// Writes breakers over those of the same accounts; others stay.
    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()>;

    /// Adds a decision and drops all but the newest `keep`. Returns its number. Counts as derived: it goes with the
    /// prompt state that it led to.
    fn decide(&self, id: ConversationId, row: &DecisionRow, keep: u64) -> Result<u64>;

    /// The decisions that are kept, oldest first.
    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>>;

    /// Adds a grant and drops all but the newest `keep`. Its number is set here, what is used and how it ended is as
    /// given. Returns its number.
    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64>;

    /// Adds to what was used of a grant. Returns false, and adds nothing, if it is over or revoked, or is not there, or
    /// if that would be more than may be used.
    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool>;

    /// Revokes a grant. Returns false, and writes nothing, if it was revoked before or is not there.
    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool>;

    /// The grants that are kept, oldest first.
    fn grants(&self) -> Result<Vec<GrantRow>>;
}
