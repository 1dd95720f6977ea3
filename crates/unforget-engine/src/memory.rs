//! What sessions leave to their project, folded from the log and kept with each conversation.
//!
//! The memory of a session is derived data: it is stored with the position up to which it was folded, and a longer
//! history costs its new entries only. Rejected items are left out when the memory is read.

mod codec;

use unforget_core::id::{ConversationKey, Seq, Thread};
use unforget_store::{ContextRow, Conversation};
use unforget_text::{MemoryItem, MemoryKind, SessionMemory};

use crate::journal::STATE;
use crate::path::{parts, runs_of};
use crate::recall::VerdictCache;
use crate::rows::stored_row;
use crate::thread::{ThreadRef, decoded};
use crate::{Engine, EngineError, Folded};

/// Key of the memory under [`STATE`].
const MEMORY: u64 = 17;

/// Number of entries read at once.
const ROWS: u64 = 1_024;

/// What one session leaves to its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionItems {
    /// The conversation.
    pub conversation: ConversationKey,
    /// Oldest first within a kind; without what was rejected. Active pins are rules, behind the others.
    pub items: Vec<MemoryItem>,
    /// Number of items that somebody rejected.
    pub rejected: u64,
    /// Entries behind the items: not 0 only where the reading was bounded.
    pub behind: u64,
    /// Entries that were folded for this reading.
    pub folded: u64,
}

/// How much of a session was read.
#[derive(Clone, Copy)]
struct Reading {
    behind: u64,
    folded: u64,
}

/// A session's memory and what it was folded from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoldedMemory {
    pub(crate) memory: SessionMemory,
    /// The newest entry that was folded.
    pub(crate) head: Option<Seq>,
    /// The items at that entry, with those of the ledger.
    pub(crate) items: Vec<MemoryItem>,
    /// Number of stored entries of the conversation at that time.
    pub(crate) entries: u64,
}

impl Engine {
    /// What a session leaves to its project.
    ///
    /// * `behind_max` - the most entries that are folded now. With more behind what is kept, the kept items are the
    ///   answer, and [`SessionItems::behind`] says how many entries they lack.
    ///
    /// Cost: one row, and O(new entries); O(history) after the conversation changed to another path. The result is kept
    /// if this engine may write.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn session_memory(
        &self,
        stored: &Conversation,
        behind_max: u64,
    ) -> Result<SessionItems, EngineError> {
        let row = self.store().context(stored.id, STATE, MEMORY)?;
        let kept = row.and_then(|row| codec::decode(&row.state)).unwrap_or_default();
        let behind = stored.entries.saturating_sub(kept.entries);
        let folded = match behind {
            0 => kept,
            behind if behind > behind_max => {
                return self.remembered(stored, kept, Reading { behind, folded: 0 });
            }
            _ => self.fold_memory(stored, kept)?,
        };
        self.remembered(stored, folded, Reading { behind: 0, folded: behind })
    }

    /// Folds what a session leaves, so that nobody who asks for it later has to wait.
    ///
    /// Cost: see [`Engine::session_memory`]; some 50 ms per 1,000 new entries.
    ///
    /// # Errors
    /// [`EngineError::Store`]. An unknown key is none.
    pub fn keep_memory(&self, key: &ConversationKey) -> Result<(), EngineError> {
        if let Some(stored) = self.store().find(key)? {
            self.session_memory(&stored, u64::MAX)?;
        }
        Ok(())
    }

    /// Folds the new entries of the main lane's path in, and keeps the result.
    fn fold_memory(&self, stored: &Conversation, kept: FoldedMemory) -> Result<FoldedMemory, EngineError> {
        let lane = ThreadRef { conversation: stored.id, thread: Thread(0) };
        let mut folded = kept;
        let behind = self.path_behind(stored, lane, folded.head, None)?;
        let path = if let Some(path) = behind {
            path
        } else {
            folded = FoldedMemory::default();
            self.path_behind(stored, lane, None, None)?.unwrap_or_default()
        };
        for seqs in runs_of(&path).into_iter().flat_map(|run| parts(run, ROWS)) {
            for one in decoded(self.store(), stored, seqs.clone())? {
                folded.memory.take(one.row.seq, one.row.time, &one.entry);
            }
            folded.head = Some(Seq(seqs.end - 1));
        }
        let mut ledger = Folded::default();
        self.fold_ledger(stored.id, Thread(0), &mut ledger)?;
        self.save_ledger(lane, &mut ledger);
        let time = |seq: Seq| stored_row(self.store(), stored.id, seq).ok().flatten()?.time;
        folded.items = folded.memory.items(&ledger.ledger, time);
        folded.entries = stored.entries;
        if self.is_writer() {
            let row = ContextRow { thread: STATE, budget: MEMORY, state: codec::encode(&folded) };
            self.store().put_summaries(stored.id, &[], Some(&row))?;
        }
        Ok(folded)
    }

    /// Leaves out what was rejected, and adds the pins.
    fn remembered(
        &self,
        stored: &Conversation,
        folded: FoldedMemory,
        reading: Reading,
    ) -> Result<SessionItems, EngineError> {
        let mut verdicts = VerdictCache::default();
        let mut items = Vec::with_capacity(folded.items.len());
        let mut rejected = 0;
        for item in folded.items {
            let is_rejected = match item.seq {
                Some(seq) => verdicts.rejects(self, stored.id, seq, &item.text)?,
                None => false,
            };
            if is_rejected {
                rejected += 1;
            } else {
                items.push(item);
            }
        }
        let pins = self.pins(stored.id)?;
        let last = stored.time.map(|(_, last)| last);
        for pin in pins.active().into_iter().filter(|pin| pins.file_of(pin.id).is_none()) {
            items.retain(|item| item.text != pin.text);
            items.push(MemoryItem {
                kind: MemoryKind::Rule,
                text: pin.text.clone(),
                seq: pin.source,
                time: last,
            });
        }
        Ok(SessionItems {
            conversation: stored.key.clone(),
            items,
            rejected,
            behind: reading.behind,
            folded: reading.folded,
        })
    }
}
