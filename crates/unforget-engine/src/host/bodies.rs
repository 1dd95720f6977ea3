//! The messages of a lane that its prompts show, kept between prompts.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use unforget_core::id::{ConversationId, Seq};
use unforget_wire::{Format, decode, journal};

use super::emit::Stored;
use crate::Engine;
use crate::trust::portions;

/// Entries that are read together: they lie in few chunks, and neighbours are shown together.
const TOGETHER: u64 = 128;

/// Reads messages once and keeps those of the last prompt.
pub(super) struct Bodies {
    engine: Engine,
    conversation: ConversationId,
    kept: RefCell<HashMap<Seq, Option<Stored>>>,
}

impl Bodies {
    pub(super) fn new(engine: &Engine, conversation: ConversationId) -> Self {
        Self { engine: engine.clone(), conversation, kept: RefCell::default() }
    }

    /// The message of an entry: its bytes and what they say. `None` if it has none, or cannot be read.
    pub(super) fn get(&self, seq: Seq) -> Option<Stored> {
        if let Some(known) = self.kept.borrow().get(&seq) {
            return known.clone();
        }
        self.read(seq);
        self.kept.borrow_mut().entry(seq).or_default().clone()
    }

    /// Reads an entry and those behind it, up to some megabytes.
    fn read(&self, seq: Seq) {
        let store = self.engine.store();
        let together = portions(store, self.conversation, seq.0..seq.0 + TOGETHER).unwrap_or_default();
        let Some(first) = together.into_iter().next() else { return };
        let mut kept = self.kept.borrow_mut();
        for raw in store.raw(self.conversation, first.seqs).unwrap_or_default() {
            kept.entry(raw.seq).or_insert_with(|| {
                let message = journal::read_line(&raw.body).message?;
                Some((message, Arc::new(decode(Format::Journal, &raw.body))))
            });
        }
    }

    /// Forgets all but these.
    pub(super) fn keep(&self, shown: &BTreeSet<Seq>) {
        self.kept.borrow_mut().retain(|seq, _| shown.contains(seq));
    }
}
