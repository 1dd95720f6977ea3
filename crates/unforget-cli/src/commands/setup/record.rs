//! What `setup` put into files, so that it can be taken out again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::addition::Addition;
use crate::failure::{Failure, Outcome};

/// The record, as a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    /// What was done.
    pub(super) files: Vec<RecordedFile>,
}

/// A file that something was added to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    /// The agent, or `service`.
    pub(super) owner: String,
    /// The file.
    pub(super) path: PathBuf,
    /// The file's text before setup; `None` without a file.
    pub(super) original: Option<String>,
    /// Digest of its text afterwards, in hex.
    pub(super) digest: String,
    /// What was added.
    pub(super) additions: Vec<Addition>,
}

impl SetupRecord {
    /// # Errors
    /// If the record is there and cannot be read.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::file(path, &error)),
        };
        serde_json::from_str(&text).map_err(|error| {
            let hint = "it tells what setup did; delete it if nothing has to be undone";
            Failure::input("file", format!("{}: {error}", path.display()), hint)
        })
    }

    /// The record of a file.
    pub(super) fn of(&self, owner: &str, path: &Path) -> Option<&RecordedFile> {
        self.files.iter().find(|file| file.owner == owner && file.path == path)
    }

    /// Records a file in the place of its earlier record; removes the record for `None`.
    pub(super) fn put(&mut self, owner: &str, path: &Path, file: Option<RecordedFile>) {
        self.files.retain(|one| one.owner != owner || one.path != path);
        self.files.extend(file);
    }
}
