//! The output of `--json`. Fields are added, never renamed. Types shared with the HTTP API are in
//! [`unforget_server::json`].

mod failed;
mod guard;
mod listed;
mod report;

use serde::Serialize;

use crate::failure::Failure;

pub(crate) use failed::FailedJson;
pub(crate) use guard::{InspectionJson, RepairJson, SurveySum, SurveySumJson, UndoneJson};
pub(crate) use listed::ListedJson;
pub(crate) use report::ReportJson;
pub(crate) use unforget_server::json::*;

/// A failure.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorJson {
    error: ErrorFields,
}

/// The fields of a failure.
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
