//! What `--json` prints. Fields are added, never renamed.

mod answer;
mod guard;
mod imported;
mod jobs;
mod ledger;
mod pins;
mod prompt;
mod recall;
mod report;
mod stored;
mod travel;

use serde::Serialize;

use crate::failure::Failure;

pub(crate) use answer::AnswerJson;
pub(crate) use guard::{InspectionJson, RepairJson, SurveySum, SurveySumJson, UndoneJson};
pub(crate) use imported::{FailedJson, ImportedJson, SkippedJson};
pub(crate) use jobs::{DecisionsJson, JobsJson, RunJson};
pub(crate) use ledger::{LedgerJson, LedgerRow, ledger_rows};
pub(crate) use pins::{PinJson, PinnedJson, PinsJson};
pub(crate) use prompt::{CertificateJson, CompactJson, PromptJson, violation};
pub(crate) use recall::{DescriptionJson, GrepJson, PageJson, SearchJson, id_of};
pub(crate) use report::ReportJson;
pub(crate) use stored::{
    ConversationJson, EntryJson, GenerationJson, PurgedJson, SnapshotJson, opened_by, origin, role,
};
pub(crate) use travel::{DiffJson, PromptsJson, RebuiltJson, RecipeJson, WhyJson};

/// A failure.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorJson {
    error: ErrorFields,
}

/// What went wrong.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorFields {
    kind: &'static str,
    message: String,
    hint: Option<String>,
    exit: u8,
}

impl ErrorJson {
    /// A failure as JSON.
    pub(crate) fn of(failure: &Failure) -> Self {
        Self { error: ErrorFields::of(failure) }
    }
}

impl ErrorFields {
    /// The fields of a failure.
    pub(crate) fn of(failure: &Failure) -> Self {
        Self {
            kind: failure.kind,
            message: failure.message.clone(),
            hint: Some(failure.hint.clone()).filter(|hint| !hint.is_empty()),
            exit: failure.exit as u8,
        }
    }
}
