//! Which entries have vectors.

use std::cmp::Reverse;
use std::ops::Range;

use unforget_core::id::ConversationId;
use unforget_recall::meaning::{MeaningHead, is_meaning};
use unforget_store::{Conversation, SegmentHead, Store, read_all};

use super::MeaningModel;
use crate::index::gaps;
use crate::{Engine, EngineError};

/// How far the vectors of a conversation are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeaningState {
    /// Entries with a vector.
    pub entries: u64,
    /// Entries that were not looked at yet, with words or without.
    pub left: u64,
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
        let mut heads = read_all(|page| store.segments(id, page))?;
        heads.retain(|head| is_meaning(&head.header));
        heads.sort_by_key(|head| (head.seqs.start, Reverse(head.seqs.end), head.number));
        let mut found = Self::default();
        let mut end = 0;
        for head in heads {
            match MeaningHead::parse(&head.header) {
                Ok(meaning) if model.is(&meaning.model) && head.seqs.start >= end => {
                    end = head.seqs.end;
                    found.ours.push(VectorHead { head, meaning });
                }
                _ => found.stale.push(head.number),
            }
        }
        Ok(found)
    }

    /// Ranges of entries without a segment, ascending.
    pub(super) fn gaps(&self, entries: u64) -> Vec<Range<u64>> {
        gaps(self.ours.iter().map(|one| &one.head), entries)
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
        })
    }
}
