//! Records as a live host delivers them: a few at a time, each delivery one durable transaction.

use std::sync::Arc;

use unforget_core::digest::Chain;
use unforget_core::entry::Entry;
use unforget_core::id::{ConversationId, Position, Seq, Thread};
use unforget_store::{Append, NewConversation, OpenedBy, Packer, Snapshot, Target};
use unforget_wire::{Record, Source};

use super::crew::{Incoming, new_entry};
use super::lineage::Lineage;
use crate::{Engine, EngineError, index};

/// The writing end of one conversation, from its first record on.
pub struct Live {
    engine: Engine,
    conversation: ConversationId,
    target: Target,
    chain: Chain,
    lineage: Lineage,
    next: u64,
    length: u64,
    bytes: u64,
}

/// A record that is stored, with what a prompt needs of it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its place.
    pub seq: Seq,
    /// The entry that it follows.
    pub parent: Option<Seq>,
    /// Its lane.
    pub thread: Thread,
    /// What it says.
    pub entry: Arc<Entry>,
    /// Expected tokens, model-independent.
    pub tokens: u64,
}

impl Live {
    /// Opens a new generation of the conversation that `source` names.
    pub fn begin(engine: &Engine, source: &Source) -> Result<Self, EngineError> {
        let conversation = engine.store().ensure(&NewConversation {
            key: source.key.clone(),
            format: source.format.name().to_owned(),
            title: source.title.clone(),
            parent: source.parent.clone(),
        })?;
        let opened_by = if conversation.entries == 0 { OpenedBy::FirstSight } else { OpenedBy::Rotation };
        Ok(Self {
            engine: engine.clone(),
            conversation: conversation.id,
            target: Target::Open { parent: None, opened_by },
            chain: Chain::root(),
            lineage: Lineage::default(),
            next: conversation.entries,
            length: 0,
            bytes: 0,
        })
    }

    /// The conversation.
    pub const fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// Stores a delivery. When this returns, it survives power loss.
    ///
    /// * `snapshot` - set with the last delivery of a file: makes it exportable.
    ///
    /// Cost: O(delivery), whatever the history.
    pub fn append(&mut self, records: Vec<Record>, snapshot: Option<Snapshot>) -> Result<Vec<Stored>, EngineError> {
        let mut stored = Vec::with_capacity(records.len());
        let dictionary = self.engine.store().dictionary();
        let mut packer = Packer::new(&index::filter, dictionary.as_deref());
        for record in records {
            let seq = Seq(self.next + stored.len() as u64);
            let standing = self.lineage.place(&record.entry, seq);
            self.chain = self.chain.next(&record.lead, &record.body);
            let start = self.bytes + record.lead.len() as u64;
            self.bytes = start + record.body.len() as u64;
            let entry = Arc::new(record.entry.clone());
            let (parent, thread) = (standing.parent, standing.thread);
            let incoming = Incoming { record, seq, standing, chain: self.chain, bytes: start..self.bytes };
            let new = new_entry(incoming);
            stored.push(Stored { seq, parent, thread, entry, tokens: new.row.tokens.expected });
            packer.push(new);
        }
        let count = stored.len() as u64;
        let packed = packer.finish();
        let (conversation, target) = (self.conversation, self.target);
        let snapshot = snapshot.map(|snapshot| Snapshot { length: self.length + count, ..snapshot });
        let receipt =
            self.engine.store().append(Append { conversation, target, packed, snapshot, context: None })?;
        self.next += count;
        self.length += count;
        self.target = Target::Extend(receipt.generation, self.length);
        Ok(stored)
    }

    /// The generation written to and its length.
    pub const fn position(&self) -> Position {
        Position(self.length)
    }
}
