//! Failures of tools, as text for a model.

use unforget_engine::EngineError;
use unforget_store::StoreError;

use super::show::label;
use crate::failed::{Failed, FailureKind};

/// Why a call failed, and the advised next step. Both are labels: an error may name conversations as their hosts did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    what: String,
    next: String,
}

impl Trouble {
    pub(super) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: label(&what.into(), usize::MAX), next: label(&next.into(), usize::MAX) }
    }

    /// Both, for a model.
    pub(super) fn text(&self) -> String {
        format!("{}\nNext: {}", self.what, self.next)
    }

    /// Both on one line, for a protocol's error.
    pub(super) fn line(&self) -> String {
        format!("{}. Next: {}", self.what, self.next)
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        let has_near = matches!(&error, EngineError::NoConversation { near, .. } if !near.is_empty());
        let failed = Failed::from(error);
        let next = match failed.kind {
            FailureKind::NoConversation if !has_near => {
                "describe without a name lists the conversations".to_owned()
            }
            FailureKind::Busy | FailureKind::ReadOnly => {
                "end the process that owns the database, or ask it".to_owned()
            }
            FailureKind::Moved | FailureKind::Store => "call the tool again".to_owned(),
            _ => failed.hint,
        };
        Self::new(failed.message, next)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}
