//! Jobs of models, and decisions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unforget_engine::summarise::{JobOutcome, JobReport};
use unforget_store::{BreakerRow, DecisionRow, JobRow, Spend};
use utoipa::ToSchema;

use super::iso;

/// A job.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobJson {
    /// Key of the summary.
    pub name: String,
    level: u8,
    /// First entry of its span.
    pub first: u64,
    /// Last entry of its span.
    pub last: u64,
    /// `waiting`, `leased`, `done` or `given-up`.
    pub state: Cow<'static, str>,
    /// Start or end of the state, depending on the state.
    time: Option<String>,
    /// Number of attempts.
    pub attempts: u32,
    /// The last failure; may be empty.
    pub why: String,
}

impl From<JobRow> for JobJson {
    fn from(job: JobRow) -> Self {
        Self {
            name: unforget_engine::recall::summary_name(&job.key),
            level: job.key.level,
            first: job.span.0.0,
            last: job.span.1.0,
            state: job.state.name().into(),
            time: iso(job.state.time()),
            attempts: job.attempts,
            why: job.why,
        }
    }
}

/// A job that was worked on.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RunJson {
    /// Key of the summary.
    pub name: String,
    /// The outcome.
    pub ended: Cow<'static, str>,
    /// The last failure; may be empty.
    pub why: String,
    model: Option<String>,
    calls: u64,
    refused: Vec<Cow<'static, str>>,
}

impl RunJson {
    /// Whether the summary is written now.
    pub fn is_written(&self) -> bool {
        self.ended == JobOutcome::Written.name()
    }
}

impl From<&JobReport> for RunJson {
    fn from(report: &JobReport) -> Self {
        Self {
            name: report.name.clone(),
            ended: report.ended.name().into(),
            why: report.why.clone(),
            model: report.model.clone(),
            calls: report.spent.calls,
            refused: report.refused.iter().map(|flaw| flaw.name().into()).collect(),
        }
    }
}

/// An account that was called before, and its state.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AccountJson {
    /// Its address or kind.
    pub provider: String,
    /// The place of its key, and eight digits of the key's digest.
    pub credential: String,
    /// Whether it may be called.
    pub state: String,
}

impl From<BreakerRow> for AccountJson {
    fn from(row: BreakerRow) -> Self {
        Self { provider: row.provider, credential: row.credential, state: row.state }
    }
}

/// The spend of an hour.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SpentJson {
    /// Number of model calls.
    pub calls: u64,
    /// Number of input tokens.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    money: f64,
}

impl From<Spend> for SpentJson {
    fn from(spent: Spend) -> Self {
        let Spend { calls, input, output, micros } = spent;
        Self { calls, input, output, money: micros as f64 / 1_000_000.0 }
    }
}

/// All jobs of a conversation.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobsJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Jobs, by summary.
    pub jobs: Vec<JobJson>,
    /// The work just done by models.
    pub ran: Vec<RunJson>,
    /// Why due jobs wait; null if none does.
    pub held: Option<String>,
    /// Number of jobs just dropped.
    pub dropped: u64,
    /// The spend of the current hour.
    pub hour: SpentJson,
    /// Accounts with providers, and their states.
    pub accounts: Vec<AccountJson>,
}

/// A decision about a prompt or a summary.
#[derive(Debug, Serialize, ToSchema)]
pub struct DecisionJson {
    number: u64,
    seq: u64,
    time: Option<String>,
    decided: String,
    looked: String,
    why: String,
}

impl From<&DecisionRow> for DecisionJson {
    fn from(row: &DecisionRow) -> Self {
        Self {
            number: row.number,
            seq: row.seq.0,
            time: iso(row.time),
            decided: row.decided.clone(),
            looked: row.looked.clone(),
            why: row.why.clone(),
        }
    }
}

/// The decisions of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct DecisionsJson {
    /// Key of the conversation.
    pub conversation: String,
    /// Decisions, oldest first.
    pub decisions: Vec<DecisionJson>,
}

/// The result of a request for models' work.
#[derive(Debug, Default)]
pub struct Worked {
    /// One per job.
    pub ran: Vec<RunJson>,
    /// Why due jobs were not done, if there are any.
    pub held: Option<String>,
}
