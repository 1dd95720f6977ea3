//! The newest inputs of a request, cut to a share of its room: head and tail, and the name under which the rest is stored.

use std::sync::Arc;

use unforget_core::group::{Group, Kind};
use unforget_core::id::Seq;
use unforget_core::ladder::{self, PartCaps};
use unforget_core::message::Message;
use unforget_core::pair::{self, Detail, OmissionReason};
use unforget_core::policy::Policy;

use super::Shape;
use super::pieces::{GroupPieces, PromptPiece, weigh};
use super::shorten::{collapse, shorten};

/// Messages before they are cut to a share.
pub(super) struct Uncut {
    messages: Arc<Vec<Message>>,
    omitted: Vec<(Seq, OmissionReason)>,
    /// Their size as a whole, in tokens.
    wanted: u64,
    /// Their piece; `None` if they fit no budget.
    piece: Option<PromptPiece>,
}

impl Uncut {
    /// The messages of a piece, as they are in it.
    pub(super) fn of(piece: PromptPiece) -> Self {
        let (messages, omitted) = (Arc::clone(&piece.messages), piece.omitted.clone());
        Self { messages, omitted, wanted: piece.tokens.upper, piece: Some(piece) }
    }

    /// The messages of a group whose results alone fit no budget, whole.
    pub(super) fn over(group: &Group, whole: u64) -> Self {
        let paired = pair::messages(group, Detail::Full, &|_, _, _| None);
        Self { messages: Arc::new(paired.messages), omitted: paired.omitted, wanted: whole, piece: None }
    }

    /// Size as a whole, in tokens.
    pub(super) const fn wanted(&self) -> u64 {
        self.wanted
    }

    /// The messages in at most `share` tokens: whole, or with their results cut, or every part, or one text for all
    /// parts, or only their name.
    ///
    /// Cost: O(size) for each of a few cuts.
    pub(super) fn within(&self, share: u64, shape: &Shape) -> PromptPiece {
        if let Some(piece) = self.piece.as_ref().filter(|piece| piece.tokens.upper <= share) {
            return piece.clone();
        }
        let size = |piece: &PromptPiece| piece.tokens.upper;
        for caps in [PartCaps::results as fn(u64) -> PartCaps, PartCaps::all] {
            let mut cut = |cap| self.cut(caps(cap), shape);
            if let Some(widest) = ladder::widest_cut(share, &mut cut, &size) {
                return widest;
            }
        }
        let mut least = PromptPiece::default();
        for cap in ladder::collapsed_caps(share) {
            let messages = collapse(&self.messages, cap, shape);
            least = weigh(messages, self.omitted.clone(), true, shape);
            if least.tokens.upper <= share {
                break;
            }
        }
        least
    }

    fn cut(&self, caps: PartCaps, shape: &Shape) -> PromptPiece {
        let messages = self.messages.iter().map(|message| shorten(message, caps, shape)).collect();
        weigh(messages, self.omitted.clone(), true, shape)
    }
}

/// Whether the results of the newest group fit no budget, so that they are cut to what room there is instead of the
/// share of each.
pub(super) fn is_over(group: &Group, pieces: &GroupPieces, policy: &Policy) -> bool {
    group.kind == Kind::Exchange && pieces.full.replaced && ladder::is_over_budget(pieces.whole(), policy)
}
