//! Jobs of models, and what was decided.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unforget_engine::summarise::{Ended, Report};
use unforget_store::{BreakerRow, DecisionRow, JobRow, Spend};
use utoipa::ToSchema;

use super::iso;

/// A job.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobJson {
    /// Name of the summary.
    pub name: String,
    level: u8,
    /// First entry that it stands for.
    pub first: u64,
    /// Last entry that it stands for.
    pub last: u64,
    /// `waiting`, `leased`, `done` or `given-up`.
    pub state: Cow<'static, str>,
    /// Since or until when: see the state.
    time: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// What went wrong last; may be empty.
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
    /// Name of the summary.
    pub name: String,
    /// How it ended.
    pub ended: Cow<'static, str>,
    /// What went wrong last; may be empty.
    pub why: String,
    model: Option<String>,
    calls: u64,
    refused: Vec<Cow<'static, str>>,
}

impl RunJson {
    /// Whether it is written now.
    pub fn is_written(&self) -> bool {
        self.ended == Ended::Written.name()
    }
}

impl From<&Report> for RunJson {
    fn from(report: &Report) -> Self {
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

/// An account that was ever called, and whether it may be.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AccountJson {
    /// Its address, or what it is.
    pub provider: String,
    /// Where its key is, and eight digits of the key's digest.
    pub credential: String,
    /// Whether it may be called.
    pub state: String,
}

impl From<BreakerRow> for AccountJson {
    fn from(row: BreakerRow) -> Self {
        Self { provider: row.provider, credential: row.credential, state: row.state }
    }
}

/// What an hour cost.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SpentJson {
    /// Calls of models.
    pub calls: u64,
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
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
    /// What models did just now.
    pub ran: Vec<RunJson>,
    /// Why jobs wait that are due; null if none does.
    pub held: Option<String>,
    /// Jobs dropped just now.
    pub dropped: u64,
    /// What was spent in this hour.
    pub hour: SpentJson,
    /// Accounts with providers, and whether they are asked.
    pub accounts: Vec<AccountJson>,
}

/// What was decided about a prompt or a summary.
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

/// What models did when they were asked to.
#[derive(Debug, Default)]
pub struct Worked {
    /// One per job.
    pub ran: Vec<RunJson>,
    /// Why jobs that are due were not done, if there are any.
    pub held: Option<String>,
}
