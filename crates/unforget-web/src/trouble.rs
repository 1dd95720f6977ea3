//! Why a view cannot be shown.

use unforget_engine::EngineError;
use unforget_server::failed::Failed;
use unforget_server::play_cache::PlayedTrouble;
use unforget_store::StoreError;

/// Why a view cannot be shown, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) status: u16,
    pub(crate) what: String,
    pub(crate) next: String,
}

impl Trouble {
    pub(crate) fn new(status: u16, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { status, what: what.into(), next: next.into() }
    }

    /// A defect of ours.
    pub(crate) fn ours() -> Self {
        Self::new(500, "this view failed", "the log of the daemon has the cause: unforget logs")
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        let failed = Failed::from(error);
        Self::new(failed.kind.status(), failed.message, failed.hint)
    }
}

impl From<PlayedTrouble> for Trouble {
    fn from(trouble: PlayedTrouble) -> Self {
        Self::new(trouble.status, trouble.what, trouble.next)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        let failed = Failed::from(error);
        Self::new(failed.kind.status(), failed.message, failed.hint)
    }
}
