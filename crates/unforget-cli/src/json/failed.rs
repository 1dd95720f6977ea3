//! A file that `import` rejected.

use std::path::Path;

use serde::Serialize;

use super::ErrorFields;
use crate::failure::Failure;

/// A file that could not be imported.
#[derive(Debug, Serialize)]
pub(crate) struct FailedJson {
    path: String,
    error: ErrorFields,
}

impl FailedJson {
    /// * `failure` - the reason.
    pub(crate) fn new(path: &Path, failure: &Failure) -> Self {
        Self { path: path.display().to_string(), error: ErrorFields::of(failure) }
    }
}
