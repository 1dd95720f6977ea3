//! Where things stand, before the summaries: the newest request, what came of it, what is open and which rules hold.
//!
//! Made from the summaries that are shown, so it changes at breaks only and is stored nowhere.

use std::sync::Arc;

use unforget_core::assemble::ours;
use unforget_core::compact::Context;
use unforget_core::tokens::Tokens;
use unforget_text::{Summary, fence_state, render_state, state_of};

use super::Session;
use super::pieces::{Piece, fitted};

/// Tokens that the wrapper takes at most.
const FENCE_TOKENS: u64 = 40;

/// Most tokens of a headline.
const TOKENS_MAX: u64 = 800;

/// A headline as it is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Headline {
    /// The break that it was made after.
    epoch: u32,
    piece: Option<Piece>,
}

impl Session {
    /// Renders the headline of the context as it is, unless it is shown already.
    ///
    /// Cost: O(items of the summaries that are shown), once after a break.
    pub(super) fn show_headline(&mut self) {
        if self.headline.epoch != self.context.epoch {
            self.headline = Headline { epoch: self.context.epoch, piece: self.render_headline() };
        }
    }

    /// What stands before the summaries.
    pub(super) fn shown_headline(&self) -> Option<&Piece> {
        self.headline.piece.as_ref().filter(|_| self.headline.epoch == self.context.epoch)
    }

    /// What a headline may take beside these summaries. Thresholds count all of it, so that they need not render it.
    pub(super) fn headline_room(&self, context: &Context) -> Tokens {
        Tokens::exact(if context.roots.is_empty() { 0 } else { self.headline_tokens() })
    }

    /// The same beside any summaries.
    pub(super) fn headline_tokens(&self) -> u64 {
        self.shape.policy.ledger.min(TOKENS_MAX)
    }

    fn render_headline(&self) -> Option<Piece> {
        let until = self.context.roots.iter().map(|root| root.span.1).max()?;
        let parts: Vec<Arc<Summary>> =
            self.roots.iter().map(|root| Arc::clone(&root.written.summary)).collect();
        let state = state_of(&parts);
        let text = |room| render_state(&state, room, &self.shape.ruler);
        // A first line alone says nothing.
        let render = |room| Some(text(room)).filter(|text| text.lines().count() > 1);
        let wrap = |text: &str| vec![ours(&fence_state(until, text))];
        fitted(self.headline_tokens(), FENCE_TOKENS, &render, &wrap, &self.shape).map(|(_, piece)| piece)
    }
}
