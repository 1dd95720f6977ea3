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
                // Rewound entries were paid for too.
                self.calls_in(&conversation, 0, reader, &mut |call| {
                    if seen.insert(format!("{} {}", format.name(), call.id)) {
                        each(StoredCall { conversation: &conversation.key, agent: &agent, call });
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Reads the recorded calls from an entry on.
    fn calls_in(
        &self,
        conversation: &Conversation,
        first: u64,
        mut reader: UsageReader,
        each: &mut dyn FnMut(RecordedCall),
    ) -> Result<(), EngineError> {
        let (store, id) = (self.store(), conversation.id);
        for portion in stored_portions(store, id, once(first..conversation.entries)) {
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

/// Rows that are read at once on the way back to a time.
const PAGE: u64 = 512;

/// Newest records of a conversation in which its model is looked for.
const LOOKED_AT: u64 = 256;

impl Engine {
    /// Reads the recorded calls at or after a time, like [`Engine::recorded_calls`], from the entries since then alone.
    ///
    /// Cost: O(conversations), and O(bytes) of the entries since the time.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn calls_since(
        &self,
        since: Timestamp,
        each: &mut dyn FnMut(StoredCall<'_>),
    ) -> Result<(), EngineError> {
        let mut seen = HashSet::new();
        for conversation in read_all(|page| self.store().conversations(page))? {
            let is_new = conversation.time.is_some_and(|(_, last)| last >= since);
            let format = Format::by_name(&conversation.format).filter(|_| is_new);
            let Some((format, reader)) = format.and_then(|format| Some((format, UsageReader::new(format)?)))
            else {
                continue;
            };
            let agent = self.agent_of(&conversation)?;
            let first = self.first_since(&conversation, since)?;
            self.calls_in(&conversation, first, reader, &mut |call| {
                let is_since = call.time.is_some_and(|time| time >= since);
                if is_since && seen.insert(format!("{} {}", format.name(), call.id)) {
                    each(StoredCall { conversation: &conversation.key, agent: &agent, call });
                }
            })?;
        }
        Ok(())
    }

    /// The first entry behind the last one that is older than a time.
    fn first_since(&self, conversation: &Conversation, since: Timestamp) -> Result<u64, EngineError> {
        let mut end = conversation.entries;
        while end > 0 {
            let from = end.saturating_sub(PAGE);
            let rows = self.store().rows(conversation.id, from..end)?;
            let older = rows.iter().rev().find(|row| row.time.is_some_and(|time| time < since));
            if let Some(older) = older {
                return Ok(older.seq.0 + 1);
            }
            end = from;
        }
        Ok(0)
    }

    /// The model of the newest recorded call of a conversation; `None` if its newest records name none.
    ///
    /// Cost: O(bytes) of the newest 256 entries.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn newest_model(&self, conversation: &Conversation) -> Result<Option<String>, EngineError> {
        let format = Format::by_name(&conversation.format);
        let Some(reader) = format.and_then(UsageReader::new) else { return Ok(None) };
        let mut newest = None;
        let first = conversation.entries.saturating_sub(LOOKED_AT);
        self.calls_in(conversation, first, reader, &mut |call| newest = call.model.or(newest.take()))?;
        Ok(newest)
    }
}
