//! Jobs of models, and what was decided.

use serde::Serialize;
use unforget_engine::summarise::{Ended, Report};
use unforget_store::{BreakerRow, DecisionRow, JobRow, Spend};

use crate::text::iso;

/// A job.
#[derive(Debug, Serialize)]
pub(crate) struct JobJson {
    pub(crate) name: String,
    level: u8,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) state: &'static str,
    /// Since or until when: see the state.
    time: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) why: String,
}

impl From<JobRow> for JobJson {
    fn from(job: JobRow) -> Self {
        Self {
            name: unforget_engine::recall::summary_name(&job.key),
            level: job.key.level,
            first: job.span.0.0,
            last: job.span.1.0,
            state: job.state.name(),
            time: iso(job.state.time()),
            attempts: job.attempts,
            why: job.why,
        }
    }
}

/// A job that was worked on.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson {
    pub(crate) name: String,
    pub(crate) ended: &'static str,
    pub(crate) why: String,
    model: Option<String>,
    calls: u64,
    refused: Vec<&'static str>,
}

impl RunJson {
    /// Whether it is written now.
    pub(crate) fn is_written(&self) -> bool {
        self.ended == Ended::Written.name()
    }
}

impl From<&Report> for RunJson {
    fn from(report: &Report) -> Self {
        Self {
            name: report.name.clone(),
            ended: report.ended.name(),
            why: report.why.clone(),
            model: report.model.clone(),
            calls: report.spent.calls,
            refused: report.refused.iter().map(|flaw| flaw.name()).collect(),
        }
    }
}

/// An account that was ever called, and whether it may be.
#[derive(Debug, Serialize)]
pub(crate) struct AccountJson {
    provider: String,
    credential: String,
    state: String,
}

impl From<BreakerRow> for AccountJson {
    fn from(row: BreakerRow) -> Self {
        Self { provider: row.provider, credential: row.credential, state: row.state }
    }
}

/// What an hour cost.
#[derive(Debug, Serialize)]
pub(crate) struct SpentJson {
    pub(crate) calls: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    money: f64,
}

impl From<Spend> for SpentJson {
    fn from(spent: Spend) -> Self {
        let Spend { calls, input, output, micros } = spent;
        Self { calls, input, output, money: micros as f64 / 1_000_000.0 }
    }
}

/// All jobs of a conversation.
#[derive(Debug, Serialize)]
pub(crate) struct JobsJson {
    pub(crate) conversation: String,
    pub(crate) jobs: Vec<JobJson>,
    pub(crate) ran: Vec<RunJson>,
    pub(crate) dropped: u64,
    pub(crate) hour: SpentJson,
    pub(crate) accounts: Vec<AccountJson>,
}

/// What was decided about a prompt or a summary.
#[derive(Debug, Serialize)]
pub(crate) struct DecisionJson {
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
#[derive(Debug, Serialize)]
pub(crate) struct DecisionsJson {
    pub(crate) conversation: String,
    pub(crate) decisions: Vec<DecisionJson>,
}
