//! Messages that prompts of a lane show, cached between prompts.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::iter::once;
use std::sync::Arc;

use unforget_core::entry::Entry;
use unforget_core::id::{ConversationId, Seq};
use unforget_wire::{Format, decode, journal};

use super::emit::StoredMessage;
use crate::journal::WrittenLine;
use crate::rows::stored_portions;
use crate::{Engine, EngineError};

/// Number of entries that are read together: neighbours lie in the same chunks and are shown together.
const TOGETHER: u64 = 128;

/// A cache of the messages of the last prompt.
pub(super) struct Bodies {
    engine: Engine,
    conversation: ConversationId,
    kept: RefCell<HashMap<Seq, Option<StoredMessage>>>,
    /// Lines that were written since the last prompt: the next one shows them.
    written: RefCell<HashMap<Seq, (String, Arc<Entry>)>>,
    failed: RefCell<Option<EngineError>>,
}

impl Bodies {
    pub(super) fn new(engine: &Engine, conversation: ConversationId) -> Self {
        Self {
            engine: engine.clone(),
            conversation,
            kept: RefCell::default(),
            written: RefCell::default(),
            failed: RefCell::default(),
        }
    }

    /// The message of an entry. `None` if the entry has none, or could not be read: see [`Bodies::check`].
    pub(super) fn get(&self, seq: Seq) -> Option<StoredMessage> {
        if let Some(known) = self.kept.borrow().get(&seq) {
            return known.clone();
        }
        if let Some((text, entry)) = self.written.borrow_mut().remove(&seq) {
            let message = journal::read_line(text.as_bytes()).message.map(|message| (message, entry));
            self.kept.borrow_mut().insert(seq, message.clone());
            return message;
        }
        if let Err(error) = self.read(seq) {
            self.failed.borrow_mut().get_or_insert(error);
        }
        self.kept.borrow_mut().entry(seq).or_default().clone()
    }

    /// Reads an entry and its successors, up to some megabytes.
    fn read(&self, seq: Seq) -> Result<(), EngineError> {
        let store = self.engine.store();
        let together = once(seq.0..seq.0 + TOGETHER);
        let Some(first) = stored_portions(store, self.conversation, together).next() else { return Ok(()) };
        let mut kept = self.kept.borrow_mut();
        for raw in first?.raw(store, self.conversation)? {
            kept.entry(raw.seq).or_insert_with(|| {
                let message = journal::read_line(&raw.body).message?;
                Some((message, Arc::new(decode(Format::Journal, &raw.body))))
            });
        }
        Ok(())
    }

    /// Returns the first read error: a prompt made since then may lack messages.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Takes a line that was just written. Of many lines between two prompts, the first ones.
    pub(super) fn add(&self, line: &WrittenLine) {
        let mut written = self.written.borrow_mut();
        if (written.len() as u64) < TOGETHER {
            written.insert(line.row.seq, (line.text.clone(), Arc::clone(&line.entry)));
        }
    }

    /// Drops all messages but these.
    pub(super) fn keep(&self, shown: &BTreeSet<Seq>) {
        self.written.borrow_mut().clear();
        self.kept.borrow_mut().retain(|seq, _| shown.contains(seq));
    }
}
