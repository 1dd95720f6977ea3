//! The calls of models that transcripts record, each once, with where they are stored.

use std::collections::HashSet;
use std::iter::once;

use unforget_core::id::{ConversationKey, Timestamp};
use unforget_store::{Conversation, read_all};
use unforget_wire::{Format, RecordedCall, UsageReader};

use crate::rows::stored_portions;
use crate::{Engine, EngineError};

/// A call of a model that a transcript records.
#[derive(Clone, Debug)]
pub struct StoredCall<'a> {
    /// The conversation.
    pub conversation: &'a ConversationKey,
    /// The agent that made it: see [`Engine::agent_of`].
    pub agent: &'a str,
    /// The call.
    pub call: RecordedCall,
}

impl Engine {
    /// Reads the recorded calls of all conversations that were active at or after a time. A copy of a call, such as in a
    /// fork, is not read again; a purged record has no call.
    ///
    /// Cost: O(bytes) of the transcripts that record usage. Memory: some 4 MiB, and an id per call.
    ///
    /// * `since` - skips conversations without a later entry; their calls have to be compared with it by the caller.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn recorded_calls(
        &self,
        since: Option<Timestamp>,
        each: &mut dyn FnMut(StoredCall<'_>),
    ) -> Result<(), EngineError> {
        let mut seen = HashSet::new();
        for conversation in read_all(|page| self.store().conversations(page))? {
            let is_old = since.is_some_and(|since| conversation.time.is_some_and(|(_, last)| last < since));
            let format = Format::by_name(&conversation.format).filter(|_| !is_old);
            if let Some(format) = format
                && let Some(reader) = UsageReader::new(format)
            {
                let agent = self.agent_of(&conversation)?;
                self.calls_of(&conversation, reader, &mut |call| {
                    if seen.insert(format!("{} {}", format.name(), call.id)) {
                        each(StoredCall { conversation: &conversation.key, agent: &agent, call });
                    }
                })?;
            }
        }
        Ok(())
    }

    fn calls_of(
        &self,
        conversation: &Conversation,
        mut reader: UsageReader,
        each: &mut dyn FnMut(RecordedCall),
    ) -> Result<(), EngineError> {
        let (store, id) = (self.store(), conversation.id);
        // Rewound entries were paid for too.
        for portion in stored_portions(store, id, once(0..conversation.entries)) {
            for raw in portion?.raw(store, id)? {
                if let Ok(record) = std::str::from_utf8(&raw.body)
                    && let Some(call) = reader.read(record)
                {
                    each(call);
                }
            }
        }
        if let Some(call) = reader.finish() {
            each(call);
        }
        Ok(())
    }
}
