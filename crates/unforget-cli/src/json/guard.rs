//! Problems of transcripts, and repairs.

use std::path::Path;

use serde::Serialize;
use unforget_guard::{Action, Finding, Inspection, Outcome, Repair};

/// An inspected file.
#[derive(Debug, Serialize)]
pub(crate) struct InspectionJson {
    path: String,
    format: &'static str,
    known: bool,
    bytes: u64,
    records: usize,
    worst: Option<&'static str>,
    findings: Vec<TranscriptFindingJson>,
}

/// A finding.
#[derive(Debug, Serialize)]
pub(crate) struct TranscriptFindingJson {
    problem: &'static str,
    severity: &'static str,
    line: u64,
    bytes: BytesJson,
    entry: Option<String>,
    name: Option<String>,
    what: &'static str,
    consequence: &'static str,
    mended: bool,
}

/// A range of bytes.
#[derive(Debug, Serialize)]
struct BytesJson {
    start: u64,
    end: u64,
}

/// A repair.
#[derive(Debug, Serialize)]
pub(crate) struct RepairJson {
    path: String,
    outcome: &'static str,
    backup: Option<String>,
    carried: u64,
    actions: Vec<ActionJson>,
    findings: Vec<TranscriptFindingJson>,
}

/// A step of a repair.
#[derive(Debug, Serialize)]
struct ActionJson {
    line: u64,
    problem: &'static str,
    what: String,
    old: Option<String>,
    new: Option<String>,
}

/// A repair that was undone.
#[derive(Debug, Serialize)]
pub(crate) struct UndoneJson {
    path: String,
    outcome: &'static str,
    backup: String,
}

/// The sums over all files.
#[derive(Debug, Serialize)]
pub(crate) struct SurveySumJson {
    /// The figures.
    pub(crate) sum: SurveySum,
}

/// The sums over all inspected files.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct SurveySum {
    /// Number of transcripts.
    pub(crate) files: u64,
    /// Number of other files in folders.
    pub(crate) skipped: u64,
    /// Number of unreadable files.
    pub(crate) failed: u64,
    /// Number of files with a problem that is more than unusual.
    pub(crate) unsound: u64,
    /// Number of findings.
    pub(crate) findings: u64,
    /// Number of findings that `repair` mends.
    pub(crate) mendable: u64,
    /// Bytes of the transcripts.
    pub(crate) bytes: u64,
    /// Duration in milliseconds.
    pub(crate) elapsed_ms: u64,
    /// Bytes per microsecond.
    pub(crate) mb_per_s: f64,
}

impl From<&Inspection> for InspectionJson {
    fn from(inspection: &Inspection) -> Self {
        Self {
            path: shown(&inspection.path),
            format: inspection.format.name(),
            known: inspection.is_known,
            bytes: inspection.bytes,
            records: inspection.records,
            worst: inspection.worst().map(unforget_guard::Severity::name),
            findings: inspection.findings.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Finding> for TranscriptFindingJson {
    fn from(finding: &Finding) -> Self {
        Self {
            problem: finding.problem.name(),
            severity: finding.severity.name(),
            line: finding.line,
            bytes: BytesJson { start: finding.bytes.start, end: finding.bytes.end },
            entry: finding.entry.clone(),
            name: finding.name.clone(),
            what: finding.problem.what(),
            consequence: finding.problem.consequence(),
            mended: finding.is_mended,
        }
    }
}

impl From<&Action> for ActionJson {
    fn from(action: &Action) -> Self {
        Self {
            line: action.line,
            problem: action.problem.name(),
            what: action.what.clone(),
            old: action.old.clone(),
            new: action.new.clone(),
        }
    }
}

impl From<&Repair> for RepairJson {
    fn from(repair: &Repair) -> Self {
        let (outcome, backup, carried) = match &repair.outcome {
            Outcome::Sound => ("sound", None, 0),
            Outcome::Planned => ("planned", None, 0),
            Outcome::Mended { backup, carried } => ("mended", Some(shown(backup)), *carried),
        };
        Self {
            path: shown(&repair.inspection.path),
            outcome,
            backup,
            carried,
            actions: repair.actions.iter().map(Into::into).collect(),
            findings: repair.inspection.findings.iter().map(Into::into).collect(),
        }
    }
}

impl UndoneJson {
    /// * `backup` - the restored backup.
    pub(crate) fn new(path: &Path, backup: &Path) -> Self {
        Self { path: shown(path), outcome: "undone", backup: shown(backup) }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
