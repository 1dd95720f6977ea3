//! Failures of tools, as text for a model.

use unforget_engine::EngineError;
use unforget_store::StoreError;

use crate::failed::{Failed, FailureKind};

/// Why a call failed, and the advised next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) what: String,
    pub(super) next: String,
}

impl Trouble {
    pub(super) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: next.into() }
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
