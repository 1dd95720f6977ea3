//! The sentence that tells a model how to read summaries.

use unforget_core::assemble::ours;
use unforget_core::compact::Context;
use unforget_core::tokens::Tokens;

use super::pieces::{Piece, weigh};
use super::{Session, Shape};

/// Stands before the first summary.
const GUIDE: &str = "[What follows, up to the newest messages, is the record of this conversation so far. Each \
    history-summary stands for the entries that it names; a number in brackets behind a line is the entry that the line \
    comes from. s:12 is entry 12, and sum:… a summary: both are stored word for word. A tool that expands such ids, if one \
    is offered, gives them back; without one, read the file or run the command again.]";

/// Smallest budget in which the sentence is worth its room, in tokens.
const BUDGET_MIN: u64 = 4_000;

/// The sentence as a piece of a prompt; `None` where there is no room for it.
pub(super) fn guide(shape: &Shape) -> Option<Piece> {
    let has_room = shape.policy.budget() >= BUDGET_MIN;
    has_room.then(|| weigh(vec![ours(GUIDE)], Vec::new(), false, shape))
}

impl Session {
    /// What stands before the summaries and explains them.
    pub(super) fn shown_guide(&self) -> Option<&Piece> {
        self.guide.as_ref().filter(|_| !self.context.roots.is_empty())
    }

    /// What it takes beside these summaries.
    pub(super) fn guide_room(&self, context: &Context) -> Tokens {
        let guide = self.guide.as_ref().filter(|_| !context.roots.is_empty());
        guide.map_or_else(Tokens::default, |piece| piece.tokens)
    }
}
