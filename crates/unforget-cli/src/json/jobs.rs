//! Jobs of models.

use serde::Serialize;
use unforget_engine::summarise::Report;

/// A job.
#[derive(Debug, Serialize)]
pub(crate) struct JobJson {
    pub(crate) name: String,
    pub(crate) level: u8,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) state: &'static str,
    pub(crate) attempts: u32,
    pub(crate) why: String,
}

/// A job that was worked on.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson {
    name: String,
    ended: &'static str,
    why: String,
    model: Option<String>,
    calls: u64,
    refused: Vec<&'static str>,
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

/// All jobs of a conversation.
#[derive(Debug, Serialize)]
pub(crate) struct JobsJson {
    pub(crate) conversation: String,
    pub(crate) ran: Vec<RunJson>,
    pub(crate) dropped: u64,
    pub(crate) calls: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) jobs: Vec<JobJson>,
}
