//! One object per file of `import`.

use std::path::Path;

use serde::Serialize;
use unforget_engine::import::Imported;
use unforget_wire::Warning;
use utoipa::ToSchema;

/// An imported file.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportedJson {
    path: String,
    format: &'static str,
    conversation: String,
    parent: Option<String>,
    plan: &'static str,
    generation: u64,
    snapshot: u64,
    entries: u64,
    added: u64,
    bytes: u64,
    unchanged: bool,
    warnings: Vec<WarningJson>,
    warnings_total: u64,
}

/// An irregularity in a file.
#[derive(Debug, Serialize, ToSchema)]
struct WarningJson {
    line: u64,
    byte: u64,
    bytes: u64,
    what: String,
}

impl From<&Warning> for WarningJson {
    fn from(warning: &Warning) -> Self {
        let Warning { place, bytes, what } = warning;
        Self { line: place.line, byte: place.byte, bytes: *bytes, what: what.clone() }
    }
}

impl From<&Imported> for ImportedJson {
    fn from(imported: &Imported) -> Self {
        Self {
            path: imported.path.display().to_string(),
            format: imported.format.name(),
            conversation: imported.conversation.0.clone(),
            parent: imported.parent.as_ref().map(|key| key.0.clone()),
            plan: imported.plan.name(),
            generation: imported.generation.0,
            snapshot: imported.snapshot,
            entries: imported.entries,
            added: imported.added,
            bytes: imported.bytes,
            unchanged: imported.skipped_unchanged,
            warnings: imported.warnings.first.iter().map(WarningJson::from).collect(),
            warnings_total: imported.warnings.count,
        }
    }
}

/// A skipped file of a folder, which is no transcript.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkippedJson {
    path: String,
    skipped: String,
}

impl SkippedJson {
    /// * `why` - what the file is instead.
    pub fn new(path: &Path, why: &str) -> Self {
        Self { path: path.display().to_string(), skipped: why.to_owned() }
    }
}
