//! Which entries have vectors.

use std::fmt;
use std::ops::Range;

use unforget_core::id::ConversationId;
use unforget_recall::meaning::{MeaningHead, is_meaning};
use unforget_store::{Conversation, Segment, SegmentHead, Store, read_all};

use super::MeaningModel;
use crate::append::ConversationLock;
use crate::index::{SegmentHeads, gaps};
use crate::{Engine, EngineError};

/// How far the vectors of a conversation are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeaningState {
    /// Entries with a vector.
    pub entries: u64,
    /// Entries that were not looked at yet, with words or without.
    pub left: u64,
    /// Pieces of entries that the model made no vector of, asked for each of them alone: they are found by words.
    pub without: u64,
}

/// Vectors of two lengths under one name of a model: they say nothing about each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthConflict {
    /// The name.
    pub model: String,
    /// Numbers of a stored vector.
    pub stored: u32,
    /// Numbers of a vector that the model makes now.
    pub made: u32,
}

impl fmt::Display for LengthConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, stored, made } = self;
        write!(
            f,
            "model {model} makes vectors of {made} numbers, and the stored ones have {stored}: put its settings back, or \
             name the model otherwise in them, or replace the stored vectors by `unforget embed --again`"
        )
    }
}

/// A stored segment of meaning.
pub(super) struct VectorHead {
    pub(super) head: SegmentHead,
    pub(super) meaning: MeaningHead,
}

/// The segments of meaning of a conversation.
#[derive(Default)]
pub(super) struct VectorHeads {
    /// Those of the model, ascending, without overlaps.
    pub(super) ours: Vec<VectorHead>,
    /// Numbers of those of other models, and of those that cannot be read or are covered by others.
    pub(super) stale: Vec<u64>,
}

impl VectorHeads {
    /// Reads the heads. Cost: O(segments), of which there are few for each 4,096 entries.
    pub(super) fn read(
        store: &dyn Store,
        id: ConversationId,
        model: &MeaningModel,
    ) -> Result<Self, EngineError> {
        Ok(Self::of(&SegmentHeads::read(store, id)?.meaning, model))
    }

    /// * `heads` - those of meaning, ascending.
    pub(super) fn of(heads: &[SegmentHead], model: &MeaningModel) -> Self {
        let mut found = Self::default();
        let mut end = 0;
        for head in heads {
            match MeaningHead::parse(&head.header) {
                Ok(meaning) if model.is(&meaning.model) && head.seqs.start >= end => {
                    end = head.seqs.end;
                    found.ours.push(VectorHead { head: head.clone(), meaning });
                }
                _ => found.stale.push(head.number),
            }
        }
        found
    }

    /// Ranges of entries without a segment, ascending.
    pub(super) fn gaps(&self, entries: u64) -> Vec<Range<u64>> {
        gaps(self.ours.iter().map(|one| &one.head), entries)
    }

    /// Numbers of a stored vector of the model; `None` without any.
    pub(super) fn dimension(&self) -> Option<u32> {
        self.ours.iter().find(|one| one.meaning.codes > 0).map(|one| one.meaning.model.dimension)
    }
}

impl Engine {
    /// How far the vectors of a conversation are.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn meaning_state(
        &self,
        conversation: &Conversation,
        model: &MeaningModel,
    ) -> Result<MeaningState, EngineError> {
        let heads = VectorHeads::read(self.store(), conversation.id, model)?;
        let gaps = heads.gaps(conversation.entries);
        Ok(MeaningState {
            entries: heads.ours.iter().map(|one| one.meaning.entries).sum(),
            left: gaps.iter().map(|gap| gap.end - gap.start).sum(),
            without: heads.ours.iter().map(|one| one.meaning.without).sum(),
        })
    }

    /// Drops the vectors of a conversation, of every model: all of its entries wait for new ones.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn drop_vectors(&self, id: ConversationId) -> Result<(), EngineError> {
        let _lock = ConversationLock::of(id);
        let mut all = read_all(|page| self.store().segments(id, page))?;
        let has_some = all.iter().any(|head| is_meaning(&head.header));
        // With them goes the empty segment that stood for those of an earlier time.
        all.retain(|head| is_meaning(&head.header) || head.seqs.is_empty());
        if has_some {
            let nothing = Segment { seqs: 0..0, header: Vec::new(), blocks: Vec::new() };
            let numbers: Vec<u64> = all.iter().map(|head| head.number).collect();
            self.store().put_segment(id, &nothing, &numbers)?;
        }
        Ok(())
    }
}
