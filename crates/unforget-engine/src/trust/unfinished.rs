//! Conversations whose files were not read to their ends.

use unforget_store::{Conversation, Snapshot};
use unforget_wire::Format;

use crate::{Engine, EngineError};

impl Engine {
    /// Whether the import of a conversation was interrupted: it has entries behind the end of its latest snapshot, or no snapshot.
    /// What a live host or the gateway delivers never was a file.
    ///
    /// Cost: one row.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn is_unfinished(&self, conversation: &Conversation) -> Result<bool, EngineError> {
        Ok(is_unfinished(conversation, self.store().latest_snapshot(conversation.id)?.as_ref()))
    }
}

/// See [`Engine::is_unfinished`].
pub(super) fn is_unfinished(conversation: &Conversation, latest: Option<&Snapshot>) -> bool {
    let is_file = conversation.entries > 0 && conversation.format != Format::Journal.name();
    is_file
        && latest.is_none_or(|latest| {
            latest.generation == conversation.current && latest.length < conversation.length
        })
}
