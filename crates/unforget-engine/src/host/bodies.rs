//! The messages of a lane that its prompts show, kept between prompts.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use unforget_core::id::{ConversationId, Seq};
use unforget_wire::{Format, decode, journal};

use super::emit::Stored;
use crate::trust::portions;
use crate::{Engine, EngineError};

/// Entries that are read together: they lie in few chunks, and neighbours are shown together.
const TOGETHER: u64 = 128;

/// Reads messages once and keeps those of the last prompt.
pub(super) struct Bodies {
    engine: Engine,
    conversation: ConversationId,
    kept: RefCell<HashMap<Seq, Option<Stored>>>,
    failed: RefCell<Option<EngineError>>,
}

impl Bodies {
    pub(super) fn new(engine: &Engine, conversation: ConversationId) -> Self {
        Self { engine: engine.clone(), conversation, kept: RefCell::default(), failed: RefCell::default() }
    }

    /// The message of an entry: its bytes and what they say. `None` if it has none, or cannot be read:
    /// see [`Bodies::check`].
    pub(super) fn get(&self, seq: Seq) -> Option<Stored> {
        if let Some(known) = self.kept.borrow().get(&seq) {
            return known.clone();
        }
        if let Err(error) = self.read(seq) {
            self.failed.borrow_mut().get_or_insert(error);
        }
        self.kept.borrow_mut().entry(seq).or_default().clone()
    }

    /// Reads an entry and those behind it, up to some megabytes.
    fn read(&self, seq: Seq) -> Result<(), EngineError> {
        let store = self.engine.store();
        let together = portions(store, self.conversation, seq.0..seq.0 + TOGETHER)?;
        let Some(first) = together.into_iter().next() else { return Ok(()) };
        let mut kept = self.kept.borrow_mut();
        for raw in store.raw(self.conversation, first.seqs)? {
            kept.entry(raw.seq).or_insert_with(|| {
                let message = journal::read_line(&raw.body).message?;
                Some((message, Arc::new(decode(Format::Journal, &raw.body))))
            });
        }
        Ok(())
    }

    /// Fails with the first error of reading: what was made from these messages may lack some.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Forgets all but these.
    pub(super) fn keep(&self, shown: &BTreeSet<Seq>) {
        self.kept.borrow_mut().retain(|seq, _| shown.contains(seq));
    }
}
