//! Stores records as a live host delivers them: a few at a time, each delivery in one durable transaction.

use std::sync::Arc;

use unforget_core::entry::Entry;
use unforget_core::id::{ConversationId, Generation, Position, Seq, Thread};
use unforget_store::{EntryRow, NewConversation, OpenedBy, Snapshot, Target, read_all};
use unforget_wire::{Record, Source};

use super::lineage::Lineage;
use crate::append::{Appender, Attached, ConversationLock, TranscriptEnd, pack};
use crate::{Engine, EngineError};

/// Appends to one conversation, from its first record on.
///
/// Stored records are recognised by their chain and skipped, so an interrupted delivery is simply repeated.
pub struct Live {
    engine: Engine,
    conversation: ConversationId,
    target: Target,
    /// The stored part of the transcript, as far as compared.
    known: Compared,
    end: TranscriptEnd,
    lineage: Lineage,
    next: u64,
    length: u64,
}

/// Extent of the stored part of a transcript.
#[derive(Clone, Copy)]
enum Compared {
    /// No record was compared yet.
    Nothing,
    /// All records so far are stored and end at this length of this generation.
    Prefix(Generation, u64),
    /// The records from here on are new.
    Passed,
}

/// A stored record with the data needed for a prompt.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its seq.
    pub seq: Seq,
    /// The entry that it follows.
    pub parent: Option<Seq>,
    /// Its lane.
    pub thread: Thread,
    /// Its content.
    pub entry: Arc<Entry>,
    /// Expected tokens, independent of the model.
    pub tokens: u64,
}

impl Live {
    /// Begins at the first record of the conversation named by `source`.
    pub fn begin(engine: &Engine, source: &Source) -> Result<Self, EngineError> {
        let conversation = engine.store().ensure(&NewConversation {
            key: source.key.clone(),
            format: source.format.name().to_owned(),
            title: source.title.clone(),
            parent: source.parent.clone(),
        })?;
        Ok(Self {
            engine: engine.clone(),
            conversation: conversation.id,
            target: Target::Open { parent: None, opened_by: OpenedBy::FirstSight },
            known: if conversation.entries > 0 { Compared::Nothing } else { Compared::Passed },
            end: TranscriptEnd::start(),
            lineage: Lineage::default(),
            next: conversation.entries,
            length: 0,
        })
    }

    /// The conversation.
    pub const fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// Stores a delivery, which survives a loss of power once this function returns.
    ///
    /// * `snapshot` - set with the last delivery of a file, to make the file exportable.
    ///
    /// Cost: O(delivery), independent of the history.
    pub fn append(
        &mut self,
        records: Vec<Record>,
        snapshot: Option<Snapshot>,
    ) -> Result<Vec<Stored>, EngineError> {
        let lock = ConversationLock::of(self.conversation);
        let (mut stored, mut new) = (Vec::with_capacity(records.len()), Vec::new());
        for record in records {
            let chained = self.end.pass(record);
            let entry = Arc::new(chained.record.entry.clone());
            if let Some(row) = self.recognise()? {
                let standing = self.lineage.place(&entry, row.seq);
                let (parent, thread) = (standing.parent, standing.thread);
                stored.push(Stored { seq: row.seq, parent, thread, entry, tokens: row.tokens.expected });
                continue;
            }
            let seq = Seq(self.next + new.len() as u64);
            let standing = self.lineage.place(&entry, seq);
            let (parent, thread) = (standing.parent, standing.thread);
            let placed = chained.at(seq, thread, parent).into_entry();
            stored.push(Stored { seq, parent, thread, entry, tokens: placed.row.tokens.expected });
            new.push(placed);
        }
        let count = new.len() as u64;
        if count == 0 && snapshot.is_none() {
            return Ok(stored);
        }
        let store = self.engine.store();
        let packed = pack(store.dictionary().as_deref(), new);
        let snapshot = snapshot.map(|snapshot| Snapshot { length: self.length + count, ..snapshot });
        let mut appender = Appender::new(store, self.conversation, lock, self.target, Seq(self.next));
        appender.append(packed, Attached { snapshot, ..Attached::nothing() })?;
        (self.target, self.next) = (appender.target(), appender.next().0);
        self.length = appender.length();
        Ok(stored)
    }

    /// The stored entry equal to the newest record, while all records before it are stored too. The first record
    /// without one decides where it and all later records are written.
    fn recognise(&mut self) -> Result<Option<EntryRow>, EngineError> {
        if matches!(self.known, Compared::Passed) {
            return Ok(None);
        }
        let store = self.engine.store();
        if let Some(row) = store.by_chain(self.conversation, self.end.chain)? {
            self.length = row.position.0 + 1;
            self.known = Compared::Prefix(row.generation, self.length);
            self.target = Target::Extend(row.generation, self.length);
            return Ok(Some(row));
        }
        let Compared::Prefix(generation, length) = std::mem::replace(&mut self.known, Compared::Passed)
        else {
            self.target = Target::Open { parent: None, opened_by: OpenedBy::Rotation };
            return Ok(None);
        };
        let generations = read_all(|page| store.generations(self.conversation, page))?;
        let whole = generations.iter().any(|row| row.number == generation && row.length == length);
        if !whole {
            let parent = Some((generation, Position(length)));
            self.target = Target::Open { parent, opened_by: OpenedBy::Branch };
        }
        Ok(None)
    }
}
